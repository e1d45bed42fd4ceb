# Every target builds what it needs in .venv: Python 3.11 or later and make are enough.
# A stamp in .venv says which extras are in; it is redone when pyproject.toml changes.

PYTHON ?= python3
ARGS ?=
VENV := .venv
OLDEST := .venv-oldest
ifeq ($(OS),Windows_NT)
SCRIPTS := Scripts
else
SCRIPTS := bin
endif
BIN := $(VENV)/$(SCRIPTS)

# Real data beside the checkout, unless the caller says where they are.
ifndef ILSPACE_DATA
ifneq ($(wildcard ../shared/data/.),)
export ILSPACE_DATA := $(abspath ../shared/data)
endif
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test test-slow test-oldest fuzz lint format docs perf perf-history dist docker-steps clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'ARGS="..." is handed on to the command: make test ARGS="-k stiefel -x"'

demo: $(VENV)/.stamp-demo ## Adapt between two sets of real digits; tables and pictures
	$(BIN)/ilspace demo $(ARGS)

# One thread per worker: pytest-xdist already starts one worker per core.
test test-slow test-oldest dist: export OMP_NUM_THREADS := 1
test test-slow test-oldest dist: export OPENBLAS_NUM_THREADS := 1
test test-slow test-oldest dist: export MKL_NUM_THREADS := 1
# Tests start many processes: each loads modules that were compiled once, also where the
# environment says that nothing is compiled (an empty value is none).
test test-slow test-oldest: export PYTHONDONTWRITEBYTECODE :=

# worksteal: a worker runs whole files, whose tests share what their fixtures made.
test: $(VENV)/.stamp-test ## Run the fast tests
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" $(ARGS)

test-slow: $(VENV)/.stamp-test ## Run the accuracy tests on real data; prints what they measure
	$(BIN)/python -m pytest -n auto -m slow -rP $(ARGS)

# What old libraries are warned of by new ones is not ours; scikit-learn 1.6 asks for the variable.
test-oldest: export SCIPY_ARRAY_API := 1
test-oldest: $(OLDEST)/.stamp ## Run the fast tests with the oldest versions that pyproject.toml allows
	$(OLDEST)/$(SCRIPTS)/python -m pytest -n auto --dist worksteal -m "not slow" -o filterwarnings=default $(ARGS)

fuzz: export OMP_NUM_THREADS := 1
fuzz: export OPENBLAS_NUM_THREADS := 1
fuzz: $(VENV)/.stamp-test ## Throw hostile input at everything: ARGS="--seconds 600"
	$(BIN)/python tests/fuzzing/run.py $(ARGS)

lint: $(VENV)/.stamp-lint ## Check format, style, types, layers and docstrings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	find src/ilspace -name '*.py' -print0 | xargs -0 $(BIN)/numpydoc lint
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

format: $(VENV)/.stamp-lint ## Rewrite the files in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The matrices of the gallery are small: one thread is faster, and two examples run at once.
docs: export OMP_NUM_THREADS := 1
docs: export OPENBLAS_NUM_THREADS := 1
docs: export MKL_NUM_THREADS := 1

docs: $(VENV)/.stamp-docs ## Build the site into build/docs/html; needs no network
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --jobs auto \
	  --doctree-dir build/docs/doctrees docs build/docs/html $(ARGS)

perf: $(VENV)/.stamp-perf ## Compare speed with pymanopt, as ratios
	$(BIN)/python perf/run.py $(ARGS)

# A quick look at the tree as it is; for a history: make perf-history ARGS="run v0.1.0..main"
perf-history: export OMP_NUM_THREADS := 1
perf-history: export OPENBLAS_NUM_THREADS := 1
perf-history: ARGS = run --python=same --quick --show-stderr
perf-history: $(VENV)/.stamp-perf ## Time the fit, prediction and start with asv; results in build/asv
	$(BIN)/asv machine --yes
	$(BIN)/asv $(ARGS)

dist: $(VENV)/.stamp-dist ## Build wheel and sdist into dist, install each, test what was installed
	$(BIN)/python .ci/dist.py $(ARGS)

docker-steps: $(VENV)/.stamp-dist ## Follow the Dockerfile in fresh environments, without Docker
	$(BIN)/python .ci/docker_steps.py $(ARGS)

clean: ## Remove caches and built files (the environments stay)
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf docs/_generated docs/auto_examples docs/api/generated docs/api/backreferences
	find src tests perf examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The environment, then one stamp for each set of extras.
$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "ilspace needs Python 3.11 or later; try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# pyright reads the imports of the tests too, hence their extras.
$(VENV)/.stamp-lint: EXTRAS := lint,test
$(VENV)/.stamp-%: EXTRAS = $*
$(VENV)/.stamp-%: pyproject.toml src/ilspace/_version.py | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]"
	@touch $@

$(OLDEST)/.stamp: pyproject.toml src/ilspace/_version.py .ci/oldest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(PYTHON) .ci/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/$(SCRIPTS)/python -m pip install --quiet --editable ".[test]" \
	  --constraint $(OLDEST)/constraints.txt
	@touch $@
