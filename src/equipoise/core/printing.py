"""What commands print: JSON for programs, a value a line, and tables for people."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from equipoise.core.display import MINUS, few
from equipoise.core.visible import json_line, line, visible

T = TypeVar("T")
NOT_DEFINED = "-"
INDENT = 2
"""Columns by which the cells below the first are indented where a table is printed as blocks."""
MOST_LINES = 2
"""Lines that the cells of a block may share."""
UNLIMITED = 10_000
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object: the files written, with their row counts.")
]


class PlainConsole(Console):
    """A console for which no text is markup, and which shows what would steer a terminal."""

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401  (as the console has them)
        """Make any string that is printed, or is a title, heading or cell of a table, a text of its own characters."""
        return super().render_str(visible(text), **{**options, "markup": False, "emoji": False, "highlight": False})


def print_json(value: object) -> None:
    """Print a value as one line of JSON; NaN and infinities, which JSON does not have, are refused."""
    typer.echo(json_line(value))


def written(files: Mapping[Path, int], **more: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    """Say what a command wrote: the rows of each file under `written`, and what else there is to say of them."""
    return {"written": {path.as_posix(): rows for path, rows in files.items()}, **more}


def report(value: object, *lines: str, as_json: bool) -> None:
    """Print what a command did: one line of JSON, or lines for people, of which empty ones are left out."""
    if as_json:
        print_json(value)
        return
    for part in filter(None, lines):
        typer.echo(visible(part))


def show(*parts: Table | str) -> None:
    """Print tables and lines for people: lines are not wrapped, and nothing in them is markup."""
    show_on(PlainConsole(), *parts)


def show_on(console: Console, *parts: Table | str) -> None:
    """Print tables and lines on a console.

    A table that it is too narrow for is printed as one block a row. One that expands has a column that gives way, and
    stays a table.
    """
    for part in parts:
        if isinstance(part, str):
            console.print(part, soft_wrap=True)
        elif part.expand or _fits(part, console):
            _print_title(part, console)
            console.print(part)
        else:
            _print_turned(part, console)


def _print_title(table: Table, console: Console) -> None:
    """Print the title of a table, which takes it from there: a narrow table would break it."""
    if table.title and table.title_justify == "left":
        console.print(table.title, style="table.title", soft_wrap=True)
        table.title = None


def _fits(table: Table, console: Console) -> bool:
    """Whether a table keeps its last column, and every word of its cells whole."""
    if Measurement.get(console, console.options.update_width(UNLIMITED), table).minimum > console.width:
        return False
    columns = [
        [console.render_str(str(cell)).plain for cell in (column.header, *column.cells)] for column in table.columns
    ]
    with console.capture() as shown:
        console.print(table)
    return not Counter(" ".join(chain(*columns)).split()) - Counter(shown.get().split())


def _print_turned(table: Table, console: Console) -> None:
    """Print a block for each row: its first cell, and below it the others with their headings, without empty ones."""
    if table.title:
        console.print(table.title)
    headings = [_unbroken(console, column.header) for column in table.columns[1:]]
    for first, *others in zip(*(column.cells for column in table.columns), strict=True):
        cells = zip(headings, (_unbroken(console, other) for other in others), strict=True)
        told = [Text(": ").join(filter(None, (heading, cell))) for heading, cell in cells if cell]
        lines = _filled(told, console.width - INDENT)
        body = Text("\n").join(lines if len(lines) <= MOST_LINES else told)
        console.print(_unbroken(console, first), Padding(body, (0, 0, 0, INDENT)), sep="\n")
    if table.caption:
        console.print(table.caption)


def _filled(parts: Iterable[Text], width: int) -> list[Text]:
    """Put as many parts into each line as it has room for."""
    lines: list[Text] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 2 <= width:
            lines[-1] = Text("; ").join([lines[-1], part])
        else:
            lines.append(part)
    return lines


def _unbroken(console: Console, cell: RenderableType) -> Text:
    """Give a cell as one line."""
    text = cell if isinstance(cell, Text) else console.render_str(str(cell))
    return Text(" ").join(text.split())


def show_each(values: Sequence[T], parts: Callable[[T], Iterable[Table | str]], *, as_json: bool) -> None:
    """Print each value, as JSON or as the tables and lines in which it is laid out."""
    for value in values:
        if as_json:
            print_json(value)
        else:
            show(*parts(value))


def remark(what: str, ids: list[str]) -> str:
    """Describe the rows that a remark concerns, with their number and the first of them; empty where there are none."""
    return f"{len(ids)} {what}: {few([*map(line, ids)])}" if ids else ""


def plain_table(title: str | None, columns: Sequence[str], *, left: int = 1, gap: int = 1) -> Table:
    """Give an empty table without lines, its first `left` columns aligned left, the others right, none broken."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", no_wrap=True)
    return table


def cell(value: float | None, form: str = ".3f", scale: float = 1) -> str:
    """Write a number with a real minus sign; a dash where it is not defined."""
    if value is None:
        return NOT_DEFINED
    text = f"{scale * value:{form}}"
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def with_interval(figures: Mapping[str, Any], measure: str, form: str, scale: float = 1) -> tuple[str, str]:
    """Write a figure and its interval."""
    return cell(figures[measure], form, scale), interval(figures, measure, form, scale)


def interval(figures: Mapping[str, Any], measure: str, form: str, scale: float = 1) -> str:
    """Write the limits of an interval, which are both defined or neither."""
    low, high = (cell(figures[f"{measure}_ci_{end}"], form, scale) for end in ("low", "high"))
    return low if low == high == cell(None) else f"{low} {high}"
