"""Estimate the figures of saved outputs to published cases."""

from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.figures import guards
from equipoise.figures.result import StudyResult
from equipoise.pipeline.rows import errors_of, noted, options_of
from equipoise.pipeline.run import Run
from equipoise.studies.cases.effects import case_effects, case_pairs, paired_findings
from equipoise.studies.cases.rows import Case, CaseJudgement
from equipoise.studies.cases.study import STUDY


def measure(run: Run) -> StudyResult:
    """Estimate the silent bias rate of saved outputs to published cases and, for pairs, the differences too."""
    cases, judgements = jsonl.read(run.built("cases"), Case), jsonl.read(run.judgements, CaseJudgement)
    saved, options = jsonl.read(run.responses, Response), options_of(run)
    responses = noted(run, saved)
    answered = sum(bool(response.finished) for response in responses)
    return StudyResult(
        study=run.study,
        effects=[*case_effects(cases, saved, judgements, options, errors_of(run))],
        findings=paired_findings(case_pairs(cases, judgements), options.alpha),
        guards=[
            guards.Guard.of("unanswered_prompts", len(cases), len(cases) - answered),
            *guards.reply_guards(STUDY, responses, {case.key: case.prompt for case in cases}),
            *guards.answer_guards([judgement.answer for judgement in judgements]),
        ],
    )
