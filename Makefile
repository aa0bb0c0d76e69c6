# Every habit has a name. `make` alone checks and tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := .make/run
DEV := .make/dev
PYTEST := $(BIN)/python -m pytest
# One more than a small machine has processors: tests wait for processes, and for each other's locks.
WORKERS ?= 3

.PHONY: all setup start fmt check lint types quick test ready soak bench docs doctor web browser clean

all: test

setup: $(DEV)

# What serving needs: Python 3.11+ and make are enough.
$(RUN): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Pecia needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable packages/pecia-minilm --editable .
	@mkdir -p .make && touch $@

$(DEV): $(RUN)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@mkdir -p .make && touch $@

# The handbook of an invented company, in local mode. PORT and HOST choose the address.
start: $(RUN)
	$(BIN)/pecia start examples/handbook --no-ask $(if $(PORT),--port $(PORT)) $(if $(HOST),--host $(HOST))

fmt: $(DEV)
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

check: lint types

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell src tests docs examples bench *.md

types: $(DEV)
	$(BIN)/pyright

# The inner loop: everything that needs no killed process and no browser.
quick: $(DEV)
	$(PYTEST) -n $(WORKERS) --dist worksteal -m 'not fault and not slow' $(ARGS)

# Everything, at small counts. What failed is run once more, alone: processes are killed and waited
# for, and a machine that was busy with something else is told from a fault by doing it again.
test:
	@$(MAKE) --jobs 4 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) ready
	$(PYTEST) -n $(WORKERS) --dist worksteal $(ARGS) || { \
	  echo "== some failed: those are run again, one after another"; \
	  $(PYTEST) --last-failed --last-failed-no-failures none $(ARGS) \
	  && echo "== the tests named FAILED above passed when run again: look at why they are unsteady"; }

# What the tests stand on, and what need not be run to be judged: side by side.
ready: check web browser tools

# The console's pages. Where there is no npm the server goes without them and says so.
web: .make/web
.make/web: web/package.json web/package-lock.json $(shell find web/src -type f) web/index.html
	cd web && npm install --no-save --ignore-scripts --silent && npm run check --silent && npm run build --silent
	@mkdir -p .make && touch $@

# A browser for the tests that need one.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  echo "installing Chromium"; \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
	  || { echo "Chromium is missing and could not be installed: install the package chromium"; exit 1; }; }

# The full counts of the laws and faults; hours. Writes bench/results/soak-*.json.
soak: $(DEV)
	PECIA_SOAK=1 $(PYTEST) tests/laws tests/faults -p no:cacheprovider --timeout 0 $(ARGS)

bench: $(DEV)
	$(BIN)/python -m bench $(ARGS)

docs: $(DEV)
	$(BIN)/python -m scripts.reference

doctor: $(RUN)
	$(BIN)/pecia doctor

clean:
	rm -rf .venv .make .pytest_cache .ruff_cache .hypothesis build dist

include mk/node.mk
