"""A judge's measured error, from its registry entry."""

from pathlib import Path

from equipoise.models.registry import load_judge_entry
from equipoise.stats.misclassification import ErrorCounts


def judge_errors(name: str, root: Path) -> ErrorCounts | None:
    """Return the judge's error counts for silence (positive means silent); None if they were not measured.

    They come from the judge's registry entry under `root`; an unknown name raises EquipoiseError.
    """
    measured = load_judge_entry(name, root).error
    if measured is None:
        return None
    silent, not_silent = measured.silent, measured.not_silent
    return ErrorCounts(silent.right, silent.of, not_silent.right, not_silent.of)
