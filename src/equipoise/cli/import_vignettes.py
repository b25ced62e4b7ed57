"""`equipoise import vignettes` and `equipoise export vignettes`: cases in the interchange format of seed 2."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cases import rows as cases
from equipoise.cli.printing import AsJson, print_json, written
from equipoise.core import records
from equipoise.core.errors import EquipoiseError

FOLDER = Path("data/cases")


def import_vignettes(
    file: Annotated[
        Path,
        typer.Argument(
            help='{"cases": [{"prompt": …, "bias_feature": …, "bias_label": …}]}', metavar="FILE", show_default=False
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where the rows are written.", show_default="data/cases/<stem>.jsonl")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Import published cases, so that `equipoise score silent` can score outputs against them."""
    rows = cases.read_cases(file)
    path = out or FOLDER / f"{file.stem}.jsonl"
    records.write(path, rows)
    marginalised = sum(row.role == "marginalised" for row in rows)
    if as_json:
        print_json(written({path: len(rows)}, marginalised=marginalised))
        return
    typer.echo(
        f"{path}: {len(rows)} cases, {marginalised} of them of marginalised patients. Each has one arm, so that paired "
        f"figures do not apply; score outputs with: equipoise score silent OUTPUTS --cases {path}"
    )


def export_vignettes(
    out: Annotated[Path, typer.Argument(help="The file to write (JSON).", metavar="OUT", show_default=False)],
    vignettes: Annotated[Path, typer.Option(help="Our vignettes, as the stage build writes them.")] = Path(
        "data/vignettes.jsonl"
    ),
    *,
    as_json: AsJson = False,
) -> None:
    """Write our vignettes as cases of the interchange format, an arm a case."""
    if out.suffix != ".json":
        message = f"{out}: the interchange format is one JSON object: name a file that ends in .json"
        raise EquipoiseError(message)
    value = cases.published(records.read(vignettes, records.Vignette))
    records.write_json(out, value)
    if as_json:
        print_json(written({out: len(value["cases"])}))
        return
    typer.echo(f"{out}: {len(value['cases'])} cases from {vignettes}")
