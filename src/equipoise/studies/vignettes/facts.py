"""The facts that a phantom knows about the vignettes: which answer is right, and which is the stereotype."""

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.materials.versions import MIRRORS
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.run import Run
from equipoise.text.answer import Answer


def _right(row: Vignette) -> Answer:
    own = row.role == "marginalised" if row.is_probe else row.version.endswith(MIRRORS)
    return row.stereotyped if own else row.expected


def facts(run: Run) -> list[Fact]:
    """Give the facts about every vignette and its other case versions.

    In a probe the patient's own feature is right, and the shift, which is about diagnoses, does not apply. A patient
    without demographics is not marginalised.
    """
    return [
        Fact(
            key=row.key,
            study=run.study,
            task="diagnosis",
            question=f"{row.pair}/{row.version.partition('-')[0]}" if row.is_probe else row.pair,
            right=_right(row).label,
            stereotyped=tuple(answer.label for answer in (row.stereotyped, *row.components)),
            dimensions=row.features,
            marginalised=row.role == "marginalised" and not row.is_probe and row.treatment != "blinded",
            log_ratio=row.log_ratio.value if row.log_ratio else 0.0,
            stub=row.is_stub,
            inferred=row.is_unreasoned and not (row.is_stub or row.is_probe or row.treatment),
            treatment=row.treatment,
        )
        for name in ("vignettes", "tellings")
        for row in jsonl.each(run.built(name), Vignette)
    ]
