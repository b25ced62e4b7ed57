"""`equipoise parse`: the letters that responses to multiple-choice questions give."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli.printing import print_json
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.core.tables import json_rows
from equipoise.text.letters import LetterReading, read_letter


def parse(
    file: Annotated[
        Path, typer.Argument(help="JSONL of {options: {A: …}, response}.", metavar="FILE", show_default=False)
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row, in order.")] = False,
) -> None:
    """Read the letter that each response gives; null where it gives none."""
    rows = list(json_rows(file))
    readings = []
    with progress("parse") as move:
        for number, row in rows:
            readings.append(_read(row, f"{file}, row {number}"))
            move(len(readings), len(rows))
    if as_json:
        for reading in readings:
            print_json(reading._asdict())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{file}: {len(readings)} responses", title_justify="left")
    for name in ("rule", "responses", "letters"):
        table.add_column(name, justify="right" if name == "responses" else "left")
    for rule, count in Counter(reading.rule for reading in readings).most_common():
        letters = Counter(reading.letter for reading in readings if reading.rule == rule and reading.letter)
        table.add_row(rule, str(count), ", ".join(f"{letter} {times}" for letter, times in sorted(letters.items())))
    Console().print(table)


def _read(row: dict[str, Any], where: str) -> LetterReading:
    options, response = row.get("options"), row.get("response")
    if not isinstance(options, dict) or not options:
        message = f"{where}: field options: an object of letters and texts is needed, such as {{'A': …, 'B': …}}"
        raise EquipoiseError(message)
    if "response" not in row or not isinstance(response, str | None):
        message = f"{where}: field response: a text is needed, or null where the model gave none"
        raise EquipoiseError(message)
    return read_letter(response or "", {str(letter): str(words) for letter, words in options.items()})
