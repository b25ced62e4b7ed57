"""The rates behind the cost estimate, read from benchmarks/rates.yaml: every figure with its published source."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from equipoise.core.yamlfile import load_yaml

if TYPE_CHECKING:
    from pathlib import Path

Positive = Annotated[float, Field(gt=0)]
Url = Annotated[str, Field(pattern=r"^https://\S+$")]


class Bounds(NamedTuple):
    """The ends of a range."""

    low: float
    high: float


class _Sourced(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    note: Annotated[str, Field(min_length=1)]
    url: tuple[Url, ...]


class Figure(_Sourced):
    """One published number."""

    value: Positive


class Range(_Sourced):
    """The smallest and largest published numbers."""

    low: Positive
    high: Positive

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            message = f"low {self.low} is more than high {self.high}"
            raise ValueError(message)
        return self


class Run(_Sourced):
    """A published run of a model on one GPU: tokens read and written, all requests together, and the seconds taken.

    It represents models of the registry of the same size; `of` is what it says something about.
    """

    model: str
    stands_for: Annotated[tuple[str, ...], Field(min_length=1)]
    of: Literal["reading", "writing"]
    read: Positive
    written: Positive
    seconds: Positive

    @property
    def tokens_a_second(self) -> float:
        """Tokens per second of the run: all for reading, the written ones for writing; each phase alone is faster."""
        return (self.written + (self.read if self.of == "reading" else 0)) / self.seconds


class Rates(BaseModel):
    """The whole file; see there for units."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seen: date
    gpu: str
    gpus: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]
    price: Range
    peak_tflops: Figure
    bandwidth: Figure
    memory: Figure
    peak_reached: Range
    bandwidth_reached: Range
    batch_invariance: Range
    loading: Range
    start: Range
    active: dict[str, Figure]
    runs: tuple[Run, ...]


def load_rates(path: Path) -> Rates:
    """Read the file; an invalid value raises an EquipoiseError that names the field."""
    return load_yaml(path, Rates)
