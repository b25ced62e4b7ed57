"""`equipoise import openr1-psy`: the messages of counselling clients that the study asks about."""

from pathlib import Path
from typing import Annotated

import typer

from equipoise.core import jsonl
from equipoise.core.overwriting import Force, require_own, rows_of_kind
from equipoise.core.params import items_named
from equipoise.core.printing import AsJson, remark, report, written
from equipoise.core.progress import progress
from equipoise.studies.openr1 import published as openr1
from equipoise.studies.openr1.rows import LICENCE, SOURCE, OpenR1Item


def import_openr1(
    source: Annotated[
        str,
        typer.Argument(
            help=f"A hub id with its commit ({SOURCE}@…), or a JSON, JSONL or parquet file.",
            metavar="SOURCE",
            show_default=False,
        ),
    ],
    *,
    split: Annotated[str, typer.Option(help="Import the hub's files with this in their name.")] = "test",
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("data/items/openr1.jsonl"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import OpenR1-Psy's items, so that `dvc exp run -S pair.items=openr1` asks them."""
    require_own(out, rows_of_kind(OpenR1Item, openr1.KEY), force=force)
    with progress("import"):
        imported = openr1.read_items(source, split)
        jsonl.write(out, imported.items)
    left_out = {"empty": len(imported.empty), "repeated": len(imported.repeated)}
    report(
        written({out: len(imported.items)}, licence=LICENCE, left_out=left_out),
        f"{out}: {len(imported.items)} items of {SOURCE}; {LICENCE}",
        remark("left out, the message or its reply is empty", imported.empty),
        remark("left out, they have the message of an earlier row", imported.repeated),
        f"run them with: dvc exp run {items_named(out, 'pair.items')}",
        as_json=as_json,
    )
