PYTHON ?= python3
JOBS ?= 2
MODELS ?= $(wildcard ../shared/models)

# An environment for each Python: .venv for the one that is used where none is named, else .venv-3.12 and so on.
TAG := import sys; print("%d.%d%s" % (*sys.version_info[:2], sys.abiflags))
VERSION := $(shell $(PYTHON) -c '$(TAG)')
ifeq ($(VERSION),)
$(error $(PYTHON) does not run; name a Python that does, as in make $(or $(MAKECMDGOALS),demo) PYTHON=python3.12)
endif
# What the C library cannot be built without and this machine lacks. An environment without the library has a stamp of its
# own, so that the next make builds the library once these are installed.
NATIVE := import os, shutil, sys, sysconfig; get = sysconfig.get_config_var; \
	compiler, header = os.environ.get("CC") or get("CC") or "gcc", os.path.join(get("INCLUDEPY"), "Python.h"); \
	print(*["gcc"] * (not shutil.which(compiler.split()[0])), *["python%d.%d-dev" % sys.version_info[:2]] * (not os.path.exists(header)))
MISSING := $(shell $(PYTHON) -c '$(NATIVE)')
VENV := .venv$(if $(filter file,$(origin PYTHON)),,-$(VERSION))
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(VERSION)$(if $(MISSING),-without-library)
# Modules are compiled when they are imported, as most never are: a third of the time.
PIP := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test quick lint docs mutants lock size bench wheel release aarch64 clean

demo: $(READY)
	$(BIN)/python examples/digits/demo.py

# Each process has whole files, whose tests share what is costly to make; who is done takes some of another's.
PYTEST = $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

test: $(READY)
	$(PYTEST)

quick: $(READY)
	$(PYTEST) -m "not slow"

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	MYPY_NUM_WORKERS=$(JOBS) $(BIN)/mypy || { test $$? = 2 && $(BIN)/mypy; } # 2: its processes start too slowly beside others

# The site, in site/, which opens from the disk. It is fetched from nowhere and fetches nothing; a link that leads nowhere
# fails it.
docs: $(READY)
	$(PIP) -e '.[docs]' --no-build-isolation
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Random changes of the source that tests should notice: NUMBER of them, drawn from SEED, in JOBS copies of the tree.
# COVERAGE names a record of the lines that each test runs: pytest --cov=src/nnapi --cov-context=test tests
mutants: $(READY)
	$(PIP) -e '.[mutants]' --no-build-isolation
	$(BIN)/python -m tools.mutants --number $(or $(NUMBER),200) --seed $(or $(SEED),0) --jobs $(JOBS) $(if $(COVERAGE),--coverage $(COVERAGE))

# uv is needed here alone: it knows how to write one file for every Python and platform.
lock: $(READY)
	$(BIN)/python -m pip install --quiet --upgrade uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra dev --extra docs --extra mutants --extra openvino \
		--no-annotate --no-emit-index-url --custom-compile-command "make lock" pyproject.toml -o constraints.txt

size: $(READY)
	$(BIN)/python -m tools.size

bench: $(READY)
	$(BIN)/python benchmarks/readme.py $(or $(MODELS),examples/digits)

# A wheel for each of these, proved where it is installed: the Pythons of pyenv, and of later versions those on PATH. SYSTEMS
# names folders that hold another Linux, such as Alpine, Debian on aarch64, or a Debian with a newer Python (tools/systems.py).
PYENV := $(wildcard $(HOME)/.pyenv/versions/3.1[1-9].*/bin/python3)
ON_PATH := $(foreach minor,11 12 13 14,$(if $(findstring /3.$(minor).,$(PYENV)),,$(shell command -v python3.$(minor))))
PYTHONS ?= $(or $(strip $(PYENV) $(ON_PATH)),$(PYTHON))
SYSTEMS ?= $(wildcard build/systems/*)

wheel: $(READY)
	$(BIN)/python -m tools.wheels $(PYTHONS) $(SYSTEMS:%=--system %)

# Everything that a release uploads, checked, in dist/. Nothing is uploaded.
release: $(READY)
	$(BIN)/python -m tools.release $(PYTHONS) $(SYSTEMS:%=--system %)

# The same product on an emulated aarch64.

aarch64: $(READY)
	$(BIN)/python -m tools.aarch64

clean:
	rm -rf .venv .venv-* build dist site src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The stamp is written last, so that a set-up that was interrupted is done again. An environment is made anew when it is
# another Python's or was left without pip.
$(READY): pyproject.toml constraints.txt setup.py $(wildcard native/*) $(wildcard src/nnapi/capi/include/*.h src/nnapi/capi/include/android/*.h) \
		src/nnapi/capi/functions.py src/nnapi/capi/prototype.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is Python $(VERSION); nnapi needs 3.11 or newer: name one, as in PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make environments: install its venv module (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@test "$$($(BIN)/python -c 'import pip; $(TAG)' 2>/dev/null)" = $(VERSION) || $(PYTHON) -m venv --clear $(VENV)
	@echo "setting up $(VENV) for $(PYTHON)"
	@$(if $(MISSING),echo "libneuralnetworks.so cannot be built and its tests are skipped. Install its tools and make again" \
		"(Debian, Ubuntu: apt install $(MISSING))" >&2)
	@$(PIP) setuptools cffi
	@$(PIP) --no-build-isolation -e '.[dev]'
	@touch $@
