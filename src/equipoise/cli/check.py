"""`equipoise check`: whether everything that people write is valid, before any stage runs."""

from typing import Annotated

import typer

from equipoise.api.checks import checked, unedited
from equipoise.core import printing
from equipoise.core.progress import progress


def check(
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: what was checked, and notes.")
    ] = False,
) -> None:
    """Check settings, models, cases, questions, cities, words and sentences without running anything.

    The first fault is one line that names the file, the row and the fix; the exit code is then 1. Notes list what is
    left to edit.
    """
    with progress("check") as move:
        valid = checked(move)
    notes = list(unedited())
    if as_json:
        printing.print_json({"checked": [part._asdict() for part in valid], "notes": notes})
        return
    table = printing.plain_table(None, ("valid", "in", "n"), left=2, gap=2)
    for part in valid:
        table.add_row(part.what, part.where, str(part.n))
    printing.show(table, *(f"note: {note}" for note in notes))
