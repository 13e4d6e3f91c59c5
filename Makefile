PYTHON ?= python3
JOBS ?= 2
MODELS ?= $(wildcard ../shared/models)

# Each Python has its own environment: .venv for the default one, .venv-3.12 and so on for a PYTHON on the command line.
TAG := import sys; print("%d.%d%s" % (*sys.version_info[:2], sys.abiflags))
VERSION := $(shell $(PYTHON) -c '$(TAG)')
ifeq ($(VERSION),)
$(error $(PYTHON) does not run; name a Python that does, as in make $(or $(MAKECMDGOALS),demo) PYTHON=python3.12)
endif
# MISSING lists the packages that this machine lacks to build the C library. An environment without the library has another
# stamp file, so that make builds the library once the packages are installed.
NATIVE := import os, shutil, sys, sysconfig; get = sysconfig.get_config_var; \
	compiler, header = os.environ.get("CC") or get("CC") or "gcc", os.path.join(get("INCLUDEPY"), "Python.h"); \
	print(*["gcc"] * (not shutil.which(compiler.split()[0])), *["python%d.%d-dev" % sys.version_info[:2]] * (not os.path.exists(header)))
MISSING := $(shell $(PYTHON) -c '$(NATIVE)')
VENV := .venv$(if $(filter file,$(origin PYTHON)),,-$(VERSION))
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(VERSION)$(if $(MISSING),-without-library)
# --no-compile: most modules are never imported, and compiling all would take a third of the installation's time.
PIP := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test quick npu lint docs mutants lock pages size bench wheel release aarch64 clean

demo: $(READY)
	$(BIN)/python examples/digits/demo.py

# Each process gets whole files, because the tests of a file share costly fixtures; idle processes take tests from others.
PYTEST = $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

# Otherwise each process would compile the tests and the libraries anew.
test quick: export PYTHONDONTWRITEBYTECODE =

test: $(READY)
	$(PYTEST)

quick: $(READY)
	$(PYTEST) -m "not slow"

# Install the compilers for NPUs, which contain libraries under their vendors' licenses, and run their tests. LiteRT's
# plug-in for Intel's NPU needs the libraries of one release of OpenVINO, which lie beside the environment.
NPU := build/npu
npu: $(READY)
	$(PIP) -e '.[qualcomm,ethos-u]' --no-build-isolation
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(NPU) openvino==2026.3.1
	LD_LIBRARY_PATH=$(abspath $(NPU))/openvino/libs $(BIN)/python -m pytest -q tests/drivers/qualcomm tests/drivers/ethos_u \
		tests/cli/test_ahead_of_time.py tests/cli/test_vendor_compilers.py tests/cli/test_migrate.py tests/benchmarks/test_htp.py

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	MYPY_NUM_WORKERS=$(JOBS) $(BIN)/mypy || { test $$? = 2 && $(BIN)/mypy; } # 2: its workers start too slowly on a busy machine

# Build the site in site/, which a browser can open from the disk. Neither the build nor the pages download anything; a
# broken link is an error.
docs: $(READY)
	$(PIP) -e '.[docs]' --no-build-isolation
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Make NUMBER random changes of the source, with the seed SEED and in JOBS copies of the tree, and check that a test fails
# for each. COVERAGE names a record of the lines that each test runs: pytest --cov=src/nnapi --cov-context=test tests
mutants: $(READY)
	$(PIP) -e '.[mutants]' --no-build-isolation
	$(BIN)/python -m tools.mutants --number $(or $(NUMBER),200) --seed $(or $(SEED),0) --jobs $(JOBS) $(if $(COVERAGE),--coverage $(COVERAGE))

# Only this target needs uv, which can write one file for all Pythons and platforms. Hashes in constraints.txt would make
# pip refuse the checkout itself, so only the packages that build a release have them, in a file of their own.
lock: $(READY)
	$(BIN)/python -m pip install --quiet --upgrade uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra dev --extra docs --extra mutants --extra openvino \
		--no-annotate --no-emit-index-url --custom-compile-command "make lock" pyproject.toml -o constraints.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --group release --generate-hashes \
		--no-annotate --no-emit-index-url --custom-compile-command "make lock" -o release-lock.txt

# Write the generated files, by default those that need only the repository; the others are listed with their needs.
# PAGES names some, as in make pages PAGES=docs/export.md
pages: $(READY)
	$(BIN)/python -m tools.pages $(PAGES)

# Print the lines of each package, and their difference to COMMIT: by default where the branch left main.
size: $(READY)
	$(BIN)/python -m tools.size $(COMMIT)

bench: $(READY)
	$(BIN)/python benchmarks/readme.py $(or $(MODELS),examples/digits)

# Build and check a wheel for each of PYTHONS: by default those of pyenv, and those on PATH for versions that pyenv lacks.
# SYSTEMS names folders with another Linux, such as Alpine, Debian on aarch64, or a Debian with a newer Python
# (tools/systems.py).
PYENV := $(wildcard $(HOME)/.pyenv/versions/3.1[1-9].*/bin/python3)
ON_PATH := $(foreach minor,11 12 13 14 15,$(if $(findstring /3.$(minor).,$(PYENV)),,$(shell command -v python3.$(minor))))
PYTHONS ?= $(or $(strip $(PYENV) $(ON_PATH)),$(PYTHON))
SYSTEMS ?= $(wildcard build/systems/*)

wheel: $(READY)
	$(BIN)/python -m tools.wheels $(PYTHONS) $(SYSTEMS:%=--system %)

# Build and check all files of a release in dist/. Nothing is uploaded.
release: $(READY)
	$(BIN)/python -m tools.release $(PYTHONS) $(SYSTEMS:%=--system %)

# Test nnapi on an emulated aarch64.
aarch64: $(READY)
	$(BIN)/python -m tools.aarch64

clean:
	rm -rf .venv .venv-* build dist site src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The stamp file is written last, so that make repeats an interrupted set-up. An environment of another Python, or without
# pip, is replaced.
$(READY): pyproject.toml constraints.txt setup.py $(wildcard native/*) $(wildcard src/nnapi/capi/include/*.h src/nnapi/capi/include/android/*.h) \
		src/nnapi/capi/functions.py src/nnapi/capi/prototype.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is Python $(VERSION); nnapi needs 3.11 or newer: name one, as in PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make environments: install its venv module (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@test "$$($(BIN)/python -c 'import pip; $(TAG)' 2>/dev/null)" = $(VERSION) || $(PYTHON) -m venv --clear $(VENV)
	@echo "setting up $(VENV) for $(PYTHON)"
	@$(if $(MISSING),echo "libneuralnetworks.so cannot be built and its tests are skipped. Install its packages and run make again" \
		"(Debian, Ubuntu: apt install $(MISSING))" >&2)
	@$(PIP) setuptools cffi
	@$(PIP) --no-build-isolation -e '.[dev]'
	@touch $@
