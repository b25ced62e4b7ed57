"""Which files a command overwrites: those that it wrote itself, and others only with `--force`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Row

Force = Annotated[bool, typer.Option("--force", help="Overwrite the file even if this command did not write it.")]


def require_own(path: Path, own: Callable[[Path], bool], *, force: bool, instead: str = "name another file") -> None:
    """Refuse to overwrite a file that the command did not write, as far as its content says.

    `own` says whether all that the file holds is of the kind and source that the command writes; a file that cannot be
    read as such is not.
    """
    if path.is_dir():
        raise EquipoiseError(f"{path}: a folder: {instead}")
    try:
        if force or not path.exists() or own(path):
            return
    except EquipoiseError:
        pass
    raise EquipoiseError(f"{path}: not written by this command: {instead}, or overwrite it with --force")


def rows_of_kind(kind: type[Row], beginning: str = "") -> Callable[[Path], bool]:
    """Say of a file whether it holds rows of a kind, and of one source: all keys have its beginning."""
    return lambda path: all(row.key.startswith(beginning) for row in jsonl.each(path, kind))
