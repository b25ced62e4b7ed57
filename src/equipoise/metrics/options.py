"""Settings of the figures: the section `measure` of params.yaml, and the judge's error rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from equipoise.metrics.equity import EquityOptions
from equipoise.metrics.silent import SilentBiasOptions
from equipoise.models.registry import load_judge_entry
from equipoise.stats.misclassification import ErrorCounts

if TYPE_CHECKING:
    from pathlib import Path

M = TypeVar("M", bound=BaseModel)


class Measure(SilentBiasOptions, EquityOptions):
    """Settings of the figures of all studies."""

    def part(self, kind: type[M]) -> M:
        """Select the options of one study, as its type."""
        return kind.model_validate(self.model_dump(include=set(kind.model_fields)))


def judge_errors(name: str, root: Path) -> ErrorCounts | None:
    """Error counts of the judge `name` for silence (positive means silent); None if they were not measured.

    Read from the judge's entry in the registry under `root`; an unknown name raises an EquipoiseError.
    """
    measured = load_judge_entry(name, root).error
    if measured is None:
        return None
    silent, not_silent = measured.silent, measured.not_silent
    return ErrorCounts(silent.right, silent.of, not_silent.right, not_silent.of)
