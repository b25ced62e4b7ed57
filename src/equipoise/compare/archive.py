"""The outputs of committed runs as Git keeps them: an archive beside dvc.lock, which fills DVC's remote of a clone.

DVC keeps the hashes of a run's outputs in Git, and the outputs themselves in a remote, for which a project would need a
server and its readers credentials. These outputs are text, which shrinks to a tenth: they are committed as well, one
compressed archive a run, and the remote is a folder of the clone (`remote` in .dvc/config).
"""

import hashlib
import io
import lzma
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import write_bytes

ARCHIVE = "archive/run.tar.xz"
"""Where a commit has the outputs of its run, from the root of the repository."""
OBJECT = re.compile(r"files/md5/([0-9a-f]{2})/([0-9a-f]{30}(?:\.dir)?)")
"""How DVC names an object in its cache and in a remote, and the archive within."""
LARGEST = 256 * 2**20
"""Bytes that an archive may unpack to: a damaged or hostile one fills no disk."""


def pack(repo: Any) -> bytes:  # noqa: ANN401  (DVC has no types)
    """Give the archive of the outputs in dvc.lock: the same bytes for the same outputs.

    EquipoiseError where an output is not in DVC's cache.
    """
    cache = repo.cache.local
    packed = io.BytesIO()
    with lzma.open(packed, "wb", preset=9) as compressed, tarfile.open(fileobj=compressed, mode="w") as archive:
        for digest in sorted(digests(repo)):
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


def digests(repo: Any) -> set[str]:  # noqa: ANN401  (DVC has no types)
    """Give the hashes of the objects of every output that DVC keeps; of a folder, those of its files too."""
    found: set[str] = set()
    for out in repo.index.outs:
        if out.use_cache and out.hash_info:
            found.add(out.hash_info.value)
            if out.hash_info.isdir:
                try:
                    found |= {entry.value for _, _, entry in out.get_obj()}
                except (FileNotFoundError, TypeError) as error:
                    message = f"{out}: not in DVC's cache: run `dvc repro`, then pack again"
                    raise EquipoiseError(message) from error
    return found


def unpack(repo: Any) -> bool:  # noqa: ANN401  (DVC has no types)
    """Fill the default remote, a folder, from the archive of the revision that `repo` is switched to.

    True where the revision has an archive. Each object is held to its hash before it takes its place; what is there is
    left alone.

    Raises:
        EquipoiseError: the archive is damaged.
    """
    place = repo.fs.join(repo.root_dir, *ARCHIVE.split("/"))
    if repo.config["core"].get("remote") is None or not repo.fs.exists(place):
        return False
    remote = repo.cloud.get_remote_odb()
    if remote.fs.protocol != "local":
        return False
    folder = Path(remote.path).parents[1]
    try:
        with lzma.open(io.BytesIO(repo.fs.read_bytes(place))) as compressed:
            for name, content in _members(compressed):
                if not (folder / name).exists():
                    write_bytes(folder / name, content)
    except (lzma.LZMAError, tarfile.TarError, EOFError, ValueError) as error:
        message = f"{ARCHIVE}: damaged ({error}): restore it with `git checkout -- {ARCHIVE}`"
        raise EquipoiseError(message) from error
    return True


def _members(compressed: lzma.LZMAFile) -> Iterator[tuple[str, bytes]]:
    """Give each object by its name, held to its hash."""
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
            if hashlib.md5(content, usedforsecurity=False).hexdigest() != "".join(named.groups()).removesuffix(".dir"):
                raise ValueError(f"{member.name}: checksum mismatch")
            yield member.name, content
