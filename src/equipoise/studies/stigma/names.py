"""The lists of first names: fetched into `.cache/names` by `equipoise import names`, checked by their sha256.

They are not part of the repository, and the default study does not need them.
"""

from collections.abc import Mapping
from pathlib import Path

from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text, sha256, write_bytes
from equipoise.published.fetch import retrieve
from equipoise.studies.stigma.library import Gender, NameList, NameLists

GENDERS: tuple[Gender, ...] = ("female", "male")


def names_folder() -> Path:
    """Return the folder of the imported lists of first names."""
    return cache.folder() / "names"


def fetch_names(lists: NameLists, files: Mapping[Gender, Path] | None = None) -> dict[Gender, Path]:
    """Copy both lists to the cache, from local `files` if given, else from the web; checksums are verified."""
    # Both are checked before either is kept.
    for gender, file in (files or {}).items():
        _check(file, getattr(lists, gender), f"give the file that {getattr(lists, gender).url} names")
    fetched = {}
    for gender in GENDERS:
        wanted: NameList = getattr(lists, gender)
        target = names_folder() / f"{gender}.csv"
        if files and gender in files:
            # Bytes, not text: the line ends are part of the checksum.
            write_bytes(target, files[gender].read_bytes())
        else:
            retrieve(wanted.url, wanted.sha256, target, "give a local file with --women or --men")
        fetched[gender] = target
    return fetched


def load_names(lists: NameLists) -> dict[Gender, tuple[str, ...]]:
    """Read both imported lists and verify them again; EquipoiseError if they are not imported."""
    names: dict[Gender, tuple[str, ...]] = {}
    for gender in GENDERS:
        path = names_folder() / f"{gender}.csv"
        if not path.exists():
            raise EquipoiseError(
                f"{path}: the first names are not imported: run `equipoise import names`, or do without names"
            )
        _check(path, getattr(lists, gender), "run `equipoise import names` to fetch it again")
        names[gender] = listed_names(path)
    return names


def listed_names(path: Path) -> tuple[str, ...]:
    """Read a list of first names, one per line."""
    return tuple(name.strip() for name in read_text(path).split("\n") if name.strip())


def _check(path: Path, wanted: NameList, fix: str) -> None:
    try:
        checksum = sha256(path)
    except OSError as error:
        raise EquipoiseError(f"{path}: cannot be read ({error.strerror}): correct the path") from error
    if checksum != wanted.sha256:
        expected = f"expected {wanted.sha256[:12]}…, found {checksum[:12]}…"
        raise EquipoiseError(f"{path}: checksum mismatch: {expected}: {fix}")
