"""`equipoise export run`: the last run in the forms in which others read results."""

from pathlib import Path
from typing import Annotated

import typer

from equipoise.core import jsonl, printing
from equipoise.core.completing import completer
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.export.formats import FORMATS, find_format
from equipoise.export.run import read_run

OUT = Path("build/export")
"""Where formats go by default; Git ignores it."""


@completer
def _formats() -> list[str]:
    """Name the formats."""
    return [*FORMATS]


def export_run(
    *,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to", help=f"Format; repeat for several: {', '.join(FORMATS)}.", metavar="FORMAT", autocompletion=_formats
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write into, one subfolder per format.", metavar="FOLDER")] = OUT,
    data: Annotated[Path, typer.Option(help="Folder of the run's rows.", metavar="FOLDER")] = Path("data"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: the bytes of each file.")] = False,
) -> None:
    """Export the last run as tests, results, model cards, checklist, hazard log, data sets, tables or plots.

    A verdict is exported with its words, interval, margin and reason. Fields that the run cannot fill are marked "to be
    completed". Files of an earlier export are replaced; nothing is written if a format fails.
    """
    if not to:
        raise EquipoiseError(f"no format: add --to FORMAT, with one of {', '.join(FORMATS)}")
    chosen = {name: find_format(name) for name in to}
    if out.exists() and not out.is_dir():
        raise EquipoiseError(f"{out}: not a folder: name another with --out")
    contents: dict[Path, bytes] = {}
    with progress("export") as move:
        run = read_run(data, Path())
        for done, (name, form) in enumerate(chosen.items(), 1):
            for file, content in form.files(run).items():
                contents[out / name / file] = content.encode() if isinstance(content, str) else content
            move(done, len(chosen))
    for path, whole in contents.items():
        jsonl.write_bytes(path, whole)
    written = {path: len(whole) for path, whole in contents.items()}
    lines = [f"{path}: {size / 1000:.1f} kB" for path, size in written.items()]
    use = "" if run.intended_use else "intended_use in params.yaml is empty: cards leave the use to the developer"
    printing.report(printing.written(written), *lines, use, as_json=as_json)
