"""Tests of `equipoise doctor`: each check on what is sound and on what is damaged."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dvc.lock import Lock
from typer.testing import CliRunner

import projects
from builders import response
from equipoise.cli import doctor
from equipoise.cli.app import app
from equipoise.core import jsonl
from equipoise.core.cache import ResponseCache
from equipoise.core.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

ROOT = Path(__file__).parents[2]
GONE = 2**22 - 3
"""The number of a process that does not run: the largest that Linux gives is 2 ** 22."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


def findings_of(check: Callable[..., object], *, clean: bool = False) -> list[tuple[str, str]]:
    """Give the state and the message of every finding of a check."""
    return [(finding.state, finding.message) for finding in doctor._guarded(check, clean=clean)]  # type: ignore[arg-type]


def run(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, ["doctor", *arguments])


def test_a_damaged_value_of_a_cache_is_found(project: Path) -> None:
    """A value that does not match its digest is counted, with its key, and the file stays as it is."""
    path = project / ".cache" / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.keep({f"key-{n}": response(f"x{n}") for n in range(3)})
    sound = findings_of(doctor.caches)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE response SET value = value || ' ' WHERE key = 'key-1'")
    database.close()

    assert sound == [("ok", ".cache/responses.sqlite, 3 values")]
    assert findings_of(doctor.caches) == [
        ("wrong", ".cache/responses.sqlite: 1 of 3 values damaged (key-1): the next run asks them again")
    ]


def test_a_truncated_cache_is_found(project: Path) -> None:
    """A file of no bytes is a damaged cache, not an empty one; one that was set aside is noted."""
    (project / ".cache").mkdir()
    (project / ".cache" / "responses.sqlite").write_bytes(b"")
    (project / ".cache" / "responses.sqlite.damaged-1").write_bytes(b"x")

    (wrong, truncated), (note, aside) = findings_of(doctor.caches)

    assert (wrong, note) == ("wrong", "note")
    assert truncated == (
        ".cache/responses.sqlite: damaged (it holds no table): the next run sets it aside, and keeps what is intact"
    )
    assert aside.startswith(".cache/responses.sqlite.damaged-1: a damaged file that was set aside: remove it")


def test_an_altered_export_is_found(project: Path) -> None:
    """Each file of an export is compared with the hash that was taken of it."""
    folder = project / ".cache" / "models" / "tiny-1"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"graph")
    files = {"model.onnx": jsonl.sha256(folder / "model.onnx"), "config.json": "0" * 64}
    manifest = Manifest(model="tiny", repo="r", revision="a", licence="MIT", folder="tiny-1", files=files)
    jsonl.write_json(folder.parent / "tiny.json", manifest.written())
    judge = project / ".cache" / "judges" / "nli-1"
    judge.mkdir(parents=True)
    (judge / "model.onnx").write_bytes(b"graph")
    jsonl.write_json(judge / "manifest.json", {"files": {"model.onnx": jsonl.sha256(judge / "model.onnx")}})
    missing = findings_of(doctor.exports)
    (folder / "config.json").write_bytes(b"{}")

    assert missing[0] == ("wrong", ".cache/models/tiny-1/config.json: missing: run `dvc repro --force export`")
    assert findings_of(doctor.exports) == [
        ("wrong", ".cache/models/tiny-1/config.json: checksum mismatch: run `dvc repro --force export`"),
        ("ok", ".cache/judges/nli-1"),
    ]


def test_the_model_of_a_pulled_run_need_not_be_here(project: Path) -> None:
    """The manifest of a run is restored without its weights; after an export here a missing folder is a fault."""
    manifest = Manifest(model="tiny", repo="r", revision="a", licence="MIT", folder="tiny-1", files={"x": "0" * 64})
    (project / "data").mkdir()
    jsonl.write_json(project / "data" / "manifest.json", manifest.tracked())
    pulled = findings_of(doctor.exports)
    (project / ".cache" / "models").mkdir(parents=True)
    jsonl.write_json(project / ".cache" / "models" / "tiny.json", manifest.written())

    fix = "to ask new prompts, first run `dvc repro --force export`"
    assert pulled == [("note", f"tiny: not exported here (normal after `make pull`): {fix}")]
    assert findings_of(doctor.exports) == [
        ("wrong", ".cache/models/tiny-1/x: missing: run `dvc repro --force export`"),
    ]


def test_what_a_killed_export_leaves_is_removed(project: Path) -> None:
    """A kill leaves a folder that no later run removes; doctor does, once its process is gone and it is asked to."""
    script = (
        "import sys; from pathlib import Path; from equipoise.models.export import new_folder\n"
        "with new_folder(Path('.cache/models'), 'tiny') as made:\n"
        "    (made / 'half').write_bytes(b'x'); print('begun', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as export:
        assert export.stdout is not None
        assert export.stdout.readline() == b"begun\n"
        running = findings_of(doctor.leftovers, clean=True)
        export.send_signal(signal.SIGKILL)
    (left,) = (project / ".cache" / "models").iterdir()
    name = left.relative_to(project)

    assert running == [("note", f"{name}: a run may still be writing it")]
    assert findings_of(doctor.leftovers) == [("wrong", f"{name}: left by a killed run: run `equipoise doctor --clean`")]
    assert findings_of(doctor.leftovers, clean=True) == [("ok", f"{name}: removed")]
    assert not list((project / ".cache" / "models").iterdir())
    assert findings_of(doctor.leftovers) == [("ok", "none")]


def test_temporary_files_are_removed_once_nobody_writes_them(project: Path) -> None:
    """Those of data files have no process in their name, and are kept for ten minutes; other hidden files stay."""
    (project / "data").mkdir()
    (project / ".cache").mkdir()
    old, new = project / "data" / f".rows.jsonl.{'0' * 16}", project / "data" / f".rows.jsonl.{'1' * 16}"
    cache, kept = project / ".cache" / f".responses.sqlite.{GONE}", project / ".cache" / ".responses.sqlite.lock"
    for path in (old, new, cache, kept):
        path.write_bytes(b"")
    os.utime(old, (0, 0))

    assert [message.rpartition(": ")[2] for _, message in findings_of(doctor.leftovers, clean=True)] == [
        "removed",
        "removed",
        "a run may still be writing it",
    ]
    assert (old.exists(), cache.exists(), new.exists(), kept.exists()) == (False, False, True, True)


def test_other_versions_than_those_tested_are_noted(project: Path) -> None:
    """A package of another version is a note, one that is missing is wrong, one of another platform neither."""
    constraints = project / "constraints.txt"
    constraints.write_text("pydantic==0.1 \\\n    --hash=sha256:00\nnumpy==0.2\n", encoding="utf-8")
    states = [
        (finding.state, finding.message)
        for finding in doctor.packages(
            constraints, ["pydantic>=2", "nothing-of-this-name", "elsewhere; os_name == 'x'"]
        )
    ]

    assert states[0][0] == "wrong"
    assert states[0][1].startswith("the package nothing-of-this-name is not installed: run `pip install")
    assert states[1][0] == "note"
    assert "(tested: 0.1): figures may differ in their last digits" in states[1][1]


def test_two_builds_of_onnx_runtime_are_wrong() -> None:
    """The extras run and judge have one each, and pip installs both where both are asked for."""
    (finding,) = doctor.builds(["onnxruntime", "onnxruntime-gpu"])

    assert finding.state == "wrong"
    assert "run `pip uninstall onnxruntime onnxruntime-gpu`, then `pip install --constraint" in finding.message
    assert list(doctor.builds(["onnxruntime-gpu"])) == []


def test_altered_weights_are_found(project: Path) -> None:
    """The weights of a judge that ships are compared with the registry."""
    for folder in ("models", "judge/reader"):
        shutil.copytree(ROOT / folder, project / folder)
    (project / "params.yaml").write_text(projects.committed("params.yaml"), encoding="utf-8")
    (weights,) = (path for path in (project / "judge/reader").rglob("config.json"))
    weights.write_bytes(b"{}")
    states = findings_of(doctor.weights)

    assert any(state == "wrong" and "checksum mismatch" in message for state, message in states)
    assert any("run `git checkout -- judge/reader" in message for _, message in states)


@pytest.fixture
def pipeline(project: Path) -> Path:
    """Run a pipeline of one stage."""
    (project / "raw").write_text("1\n", encoding="utf-8")
    stage = {"cmd": "cp raw made", "deps": ["raw"], "outs": ["made"]}
    (project / "dvc.yaml").write_text(json.dumps({"stages": {"make": stage}}), encoding="utf-8")
    for words in (["init", "--no-scm", "--quiet"], ["repro", "--quiet"]):
        subprocess.run([sys.executable, "-m", "dvc", *words], check=True, cwd=project)
    return project


def test_outputs_that_no_stage_wrote_are_found(pipeline: Path) -> None:
    """A sound pipeline is up to date; an altered output is wrong, a changed input a note."""
    sound = findings_of(doctor.dvc)
    (pipeline / "made").unlink()
    (pipeline / "made").write_text("2\n", encoding="utf-8")
    altered = findings_of(doctor.dvc)
    (pipeline / "raw").write_text("3\n", encoding="utf-8")

    assert sound == [("ok", "dvc.yaml and dvc.lock can be read: 1 stages, 1 up to date")]
    assert altered[0] == (
        "wrong",
        "made: changed since the stage make wrote it: run `dvc checkout --force made`, or `dvc repro`",
    )
    assert findings_of(doctor.dvc)[1:] == [("note", "not up to date: make: run `dvc repro`")]


def test_a_malformed_pipeline_is_found(pipeline: Path) -> None:
    """The line says which file cannot be read, and the fix; of a lock with the conflicts of a merge too."""
    (pipeline / "dvc.lock").write_text("<<<<<<< ours\n", encoding="utf-8")
    merged = findings_of(doctor.dvc)
    (pipeline / "dvc.lock").unlink()
    (pipeline / "dvc.yaml").write_text("stages: 1\n", encoding="utf-8")
    ((state, message),) = findings_of(doctor.dvc)

    assert merged == [("wrong", "dvc.lock: conflicts of a merge: run `make resolve`")]
    assert state == "wrong"
    assert message.startswith("the pipeline cannot be read (")
    assert message.endswith("fix the file, or run `git checkout -- dvc.yaml`")


def test_a_torn_lock_file_is_healed(pipeline: Path) -> None:
    """`doctor` names what a kill tore among its findings; another command says so on standard error, and goes on."""
    healed = "dvc.lock: empty, as a kill may leave it: restored 1 of 1 stages from .cache/dvc.lock"
    findings_of(doctor.dvc)
    whole = (pipeline / "dvc.lock").read_bytes()
    (pipeline / "dvc.lock").write_bytes(b"")
    findings = json.loads(run("--json").stdout)["findings"]
    (pipeline / "dvc.lock").write_bytes(b"")
    shown = CliRunner().invoke(app, ["results"])

    assert {"area": "dvc", "state": "note", "message": healed} in findings
    assert shown.stderr.splitlines()[0] == healed
    assert (pipeline / "dvc.lock").read_bytes() == whole


def test_a_lock_that_cannot_be_healed_is_the_error_of_a_command_that_reads_it(pipeline: Path) -> None:
    """Without Git and a copy, `pack` says what is wrong with the lock; `new city`, which does not read it, runs."""
    (pipeline / "dvc.lock").write_bytes(b"")
    refused = CliRunner().invoke(app, ["pack"])
    projects.copy(pipeline)
    made = CliRunner().invoke(app, ["new", "city", "paris"])

    assert refused.exit_code == 1
    told = "error: dvc.lock: empty, and neither .cache/dvc.lock nor Git has a whole one: "
    assert str(refused.exception).startswith(told)
    assert made.exit_code == 0, made.output


def test_locks_of_a_killed_command_are_released(pipeline: Path) -> None:
    """DVC's lock on an output names its process; one that is gone holds nothing."""
    lock = pipeline / ".dvc" / "tmp" / "rwlock"
    held = {"write": {"made": {"pid": GONE, "cmd": "dvc repro"}}, "read": {"raw": [{"pid": os.getpid(), "cmd": "x"}]}}
    lock.write_text(json.dumps(held), encoding="utf-8")

    assert findings_of(doctor.dvc) == [
        (
            "wrong",
            f".dvc/tmp/rwlock: locks of dvc repro (process {GONE}), which was killed: run `equipoise doctor --clean`",
        ),
        ("note", f"x (process {os.getpid()}): {doctor.RUNNING}"),
    ]
    assert findings_of(doctor.dvc, clean=True)[0][0] == "ok"
    assert str(GONE) not in lock.read_text(encoding="utf-8")


def test_a_run_that_is_on_is_not_a_fault(pipeline: Path) -> None:
    """While a stage runs, or DVC holds its lock on the repository, what the run is writing is not called wrong."""
    lock = pipeline / ".dvc" / "tmp" / "lock"
    lock.touch()
    with Lock(str(lock)):
        between = findings_of(doctor.dvc)
    (pipeline / "dvc.lock").write_bytes(b"")  # as DVC writes it
    held = {"write": {"made": {"pid": os.getpid(), "cmd": "dvc repro"}}, "read": {}}
    (lock.parent / "rwlock").write_text(json.dumps(held), encoding="utf-8")

    assert between == [("note", f"a command of DVC: {doctor.RUNNING}")]
    assert findings_of(doctor.dvc) == [("note", f"dvc repro (process {os.getpid()}): {doctor.RUNNING}")]
    assert (pipeline / "dvc.lock").read_bytes() == b""


@pytest.mark.usefixtures("project")
def test_the_command_exits_with_1_where_something_is_wrong() -> None:
    """Outside of a project each check says what is missing; with --json all findings are one object."""
    shown, printed = run(), run("--json")
    findings = json.loads(printed.stdout)

    assert (shown.exit_code, printed.exit_code) == (1, 1)
    assert "wrong  dvc: no dvc.yaml here: run this in the root of a clone" in shown.stdout
    assert f"{len(findings['findings'])} findings, {findings['wrong']} wrong" in shown.stdout
    assert {finding["area"] for finding in findings["findings"]} >= {"environment", "weights", "leftovers", "dvc"}
