"""What a section of the validity study is made of: simulations, their rows, and how many draws they take.

A section is a function that yields the `Study`s of one kind of figure, in the order of its table. It may be in a module
of its own; `validity_catalogue.SECTIONS` lists it under its title.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from validity_simulations import Simulation
    from validity_verdict import Kind

COUNTED, TESTED, FAMILIES, BOOTSTRAPPED, LARGE = 20_000, 3_000, 1_500, 1_000, 400
"""Number of draws of simulations of counts, of tests, of families of tests, of bootstraps, and of large bootstraps."""
LEVEL, SIZE, POWER = 0.95, 0.05, 0.8


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: the figure compared with `nominal`, in words, and the reason for any deviation."""

    method: str
    kind: Kind
    nominal: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """One simulation and its rows, by name of the figure; `setting` describes the simulated parameters."""

    key: str
    setting: str
    draws: int
    run: Simulation
    rows: dict[str, Row] = field(default_factory=dict)


def coverage(method: str, note: str = "") -> Row:
    """Give the row of an interval's coverage."""
    return Row(f"{method}: coverage", "coverage", LEVEL, note)


def type_one(method: str, note: str = "") -> Row:
    """Give the row of a test's type I error."""
    return Row(f"{method}: type I error", "error", SIZE, note)


Section: TypeAlias = "Callable[[], Iterator[Study]]"
