"""Estimate the silent bias rate of saved outputs to other people's cases, and of pairs the differences too."""

from collections.abc import Iterator

from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.figures import guards
from equipoise.figures.effects import Effect
from equipoise.pipeline.rows import errors_of, noted, options_of
from equipoise.pipeline.run import Run
from equipoise.studies.cases.effects import case_effects
from equipoise.studies.cases.rows import Case, CaseJudgement
from equipoise.studies.cases.study import STUDY


def measure(run: Run) -> Iterator[Effect]:
    """Estimate the silent bias rate of saved outputs to other people's cases, and of pairs the differences too."""
    told, judged = jsonl.read(run.built("cases"), Case), jsonl.read(run.judgements, CaseJudgement)
    saved = jsonl.read(run.responses, Response)
    yield from case_effects(told, saved, judged, options_of(run), errors_of(run))
    responses = noted(run, saved)
    answered = sum(bool(response.finished) for response in responses)
    found = [
        guards.Guard("unanswered_prompts", len(told), len(told) - answered),
        *guards.reply_guards(STUDY, responses, {case.key: case.prompt for case in told}),
        *guards.answer_guards([judgement.answer for judgement in judged]),
    ]
    yield from guards.guard_effects(run.study, found)
