"""The archives of a run's outputs, which are committed beside dvc.lock and fill the DVC cache of a clone.

DVC keeps the hashes of outputs in Git and the outputs in a remote, which would need a server and credentials. These
outputs are text and compress to a tenth, so they are committed as archives: one of rows, one of the page, and a small
one of what `check` lists, so that a change of code alone adds little to Git. The run of another model
is a single archive, with its dvc.lock, settings, metrics and plots. A team's remote is beside this:
docs/howto/remote.md.
"""

import hashlib
import io
import lzma
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
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
MODELS = "archive/models"
"""The folder of other models' runs, one archive each."""
TRACKED = re.compile(r"dvc\.lock|params\.yaml|(metrics|plots)(/\w[\w.-]*)+")
"""The name of a file of such a run that Git keeps, in its archive and in the repository."""
OBJECT = re.compile(r"files/md5/([0-9a-f]{2})/([0-9a-f]{30}(?:\.dir)?)")
"""The name of an object in DVC's cache and in the archive."""
LARGEST = 256 * 2**20
"""Bytes that an archive may unpack to, so that a damaged or hostile one cannot fill the disk."""


def pack(
    repo: Any,  # noqa: ANN401  (DVC has no types)
    hashes: Iterable[str],
    files: Mapping[str, bytes] | None = None,
) -> bytes:
    """Pack outputs of a run by their hashes, and files that Git keeps; equal outputs give equal bytes.

    Raises EquipoiseError where an output is not in DVC's cache.
    """
    packed = io.BytesIO()
    with lzma.open(packed, "wb", preset=9) as compressed, tarfile.open(fileobj=compressed, mode="w") as archive:
        for name, content in (*sorted((files or {}).items()), *_objects(repo, hashes)):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _objects(repo: Any, hashes: Iterable[str]) -> Iterator[tuple[str, bytes]]:  # noqa: ANN401  (DVC has no types)
    for digest in sorted(hashes):
        name = f"files/md5/{digest[:2]}/{digest[2:]}"
        try:
            yield name, Path(repo.cache.local.oid_to_path(digest)).read_bytes()
        except FileNotFoundError as error:
            message = f"an output of dvc.lock ({name}) is not in DVC's cache: run `dvc repro`, then pack again"
            raise EquipoiseError(message) from error


def tracked(repo: Any) -> dict[str, bytes]:  # noqa: ANN401  (DVC has no types)
    """Read the files of the last run that Git keeps: dvc.lock, params.yaml, and outputs that DVC does not cache."""
    root = Path(repo.root_dir)
    outs = [Path(out.fs_path) for out in repo.index.outs if not out.use_cache]
    inside = [path for out in outs for path in (out.rglob("*") if out.is_dir() else [out])]
    files = [root / "dvc.lock", root / "params.yaml", *inside]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files if path.is_file()}


def models(root: Path) -> list[str]:
    """List the models with an archive of their own, by name."""
    return sorted(path.name.removesuffix(".tar.xz") for path in (root / MODELS).glob("*.tar.xz"))


def unpack_model(repo: Any, name: str) -> None:  # noqa: ANN401  (DVC has no types)
    """Fill DVC's cache from a model's archive, and write the files of its run that Git keeps.

    Raises:
        EquipoiseError: the model has no archive, or it is damaged; nothing is written then.
    """
    root = Path(repo.root_dir)
    place = f"{MODELS}/{name}.tar.xz"
    if name not in (known := models(root)):
        there = ", ".join(known) or "none"
        raise EquipoiseError(f"{place}: no such archive (available: {there}): run `make repro MODEL={name}`")
    for path, content in _unpack(repo, place, str(root / place)).items():
        write_bytes(root / path, content)


def digests(repo: Any) -> dict[str, set[str]]:  # noqa: ANN401  (DVC has no types)
    """Collect the hashes of all outputs in dvc.lock that DVC keeps, those of the files in folders too, by archive."""
    by_archive: dict[str, set[str]] = {name: set() for name in (ARCHIVE, PAGE, LISTS)}
    for out in repo.index.outs:
        path = PurePosixPath("/".join(repo.fs.relparts(out.fs_path, repo.root_dir)))
        hashes = by_archive[next((APART[str(part)] for part in (path, *path.parents) if str(part) in APART), ARCHIVE)]
        if out.use_cache and out.hash_info:
            hashes.add(out.hash_info.value)
            if out.hash_info.isdir:
                try:
                    hashes |= {entry.value for _, _, entry in out.get_obj()}
                except (FileNotFoundError, TypeError) as error:
                    raise EquipoiseError(f"{out}: not in DVC's cache: run `dvc repro`, then pack again") from error
    return by_archive


def packed(path: Path) -> set[str]:
    """Collect the hashes of the objects in an archive; none where it is missing or damaged."""
    try:
        with lzma.open(path) as compressed:
            return {digest for digest, _ in _members(compressed)}
    except (OSError, lzma.LZMAError, tarfile.TarError, EOFError, ValueError):
        return set()


def unpack(repo: Any) -> bool:  # noqa: ANN401  (DVC has no types)
    """Fill DVC's cache from the archives of the revision that `repo` is switched to.

    Returns whether the revision has any. Each object is checked against its hash, and replaces a damaged one in the
    cache.

    Raises:
        EquipoiseError: an archive is damaged.
    """
    places = {name: repo.fs.join(repo.root_dir, *name.split("/")) for name in (ARCHIVE, PAGE, LISTS)}
    there = {name: place for name, place in places.items() if repo.fs.exists(place)}
    for name, place in there.items():
        _unpack(repo, name, place)
    return bool(there)


def _unpack(repo: Any, name: str, place: str) -> dict[str, bytes]:  # noqa: ANN401  (DVC has no types)
    """Put an archive's objects into DVC's cache, and return its other files."""
    cache = repo.cache.local
    files = {}
    try:
        with lzma.open(io.BytesIO(repo.fs.read_bytes(place))) as compressed:
            for digest, content in _members(compressed):
                if TRACKED.fullmatch(digest):
                    files[digest] = content
                elif not (path := Path(cache.oid_to_path(digest))).is_file() or path.read_bytes() != content:
                    write_bytes(path, content)
                    # DVC believes that a read-only file of its cache has its hash, and hashes others again.
                    cache.protect(path)
    except (lzma.LZMAError, tarfile.TarError, EOFError, ValueError) as error:
        raise EquipoiseError(f"{name}: damaged ({error}): restore it with `git checkout -- {name}`") from error
    return files


def _members(compressed: lzma.LZMAFile) -> Iterator[tuple[str, bytes]]:
    """Read each object with its hash, and check it; and each file of a run that Git keeps with its name."""
    unpacked = 0
    with tarfile.open(fileobj=compressed, mode="r|") as archive:
        for member in archive:
            named = OBJECT.fullmatch(member.name)
            file = archive.extractfile(member)
            if file is None or not (named or TRACKED.fullmatch(member.name)):
                raise ValueError(f"{member.name}: not an object of DVC's")
            unpacked += member.size
            if unpacked > LARGEST:
                raise ValueError(f"more than {LARGEST // 2**20} MiB")
            content = file.read()
            digest = "".join(named.groups()) if named else member.name
            if named and hashlib.md5(content, usedforsecurity=False).hexdigest() != digest.removesuffix(".dir"):
                raise ValueError(f"{member.name}: checksum mismatch")
            yield digest, content
