PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test lint docs samples bench clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

demo: .venv/installed ## analyse a bundled profile whose communication is not hidden, then open all in the dashboard
	$(BIN)/gapfinder analyze sample_profiles/broken_overlap.sqlite
	$(BIN)/gapfinder dashboard sample_profiles/*.sqlite

test: .venv/tools ## everything CI runs, the checks of `make lint` beside the tests
	@mkdir -p build; $(MAKE) lint >build/lint.txt 2>&1 & lint=$$!; \
	$(BIN)/pytest --numprocesses auto --dist worksteal; tests=$$?; \
	wait $$lint; lint=$$?; cat build/lint.txt; exit $$((tests | lint))

lint: .venv/tools ## style, types and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/installed ## write the generated pages of docs/ again
	$(BIN)/python docs/columns.py
	$(BIN)/python docs/pages.py

samples: .venv/tools ## build sample_profiles/*.sqlite again
	$(BIN)/python -m sample_profiles.build

bench: .venv/tools ## all benchmarks as one table, for docs/performance.md; ten to twenty minutes on an idle machine
	$(BIN)/python benchmarks

clean: ## remove the virtual environment and the caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/pip:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "gapfinder needs Python 3.11 or newer")'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	touch $@

.venv/installed: .venv/pip pyproject.toml
	$(BIN)/pip install --quiet --editable '.[dashboard]'
	touch $@

.venv/tools: .venv/installed
	$(BIN)/pip install --quiet --group test
	touch $@
