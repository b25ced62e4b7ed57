"""Estimate how far the reply to a client's message changes with the client's demographics."""

from collections.abc import Iterator

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.effects import Effect
from equipoise.figures.guards import run_effects
from equipoise.pipeline.rows import contents, options_of, prompts_and_responses
from equipoise.pipeline.run import Run
from equipoise.studies.openr1.effects import openr1_effects
from equipoise.studies.openr1.rows import Agreement
from equipoise.studies.openr1.study import STUDY


def measure(run: Run) -> Iterator[Effect]:
    """Estimate how far the reply to a client's message changes with the client's demographics."""
    prompts, responses = prompts_and_responses(run)
    agreements = jsonl.read(run.judgements, Agreement)
    yield from openr1_effects(agreements, options_of(run))
    found = [
        *guards.reply_guards(STUDY, responses, contents(prompts)),
        guards.unread(one.arms_agree for one in agreements),
    ]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, {})
