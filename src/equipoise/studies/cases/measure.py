"""Estimate the figures of saved outputs to published cases."""

from collections.abc import Iterable, Iterator, Sequence

from equipoise.core import jsonl
from equipoise.core.keys import grouped
from equipoise.core.prompts import Response
from equipoise.figures import guards
from equipoise.figures.options import Measure
from equipoise.figures.responses import note
from equipoise.figures.result import StudyResult
from equipoise.pipeline.rows import errors_of, options_of
from equipoise.pipeline.run import Run
from equipoise.stats.misclassification import ErrorCounts
from equipoise.studies.cases import NAME
from equipoise.studies.cases.effects import case_effects, case_pairs, paired_findings
from equipoise.studies.cases.rows import Case, CaseJudgement
from equipoise.studies.cases.study import STUDY
from equipoise.text.answer import AnswerKind

TOLD: tuple[AnswerKind, ...] = ("expected", "stereotyped")
"""The answers by which a pair can show a bias."""


def measure(run: Run) -> StudyResult:
    """Estimate the silent bias rate of saved outputs to published cases and, for pairs, the differences too."""
    cases, judgements = jsonl.read(run.built("cases"), Case), jsonl.read(run.judgements, CaseJudgement)
    return case_result(cases, jsonl.read(run.responses, Response), judgements, options_of(run), errors_of(run))


def case_result(
    cases: Sequence[Case],
    saved: Sequence[Response],
    judgements: Sequence[CaseJudgement],
    options: Measure,
    errors: ErrorCounts | None,
) -> StudyResult:
    """Estimate the figures of judged outputs; `errors` is the judge's measured error."""
    responses = [note(response, free_text=STUDY.free_text) for response in saved]
    answered = sum(bool(response.finished) for response in responses)
    return StudyResult(
        study=NAME,
        effects=[*case_effects(cases, saved, judgements, options, errors)],
        findings=paired_findings(case_pairs(cases, judgements), options.alpha),
        guards=[
            guards.Guard.of("unanswered_prompts", len(cases), len(cases) - answered),
            *guards.reply_guards(STUDY, responses, {case.key: case.prompt for case in cases}),
            *read_guards(cases, judgements),
        ],
    )


def read_guards(cases: Sequence[Case], judgements: Sequence[CaseJudgement]) -> Iterator[guards.Guard]:
    """Count unreadable and refused answers by arm and, in pairs, answers that leave no room for a bias."""
    yield from guards.answer_guards(answers_by_role(cases, judgements))
    paired = {case.key for case in cases if case.pair}
    kinds = [judgement.answer for judgement in judgements if judgement.key in paired]
    yield guards.Guard.of("other_answers", len(kinds), sum(kind not in TOLD for kind in kinds))


def answers_by_role(cases: Iterable[Case], judgements: Iterable[CaseJudgement]) -> dict[str, list[AnswerKind]]:
    """List the answers by the arm of their case; those of unpaired cases together."""
    arms = {case.key: case.role if case.pair else "all" for case in cases}
    return grouped((arms[judgement.key], judgement.answer) for judgement in judgements)
