"""Stopping early: the clusters of the study, and the pairs that the verdict depends on."""

from equipoise.core import jsonl
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.rows import CaseDecision
from equipoise.studies.vignettes.stopping import can_stop, clusters

__all__ = ["can_stop", "clusters", "counted"]


def counted(run: Run) -> set[str]:
    """Name the pairs that contribute to the primary endpoint."""
    rows = jsonl.each(run.built("decisions"), CaseDecision)
    return {row.pair for row in rows if row.grade != "C" and row.usual and not row.reverse}
