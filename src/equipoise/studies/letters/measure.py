"""Estimate what letters leave out, soften and doubt about whom."""

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.result import Counts, StudyResult
from equipoise.materials.pairs import require_same_keys
from equipoise.materials.vignette import ROLES
from equipoise.pipeline.rows import contents, options_of, prompts_and_responses
from equipoise.pipeline.run import Run
from equipoise.studies.letters.effects import letter_effects
from equipoise.studies.letters.rows import Reading
from equipoise.studies.letters.study import STUDY
from equipoise.text.answer import AnswerKind


def measure(run: Run) -> StudyResult:
    """Estimate what letters leave out, soften and doubt about whom."""
    prompts, responses = prompts_and_responses(run)
    readings = jsonl.read(run.judgements, Reading)
    require_same_keys("response", (row.key for row in responses), "judgement", (row.key for row in readings))
    written: dict[str, list[AnswerKind]] = {role: [row.kind for row in readings if row.role == role] for role in ROLES}
    return StudyResult(
        study=run.study,
        effects=letter_effects(readings, options_of(run)),
        guards=[
            *guards.reply_guards(STUDY, responses, contents(prompts), {row.key: row.story for row in readings}),
            *guards.answer_guards(written),
        ],
        counts=Counts.of(
            responses,
            unparsed=sum(row.kind == "unparsed" for row in readings),
            refusals=sum(row.kind == "refusal" for row in readings),
        ),
    )
