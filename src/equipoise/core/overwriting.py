"""Which files a command overwrites: those that it wrote itself, and others only with `--force`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Row

STDOUT = "-"
"""The name that other programs give to standard output."""
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file even if this command did not write it.")]


def require_own(path: Path, own: Callable[[Path], bool], *, force: bool, instead: str = "name another file") -> None:
    """Refuse to overwrite anything that is not a file, or whose content does not show that the command wrote it.

    `own` says whether all that the file holds is of the kind and source that the command writes; a file that cannot be
    read as such is not.
    """
    require_place(path, instead)
    try:
        if force or not path.exists() or own(path):
            return
    except EquipoiseError:
        pass
    raise EquipoiseError(f"{path}: not written by this command: {instead}, or overwrite it with --force")


def require_place(path: Path, instead: str = "name another file") -> None:
    """Refuse to write to standard output by its usual name, and to replace anything but a regular file."""
    if str(path) == STDOUT:
        raise EquipoiseError(f"{path}: this command writes a file, not standard output: {instead}")
    jsonl.require_replaceable(path, instead)


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which need not be there; circles of links lead to themselves."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def rows_of_kind(kind: type[Row], beginning: str = "") -> Callable[[Path], bool]:
    """Return a test of whether a file holds rows of a kind, and of one source: all keys have its beginning."""
    return lambda path: all(row.key.startswith(beginning) for row in jsonl.each(path, kind))
