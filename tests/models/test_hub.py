"""Tests of what is fetched from the Hugging Face Hub, on a server of its kind on the loopback interface."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.models import hub, registry, weights
from equipoise.models.readiness import Machine
from hubs import COMMIT, Fault, LoopbackHub

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
REPO = "gustavecortal/Piaget-8B"
GATED = rf"the hub gives {REPO} only to accounts that accepted .*huggingface\.co/{REPO} and set HF_TOKEN"
FILES = {"config.json": b"{}", "model.safetensors": bytes(range(256)) * 8, "tokenizer.json": b"{}", "model.py": b"code"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A folder with the files of a checkpoint."""
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def there(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A hub that serves the checkpoint, used by the client with an empty cache."""
    with LoopbackHub() as serving:
        serving.serve(REPO, checkpoint)
        serving.use(monkeypatch, tmp_path / "cache")
        yield serving


def entry() -> registry.VllmEntry:
    """Read an entry that names no commit, and give it the hub's."""
    pinned = hub.pin_commit(registry.load_entry("piaget8b", ROOT), COMMIT)
    assert isinstance(pinned, registry.VllmEntry)
    return pinned


def left(cache: Path) -> list[str]:
    """List the kinds of files in the client's cache that hold weights: whole, or not."""
    blobs = [path for path in cache.glob("models--*/blobs/*") if path.stat().st_size > len(b"{}")]
    return sorted(path.suffix or "whole" for path in blobs)


def test_a_model_without_a_commit_gets_the_hub_s(there: LoopbackHub, tmp_path: Path) -> None:
    """It is asked for once, reported in one line, and from then on the commit of the last manifest is used."""
    told: list[str] = []
    written = registry.load_entry("piaget8b", ROOT)
    resolved = hub.resolve_commit("piaget8b", written, tmp_path, told.append)
    made = Manifest(model="piaget8b", backend="torch", repo=REPO, revision=COMMIT, licence="MIT")
    jsonl.write_json(tmp_path / "piaget8b.json", made.written())
    asked = len(there.asked)
    there.repositories[REPO].commit = "f" * 40

    assert resolved == hub.pin_commit(written, COMMIT) == entry()
    fix = "`equipoise models pin piaget8b` writes it there"
    assert told == [f"models/piaget8b.yaml names no commit: using {REPO} at {COMMIT} ({fix})"]
    assert (
        hub.with_last_commit("piaget8b", written, tmp_path)
        == resolved
        == hub.resolve_commit("piaget8b", written, tmp_path, told.append)
    )
    assert len(there.asked) == asked
    # The manifest says nothing about another repository or another model.
    assert hub.last_commit("piaget8b", "some/other", tmp_path) is hub.last_commit("psyllm", REPO, tmp_path) is None
    assert hub.commit(REPO) == "f" * 40


def test_a_commit_in_the_registry_is_used_as_it_is(there: LoopbackHub, tmp_path: Path) -> None:
    """The hub is not asked for another, and nothing is reported."""
    pinned = registry.load_entry("qwen3_8b", ROOT)

    assert hub.resolve_commit("qwen3_8b", pinned, tmp_path, pytest.fail) == pinned
    assert there.asked == []


def test_files_are_fetched_once_and_then_need_no_hub(there: LoopbackHub) -> None:
    """Weights and texts come, code does not; with the hub away the same folder serves."""
    located = weights.locate(entry(), ROOT)
    here = Machine().has_fetched(REPO, COMMIT)
    there.repositories[REPO].files["original/model.safetensors"] = b"in another form"
    sent = len(there.paths())
    weights.locate(entry(), ROOT)
    again = there.paths()[sent:]
    there.repositories[REPO].faults.append("broken")

    assert sorted(path.name for path in located.folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert located.files == {"model.safetensors": hashlib.sha256(FILES["model.safetensors"]).hexdigest()}
    assert (located.repo, located.revision, here) == (REPO, COMMIT, True)
    assert not any(path.endswith((".json", ".safetensors")) for path in again)
    assert weights.locate(entry(), ROOT) == located


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        ("absent", rf"the hub has no {REPO}, or hides it from this account: check the id and HF_TOKEN"),
        ("no_commit", rf"the hub has no {REPO} at c0ffeec0ffee: correct the commit in the registry entry"),
        ("private", rf"the hub gives {REPO} at c0ffeec0ffee only with a token \(401\): set HF_TOKEN"),
        ("token", r"the hub does not accept HF_TOKEN \(401\): set it to a valid token, or unset it"),
        (
            "gated_401",
            GATED,
        ),
        (
            "gated_403",
            GATED,
        ),
        ("forbidden", r"the hub forbids \S+ at c0ffeec0ffee to this token \(403\): give HF_TOKEN the right to read it"),
        ("busy", r"no more requests are allowed now \(429\): wait, or set HF_TOKEN"),
        ("broken", r"the hub fails \(503\): try again later"),
        ("page", r"http://\S+ does not answer as the Hugging Face Hub does: check HF_ENDPOINT"),
        ("no_hub", r"the Hugging Face Hub names no commit of \S+: check HF_ENDPOINT"),
        ("silent", r"the Hugging Face Hub is too slow \(ReadTimeout\): run again, .* HF_HUB_DOWNLOAD_TIMEOUT"),
        ("stalls", r"the Hugging Face Hub is too slow \(\w+\): run again, .* HF_HUB_DOWNLOAD_TIMEOUT"),
        ("shorter", r"a file is not of the size that the hub announced and was removed: run again"),
        ("longer", r"a file is not of the size that the hub announced and was removed: run again"),
        ("damaged", r"model\.safetensors: checksum mismatch: the hub has \w{64}, here was \w{64}, which was removed"),
    ],
)
def test_each_fault_of_the_hub_has_its_line(
    there: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, line: str
) -> None:
    """One line with the fix; no file that is not whole is taken for weights, and the next run has them all."""
    monkeypatch.setattr(hub, "PATIENCE", 0.2)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 256)
    if fault == "token":
        monkeypatch.setenv("HF_TOKEN", "hf_revoked")
    served = there.repositories[REPO]
    served.faults.append(fault)
    with pytest.raises(EquipoiseError, match=line) as raised:
        weights.locate(entry(), ROOT)
    ready, kept = Machine().has_fetched(REPO, COMMIT), left(tmp_path / "cache")
    served.faults.clear()
    there.released.set()
    located = weights.locate(entry(), ROOT)

    assert "\n" not in str(raised.value)
    assert not ready
    assert kept == []
    assert located.files == {"model.safetensors": hashlib.sha256(FILES["model.safetensors"]).hexdigest()}
    assert left(tmp_path / "cache") == ["whole"]


def test_a_transfer_that_is_cut_off_goes_on(there: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client requests the rest by itself."""
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 256)
    there.repositories[REPO].faults.append("half")
    located = weights.locate(entry(), ROOT)

    assert located.files == {"model.safetensors": hashlib.sha256(FILES["model.safetensors"]).hexdigest()}
    # 256 x 8 bytes in all.
    assert [part for _, path, part in there.asked if path.startswith("/cdn")] == [None, "bytes=1024-"]


@pytest.mark.parametrize("fault", ["gated_403", "absent", "no_commit", "silent"])
def test_the_check_finds_what_a_run_would(there: LoopbackHub, monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """A gated model, of which the hub tells everyone, is found by asking for a file; nothing large is fetched."""
    monkeypatch.setattr(hub, "PATIENCE", 0.2)
    assert Machine().hub_fault(REPO, "main") is None
    there.repositories[REPO].faults.append(fault)
    here = Machine()
    told = here.hub_fault(REPO, "main")
    asked = len(there.asked)

    assert told is not None
    assert not any(path.startswith("/cdn") for path in there.paths())
    # A hub that does not answer is not asked again; any other is.
    assert here.hub_fault(REPO, "main") == told
    assert (len(there.asked) == asked) is (fault == "silent")


def test_weights_in_parts_are_here_once_all_are(
    there: LoopbackHub, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index names the parts; without one of them nothing is ready, and the line names it."""
    names = [f"model-0000{part}-of-00002.safetensors" for part in (1, 2)]
    (checkpoint / "model.safetensors").rename(checkpoint / names[0])
    index = {"weight_map": {"a": names[0], "b": names[1]}}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    there.serve(REPO, checkpoint)
    with pytest.raises(EquipoiseError, match=rf"has no {names[1]}, which its index names: fetch them again"):
        weights.locate(entry(), ROOT)
    ready = Machine().has_fetched(REPO, COMMIT)
    there.repositories[REPO].files[names[1]] = b"rest of it"
    # The client knows the files of a commit, which cannot change on the hub.
    there.use(monkeypatch, tmp_path / "another")
    located = weights.locate(entry(), ROOT)

    assert (ready, Machine().has_fetched(REPO, COMMIT)) == (False, True)
    assert sorted(located.files) == names


def test_a_disk_that_fills_or_cannot_be_written_is_named(
    there: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line with the fix for the client's cache, not a fault of the network."""
    assert there.repositories
    for error, line in (
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full: free more, or set HF_HOME"),
        (
            OSError(errno.EROFS, "Read-only file system", "/cache"),
            r"/cache: cannot be written \(Read-only file system\)",
        ),
    ):

        def fail(*_: object, error: OSError = error, **__: object) -> None:
            raise error

        monkeypatch.setattr("huggingface_hub.file_download.http_get", fail)
        with pytest.raises(EquipoiseError, match=line):
            weights.locate(entry(), ROOT)
    assert left(tmp_path / "cache") == []


CLIENT = """
import signal, sys
from equipoise.core.stage import one_line
from equipoise.models import hub
# A shell may have told its background jobs to ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
one_line(lambda: hub.fetch(*sys.argv[1:], ["*.safetensors"]))()
"""


def fetching(there: LoopbackHub, folder: Path, **more: str) -> subprocess.Popen[str]:
    """Fetch the weights in a process of its own."""
    command = [sys.executable, "-c", CLIENT, REPO, COMMIT]
    own = {"HF_ENDPOINT": there.url, "HF_HOME": str(folder / "home"), "NO_PROXY": "*", "PYTHONPATH": str(ROOT / "src")}
    variables = os.environ | own | more
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables)


def test_ctrl_c_ends_a_transfer_at_once(there: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait for the file to be complete, which may take an hour."""
    there.repositories[REPO].faults.append("stalls")
    with fetching(there, tmp_path) as running:
        while not any(path.startswith("/cdn") for path in there.paths()):
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, shown = running.communicate(timeout=60)

    there.use(monkeypatch, tmp_path / "home" / "hub")

    assert shown.splitlines()[-1].startswith("interrupted: ")
    assert running.returncode == 1
    # Some of the files are there, and they are not taken for all.
    assert hub.fetched_folder(REPO, COMMIT, ["*.json", "*.safetensors"]) is None


def test_a_malformed_setting_of_the_client_is_one_line(there: LoopbackHub, tmp_path: Path) -> None:
    """The client reads its settings as it is imported."""
    with fetching(there, tmp_path, HF_HUB_DOWNLOAD_TIMEOUT="60s") as running:
        _, shown = running.communicate(timeout=60)

    assert shown.startswith("error: the environment's settings of the hub cannot be read (")
    assert len(shown.splitlines()) == 1
