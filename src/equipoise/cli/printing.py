"""What commands print: JSON for programs, a value a line and nothing beside it, and tables for people."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

NOT_DEFINED = "-"
SHOWN = 3
"""Ids that a line names before it leaves out the rest."""
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object: the files written, with their rows.")]


def print_json(value: object) -> None:
    """Print a value as one line of JSON; NaN and infinities, which JSON does not have, are refused."""
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


def written(files: Mapping[Path, int], **more: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    """Say what a command wrote: the rows of each file under `written`, and what else there is to say of them."""
    return {"written": {path.as_posix(): rows for path, rows in files.items()}, **more}


def report(value: object, *lines: str, as_json: bool) -> None:
    """Print what a command did: one line of JSON, or lines for people, of which empty ones are left out."""
    if as_json:
        print_json(value)
        return
    for line in filter(None, lines):
        typer.echo(line)


def show(*parts: Table | str) -> None:
    """Print tables and lines for people: lines are not wrapped, and nothing in them is markup."""
    from rich.console import Console

    console = Console()
    for part in parts:
        if isinstance(part, str):
            console.print(part, soft_wrap=True, markup=False, highlight=False)
        else:
            console.print(part)


def few(ids: list[str]) -> str:
    """Name the first ids of a list."""
    return f"{', '.join(ids[:SHOWN])}{' …' if ids[SHOWN:] else ''}"


def plain_table(title: str | None, columns: Sequence[str], *, left: int = 1, gap: int = 1) -> Table:
    """Give an empty table without lines, its first `left` columns aligned left, the others right, none broken."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", no_wrap=True)
    return table


def cell(value: float | None, form: str = ".3f", scale: float = 1) -> str:
    """Write a number; a dash where it is not defined."""
    return NOT_DEFINED if value is None else f"{scale * value:{form}}"
