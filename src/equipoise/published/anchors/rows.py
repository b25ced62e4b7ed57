"""The rows of the comparison: each published figure beside ours, with its verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.published.anchors.catalogue import source_of
from equipoise.published.anchors.figures import compute
from equipoise.published.anchors.references import references, require_computed
from equipoise.published.anchors.verdict import Verdict, read_printed, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from equipoise.published.anchors.catalogue import Catalogue, Printed, Table
    from equipoise.published.anchors.verdict import Reference

EXCEPTION: Verdict = "departs"
"""The verdict that is expected of a figure that its table names as an exception."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `paper` is as printed, None where no paper prints it; `released` is another's figure of the data.

    `limit` is a bound that was set where there is neither. `tolerance` is how far ours may be from the paper's, else
    from the released one. `table` is the catalogue's entry that it stands under.
    """

    id: str
    source: str
    table: str
    place: str
    what: str
    paper: str | None
    limit: str | None
    released: float | None
    ours: float
    tolerance: float
    verdict: Verdict
    expect: Verdict
    note: str

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one that the catalogue expects."""
        return self.verdict == self.expect

    def json(self) -> dict[str, Any]:
        """Give the row as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Compared:
    """All rows, printed figures first, and of each source that is not at hand its first missing file."""

    rows: tuple[Row, ...]
    missing: dict[str, str]


def compare(
    folder: Path,
    data: Path,
    catalogue: Catalogue,
    progress: Callable[[int, int], object] = lambda done, total: None,  # noqa: ARG005  (names for the caller)
) -> Compared:
    """Compute every figure whose data are at hand, and compare it with what is printed or released.

    `progress` is told how many of how many sources are done.

    Raises:
        EquipoiseError: Nothing is at hand, or the catalogue or the data name a figure that is not computed.
    """
    found, missing = compute(folder, data, catalogue, progress)
    if not found:
        message = f"{folder}: none of the published data is here ({missing[min(missing)]} and others): mend the path"
        raise EquipoiseError(message)
    ours = {name: value for figures in found.values() for name, value in figures.items()}
    known = references(folder, catalogue)
    require_computed(known, ours, set(found))
    rows = [_printed(one, ours, known, catalogue) for one in catalogue.printed if source_of(one.figure) in found]
    for name, value in ours.items():
        table = catalogue.table_of(name)
        if name in known and table is None:
            message = f"{name}: no table of the catalogue holds it: add one"
            raise EquipoiseError(message)
        if name in known and table is not None:
            rows.append(_released(name, value, known[name], table))
    return Compared(tuple(rows), missing)


def unexpected(rows: tuple[Row, ...]) -> list[Row]:
    """Give the rows whose verdict is not the expected one."""
    return [row for row in rows if not row.as_expected]


def _printed(one: Printed, ours: Mapping[str, float], known: Mapping[str, Reference], catalogue: Catalogue) -> Row:
    if one.figure not in ours:
        message = f"{one.id}: no figure {one.figure} is computed: mend its name in the catalogue"
        raise EquipoiseError(message)
    value, reference, table = ours[one.figure], known.get(one.figure), catalogue.table_of(one.figure)
    return Row(
        id=one.id,
        source=source_of(one.figure),
        table=one.id,
        place=one.place,
        what=one.what,
        paper=one.paper,
        limit=one.limit,
        released=None if reference is None else reference.value,
        ours=value,
        tolerance=read_printed(one.paper or one.limit or "").tolerance,
        verdict=verdict(
            value,
            paper=one.paper,
            limit=one.limit,
            reference=reference,
            released=table is not None and table.against == "release",
        ),
        expect=one.expect,
        note=one.note,
    )


def _released(name: str, value: float, reference: Reference, table: Table) -> Row:
    rest = name.removeprefix(f"{table.id}/")
    return Row(
        id=name,
        source=source_of(name),
        table=table.id,
        place=table.place,
        what=rest.replace("/", ", ").replace("_", " "),
        paper=None,
        limit=None,
        released=reference.value,
        ours=value,
        tolerance=reference.tolerance,
        verdict=verdict(value, reference=reference, released=table.against == "release"),
        expect=EXCEPTION if rest in table.departs else table.expect,
        note=table.departs.get(rest, ""),
    )
