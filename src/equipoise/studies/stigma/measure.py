"""Estimate which gender the model associates with an illness, and with the attitudes towards it."""

from collections.abc import Iterator

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.effects import Effect
from equipoise.figures.guards import run_effects
from equipoise.pipeline.rows import contents, options_of, prompts_and_responses
from equipoise.pipeline.run import Run
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.stigma.fills import identical_fills, require_whole
from equipoise.studies.stigma.rows import Fill
from equipoise.studies.stigma.study import STUDY


def measure(run: Run) -> Iterator[Effect]:
    """Estimate which gender the model associates with an illness, and with the attitudes towards it."""
    prompts, responses = prompts_and_responses(run)
    fills = jsonl.read(run.judgements, Fill)
    require_whole(fills, run.judgements)
    yield from stigma_effects(fills, options_of(run))
    found = [
        *(one for one in guards.reply_guards(STUDY, responses, contents(prompts)) if one.name == "copied_results"),
        guards.Guard("identical_arms", *identical_fills(fills)),
        guards.unread(fill if fill.female + fill.male else None for fill in fills),
    ]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, {})
