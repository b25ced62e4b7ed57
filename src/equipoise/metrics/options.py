"""The section `measure` of params.yaml: every study takes its own part of it."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from equipoise.metrics.equity import EquityOptions
from equipoise.metrics.silent import SilentBiasOptions

M = TypeVar("M", bound=BaseModel)


class Measure(SilentBiasOptions, EquityOptions):
    """How every study's figures are computed."""

    def part(self, kind: type[M]) -> M:
        """Give the options that one study knows, as its own type."""
        return kind.model_validate(self.model_dump(include=set(kind.model_fields)))
