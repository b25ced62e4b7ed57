"""Stopping early: the clusters of the study, and the pairs that the verdict depends on."""

from equipoise.core import jsonl
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.profiles import Build


def can_stop(run: Run) -> bool:
    """Whether the cases are in pairs: a panel is asked as a whole."""
    return run.settings.section("build", Build).design == "pair"


def clusters(run: Run) -> dict[str, str]:
    """Map each pair to its cluster, the story."""
    return {row.pair: row.presentation for row in jsonl.each(run.built("vignettes"), Vignette)}


def counted(run: Run) -> set[str]:
    """Name the pairs that contribute to the primary endpoint."""
    rows = jsonl.each(run.built("vignettes"), Vignette)
    return {row.pair for row in rows if row.grade != "C" and not row.reverse}
