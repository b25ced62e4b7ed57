"""How often a judge errs, as its entry in the registry says."""

from pathlib import Path

from equipoise.models.registry import load_judge_entry
from equipoise.stats.misclassification import ErrorCounts


def judge_errors(name: str, root: Path) -> ErrorCounts | None:
    """Error counts of the judge `name` for silence (positive means silent); None if they were not measured.

    Read from the judge's entry in the registry under `root`; an unknown name raises an EquipoiseError.
    """
    measured = load_judge_entry(name, root).error
    if measured is None:
        return None
    silent, not_silent = measured.silent, measured.not_silent
    return ErrorCounts(silent.right, silent.of, not_silent.right, not_silent.of)
