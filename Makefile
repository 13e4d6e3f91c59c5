PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test lint size bench clean

demo: $(READY)
	$(BIN)/python examples/digits/demo.py

test: lint
	$(BIN)/python -m pytest -q -n 2 -m "not alone"
	$(BIN)/python -m pytest -q -m alone

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/mypy

size: $(READY)
	$(BIN)/python tools/size.py

bench: $(READY)
	$(BIN)/python benchmarks/reference.py

clean:
	rm -rf .venv build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The stamp is written last, so that a set-up that was interrupted is done again.
$(READY): pyproject.toml setup.py $(wildcard native/*) src/nnapi/capi/functions.py src/nnapi/capi/prototype.py
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@
