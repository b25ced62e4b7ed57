"""`equipoise anchors`: every published figure that we recompute, beside ours."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.table import Table

from equipoise.api.anchors import all_anchors
from equipoise.core.display import first_of
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import grouped
from equipoise.core.printing import NOT_DEFINED, plain_table, print_json, show
from equipoise.core.progress import progress
from equipoise.core.shipped import shipped
from equipoise.published import fetch as fetching
from equipoise.published.anchors import Compared, Row, compare, unexpected
from equipoise.published.catalogue import FILE, Catalogue, load_catalogue, read_printed

VARIABLE = "EQUIPOISE_ANCHORS"
SMALL = 1e-3
"""Below this a figure is written as a power of ten."""
PAGE = """\
# The published figures, recomputed

Every published figure that Equipoise recomputes, beside ours. `equipoise anchors --md` writes this page from the
published data (in the folder that EQUIPOISE_ANCHORS names, or fetched with `--fetch`) and the printed figures in
`data/anchors.yaml`; it fails where a verdict is not as expected. [`anchors.jsonl`](../benchmarks/anchors.jsonl) has
each printed figure with ours, and each table with its number of figures; `equipoise anchors --all` shows every figure.
"""
DEPARTING = """\
## What departs

Each of these figures of ours differs, by more than rounding, from what the paper prints and from what the authors
released.
"""
AGREEING = """\
## How many agree

Printed figures agree if ours round to them, released ones if ours are equal within their rounding. Where no figure is
printed, ours are compared with a *second count* of the released data, made independently of this project. Where there
is nothing to compare with, ours must keep to a *bound*.
"""
LEGENDS = {"release": "released", "recount": "second count"}
FIGURES = ("figure", "place", "paper", "released data", "ours", "verdict", "note")
TABLES = ("figures", "place", "compared with", "n", "agree", "verdict")


class Section(NamedTuple):
    """What a source has: rows shown one by one, and tables, each with a line that says how many figures agree."""

    title: str
    rows: tuple[Row, ...]
    tables: tuple[tuple[str, ...], ...]


def anchors(
    *,
    md: Annotated[bool, typer.Option("--md", help="Print the Markdown page docs/anchors.md.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list with one object per figure.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Show every figure, not only those that a paper prints.")
    ] = False,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download the data with a pinned commit and sha256 into .cache/anchors.")
    ] = False,
    data: Annotated[Path, typer.Option(help=f"Folder of the project's data, with {FILE}.")] = Path("data"),
) -> None:
    """Compare every published figure with ours: paper, released data, ours, verdict.

    The data are read from the folder that EQUIPOISE_ANCHORS names, or downloaded with --fetch. The exit code is 1 if a
    verdict differs from the one that the catalogue expects.
    """
    data = shipped(data / FILE).parent
    catalogue = load_catalogue(data)
    with progress("anchors") as move:
        folder = _fetched(catalogue, move) if fetch else _named()
        compared = compare(folder, data, catalogue, all_anchors(), progress=move)
    if as_json:
        print_json([asdict(row) for row in compared.rows])
    elif md:
        typer.echo(markdown(compared, catalogue, every=every), nl=False)
    else:
        for section in sections(compared, catalogue, every=every):
            for table in _tables(section):
                show(table, "")
        show(counted(compared.rows))
    for name, path in compared.missing.items():
        typer.echo(f"not compared: {name}: {path} is not in {folder}", err=True)
    if failed := unexpected(compared.rows):
        named = first_of([f"{row.id} ({row.verdict}, not {row.expect})" for row in failed], 5)
        raise EquipoiseError(
            f"{len(failed)} of {len(compared.rows)} verdicts are not as expected: {named}: find what moved them, "
            f"or correct {data / FILE}"
        )


def _named() -> Path:
    """Find the folder of data that the environment names."""
    named = os.environ.get(VARIABLE, "")
    if not named or not Path(named).is_dir():
        raise EquipoiseError(
            f"{VARIABLE}={named!r} is not a folder: set it to the folder of the published data, or add --fetch to "
            "download the part that can be fetched"
        )
    return Path(named)


def _fetched(catalogue: Catalogue, move: Callable[[int, int], object]) -> Path:
    """Fetch what can be fetched, and say why the rest cannot."""
    for name, why in fetching.unfetchable(catalogue).items():
        typer.echo(f"not fetched: {name}: {why}", err=True)
    return fetching.fetch(catalogue, progress=move)


def _tables(section: Section) -> Iterator[Table]:
    """Lay out one source: figures one by one, then tables of figures by the line."""
    title: str | None = section.title
    if section.rows:
        table = _table(title, "figure", ("paper", "released", "ours"), ("verdict",))
        for row in section.rows:
            what, _, *rest, note = cells(row)
            table.add_row(f"{what}: {note}" if note else what, *rest)
        yield table
        title = None
    if section.tables:
        table = _table(title, "figures", ("n", "agree"), ("with", "verdict"))
        for what, _, against, n, agree, verdict in section.tables:
            table.add_row(what, n, agree, against, verdict)
        yield table


def _table(title: str | None, wrapped: str, numbers: tuple[str, ...], words: tuple[str, ...]) -> Table:
    """Give an empty table whose first column alone is wrapped, so that no terminal cuts the others."""
    table = plain_table(title, (wrapped, *numbers, *words))
    table.columns[0].no_wrap = False
    for column in table.columns[1 + len(numbers) :]:
        column.justify = "left"
    return table


def sections(compared: Compared, catalogue: Catalogue, *, every: bool = False) -> list[Section]:
    """Divide the rows by source, in the catalogue's order.

    Shown one by one are printed figures, bounds and figures without the verdict of their table; with `every`, all rows.
    """
    tables = {entry.id: entry for entry in catalogue.tables}
    sections: list[Section] = []
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
            sections.append(Section(source.title, tuple(shown), tuple(lines)))
    return sections


def cells(row: Row) -> tuple[str, ...]:
    """Write a row under FIGURES."""
    percent = row.paper is not None and read_printed(row.paper).percent
    return (
        row.what,
        row.place,
        row.paper or NOT_DEFINED,
        NOT_DEFINED if row.released is None else number(row.released, percent=percent),
        number(row.ours, percent=percent),
        row.verdict,
        remark(row),
    )


def remark(row: Row) -> str:
    """Say how a figure departs, which bound was set for it, and what was expected instead of its verdict."""
    limit = "" if row.limit is None else f"bound: {row.limit}"
    other = "" if row.as_expected else f"expected: {row.expect}"
    return "; ".join(filter(None, (limit, row.note, other)))


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
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("reproduced", "departs", "not printed"))
    return f"{len(rows)} figures: {counts}"


def markdown(compared: Compared, catalogue: Catalogue, *, every: bool = False) -> str:
    """Lay the comparison out as a Markdown page: what departs, and how many figures agree; or all rows besides."""
    titles = {name: source.title for name, source in catalogue.sources.items()}
    departing = [row for row in compared.rows if row.verdict == "departs" or not row.as_expected]
    parts = [PAGE, f"{counted(compared.rows)}.\n", DEPARTING]
    lines = ((titles[row.source].partition(" (")[0], *cells(row)[:5], remark(row)) for row in departing)
    parts.append(_markdown_table(("source", *FIGURES[:5], FIGURES[6]), "lllrrrl", lines) if departing else "None.\n")
    parts += [AGREEING, "".join(f"{line}\n" for line in _agreements(compared.rows, catalogue))]
    if every:
        lines = ((titles[row.source], *cells(row)) for row in compared.rows)
        parts += ["## Every figure\n", _markdown_table(("source", *FIGURES), "lllrrrll", lines)]
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


def _agreements(rows: Sequence[Row], catalogue: Catalogue) -> Iterator[str]:
    """List, by source, how many figures agree in each place, and the bounds.

    Tables that differ in the run alone ("naive: accuracy by arm") are one item.
    """
    tables = {entry.id: entry for entry in catalogue.tables}
    for name, source in catalogue.sources.items():
        items: dict[str, dict[str, list[bool]]] = {}
        bounds = []
        for row in (row for row in rows if row.source == name):
            if row.limit is not None:
                bounds.append(f"  - {_escaped(f'{row.what}: {number(row.ours)} ({remark(row)})')}")
                continue
            table = tables.get(row.table)
            # Without the run that the table belongs to.
            shown = "" if table is None else table.what.partition(": ")[2] or table.what
            what = "printed" if table is None else f"{shown}, {LEGENDS[table.against]}"
            agree = row.verdict != "departs" and row.as_expected
            items.setdefault(what, {}).setdefault(row.place, []).append(agree)
        if items or bounds:
            yield f"- **{source.title}**"
        for what, places in items.items():
            counts = ", ".join(f"{sum(agree)} of {len(agree)} ({place})" for place, agree in places.items())
            yield f"  - {what}: {counts}"
        yield from bounds


def _notes(catalogue: Catalogue, shown: set[str]) -> dict[str, list[str]]:
    """Give the notes on tables, each with the places that it is about."""
    return grouped((table.note, table.place) for table in catalogue.tables if table.note and table.id in shown)


def _markdown_table(columns: Sequence[str], aligned: str, rows: Iterable[Sequence[str]]) -> str:
    rule = ["---:" if side == "r" else "---" for side in aligned]
    return "".join(f"| {' | '.join(map(_escaped, row))} |\n" for row in (columns, rule, *rows))


def _escaped(text: str) -> str:
    return text.replace("|", r"\|").replace("<", r"\<")
