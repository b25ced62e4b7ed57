"""The rereadings of pairs: prompts that follow from the replies to others."""

from collections.abc import Iterator, Sequence

from equipoise.core import jsonl
from equipoise.core.prompts import Prompt, Response
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import ReplayEntry
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.profiles import Build
from equipoise.studies.vignettes.reread import blinder, rereadings


def followed(run: Run, prompts: Sequence[Prompt], responses: Sequence[Response]) -> Iterator[Prompt]:
    """Give the rereadings of pairs; saved answers have none, and nor has a panel."""
    how = run.settings.section("build", Build)
    if not isinstance(run.entry, ReplayEntry) and how.design == "pair":
        vignettes, blind = jsonl.read(run.built("vignettes"), Vignette), blinder(run.data)
        likelihoods = run.entry.likelihoods
        yield from rereadings(vignettes, prompts, responses, how.rereadings, blind, likelihoods=likelihoods)
