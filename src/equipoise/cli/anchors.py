"""`equipoise anchors`: every published figure that we recompute, beside ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from equipoise.cli.printing import plain_table, print_json, show
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.published import fetch as fetching
from equipoise.published.anchors import compare, unexpected
from equipoise.published.anchors_page import Section, cells, counted, markdown, sections
from equipoise.published.catalogue import FILE, Catalogue, load_catalogue

VARIABLE = "EQUIPOISE_ANCHORS"
NAMED = 5
"""Rows named in the message of a failed check."""


def anchors(
    *,
    md: Annotated[bool, typer.Option("--md", help="Print the Markdown page docs/anchors.md.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list, an object a figure.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every figure, not only those that are printed.")] = False,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch the data of known commit and sha256 into .cache/anchors.")
    ] = False,
    data: Annotated[Path, typer.Option(help=f"Folder of the project's data, with {FILE}.")] = Path("data"),
) -> None:
    """Compare every published figure with ours: paper, released data, ours, verdict.

    The data are in the folder that EQUIPOISE_ANCHORS names, or are fetched. Exit code 1 where a verdict is not the one
    that the catalogue expects.
    """
    catalogue = load_catalogue(data)
    with progress("anchors") as move:
        folder = _fetched(catalogue, move) if fetch else _named()
        compared = compare(folder, data, catalogue, progress=move)
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
        named = ", ".join(f"{row.id} ({row.verdict}, not {row.expect})" for row in failed[:NAMED])
        more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
        message = (
            f"{len(failed)} of {len(compared.rows)} verdicts are not as expected: {named}{more}: find what moved them, "
            f"or correct {data / FILE}"
        )
        raise EquipoiseError(message)


def _named() -> Path:
    """Find the folder of data that the environment names."""
    named = os.environ.get(VARIABLE, "")
    if not named or not Path(named).is_dir():
        message = (
            f"{VARIABLE}={named!r} is not a folder: set it to the published data, or give --fetch for a part of them"
        )
        raise EquipoiseError(message)
    return Path(named)


def _fetched(catalogue: Catalogue, move: Callable[[int, int], object]) -> Path:
    """Fetch what can be, and say of the rest why not."""
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
