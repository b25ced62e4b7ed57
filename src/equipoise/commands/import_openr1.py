"""`equipoise import openr1-psy`: OpenR1-Psy's items, ready for `-S pair.items=openr1`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise import records
from equipoise.openr1 import reading
from equipoise.openr1.rows import LICENCE, SOURCE

SHOWN = 3


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
) -> None:
    """Import OpenR1-Psy's items, so that `dvc exp run -S pair.items=openr1` runs the track openr1."""
    imported = reading.read_items(source, split)
    records.write(out, imported.items)
    typer.echo(f"{out}: {len(imported.items)} items of {SOURCE}; {LICENCE}")
    for what, ids in (
        ("left out, the message or its reply is empty", imported.empty),
        ("left out, they have the message of an earlier row", imported.repeated),
    ):
        if ids:
            typer.echo(f"{len(ids)} {what}: {', '.join(ids[:SHOWN])}{' …' if ids[SHOWN:] else ''}")
    typer.echo(f"run them with: dvc exp run -S pair.items={out.stem}")
