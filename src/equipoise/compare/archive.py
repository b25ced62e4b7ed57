"""The archives of a run's outputs, which are committed beside dvc.lock and fill the DVC cache of a clone.

DVC keeps the hashes of outputs in Git and the outputs in a remote, which would need a server and credentials. These
outputs are text and compress to a tenth, so they are committed as archives: one of rows, one of the page, and a small
one of what `check` lists, so that a change of code alone adds little to Git. A team's remote is beside this:
docs/howto/remote.md.
"""

import hashlib
import io
import lzma
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import write_bytes

ARCHIVE = "archive/run.tar.xz"
"""The archive of rows, and of every output that is in no other one: its path from the root of the repository."""
PAGE, LISTS = "archive/page.tar.xz", "archive/lists.tar.xz"
APART = {
    "report": PAGE,
    "data/checked.json": LISTS,
    "data/code": LISTS,
    "data/environment.json": LISTS,
    "data/settings": LISTS,
}
"""The archives of other outputs, and of those in folders of that name."""
OBJECT = re.compile(r"files/md5/([0-9a-f]{2})/([0-9a-f]{30}(?:\.dir)?)")
"""The name of an object in DVC's cache and in the archive."""
LARGEST = 256 * 2**20
"""Bytes that an archive may unpack to, so that a damaged or hostile one cannot fill the disk."""


def pack(repo: Any, hashes: Iterable[str]) -> bytes:  # noqa: ANN401  (DVC has no types)
    """Pack outputs of a run by their hashes; equal outputs give equal bytes.

    Raises EquipoiseError where an output is not in DVC's cache.
    """
    cache = repo.cache.local
    packed = io.BytesIO()
    with lzma.open(packed, "wb", preset=9) as compressed, tarfile.open(fileobj=compressed, mode="w") as archive:
        for digest in sorted(hashes):
            name = f"files/md5/{digest[:2]}/{digest[2:]}"
            try:
                content = Path(cache.oid_to_path(digest)).read_bytes()
            except FileNotFoundError as error:
                message = f"an output of dvc.lock ({name}) is not in DVC's cache: run `dvc repro`, then pack again"
                raise EquipoiseError(message) from error
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def digests(repo: Any) -> dict[str, set[str]]:  # noqa: ANN401  (DVC has no types)
    """Collect the hashes of all outputs in dvc.lock that DVC keeps, those of the files in folders too, by archive."""
    found: dict[str, set[str]] = {name: set() for name in (ARCHIVE, PAGE, LISTS)}
    for out in repo.index.outs:
        path = PurePosixPath("/".join(repo.fs.relparts(out.fs_path, repo.root_dir)))
        hashes = found[next((APART[str(part)] for part in (path, *path.parents) if str(part) in APART), ARCHIVE)]
        if out.use_cache and out.hash_info:
            hashes.add(out.hash_info.value)
            if out.hash_info.isdir:
                try:
                    hashes |= {entry.value for _, _, entry in out.get_obj()}
                except (FileNotFoundError, TypeError) as error:
                    message = f"{out}: not in DVC's cache: run `dvc repro`, then pack again"
                    raise EquipoiseError(message) from error
    return found


def packed(path: Path) -> set[str]:
    """Collect the hashes of the objects in an archive; none where it is missing or damaged."""
    try:
        with lzma.open(path) as compressed:
            return {"".join(Path(name).parts[-2:]) for name, _ in _members(compressed)}
    except (OSError, lzma.LZMAError, tarfile.TarError, EOFError, ValueError):
        return set()


def unpack(repo: Any) -> bool:  # noqa: ANN401  (DVC has no types)
    """Fill DVC's cache from the archives of the revision that `repo` is switched to.

    Returns whether the revision has any. Each object is checked against its hash; existing files are kept.

    Raises:
        EquipoiseError: an archive is damaged.
    """
    places = {name: repo.fs.join(repo.root_dir, *name.split("/")) for name in (ARCHIVE, PAGE, LISTS)}
    there = {name: place for name, place in places.items() if repo.fs.exists(place)}
    for name, place in there.items():
        _unpack(repo, name, place)
    return bool(there)


def _unpack(repo: Any, name: str, place: str) -> None:  # noqa: ANN401  (DVC has no types)
    cache = repo.cache.local
    try:
        with lzma.open(io.BytesIO(repo.fs.read_bytes(place))) as compressed:
            for digest, content in _members(compressed):
                path = Path(cache.oid_to_path(digest))
                if not path.exists():
                    write_bytes(path, content)
                    # DVC believes that a read-only file of its cache has its hash, and hashes others again.
                    cache.protect(path)
    except (lzma.LZMAError, tarfile.TarError, EOFError, ValueError) as error:
        raise EquipoiseError(f"{name}: damaged ({error}): restore it with `git checkout -- {name}`") from error


def _members(compressed: lzma.LZMAFile) -> Iterator[tuple[str, bytes]]:
    """Read each object with its hash, and check it."""
    unpacked = 0
    with tarfile.open(fileobj=compressed, mode="r|") as archive:
        for member in archive:
            named = OBJECT.fullmatch(member.name)
            file = archive.extractfile(member)
            if named is None or file is None:
                raise ValueError(f"{member.name}: not an object of DVC's")
            unpacked += member.size
            if unpacked > LARGEST:
                raise ValueError(f"more than {LARGEST // 2**20} MiB")
            content = file.read()
            digest = "".join(named.groups())
            if hashlib.md5(content, usedforsecurity=False).hexdigest() != digest.removesuffix(".dir"):
                raise ValueError(f"{member.name}: checksum mismatch")
            yield digest, content
