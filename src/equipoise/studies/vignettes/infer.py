"""Ask the vignettes, then each arm's answer again after other reasoning."""

from collections.abc import Iterator, Sequence

from equipoise.core import jsonl
from equipoise.core.prompts import Prompt, Response
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import ReplayEntry
from equipoise.pipeline.infer import answer
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.profiles import Build
from equipoise.studies.vignettes.reread import blinder, rereadings


def infer(run: Run) -> None:
    """Write a response for each prompt, and for each rereading that follows from the replies."""
    answer(run, follow=followed)


def followed(run: Run, prompts: Sequence[Prompt], responses: Sequence[Response]) -> Iterator[Prompt]:
    """Give the rereadings of pairs; saved answers have none, and nor has a panel."""
    how = run.settings.section("build", Build)
    if not isinstance(run.entry, ReplayEntry) and how.design == "pair":
        vignettes, blind = jsonl.read(run.built("vignettes"), Vignette), blinder(run.data)
        likelihoods = run.entry.likelihoods
        yield from rereadings(vignettes, prompts, responses, how.rereadings, blind, likelihoods=likelihoods)
