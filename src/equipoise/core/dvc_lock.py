"""DVC's lock file, kept and healed: DVC rewrites dvc.lock in place after each stage, so that a kill can leave it torn.

Every stage keeps a copy of the lock as it starts, and so does every command that finds the lock whole. A torn lock is
put together again: entries of stages that are whole stay, and the others come from the copy, or from Git. An entry is
only a list of hashes: DVC compares it with the files, and reruns the stage where they differ.
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import write_bytes
from equipoise.core.shipped import PIPELINE

LOCK = "dvc.lock"
KEPT = ".cache/dvc.lock"
BYTES = "surrogateescape"
"""How bytes that are not UTF-8 become text, and bytes again."""
ENTRY = re.compile(r"^  (?! )(.+):\n(?:(?:   .*)?\n)*", re.MULTILINE)
"""The entry of a stage in the text of a lock, as DVC writes it."""
HASH = re.compile(r"[0-9a-f]{32}(?:\.dir)?")
CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
SEAL = re.compile(r"# sha256 ([0-9a-f]{64}), Git has ([0-9a-f]*)\n\Z")
"""The last line of the copy: a checksum of the lines above it, and Git's name of the committed lock at that time."""


class Kept(NamedTuple):
    """A copy of a lock, and Git's name of the lock that was committed when the copy was made."""

    text: str
    committed: str


def keep(root: Path = Path()) -> None:
    """Copy the lock to `KEPT` if it is whole; a copy that cannot be written is not made.

    Where a user has deleted the lock, the copy is deleted too. A lock without the last stages of the copy may be cut
    off between two stages: the copy stays. A temporary or queued run of DVC has a lock of its own, which is not kept.
    """
    if not _is_original(root):
        return
    text, kept = _read(root / LOCK), read_kept(root)
    if text is not None and not find_fault(text) and not (kept and _is_cut(text, kept, root)):
        _write_kept(root, text)
    elif not os.path.lexists(root / LOCK):
        with suppress(OSError):
            (root / KEPT).unlink(missing_ok=True)


def heal(root: Path = Path()) -> str:
    """Put a torn lock together again; return a line that says so, empty where the lock was whole.

    A lock that is whole stays, whatever the copy holds: a checkout, a merge or DVC may have written it.

    Raises:
        EquipoiseError: the lock is torn, and neither the copy nor Git has a whole one; or it has the conflicts of a
            merge, or is being written.
    """
    text = _read(root / LOCK)
    if text is None or not _is_original(root):
        keep(root)
    elif not _find_tear(text, root):
        _write_kept(root, text)
    else:
        with _no_writer(root):
            torn = _read(root / LOCK) or ""
            if tear := _find_tear(torn, root):
                return f"{LOCK}: {tear}, as a kill may leave it: {_restore(torn, tear, root)}"
    return ""


def _restore(torn: str, tear: str, root: Path) -> str:
    """Replace a torn lock; say what was restored, and from where."""
    source, base = _base(torn, tear, root)
    text = merge(torn, base)
    write_bytes(root / LOCK, text.encode())
    stages = split(text).keys()
    return f"restored {len(stages - _sound(torn))} of {len(stages)} stages from {source}"


def find_fault(text: str) -> str:
    """Say why DVC cannot read the text of a lock, or would believe part of an entry; empty for one that is whole."""
    if not text.strip():
        return "empty"
    if "\0" in text:
        return "damaged (it has bytes of 0)"
    if not text.endswith("\n"):
        return "cut off within a line"
    try:
        content = yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506  (makes nothing but text, lists and mappings)
    except (yaml.YAMLError, ValueError):
        return "malformed"
    stages = content.get("stages", {}) if isinstance(content, dict) and content.get("schema") == "2.0" else None
    if not isinstance(stages, dict):
        return "damaged (no schema 2.0, or no stages)"
    damaged = [name for name, entry in stages.items() if not _is_entry(entry)]
    return f"damaged in the entry of the stage {damaged[0]}" if damaged else ""


def split(text: str) -> dict[str, str]:
    """Split the text of a lock into the entries of its stages, by name."""
    return {match[1]: match[0] for match in ENTRY.finditer(text)}


def merge(torn: str, base: str) -> str:
    """Replace entries of a whole lock by the whole entries of a torn one, except its last, which may be cut off."""
    before = split(base)
    whole = "".join(before.values())
    merged = base.replace(whole, "".join((before | _sound(torn)).values())) if whole else base
    return base if find_fault(merged) else merged


def read_kept(root: Path = Path()) -> Kept | None:
    """Read the copy; None where there is none, or where it does not match its checksum."""
    content = _read(root / KEPT) or ""
    if (seal := SEAL.search(content)) is None:
        return None
    text = content[: seal.start()]
    return Kept(text, seal[2]) if _digest(text) == seal[1] else None


def _write_kept(root: Path, text: str) -> None:
    """Copy the lock unless the copy has that text; one that cannot be written is not made."""
    kept = read_kept(root)
    if kept is None or kept.text != text:
        with suppress(EquipoiseError):
            write_bytes(root / KEPT, f"{text}# sha256 {_digest(text)}, Git has {_committed(root)}\n".encode())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors=BYTES)).hexdigest()


def _is_original(root: Path) -> bool:
    """Whether the folder is the repository itself, and not a copy of it in which DVC runs an experiment."""
    return Path(os.environ.get("DVC_ROOT", root)).resolve() == root.resolve()


def _read(path: Path) -> str | None:
    """Read a file as text, whatever its bytes are; None where there is none."""
    try:
        return path.read_bytes().decode(errors=BYTES)
    except OSError:
        return None


def _find_tear(text: str, root: Path) -> str:
    """Say what is wrong with the text of a lock; empty where it is whole."""
    kept = read_kept(root)
    if kept and text == kept.text:
        return ""
    if (fault := find_fault(text)) or not kept or not _is_cut(text, kept, root):
        return fault
    lost = [*split(kept.text)][len(split(text)) :]
    if not lost:
        return "cut off within the last stage"
    return f"cut off before the stage {lost[0]}" if _declared(root).intersection(lost) else ""


def _is_cut(text: str, kept: Kept, root: Path) -> bool:
    """Whether a lock that can be read ends where the copy goes on; one that Git has had was checked out."""
    names, before = [*split(text)], [*split(kept.text)]
    shorter = len(names) < len(before) and before[: len(names)] == names
    if not shorter and (text == kept.text or not kept.text.startswith(text)):
        return False
    return not _git("cat-file", "blob", _git("hash-object", "--stdin", root=root, given=text).strip(), root=root)


def _is_entry(entry: Any) -> bool:  # noqa: ANN401  (any YAML value)
    """Whether an entry has a command, and the hash of each file that it names."""
    if not isinstance(entry, dict) or not isinstance(entry.get("cmd"), str | list):
        return False
    files = [file for name in ("deps", "outs") for file in _items(entry.get(name, []))]
    return all(_is_file(file) for file in files)


def _items(value: object) -> list[Any]:
    """Give the items of a list; for any other value, a single item that is not a file."""
    return value if isinstance(value, list) else [None]


def _is_file(file: Any) -> bool:  # noqa: ANN401  (any YAML value)
    """Whether a file has a path, and all of its hash."""
    if not isinstance(file, dict) or "path" not in file:
        return False
    hashed = "md5" in file or file.get("hash") == "md5"
    return not hashed or HASH.fullmatch(str(file.get("md5"))) is not None


def _sound(torn: str) -> dict[str, str]:
    """Find the entries of a torn lock that are whole: each by itself, and followed by another."""
    return {
        name: entry
        for name, entry in list(split(torn).items())[:-1]
        if not find_fault(f"schema: '2.0'\nstages:\n{entry}")
    }


def _base(torn: str, tear: str, root: Path) -> tuple[str, str]:
    """Choose the lock that a torn one is restored from, with its name: the copy, unless another was committed since."""
    if CONFLICT.search(torn):
        raise EquipoiseError(f"{LOCK}: conflicts of a merge: run `make resolve`")
    kept, committed = read_kept(root), _committed(root)
    if kept and kept.committed == committed:
        return KEPT, kept.text
    text = _git("cat-file", "blob", committed, root=root) if committed else ""
    if text and not find_fault(text):
        return "Git", text
    if kept:
        return KEPT, kept.text
    raise EquipoiseError(f"{LOCK}: {tear}, and neither {KEPT} nor Git has a whole one: remove it, then run `dvc repro`")


def _committed(root: Path) -> str:
    """Give Git's name of the lock in the last commit; empty where there is none."""
    return _git("rev-parse", "--quiet", "--verify", f"HEAD:./{LOCK}", root=root).strip()


def _git(*words: str, root: Path, given: str = "") -> str:
    """Give what Git prints; nothing where it fails or is not there."""
    try:
        done = subprocess.run(  # noqa: S603  (of constants and hashes)
            ["git", *words],  # noqa: S607  (the user's Git)
            cwd=root,
            input=given.encode(errors=BYTES),
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.decode(errors=BYTES)


def _declared(root: Path) -> set[str]:
    """Name the stages that dvc.yaml declares with the settings that are there; none where it cannot be read."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(str(root)) as repo:
            return {stage.name for stage in repo.index.stages if stage.path_in_repo == PIPELINE}
    except DvcException:
        return set()


@contextmanager
def _no_writer(root: Path) -> Iterator[None]:
    """Hold DVC's own lock, so that what is read is not half of what another process writes."""
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo

    try:
        with Repo(str(root)) as repo, repo.lock:
            yield
    except LockError as error:
        raise EquipoiseError(f"{LOCK}: DVC is writing it: run again when the other command has ended") from error
    except DvcException as error:
        raise EquipoiseError(f"{LOCK}: {' '.join(str(error).split())}: run this in the root of a clone") from error
