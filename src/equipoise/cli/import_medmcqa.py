"""`equipoise import medmcqa`: MedMCQA's questions with their diseases, ready for the stage `sample`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.printing import AsJson, few, print_json, written
from equipoise.core import records
from equipoise.core.progress import progress
from equipoise.exam import diseases
from equipoise.published import medmcqa

if TYPE_CHECKING:
    from equipoise.questions.rows import Disease


def import_medmcqa(
    sources: Annotated[
        list[str],
        typer.Argument(
            help=f"A hub id with its commit ({medmcqa.HUB_ID}@…), or parquet, CSV or JSONL files.",
            metavar="SOURCE…",
            show_default=False,
        ),
    ],
    *,
    mapping: Annotated[Path, typer.Option(help="Which disease each topic is about.")] = diseases.FILE,
    out: Annotated[Path, typer.Option(help="Where the items are written.")] = Path("data/items/medmcqa.jsonl"),
    as_json: AsJson = False,
) -> None:
    """Import MedMCQA's questions, so that `-S sample.items=medmcqa` asks the cities' subsets of them."""
    with progress("import"):
        imported = medmcqa.import_items(sources, diseases.load_diseases(mapping))
        records.write(out, imported.items)
    counts = Counter(item.disease for item in imported.items)
    if as_json:
        print_json(_json(out, imported, counts))
        return
    found = ", ".join(f"{disease} {n}" for disease, n in counts.most_common() if disease is not None)
    typer.echo(f"{out}: {len(imported.items)} items; {found or 'no disease'}; {counts[None]} about none of these")
    for what, ids in (
        ("left out, their answer is withheld", imported.withheld),
        ("left out, the question or an option is empty", imported.empty),
        ("rows repeat a question, kept once", imported.repeated),
        ("have the text and options of an earlier question, kept", imported.same_text),
    ):
        if ids:
            typer.echo(f"{len(ids)} {what}: {few(ids)}")
    typer.echo(f"run them with: dvc exp run -S sample.items={out.stem}")


def _json(out: Path, imported: medmcqa.Imported, counts: Counter[Disease | None]) -> dict[str, Any]:
    left_out = {"withheld": len(imported.withheld), "empty": len(imported.empty), "repeated": len(imported.repeated)}
    found = {disease: n for disease, n in counts.most_common() if disease is not None}
    return written(
        {out: len(imported.items)},
        diseases=found,
        without_disease=counts[None],
        left_out=left_out,
        same_text=len(imported.same_text),
    )
