# Everything runs inside .venv, which the first target creates: a machine needs Python 3.11 (with venv) and make.
# `make demo` installs what running needs, the other targets also what developing needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
PIP_QUIET ?= --quiet

# Pure tests: a process for each core. All tests: one more, because those with real parts mostly wait (tests/conftest.py).
TEST_PROCESSES ?= $(shell nproc 2>/dev/null || echo 2)
ALL_PROCESSES ?= 3
PURE := not real and not slow and not long

# Folders that hold Python today; a folder that does not exist yet is not an error.
SOURCES := $(sort $(patsubst %/,%,$(dir $(wildcard $(foreach d,faultline protocol controller emulator audit pyspark_faultline benchmarks verification docs/generate docs/language docs/notebook docs/session tests,$(d)/*.py)))))

.PHONY: help demo test test-all bench check check-fresh fast docs clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/installed-run $(VENV)/installed-classes ## break a cluster of real processes, audit it, print the verdict
	@sync # what the installation wrote is on its way to the disk, and in the way of punctual timers
	@$(BIN)/faultline run az-isolated-leader || { code=$$?; test $$code -eq 3 || exit $$code; \
	  echo "this machine is not punctual enough for the default speed: once more, slower"; \
	  $(BIN)/faultline run az-isolated-leader --speed 2; }
	@echo; echo "The same cut on a cluster of Kafka 4.4 in KRaft mode, simulated:"
	@$(BIN)/faultline run az-isolated-leader --kafka-version 4.4 --world sim

test: $(VENV)/installed-dev ## the pure and fast part of the test suite (minutes; no Java, no node processes)
	@$(BIN)/python -m pytest -n $(TEST_PROCESSES) -m "$(PURE)" $(PYTEST_ARGS)

test-all: $(VENV)/installed-dev $(VENV)/installed-classes ## the whole test suite
	@$(BIN)/python -m pytest -n $(ALL_PROCESSES) $(PYTEST_ARGS)

bench: $(VENV)/installed-dev $(VENV)/installed-classes ## the benchmarks, with the budget beside each figure
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)

check: $(VENV)/installed-dev ## lint, types, import contracts, language
	@$(BIN)/python -m ruff check $(SOURCES)
	@$(BIN)/python -m mypy --strict $(SOURCES)
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m docs.language

check-fresh: ## a newcomer's machine: a clean clone, no Java, `make demo` (minutes)
	@tests/fresh_machine.sh

fast: $(VENV)/installed-fast ## the machines as native code, for simulated runs (minutes; gcc, Python's headers)
	@$(BIN)/python -m emulator.compiling

docs: $(VENV)/installed-dev ## write the pages of docs/ that come from code
	@$(BIN)/python -m docs.generate
	@$(BIN)/python -m docs.notebook

clean: ## remove the virtual environment and every cache
	rm -rf $(VENV) .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "faultline needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) -V 2>&1): use make PYTHON=python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

# A stamp is touched only after pip has succeeded, so an interrupted installation is done again.
$(VENV)/installed-run: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install $(PIP_QUIET) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install $(PIP_QUIET) --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/installed-run

$(VENV)/installed-fast: pyproject.toml constraints.txt | $(VENV)/installed-run
	$(PIP) install $(PIP_QUIET) --constraint constraints.txt --editable '.[fast]'
	@touch $@

# Half a minute once; from then on Spark starts in half the time (audit/class_archive.py).
$(VENV)/installed-classes: constraints.txt | $(VENV)/installed-run
	$(BIN)/python -m audit.class_archive
	@touch $@
