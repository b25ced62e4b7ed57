"""`equipoise import inspect`, `lm-eval` and `csv`: logs of any evaluation, as a model whose outputs are measured."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from equipoise.core.overwriting import Force
from equipoise.core.printing import AsJson
from equipoise.core.progress import progress
from equipoise.studies.cases import logs
from equipoise.studies.cases.replays import replay_files, report_replay, write_replay

Name = Annotated[str, typer.Option(help="Name for the model in the registry, used as -S model=NAME.")]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help=f"Path of a field within a sample, such as metadata.case. Fields: {', '.join(logs.FIELDS)}.",
        metavar="FIELD=PATH",
        show_default=False,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Value of a field, the same in all samples.", metavar="FIELD=VALUE", show_default=False),
]
Privileged = Annotated[
    list[str] | None,
    typer.Option(
        help="A value of the role (or feature) that marks the privileged patient of a pair; all others are "
        "marginalised.",
        metavar="VALUE",
        show_default=False,
    ),
]
Marginalised = Annotated[
    list[str] | None,
    typer.Option(
        help="A value that marks the marginalised patient; samples of other groups are then left out.",
        metavar="VALUE",
        show_default=False,
    ),
]
Unpaired = Annotated[bool, typer.Option("--unpaired", help="Treat samples as single cases, not as arms of pairs.")]
Title = Annotated[str | None, typer.Option(help="Title of the model.", show_default="the log's own, or --name")]
Licence = Annotated[str, typer.Option(help="Licence of the outputs.")]


def import_inspect(  # noqa: PLR0913  (a command's options)
    log: Annotated[Path, typer.Argument(help="A log written by `inspect eval`.", metavar="LOG", show_default=False)],
    *,
    name: Name,
    epoch: Annotated[int, typer.Option(help="Epoch from which to take samples.", min=1)] = 1,
    mapped: Map = None,
    given: Set = None,
    privileged: Privileged = None,
    marginalised: Marginalised = None,
    unpaired: Unpaired = False,
    title: Title = None,
    licence: Licence = "not stated",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import a log of Inspect as a model, so that `dvc exp run -S model=NAME` measures its outputs as pairs.

    Logs of our own task, `inspect eval equipoise/vignettes`, need no --map. Requires the extra `equipoise[inspect]`.
    """
    mapping = logs.columns(mapped or (), given or (), privileged or (), marginalised or (), paired=not unpaired)
    _import(lambda: logs.read_inspect(log, epoch), mapping, name, title, licence, force=force, as_json=as_json)


def import_lm_eval(  # noqa: PLR0913  (a command's options)
    samples: Annotated[
        list[Path],
        typer.Argument(help="Files written by `lm_eval --log_samples`.", metavar="SAMPLES…", show_default=False),
    ],
    *,
    name: Name,
    mapped: Map = None,
    given: Set = None,
    privileged: Privileged = None,
    marginalised: Marginalised = None,
    unpaired: Unpaired = False,
    title: Title = None,
    licence: Licence = "not stated",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import samples of lm-evaluation-harness as a model, so that its outputs are measured as pairs."""
    mapping = logs.columns(mapped or (), given or (), privileged or (), marginalised or (), paired=not unpaired)
    _import(lambda: logs.read_lm_eval(samples), mapping, name, title, licence, force=force, as_json=as_json)


def import_csv(  # noqa: PLR0913  (a command's options)
    file: Annotated[
        Path, typer.Argument(help="A table (CSV, JSONL, parquet or Excel), one sample a row.", show_default=False)
    ],
    *,
    name: Name,
    mapped: Map = None,
    given: Set = None,
    privileged: Privileged = None,
    marginalised: Marginalised = None,
    unpaired: Unpaired = False,
    title: Title = None,
    licence: Licence = "not stated",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import a table of any evaluation's samples as a model, so that its outputs are measured as pairs."""
    mapping = logs.columns(mapped or (), given or (), privileged or (), marginalised or (), paired=not unpaired)
    _import(lambda: logs.read_table(file), mapping, name, title, licence, force=force, as_json=as_json)


def _import(
    read: Callable[[], logs.Log],
    mapping: logs.Columns,
    name: str,
    title: str | None,
    licence: str,
    *,
    force: bool,
    as_json: bool,
) -> None:
    files = replay_files(name, force=force)
    with progress("import"):
        log = read()
        cases, outputs = logs.import_samples(log, mapping)
        write_replay(files, cases, outputs, title=title or outputs[0].model or name, licence=licence)
    report_replay(files, cases, outputs, *logs.remarks_on(log, cases, outputs), as_json=as_json)
