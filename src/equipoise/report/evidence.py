"""The evidence pack: one ZIP file with all that a stranger needs to compute a run's figures again.

`pack.json` states the format, the version of Equipoise and of the code, the dates, and the sha256 of every other file.
The others have the names that they have in a checkout: settings, registry entries and authored data; prompts,
responses, readings of the judge and judgements; effects, metrics and the report in words. A pack comes from a stranger:
nothing of it is unpacked before its names, sizes and kinds are known, and no file of it is run.
"""

import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import Field

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.provenance import Made
from equipoise.core.row import Frozen, Text
from equipoise.core.shipped import PACKAGE

FORMAT = 1
"""The format that this version writes and reads."""
LIST = "pack.json"
REPORT = "report.md"
LARGEST = 256 * 2**20
"""Bytes that a pack may unpack to, so that a hostile one fills neither memory nor disk."""
MOST_FILES, MOST_VALUES = 5_000, 1_000_000
"""The most files of a pack, and the most values of one of its YAML files."""
NAME = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[\w.@+-]+(?:/[\w.@+-]+)*")
"""The name of a file in a pack: relative, without `..`, drive or backslash."""
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
"""What the reader of ZIP files raises for one that is truncated, damaged, encrypted or compressed in another way."""


class Pack(Frozen):
    """What a pack says of itself.

    `equipoise` is the version that made it, `code` the sha256 of its modules, `date` the time in UTC. `commit` is the
    Git commit of the checkout, `edited` the number of files that differ from it. `run` is the record of the machine
    that wrote the run's report; None for a run that was not made there. `files` maps each file to its sha256.
    """

    form: int = Field(alias="schema")
    equipoise: Text
    code: Text
    date: Text
    commit: str | None
    edited: int
    run: Made | None
    files: dict[str, str]


class Contents(NamedTuple):
    """A pack that was read: what it says of itself, and its other files by name."""

    pack: Pack
    files: dict[str, bytes]


def write(pack: Pack, files: Mapping[str, bytes]) -> bytes:
    """Write a pack; equal contents give equal bytes with one version of zlib."""
    packed = io.BytesIO()
    head = json.dumps(pack.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=1) + "\n"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in ((LIST, head.encode()), *sorted(files.items())):
            member = zipfile.ZipInfo(name)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(member, content)
    return packed.getvalue()


def read(path: Path) -> Contents:
    """Read a pack without unpacking it to disk.

    Raises EquipoiseError for a file that is missing, truncated or not a pack, a name that leads out of it, two files of
    one name, contents of more than `LARGEST` bytes, a later format, and a file that `pack.json` lists but the pack
    lacks, or that it does not list.
    """
    if not path.is_file():
        raise EquipoiseError(f"{path}: no such file: name a pack, as `equipoise pack --evidence FILE` writes it")
    try:
        with zipfile.ZipFile(path) as archive:
            files = {member.filename: archive.read(member) for member in _sound(str(path), archive.infolist())}
    except DAMAGED as error:
        raise EquipoiseError(f"{path}: truncated, damaged or no pack ({error}): get it again") from error
    if LIST not in files:
        raise EquipoiseError(f"{path}: no pack: it has no {LIST}")
    pack = _listed(f"{path}: {LIST}", files.pop(LIST))
    if missing := sorted(pack.files.keys() - files):
        raise EquipoiseError(f"{path}: {missing[0]} is missing: {LIST} lists it")
    if unlisted := sorted(files.keys() - pack.files):
        raise EquipoiseError(f"{path}: {unlisted[0]} is not listed in {LIST}")
    _require_small_yaml(str(path), files)
    return Contents(pack, files)


def _sound(where: str, members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Refuse hostile names and sizes before a byte is unpacked."""
    names = [member.filename for member in members]
    if len(names) > MOST_FILES:
        raise EquipoiseError(f"{where}: {len(names)} files, more than {MOST_FILES}: not an evidence pack")
    # Folders that differ in case alone are one folder on some machines.
    folded: set[str] = set()
    for name in names:
        if not NAME.fullmatch(name):
            raise EquipoiseError(
                f"{where}: {name!r} points outside the pack, or is not a regular file: do not trust it"
            )
        if name.casefold() in folded:
            raise EquipoiseError(f"{where}: {name} is there twice: do not trust it")
        folded.add(name.casefold())
    if sum(member.file_size for member in members) > LARGEST:
        raise EquipoiseError(f"{where}: unpacks to more than {LARGEST // 2**20} MiB: do not trust it")
    return members


def _listed(where: str, content: bytes) -> Pack:
    """Parse the list; a later format is named before a field that it may have added."""
    try:
        value = jsonl.json_value(where, content.decode())
    except UnicodeDecodeError as error:
        raise EquipoiseError(f"{where}: not UTF-8: get the pack again") from error
    form = value.get("schema") if isinstance(value, dict) else None
    if isinstance(form, int) and form > FORMAT:
        later = f"format {form}, and this version of equipoise reads {FORMAT}: pip install --upgrade equipoise"
        raise EquipoiseError(f"{where}: {later}")
    return jsonl.parse(where, content.decode(), Pack)


def _require_small_yaml(where: str, files: Mapping[str, bytes]) -> None:
    """Refuse YAML that is nested deeply, or whose aliases make a small file stand for gigabytes, before it is read."""
    for name, content in files.items():
        if name.endswith(".yaml"):
            try:
                size = _expanded(yaml.parse(content, Loader=yaml.CSafeLoader))
            except yaml.YAMLError as error:
                problem = " ".join(str(error).split())
                raise EquipoiseError(f"{where}: {name}: malformed YAML ({problem}): get the pack again") from error
            if size > MOST_VALUES:
                raise EquipoiseError(f"{where}: {name}: nested too deeply, or of too many values: do not trust it")


def _expanded(events: Iterable[yaml.Event]) -> float:
    """Count the values of a YAML file, those behind an alias each time; infinite for a circle and for deep nesting."""
    sizes: dict[str | None, float] = {}
    open_: list[tuple[str | None, float]] = [(None, 0)]
    for event in events:
        match event:
            case yaml.CollectionStartEvent(anchor=anchor):
                open_.append((anchor, 1))
                if len(open_) > jsonl.DEPTH:
                    return math.inf
                continue
            case yaml.CollectionEndEvent():
                anchor, size = open_.pop()
            case yaml.ScalarEvent(anchor=anchor):
                size = 1
            case yaml.AliasEvent(anchor=anchor):
                size = sizes.get(anchor, math.inf)
            case _:
                continue
        sizes[anchor] = size
        outer, before = open_.pop()
        open_.append((outer, before + size))
    return open_[0][1]


def sha256s(files: Mapping[str, bytes]) -> dict[str, str]:
    """Compute the sha256 of each file."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}


def place(folder: Path, files: Mapping[str, bytes], names: Iterable[str]) -> None:
    """Write some files of a pack below a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(files[name])


def code() -> str:
    """Compute the sha256 of the modules of this installation: of their names and contents, whatever their line ends."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if "shipped" not in path.parts)
    known = {path.relative_to(PACKAGE).as_posix(): path.read_bytes().replace(b"\r\n", b"\n") for path in paths}
    return jsonl.digest(sha256s(known))
