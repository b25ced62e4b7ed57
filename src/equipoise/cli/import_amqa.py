"""`equipoise import amqa`: AMQA's items, ready for `-S items=amqa`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.printing import AsJson, print_json, written
from equipoise.core import records
from equipoise.core.progress import progress
from equipoise.published import amqa


def import_amqa(
    source: Annotated[str, typer.Argument(help="A hub id with its commit (Showing-KCL/AMQA@…), or a file.")],
    out: Annotated[Path, typer.Option(help="Where the items are written.")] = Path("data/items/amqa.jsonl"),
    *,
    as_json: AsJson = False,
) -> None:
    """Import AMQA's items, so that `dvc exp run -S items=amqa` asks them."""
    with progress("import"):
        items = amqa.read_items(source)
        records.write(out, items)
    if as_json:
        print_json(written({out: len(items)}))
        return
    typer.echo(f"{out}: {len(items)} items; run them with: dvc exp run -S items={out.stem}")
