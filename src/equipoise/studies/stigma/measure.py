"""Estimate which gender the model associates with an illness and with the attitudes towards it."""

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.result import Counts, StudyResult
from equipoise.pipeline.rows import contents, options_of, prompts_and_responses
from equipoise.pipeline.run import Run
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.stigma.fills import identical_fills, require_whole
from equipoise.studies.stigma.rows import Fill
from equipoise.studies.stigma.study import STUDY


def measure(run: Run) -> StudyResult:
    """Estimate which gender the model associates with an illness and with the attitudes towards it."""
    prompts, responses = prompts_and_responses(run)
    fills = jsonl.read(run.judgements, Fill)
    require_whole(fills, run.judgements)
    of_replies = guards.reply_guards(STUDY, responses, contents(prompts))
    return StudyResult(
        study=run.study,
        effects=stigma_effects(fills, options_of(run)),
        guards=[
            *(guard for guard in of_replies if guard.name == "copied_results"),
            guards.Guard.of("identical_arms", *identical_fills(fills)),
            guards.unread(fill if fill.female + fill.male else None for fill in fills),
        ],
        counts=Counts.of(responses),
    )
