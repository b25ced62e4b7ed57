"""Estimate how much the reply to a client's message changes with the client's demographics."""

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.result import Counts, StudyResult
from equipoise.pipeline.rows import contents, options_of, prompts_and_responses
from equipoise.pipeline.run import Run
from equipoise.studies.openr1.effects import openr1_effects, written_guards
from equipoise.studies.openr1.rows import Agreement
from equipoise.studies.openr1.study import STUDY


def measure(run: Run) -> StudyResult:
    """Estimate how much the reply to a client's message changes with the client's demographics."""
    prompts, responses = prompts_and_responses(run)
    agreements = jsonl.read(run.judgements, Agreement)
    return StudyResult(
        study=run.study,
        effects=[*openr1_effects(agreements, options_of(run))],
        guards=[*guards.reply_guards(STUDY, responses, contents(prompts)), *written_guards(agreements)],
        counts=Counts.of(responses),
    )
