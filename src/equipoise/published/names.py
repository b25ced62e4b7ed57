"""The lists of first names, fetched when asked for and checked by their sha256.

They are no part of the repository: `equipoise import names` puts them into `.cache/names`. Default studies do without.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_text, sha256

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equipoise.stigma.library import Gender, NameList, NameLists

GENDERS: tuple[Gender, ...] = ("female", "male")


def folder() -> Path:
    """Find the folder of the imported lists."""
    return cache.folder() / "names"


def fetch_names(lists: NameLists, files: Mapping[Gender, Path] | None = None) -> dict[Gender, Path]:
    """Bring both lists into the cache, from local `files` where given, else from the net; their sha256 is checked."""
    # Both are checked before either is kept.
    for gender, file in (files or {}).items():
        _check(file, getattr(lists, gender), f"give the file that {getattr(lists, gender).url} names")
    fetched = {}
    for gender in GENDERS:
        wanted: NameList = getattr(lists, gender)
        target = folder() / f"{gender}.csv"
        if files and gender in files:
            _keep(files[gender], target)
        else:
            _download(wanted, target)
        fetched[gender] = target
    return fetched


def load_names(lists: NameLists) -> dict[Gender, tuple[str, ...]]:
    """Read both imported lists, checked once more; EquipoiseError where they are not imported."""
    names: dict[Gender, tuple[str, ...]] = {}
    for gender in GENDERS:
        path = folder() / f"{gender}.csv"
        if not path.exists():
            message = f"{path}: the first names are not imported: run `equipoise import names`, or do without names"
            raise EquipoiseError(message)
        _check(path, getattr(lists, gender), "run `equipoise import names` to fetch it anew")
        names[gender] = tuple(name.strip() for name in read_text(path).split("\n") if name.strip())
    return names


def _check(path: Path, wanted: NameList, mend: str) -> None:
    try:
        found = sha256(path)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}): mend the path"
        raise EquipoiseError(message) from error
    if found != wanted.sha256:
        message = f"{path}: its sha256 is {found[:12]}…, not {wanted.sha256[:12]}… of words.yaml: {mend}"
        raise EquipoiseError(message)


def _keep(file: Path, target: Path) -> None:
    part = target.with_suffix(".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Bytes, not text: the line ends are part of the sha256.
        shutil.copyfile(file, part)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        message = f"{target}: cannot be written ({error.strerror}): free space or mend its permissions, then run again"
        raise EquipoiseError(message) from error


def _download(wanted: NameList, target: Path) -> None:
    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    try:
        # A finished file with the right hash is not fetched again; one with a wrong hash is not kept.
        pooch.retrieve(wanted.url, known_hash=f"sha256:{wanted.sha256}", fname=target.name, path=target.parent)
    except ValueError as error:
        message = (
            f"{wanted.url}: what it gives has not the sha256 {wanted.sha256[:12]}… of words.yaml: "
            "get the file elsewhere and give it with --women or --men"
        )
        raise EquipoiseError(message) from error
    except OSError as error:  # of the disk and, in requests, of the net
        message = (
            f"{wanted.url}: cannot be fetched ({type(error).__name__}): "
            "go online, or give the file with --women or --men"
        )
        raise EquipoiseError(message) from error
