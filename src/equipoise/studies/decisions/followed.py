"""The prompts of the decisions, which follow from the reasoning about each case."""

from collections.abc import Iterator, Sequence

from equipoise.core import jsonl
from equipoise.core.prompts import Prompt, Response
from equipoise.models.registry import ReplayEntry
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.asked import Asked, decision_prompts
from equipoise.studies.vignettes.profiles import Build


def followed(run: Run, prompts: Sequence[Prompt], responses: Sequence[Response]) -> Iterator[Prompt]:
    """Give the prompts of the decisions, which follow the reasoning; saved answers have none."""
    if not isinstance(run.entry, ReplayEntry):
        swapped = "swapped" in run.settings.section("build", Build).rereadings
        asked = jsonl.read(run.built("decisions"), Asked)
        yield from decision_prompts(asked, prompts, responses, swapped=swapped, likelihoods=run.entry.likelihoods)
