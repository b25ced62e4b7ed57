"""The comparison as text: cells, and a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from equipoise.published.anchors import Compared, Row
from equipoise.published.catalogue import Catalogue, read_printed

NONE = "-"
SMALL = 1e-3
"""Below this a figure is written as a power of ten."""
PAGE = """\
# The published figures, recomputed

`equipoise anchors --md` writes this page, from the published data (in the folder that EQUIPOISE_ANCHORS names, or
fetched with `--fetch`) and the printed figures in `data/anchors.yaml`; it fails where a verdict is not as expected.

- **reproduced**: ours rounds to the paper's figure as it is printed, or is the released one within its rounding.
- **departs**: it does not.
- **not printed**: there is no printed figure to compare with. Compared is a second count of the released data, made
  apart from this project, or a bound that was set.

"Released data" is what others have for the same data: the authors' released score, else the second count.
`equipoise anchors --all` shows the figures that a line of a table summarises.
"""
LEGENDS = {"release": "released", "recount": "second count"}
FIGURES = ("figure", "place", "paper", "released data", "ours", "verdict", "note")
TABLES = ("figures", "place", "compared with", "n", "agree", "verdict")


class Section(NamedTuple):
    """What one source has: rows shown one by one, and tables of which a line says how many figures agree."""

    title: str
    rows: tuple[Row, ...]
    tables: tuple[tuple[str, ...], ...]


def sections(compared: Compared, catalogue: Catalogue, *, every: bool = False) -> list[Section]:
    """Divide the rows by source, in the catalogue's order.

    Shown one by one are printed figures, bounds and figures without the verdict of their table; with `every`, all rows.
    """
    tables = {one.id: one for one in catalogue.tables}
    found: list[Section] = []
    for name, source in catalogue.sources.items():
        rows = [row for row in compared.rows if row.source == name]
        shown = [
            row
            for row in rows
            if every or row.table not in tables or row.verdict != tables[row.table].expect or not row.as_expected
        ]
        lines: list[tuple[str, ...]] = []
        for table in () if every else catalogue.tables:
            under = [row for row in rows if row.table == table.id]
            agreeing = sum(row.verdict == table.expect for row in under)
            if under:
                cells = (table.what, table.place, LEGENDS[table.against], str(len(under)), str(agreeing))
                lines.append((*cells, table.expect if agreeing else "departs"))
        if rows:
            found.append(Section(source.title, tuple(shown), tuple(lines)))
    return found


def cells(row: Row) -> tuple[str, ...]:
    """Write a row under FIGURES."""
    percent = row.paper is not None and read_printed(row.paper).percent
    return (
        row.what,
        row.place,
        row.paper or NONE,
        NONE if row.released is None else number(row.released, percent=percent),
        number(row.ours, percent=percent),
        row.verdict,
        remark(row),
    )


def remark(row: Row) -> str:
    """Say how a figure departs, which bound was set for it, and what was expected instead of its verdict."""
    asked = "" if row.limit is None else f"asked: {row.limit}"
    other = "" if row.as_expected else f"expected: {row.expect}"
    return "; ".join(filter(None, (asked, row.note, other)))


def number(value: float, *, percent: bool = False) -> str:
    """Write a count whole, a share as it is or in per cent, and what is small as a power of ten."""
    if isinstance(value, int):
        return f"{value:,}"
    if percent:
        return f"{100 * value:.2f} %"
    return f"{value:.1e}" if 0 < abs(value) < SMALL else f"{value:.4g}"


def counted(rows: Sequence[Row]) -> str:
    """Say how many figures have which verdict."""
    verdicts = [row.verdict for row in rows]
    counts = ", ".join(f"{verdicts.count(one)} {one}" for one in ("reproduced", "departs", "not printed"))
    return f"{len(rows)} figures: {counts}"


def markdown(compared: Compared, catalogue: Catalogue, *, every: bool = False) -> str:
    """Lay the comparison out as a Markdown page."""
    parts = [PAGE, f"{counted(compared.rows)}.\n"]
    for section in sections(compared, catalogue, every=every):
        parts.append(f"## {section.title}\n")
        if section.rows:
            lines = (
                (*one[:5], f"**{one[5]}**" if one[5] == "departs" else one[5], one[6])
                for one in map(cells, section.rows)
            )
            parts.append(_table(FIGURES, "llrrrll", lines))
        if section.tables:
            parts.append(_table(TABLES, "lllrrl", section.tables))
    if notes := _notes(catalogue, {row.table for row in compared.rows}):
        parts.append("## Notes\n")
        parts.append("".join(f"- {', '.join(places)}: {note}.\n" for note, places in notes.items()))
    if compared.missing:
        parts.append("## Not compared\n")
        parts.append(
            "".join(
                f"- {catalogue.sources[name].title}: {path} is missing.\n" for name, path in compared.missing.items()
            )
        )
    return "\n".join(parts)


def _notes(catalogue: Catalogue, shown: set[str]) -> dict[str, list[str]]:
    """Give the notes on tables, each with the places that it is about."""
    notes: dict[str, list[str]] = {}
    for table in catalogue.tables:
        if table.note and table.id in shown:
            notes.setdefault(table.note, []).append(table.place)
    return notes


def _table(columns: Sequence[str], aligned: str, rows: Iterable[Sequence[str]]) -> str:
    rule = ["---:" if side == "r" else "---" for side in aligned]
    return "".join(f"| {' | '.join(map(_escaped, row))} |\n" for row in (columns, rule, *rows))


def _escaped(text: str) -> str:
    return text.replace("|", r"\|").replace("<", r"\<")
