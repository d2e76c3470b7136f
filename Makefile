# Needs Python 3.11 or newer, nothing else; everything it installs goes to .venv. Try: make demo

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo quick test torture durations odd-clocks check lint types types-of-users imports bench bench-against pictures proto spec size clean

# The first interpreter that is new enough; `make PYTHON=…` names another, which gets an environment of its own.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)

VENV := $(if $(filter file undefined,$(origin PYTHON)),.venv,.venv-$(notdir $(PYTHON)))
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Compiled once and kept: the tests begin hundreds of processes, and half of the time of each went into compiling.
unexport PYTHONDONTWRITEBYTECODE

help:
	@echo 'make demo    kill workers and watch nothing get lost'
	@echo 'make quick   the tests that need no more than memory: a minute'
	@echo 'make test    run every test, PostgreSQL included (TESTS="tests/unit -k clock" narrows it)'
	@echo 'make torture the tests that crash things, at ten times the size (about an hour)'
	@echo 'make odd-clocks the tests that meet the wall clock, with the clock started at ten odd instants'
	@echo 'make check   lint, format, types, imports'
	@echo 'make bench   measure this machine, beside peers and targets (BENCH="--quick" is a short look)'
	@echo 'make bench-against REV=… measure this tree and another one in pairs: is anything slower than it was?'
	@echo 'make pictures take the pictures of the dashboard anew (five minutes, and a browser)'
	@echo 'make proto   make the code of the wire from proto/ again'
	@echo 'make spec    which demands of the specification are tested'
	@echo 'make size    how much code there is, by folder'
	@echo 'make clean   remove everything made here, .venv included'

# Installed again only when pyproject.toml has changed.
$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo 'Python 3.11 or newer was not found. Say which: make PYTHON=/path/to/python3'; exit 1; }
	@echo 'Installing into $(VENV) …'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(STAMP)
	@$(BIN)/windlass demo

PYTEST := $(BIN)/python -m pytest --quiet
SIDE_BY_SIDE := --dist loadfile --no-loadscope-reorder --max-worker-restart 0

# Without what takes longest of it: random input, the stores by themselves, and what goes over a wire.
QUICK := tests/architecture tests/bench tests/integration tests/unit --ignore tests/unit/server

quick: $(STAMP)
	@$(PYTEST) $(SIDE_BY_SIDE) --numprocesses 2 --quick -p no:schemathesis $(or $(TESTS),$(QUICK))

test: $(STAMP)
	@$(PYTEST) $(SIDE_BY_SIDE) --numprocesses 4 $(TESTS)

# Whoever adds a file that takes long measures anew what begins first.
durations: $(STAMP)
	@$(PYTEST) $(SIDE_BY_SIDE) --numprocesses 4 --keep-durations

torture: $(STAMP)
	@WINDLASS_TEST_SCALE=10 $(PYTEST) tests/crash tests/model tests/processes tests/faults

odd-clocks: $(STAMP)
	@$(BIN)/python tests/odd_clocks.py $(TESTS)

check: lint types types-of-users imports
	@echo 'All checks passed.'

lint: $(STAMP)
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet

types: $(STAMP)
	@$(BIN)/mypy --no-error-summary

types-of-users: $(STAMP)
	@$(BIN)/basedpyright --level warning

# Its cache remembers how an import was resolved before the imported file existed.
imports: $(STAMP)
	@$(BIN)/lint-imports --no-logo --no-cache

bench: $(STAMP)
	@$(BIN)/python -m bench.run $(BENCH)

bench-against: $(STAMP)
	@test -n "$(REV)" || { echo 'Say against which commit: make bench-against REV=f2697f2'; exit 2; }
	@$(BIN)/python -m bench.against.run $(REV) $(BENCH)

pictures: $(STAMP)
	@$(BIN)/python docs/pictures/take.py

proto: $(STAMP)
	@$(BIN)/python -m grpc_tools.protoc --proto_path=proto --python_out=src --pyi_out=src proto/windlass/v1/*.proto

spec: $(STAMP)
	@$(BIN)/python tests/spec/report.py

size: $(STAMP)
	@$(BIN)/python tools/size.py

clean:
	@rm -rf .venv .venv-* build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
	@rm -rf bench/.peers_cache bench/.against_cache tests/integration/server/node/.node_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
