"""Input and output types of the statistics: a table of pairs, an interval, a p-value."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

from equipoise.core.display import number
from equipoise.core.errors import EquipoiseError

UNDERFLOW = 1e-300
"""Below this a p-value loses precision, then underflows to 0; its logarithm is computed directly instead."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed confidence interval from `low` to `high`."""

    low: float
    high: float

    def __str__(self) -> str:
        """Write it for readers."""
        return f"{number(self.low)} to {number(self.high)}"


@dataclass(frozen=True, slots=True)
class PairedCells:
    """The 2 x 2 table of a binary outcome in both arms of each pair, as counts of pairs."""

    both: int
    only_first: int
    only_second: int
    neither: int

    def __post_init__(self) -> None:
        """Reject a negative count."""
        if min(self.both, self.only_first, self.only_second, self.neither) < 0:
            raise EquipoiseError(f"{self}: negative count of pairs: give counts of at least 0")

    @classmethod
    def count(cls, outcomes: Iterable[tuple[bool, bool]]) -> Self:
        """Count the pairs of outcomes (first arm, second arm)."""
        pairs = list(outcomes)
        return cls(
            both=pairs.count((True, True)),
            only_first=pairs.count((True, False)),
            only_second=pairs.count((False, True)),
            neither=pairs.count((False, False)),
        )

    @property
    def n(self) -> int:
        """The number of pairs."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def discordant(self) -> int:
        """The number of pairs whose arms differ."""
        return self.only_first + self.only_second

    @property
    def difference(self) -> float | None:
        """The paired difference, first arm's proportion − second's; None without pairs."""
        return ratio(self.only_first - self.only_second, self.n)


@dataclass(frozen=True, slots=True)
class PValue:
    """A two-sided p-value, and -log10 of it, which stays finite where the value itself underflows to 0."""

    value: float
    neg_log10: float

    @classmethod
    def of(cls, value: float, log_value: Callable[[], float]) -> Self:
        """Pair a p-value with its -log10; `log_value` (natural logarithm) is called only for very small values."""
        value = min(value, 1.0)
        natural = math.log(value) if value >= UNDERFLOW else log_value()
        # max() also turns the -0.0 of p = 1 into 0.0.
        return cls(value, max(0.0, -natural / math.log(10)))


def as_share(value: float) -> float:
    """Cut an estimate of a share to 0 to 1."""
    return min(1.0, max(0.0, value))


def ratio(numerator: float, denominator: float) -> float | None:
    """Divide; None where the denominator is 0."""
    return None if denominator == 0 else numerator / denominator
