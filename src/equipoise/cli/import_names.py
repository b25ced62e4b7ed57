"""`equipoise import names`: the lists of first names that the stigma study can match beside its short lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli.printing import AsJson, print_json, written
from equipoise.core.progress import progress
from equipoise.published.fetch import fetch_names, load_names
from equipoise.stigma.library import load_library

if TYPE_CHECKING:
    from equipoise.stigma.library import Gender


def import_names(
    *,
    women: Annotated[Path | None, typer.Option(help="A local file of women's names, in place of the net.")] = None,
    men: Annotated[Path | None, typer.Option(help="A local file of men's names, in place of the net.")] = None,
    library: Annotated[Path, typer.Option(help="Folder of the study's files.")] = Path("data/stigma"),
    as_json: AsJson = False,
) -> None:
    """Import the lists of first names into .cache, from the net or from local files, checked by their sha256."""
    given: dict[Gender, Path | None] = {"female": women, "male": men}
    lists = load_library(library).words.names
    with progress("import"):
        fetched = fetch_names(lists, {gender: path for gender, path in given.items() if path is not None})
    counts = {fetched[gender]: len(names) for gender, names in load_names(lists).items()}
    if as_json:
        print_json(written(counts))
        return
    for path, count in counts.items():
        typer.echo(f"{path}: {count} names")
