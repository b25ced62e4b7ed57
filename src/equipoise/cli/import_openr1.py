"""`equipoise import openr1-psy`: OpenR1-Psy's items, ready for `-S pair.items=openr1`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.printing import AsJson, few, print_json, written
from equipoise.core import records
from equipoise.core.progress import progress
from equipoise.openr1.rows import LICENCE, SOURCE
from equipoise.published import openr1 as reading


def import_openr1(
    source: Annotated[
        str,
        typer.Argument(
            help=f"{SOURCE}@COMMIT of the hub, or a JSON, JSONL or parquet file.", metavar="SOURCE", show_default=False
        ),
    ],
    *,
    split: Annotated[str, typer.Option(help="Which files of the hub are taken: those with this in their name.")] = (
        "test"
    ),
    out: Annotated[Path, typer.Option(help="Where the items are written.")] = Path("data/items/openr1.jsonl"),
    as_json: AsJson = False,
) -> None:
    """Import OpenR1-Psy's items, so that `dvc exp run -S pair.items=openr1` runs the track openr1."""
    with progress("import"):
        imported = reading.read_items(source, split)
        records.write(out, imported.items)
    if as_json:
        left_out = {"empty": len(imported.empty), "repeated": len(imported.repeated)}
        print_json(written({out: len(imported.items)}, licence=LICENCE, left_out=left_out))
        return
    typer.echo(f"{out}: {len(imported.items)} items of {SOURCE}; {LICENCE}")
    for what, ids in (
        ("left out, the message or its reply is empty", imported.empty),
        ("left out, they have the message of an earlier row", imported.repeated),
    ):
        if ids:
            typer.echo(f"{len(ids)} {what}: {few(ids)}")
    typer.echo(f"run them with: dvc exp run -S pair.items={out.stem}")
