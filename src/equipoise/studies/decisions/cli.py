"""`equipoise import bench`: published emergency cases, for the study `decisions`."""

from pathlib import Path
from typing import Annotated

import typer

from equipoise.core import jsonl
from equipoise.core.overwriting import Force, require_own, rows_of_kind
from equipoise.core.params import items_named
from equipoise.core.printing import AsJson, remark, report, written
from equipoise.core.progress import progress
from equipoise.core.shipped import shipped
from equipoise.studies.decisions import bench
from equipoise.studies.vignettes.panel import Story, load_panel


def import_bench(
    sources: Annotated[
        list[str],
        typer.Argument(
            help=f"A hub id with its commit ({bench.SOURCE}@…), or JSON, JSONL, CSV or parquet files.",
            metavar="SOURCE…",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("data/items/bench.jsonl"),
    field: Annotated[
        str | None, typer.Option(help="Name of the column with the text.", show_default="the one that has {patient}")
    ] = None,
    raw: Annotated[Path, typer.Option(help="Folder of panel.yaml, which lists the patient groups.")] = Path("data/raw"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import emergency cases with a slot for the patient: a control patient, or one of each group of the panel."""
    require_own(out, rows_of_kind(Story, bench.KEY), force=force)
    panel = load_panel(shipped(raw))
    with progress("import"):
        imported = bench.read_stories(sources, field)
        prompts = len(imported.stories) * len(panel)
        jsonl.write(out, imported.stories)
    n, each = len(imported.stories), len(panel)
    expected = bench.CASES * bench.VERSIONS
    published = f"as published, {bench.CASES} x {bench.VERSIONS} = {expected:,}"
    report(
        written({out: n}, tellings=each, prompts=prompts, published=prompts == expected),
        f"{out}: {n} cases x {each} versions (a control and {each - 1} groups) = {prompts:,} prompts",
        "" if (n, each) == (bench.CASES, bench.VERSIONS) else f"another number than {published}",
        remark("state a gender outside the slot, whatever the patient group; kept", imported.gendered),
        "ask for decisions about them with: dvc exp run -S 'studies=[decisions]' -S build.design=panel "
        f"{items_named(out, 'build.cases')}",
        as_json=as_json,
    )
