"""The declaration of the study `stigma`."""

from pathlib import Path

from equipoise.core.params import Params
from equipoise.figures.study import Likelihoods, Rows, Study, value_of
from equipoise.figures.wording import count
from equipoise.models.readiness import Machine, require_memory
from equipoise.models.registry import load_masked_entry
from equipoise.studies.stigma import NAME
from equipoise.studies.stigma.comparison import FillRows
from equipoise.studies.stigma.figures import FIGURES
from equipoise.studies.stigma.library import SENTENCES, load_library
from equipoise.studies.stigma.plots import PLOTS
from equipoise.studies.stigma.rows import Filling


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty if its figures are undefined."""
    mental, other = (value_of(rows, f"rq1_{side}/all/disparity_clustered") for side in ("mental", "control"))
    if mental is None or other is None:
        return ""
    return (
        f"Of 100 sentences about mental illness, {_women(mental)} as the one who is ill; of 100 sentences about "
        f"other illness, {_women(other)}."
    )


def _women(share: float) -> str:
    """Write a difference of shares, female minus male, as a number of sentences in a hundred."""
    number = count(100 * abs(share))
    if number == "0":
        return "as many have a woman as a man"
    first, second = ("woman", "man") if share > 0 else ("man", "woman")
    return f"{number} more have a {first} than a {second}"


def _masked(settings: Params) -> str | None:
    """Return the name of the masked model that fills the sentences, if any."""
    filling = settings.section("fill", Filling)
    return filling.masked if filling.scorer == "masked" else None


SEQUENCE = 10_000_000
"""Bytes of one sequence of a sentence's length in a large masked model: 24 layers of 1,024 numbers, and the layers
between them."""


def require(settings: Params, root: Path, machine: Machine) -> None:
    """Refuse malformed sentences, an unknown masked model, and more sequences than fit in memory."""
    load_library(root / SENTENCES)
    filling = settings.section("fill", Filling)
    if filling.scorer == "masked":
        load_masked_entry(filling.masked, root)
    if NAME in settings.studies:
        require_memory("fill.batch_size", filling.batch_size, SEQUENCE, machine)


STUDY = Study(
    name=NAME,
    title="Stigma",
    question="Which gender does the model associate with mental illness, and with the attitudes towards it?",
    whom="Sentences about people with mental or other illnesses, whose subject the model completes.",
    sections={"fill": Filling},
    likelihoods=Likelihoods("fill", "scorer", "causal", "masked", exact=True),
    figures=FIGURES,
    plots=PLOTS,
    comparison=FillRows,
    sentence=sentence,
    masked=_masked,
    asks=lambda settings: {"score": "a masked model fills the sentences (fill.scorer)"} if _masked(settings) else {},
    reads={"build": ("data/sentences",), "infer": (), "score": ("data/sentences",), "measure": ()},
    requires=require,
)
