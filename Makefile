# Every habit has a name. `make` alone checks and tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := .make/run
DEV := .make/dev
# Compiled tests are kept, whatever the shell says: every worker reads all of them, in half the time.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
# One more than a small machine has processors: tests wait for processes, and for each other's locks.
WORKERS ?= 3

.PHONY: all setup start pages fmt check lint types quick test ready soak bench docs site image doctor web browser shells clean

all: test

setup: $(DEV)

# What serving needs: Python 3.11+ and make are enough.
$(RUN): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Pecia needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable packages/pecia-minilm --editable packages/pecia-polyglot --editable .
	@mkdir -p .make && touch $@

$(DEV): $(RUN)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@mkdir -p .make && touch $@

# The handbook of an invented company, in local mode. PORT and HOST choose the address.
start: $(RUN) pages
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
	@$(MAKE) --no-print-directory shells

PAGES := web/package.json web/package-lock.json web/vite.config.ts web/index.html \
  $(shell find web/src src/pecia/interfaces/http/pages/design -type f)

# The console's pages, built if there is npm. Without them a server still has the pages to read at
# /read, the API and the tools.
pages:
	@if command -v npm >/dev/null; then \
	  $(MAKE) --no-print-directory .make/pages \
	  || echo "The console could not be built; the server starts without it."; \
	elif [ -f src/pecia/interfaces/web/static/index.html ]; then \
	  echo "npm was not found: the console is the one built before."; \
	else \
	  echo "npm was not found: the server starts without the console. Install Node 20.19 or newer and run 'make start' again, or install a released wheel, which has it."; \
	fi

.make/pages: $(PAGES)
	cd web && npm install --no-save --ignore-scripts --silent && npm run build --silent
	@mkdir -p .make && touch $@

# The same, checked.
web: .make/web
.make/web: $(PAGES)
	cd web && npm install --no-save --ignore-scripts --silent && npm run check --silent && npm run build --silent
	@mkdir -p .make && touch $@ .make/pages

# A browser for the tests that need one.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  echo "installing Chromium"; \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
	  || { echo "Chromium is missing and could not be installed: install the package chromium"; exit 1; }; }

# The shells whose completion is tested. Not needed: what is missing is skipped, and says so.
shells:
	@command -v zsh >/dev/null && command -v fish >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq zsh fish >/dev/null; } \
	|| echo "zsh or fish is missing: completion is not tried there"

# The full counts of the laws and faults; hours. Writes bench/results/soak-*.json.
soak: $(DEV)
	PECIA_SOAK=1 $(PYTEST) tests/laws tests/faults -p no:cacheprovider --timeout 0 $(ARGS)

bench: $(DEV)
	$(BIN)/python -m bench $(ARGS)

docs: $(DEV)
	$(BIN)/python -m scripts.reference
	$(BIN)/python -m scripts.command_help

# The documentation as a site, in build/site. Every link in it must lead somewhere.
site: $(DEV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

# The container image, where there is Docker: docs/containers.md.
image:
	@docker info >/dev/null 2>&1 || { echo "Docker is missing, or its daemon does not run"; exit 1; }
	docker build --tag pecia $(ARGS) .

doctor: $(RUN)
	$(BIN)/pecia doctor

clean:
	rm -rf .venv .make .pytest_cache .ruff_cache .hypothesis build dist

include mk/node.mk
