"""A judge's measured error, from its registry entry."""

from pathlib import Path

from equipoise.models.registry import load_judge_entry
from equipoise.stats.misclassification import ErrorCounts


def judge_errors(name: str, root: Path) -> ErrorCounts | None:
    """Return a judge's counts of errors for silence (positive) from its entry under `root`; None if unmeasured."""
    measured = load_judge_entry(name, root).error
    if measured is None:
        return None
    silent, not_silent = measured.silent, measured.not_silent
    return ErrorCounts(silent.right, silent.of, not_silent.right, not_silent.of)
