"""`equipoise import outputs` and `import vignettes`: saved outputs as a model, and published cases."""

from pathlib import Path
from typing import Annotated

import typer

from equipoise.core import jsonl
from equipoise.core.overwriting import Force, require_own, rows_of_kind
from equipoise.core.printing import AsJson, report, written
from equipoise.materials.vignette import ROLES
from equipoise.studies.cases.replays import CASES, replay_files, report_replay, write_replay
from equipoise.studies.cases.rows import (
    Case,
    arms_of,
    read_cases,
    read_outputs,
    require_cases,
    require_one_each,
    require_words,
)


def import_outputs(
    file: Annotated[
        Path, typer.Argument(help="Saved outputs of one model (JSONL).", metavar="OUTPUTS", show_default=False)
    ],
    *,
    name: Annotated[str, typer.Option(help="Name for the model in the registry, used as -S model=NAME.")],
    cases: Annotated[Path, typer.Option(help="The cases that were asked: published JSON, or imported JSONL.")],
    title: Annotated[str | None, typer.Option(help="Title of the model.", show_default="the outputs' own")] = None,
    licence: Annotated[str, typer.Option(help="Licence of the outputs.")] = "not stated",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import saved outputs as a model, so that `dvc exp run -S model=NAME` measures it without its weights."""
    files = replay_files(name, force=force)
    rows = read_cases(cases)
    outputs = read_outputs(file)
    require_cases(str(file), outputs, {row.key: row for row in rows}, cases)
    require_words(str(file), outputs, {row.key: row for row in rows})
    require_one_each(str(file), outputs)
    model = title or next((output.model for output in outputs if output.model), name)
    write_replay(files, rows, outputs, title=model, licence=licence)
    report_replay(files, rows, outputs, as_json=as_json)


def import_vignettes(
    file: Annotated[
        Path,
        typer.Argument(
            help='{"cases": [{"prompt": …, "bias_feature": …, "bias_label": …}]}', metavar="FILE", show_default=False
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="File to write.", show_default="data/cases/<stem>.jsonl")] = None,
    *,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import published cases, so that `equipoise score silent` can score outputs against them."""
    path = out or CASES / f"{file.stem}.jsonl"
    require_own(path, rows_of_kind(Case), force=force)
    rows = read_cases(file)
    jsonl.write(path, rows)
    marginalised = sum(row.role == "marginalised" for row in rows)
    pairs = sum(len(arms) == len(ROLES) for arms in arms_of(str(file), rows).values())
    paired = f"{pairs} pairs" if pairs else "Each has one arm, so that paired figures do not apply"
    line = (
        f"{path}: {len(rows)} cases, {marginalised} of them of marginalised patients. {paired}; score outputs with: "
        f"equipoise score silent OUTPUTS --cases {path}"
    )
    report(written({path: len(rows)}, marginalised=marginalised, pairs=pairs), line, as_json=as_json)
