PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.PHONY: setup
setup: $(READY) ## Make the virtual environment in .venv with locked packages

.PHONY: demo
demo: $(READY) ## Analyse the bundled Adult data at epsilon 1
	$(BIN)/seepage analyse adult --epsilon 1

.PHONY: lint
lint: $(READY) ## Ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: test
test: $(READY) lint ## Lint, types and the default tests
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

.PHONY: test-slow
test-slow: $(READY) ## The long tests
	$(BIN)/pytest -m slow

.PHONY: bench
bench: $(READY) ## Measure every number that README quotes
	$(BIN)/python -m benchmarks

.PHONY: lock
lock: ## Resolve the locked versions again (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
	  --no-header --no-annotate --no-emit-index-url --quiet --output-file requirements.lock

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
