PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV_READY := $(VENV)/.dev-ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COVERED := leakage totals designs plan
COMPILE := uv pip compile pyproject.toml --universal --python-version 3.11 \
  --generate-hashes --no-header --no-annotate --no-emit-index-url --quiet

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.lock
	$(PIP) --no-deps --editable .
	@touch $@

$(DEV_READY): requirements-dev.lock $(READY)
	$(PIP) -r requirements-dev.lock
	@touch $@

.PHONY: setup
setup: $(DEV_READY) ## Make the virtual environment in .venv with locked packages

.PHONY: demo
demo: $(READY) ## An analysis (bundled Adult) and a plan (a synthetic survey); the last lines name the two pages
	@$(BIN)/seepage analyse adult --epsilon 1 --report adult.html >/dev/null
	@$(BIN)/seepage datasets survey -o people.csv
	@$(BIN)/seepage design people.csv --columns employment,coffee,screen,sleep --limit 7.4x --effort 0.2 -o plan.json --report plan.html >/dev/null
	@echo "Open these two pages in a browser; seepage open does the same with your own table:"
	@echo "  $(CURDIR)/adult.html"
	@echo "  $(CURDIR)/plan.html"

.PHONY: lint
lint: $(DEV_READY) ## Ruff, codespell and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy

.PHONY: browser
browser: node ## Install Chromium for the tests of pages, and axe-core, where apt-get and npm can
	@command -v chromium >/dev/null || \
	  { apt-get update -qq && apt-get install -qq -y chromium; } >/dev/null 2>&1 || \
	  echo "no Chromium: the tests of pages in a browser will be skipped"
	@test -d tests/axe/node_modules/axe-core || \
	  npm ci --prefix tests/axe --ignore-scripts --no-audit --no-fund >/dev/null 2>&1 || \
	  echo "no npm: the tests of accessibility will be skipped"

.PHONY: java
java: ## Install Java for the tests of Spark, where apt-get can
	@command -v java >/dev/null || [ -n "$$JAVA_HOME" ] || \
	  { apt-get update -qq && apt-get install -qq -y openjdk-17-jre-headless; } >/dev/null 2>&1 || \
	  echo "no Java: the tests of Spark will be skipped"

.PHONY: node
node: ## Install Node for the tests of the client, where apt-get can
	@command -v node >/dev/null || \
	  { apt-get update -qq && apt-get install -qq -y nodejs npm; } >/dev/null 2>&1 || \
	  echo "no Node: the tests of the client in Node will be skipped"

.PHONY: test
test: lint docs browser java node ## Lint, types, the documentation and the default tests
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n 2 --dist worksteal -m "not slow"

.PHONY: test-slow
test-slow: $(DEV_READY) browser java node ## The long tests
	$(BIN)/pytest -m slow

.PHONY: coverage
coverage: $(DEV_READY) ## Print the lines of leakage, totals, designs and plan that their tests do not run
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n 2 --dist worksteal -m "not slow" \
	  $(addprefix tests/,$(COVERED) collection) $(addprefix src/seepage/,$(COVERED))
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

.PHONY: fuzz
fuzz: $(DEV_READY) ## Attack with generated tables, designs, damaged and forged files, junk, audits and hostile senders, for minutes
	$(BIN)/python scripts/fuzz.py

.PHONY: bench
bench: $(DEV_READY) ## Measure what docs/speed.md quotes, into benchmarks/results.md; with FULL=--full what takes long too
	$(BIN)/python -m benchmarks --save $(FULL)

.PHONY: reproduce
reproduce: $(READY) ## Every table and figure of the paper, beside its values, into build/reproduction/
	$(BIN)/python -m reproduction

.PHONY: wheel
wheel: ## Build the wheel into dist/, install it into an empty environment and try it
	$(PYTHON) scripts/make_wheel.py

.PHONY: test-newest test-oldest
test-newest: browser node ## The default tests with the newest versions of all dependencies (needs uv)
	$(PYTHON) scripts/test_versions.py newest

test-oldest: browser node ## The default tests with the oldest versions that pyproject.toml admits (needs uv)
	$(PYTHON) scripts/test_versions.py oldest

.PHONY: release-check
release-check: ## Check in a clean clone that this commit can be released, as TAG=v1.0.0 if given
	$(PYTHON) scripts/release_check.py $(TAG)

.PHONY: docs
docs: $(DEV_READY) ## Build the documentation into build/site/
	$(BIN)/python scripts/make_pictures.py
	$(BIN)/python -m zensical build --strict --clean

.PHONY: docs-serve
docs-serve: docs ## Show the documentation, with its search, at http://localhost:8000
	$(BIN)/python -m zensical serve

.PHONY: lock
lock: ## Resolve the locked versions again (needs uv)
	$(COMPILE) --output-file requirements.lock
	$(COMPILE) --group dev --group docs --extra spark --output-file requirements-dev.lock

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(VENV) dist build site .cache .pytest_cache .mypy_cache .ruff_cache
