"""Units: the cases of a study as a sequence asks for them, each in its cluster, and whether it was asked.

A study that stops as soon as its verdict is in (`equipoise.pipeline.sequential`) leaves whole clusters unasked.
Whatever reads the rows of a study reads those of the units that were asked; a study that is asked as a whole names no
units.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from equipoise.core import jsonl
from equipoise.core.keys import unit_of
from equipoise.core.row import Row, Text

FILE = "asked.jsonl"
"""Where, in a study's folder, its units are."""


class Keyed(Protocol):
    """What has a key that begins with the id of a unit."""

    @property
    def key(self) -> str:
        """The key."""
        ...


K = TypeVar("K", bound=Keyed)


class Unit(Row):
    """A pair or a question, by its id: the story that is its cluster, and whether it was asked."""

    cluster: Text
    asked: bool = False


def of_asked(rows: Iterable[K], units: Iterable[Unit]) -> Iterator[K]:
    """Leave out the rows of units that were not asked."""
    left_out = {unit.key for unit in units if not unit.asked}
    return (row for row in rows if unit_of(row.key) not in left_out)


def read_units(folder: Path) -> list[Unit]:
    """Read the units of a study's folder; none where all was asked."""
    path = folder / FILE
    return jsonl.read(path, Unit) if path.is_file() else []
