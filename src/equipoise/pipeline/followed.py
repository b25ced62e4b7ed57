"""The prompts of a study that follow from the replies to its others."""

from collections.abc import Iterator, Sequence

from equipoise.core import jsonl
from equipoise.core.prompts import Prompt, Response
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import ReplayEntry
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.decisions import Asked, decision_prompts
from equipoise.studies.vignettes.profiles import Build
from equipoise.studies.vignettes.reread import blinder, rereadings

FOLLOWED: tuple[str, ...] = ("vignettes", "decisions")
"""The studies that have such prompts."""


def followed(run: Run, prompts: Sequence[Prompt], responses: Sequence[Response]) -> Iterator[Prompt]:
    """Give the prompts that follow from the replies to those of pairs; saved answers have none, and nor has a panel."""
    how, likelihoods = run.settings.section("build", Build), run.entry.likelihoods
    if isinstance(run.entry, ReplayEntry):
        return
    if run.study == "decisions":
        decisions, swapped = jsonl.read(run.built("decisions"), Asked), "swapped" in how.rereadings
        yield from decision_prompts(decisions, prompts, responses, swapped=swapped, likelihoods=likelihoods)
    elif how.design == "pair":
        vignettes, blind = jsonl.read(run.built("vignettes"), Vignette), blinder(run.data)
        yield from rereadings(vignettes, prompts, responses, how.rereadings, blind, likelihoods=likelihoods)
