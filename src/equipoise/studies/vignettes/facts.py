"""The facts that a phantom knows about the vignettes: which answer is right, and which is the stereotype."""

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.materials.versions import MIRRORS
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.run import Run


def facts(run: Run) -> list[Fact]:
    """Give the facts about every vignette and its other case versions."""
    return [
        Fact(
            key=row.key,
            study=run.study,
            task="diagnosis",
            question=row.pair,
            right=(row.stereotyped if row.version in MIRRORS else row.expected).label,
            stereotyped=tuple(answer.label for answer in (row.stereotyped, *row.components)),
            dimensions=row.features,
            marginalised=row.role == "marginalised",
            log_ratio=row.log_ratio.value if row.log_ratio else 0.0,
            stub=row.is_stub,
        )
        for name in ("vignettes", "tellings")
        for row in jsonl.each(run.built(name), Vignette)
    ]
