"""What figures are computed with: the section `measure` of params.yaml, a part for each study; the judge's error."""

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
    """How every study's figures are computed."""

    def part(self, kind: type[M]) -> M:
        """Give the options that one study knows, as its own type."""
        return kind.model_validate(self.model_dump(include=set(kind.model_fields)))


def judge_errors(name: str, root: Path) -> ErrorCounts | None:
    """How often the judge `name` calls silent what is, and not silent what is not; None where nobody measured it.

    Positive is silent. Read from the judge's entry in the registry under `root`; an unknown name is an EquipoiseError.
    """
    measured = load_judge_entry(name, root).error
    if measured is None:
        return None
    silent, not_silent = measured.silent, measured.not_silent
    return ErrorCounts(silent.right, silent.of, not_silent.right, not_silent.of)
