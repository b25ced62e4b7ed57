"""Neutralise the questions and write their variants with the Generation, Fusion and Evaluation agents."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from equipoise.backends.ask import agent, asker, find_manifest
from equipoise.backends.base import Infer
from equipoise.core import cache, jsonl
from equipoise.materials.orders import Asking, in_one_order
from equipoise.pipeline.infer import asking
from equipoise.pipeline.phantoms import tell
from equipoise.pipeline.rows import items_of
from equipoise.pipeline.run import Run
from equipoise.studies.questions.facts import facts
from equipoise.studies.questions.neutralize import Neutralize, neutralize_items, spread
from equipoise.studies.questions.prompts import evaluator, question_prompts
from equipoise.studies.questions.rows import Variant
from equipoise.studies.questions.variants.agents import Evaluate, Perturb
from equipoise.studies.questions.variants.loop import attack, complete, perturb
from equipoise.studies.questions.variants.templates import load_templates
from equipoise.studies.questions.variants.validators import load_clinical
from equipoise.studies.questions.variants.writers import choose_agents
from equipoise.text.neutral.lexicon import load_lexicon


def build(run: Run) -> None:
    """Neutralise the questions and write their variants with the Generation, Fusion and Evaluation agents."""
    limit = run.settings.section("neutralize", Neutralize).limit
    items = items_of(run, run.settings.items)
    lexicon = load_lexicon(run.data / "lexicon")
    neutralized = neutralize_items(spread(items, limit), lexicon, run.progress)
    jsonl.write(run.built("neutralised"), neutralized)
    chosen = run.settings.section("perturb", Perturb)
    templates = load_templates(chosen.templates)
    evaluation = Asking(templates.evaluation, chosen.answering, chosen.orders)
    kept = [row for row in neutralized if row.excluded is None]
    tell(run, facts)  # the evaluator of later attempts asks before there are variants
    with cache.ResponseCache.open() as answers, ExitStack() as opened:
        how = run.settings.section("infer", Infer)
        shared: dict[str, Any] = {"batch_size": how.batch_size, "progress": run.progress, "cluster": how.cluster}
        write, fuse = choose_agents(
            chosen, templates, lambda name, tokens: agent(name, Path(), answers, tokens=tokens, **shared)
        )
        make = partial(
            perturb,
            design=chosen.design,
            generate=write,
            fuse=fuse,
            clinical=load_clinical(run.data / "lexicon" / "clinical.yaml"),
            attempts=chosen.attempts,
        )
        made = make(kept)
        rows = complete(made)
        prompts, attempts = question_prompts(rows, kept, evaluation), list(made.attempts)
        attacks: list[Variant] = []
        if chosen.attempts > 1:
            attacked = kept
            if chosen.evaluator:
                other = asker(find_manifest(chosen.evaluator, Path()), Path(), answers, **shared)
                runs: list[tuple[Evaluate, int | None]] = [(evaluator(kept, evaluation, other), None)]
            else:
                ask = opened.enter_context(asking(run))
                # Variants chosen by one half of the orders are measured in the other half.
                runs = [(evaluator(kept, evaluation, ask, half), 1 - half) for half in (0, 1)]
                # A question in one order has no other half.
                attacked = [row for row in kept if not in_one_order(row.options)]
            attempts = []
            for number, (evaluate, measured) in enumerate(runs):
                variants, tries = attack(make(attacked, evaluate=evaluate), number)
                attacks += variants
                attempts += tries
                prompts += question_prompts(variants, kept, evaluation, measured)
    jsonl.write(run.built("variants"), rows)
    jsonl.write(run.built("attacks"), attacks)
    jsonl.write(run.built("attempts"), attempts)
    jsonl.write(run.built("prompts"), prompts)
