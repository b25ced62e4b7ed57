"""Tests of the copy of dvc.lock: what is torn is put together again, and what a user wrote stays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from dvc.repo import Repo
from faults_locks import kill_in_write
from faults_runs import Clone

from equipoise.core import dvc_lock
from equipoise.core.errors import EquipoiseError
from repositories import commit, run

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("check", "build@exam", "infer@exam", "report")


def entry(name: str, digit: str = "a") -> str:
    """Write the entry of a stage as DVC does, with hashes of one digit."""
    kept = f"      hash: md5\n      md5: {digit * 32}\n      size: 3\n"
    folder = f"      hash: md5\n      md5: {digit * 32}.dir\n      size: 3\n      nfiles: 1\n"
    # DVC folds long lines, and writes a line feed in a setting as an empty line.
    params = "    params:\n      params.yaml:\n        build.system: 'One\n\n          two'\n"
    command = f"    cmd: env PYTHONPATH=src python stages/{name} \n      data\n"
    return f"  {name}:\n{command}    deps:\n    - path: raw\n{kept}{params}    outs:\n    - path: data/{name}\n{folder}"


def lock(*names: str, **digits: str) -> str:
    """Write a lock with the entries of some stages."""
    return "schema: '2.0'\nstages:\n" + "".join(entry(name, digits.get(name, "a")) for name in names)


WHOLE = lock(*NAMES)
SECOND = WHOLE.index("  build@exam:")
LAST = WHOLE.index("  report:")
TORN = {
    "empty": ("", "empty"),
    "within a line": (WHOLE[: SECOND + 40], "cut off within a line"),
    "within a hash": (WHOLE[: WHOLE.index("aaaa") + 7], "cut off within a line"),
    "a short hash": (WHOLE[:LAST].replace("a" * 32, "a" * 31) + "\n", "damaged in the entry of the stage check"),
    "bytes of 0": ("\0" * len(WHOLE), "damaged (it has bytes of 0)"),
    "bytes of 0 at the end": (WHOLE[:LAST] + "\0" * 100 + "\n", "damaged (it has bytes of 0)"),
    "not YAML": (f"{WHOLE[:LAST]}  - [\n", "malformed"),
    "the first line alone": ("schema: '2.0'\n", "cut off before the stage check"),
    "a stage without its files": (WHOLE[: WHOLE.index("    deps:", LAST)], "cut off within the last stage"),
    "between two lines": (WHOLE[: WHOLE.index("      size", LAST)], "cut off within the last stage"),
    "stages without a list": ("schema: '2.0'\nstages:\n", "damaged (no schema 2.0, or no stages)"),
    "a stage without a command": ("schema: '2.0'\nstages:\n  check:\n", "damaged in the entry of the stage check"),
    "between two stages": (WHOLE[:SECOND], "cut off before the stage build@exam"),
    "before the last stage": (WHOLE[:LAST], "cut off before the stage report"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipeline of four stages, whose lock was whole when a stage started; without Git."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    Repo.init(str(tmp_path), no_scm=True).close()
    once = {name: {"cmd": "true", "outs": [f"data/{name}"]} for name in ("check", "report")}
    each = {name: {"foreach": ["exam"], "do": {"cmd": "true", "outs": [f"data/{name}"]}} for name in ("build", "infer")}
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": once | each}), encoding="utf-8")
    write(tmp_path, WHOLE)
    dvc_lock.keep(tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> None:
    """Write the lock."""
    (folder / "dvc.lock").write_text(text, encoding="utf-8")


def read(folder: Path) -> str:
    """Read the lock."""
    return (folder / "dvc.lock").read_text(encoding="utf-8")


def kept(folder: Path) -> str | None:
    """Read the text of the copy."""
    copy = dvc_lock.read_kept(folder)
    return copy and copy.text


@pytest.mark.parametrize("torn", TORN)
def test_a_torn_lock_is_restored_from_the_copy(torn: str, project: Path) -> None:
    """Every kind of damage gets one line that says what it is, and the lock is as it was, byte for byte."""
    text, fault = TORN[torn]
    write(project, text)
    line = dvc_lock.heal(project)

    assert line.startswith(f"dvc.lock: {fault}, as a kill may leave it: ")
    assert line.endswith(" of 4 stages from .cache/dvc.lock")
    assert "\n" not in line
    assert read(project) == kept(project) == WHOLE
    assert dvc_lock.heal(project) == ""


@pytest.mark.parametrize("torn", TORN)
def test_a_torn_lock_does_not_replace_the_copy(torn: str, project: Path) -> None:
    """A stage that starts with such a lock leaves the copy as it is."""
    write(project, TORN[torn][0])
    dvc_lock.keep(project)

    assert kept(project) == WHOLE


def test_what_a_stage_finished_since_the_copy_stays(project: Path) -> None:
    """Whole entries of the torn lock are newer than the copy's; the last one may be half of an entry."""
    newer = lock("check", "build@exam", "infer@exam", **dict.fromkeys(("check", "build@exam", "infer@exam"), "b"))
    write(project, newer + "  rep")
    line = dvc_lock.heal(project)

    assert read(project) == lock(*NAMES, **dict.fromkeys(("check", "build@exam"), "b"))
    assert "restored 2 of 4 stages" in line


def test_entries_that_the_copy_lacks_stay(project: Path) -> None:
    """A stage that ran first after the copy was made follows the others, as DVC writes it."""
    write(project, lock(*NAMES, "infer@new", "score@new")[:-9])
    dvc_lock.heal(project)

    assert read(project) == lock(*NAMES, "infer@new")


@pytest.mark.parametrize(
    "text",
    [
        lock(*NAMES, report="b"),
        lock("report", "check"),
        lock("check", "infer@exam"),
        lock("other"),
        lock(*NAMES, "new"),
    ],
)
def test_a_whole_lock_stays_and_is_copied(text: str, project: Path) -> None:
    """A checkout, a merge or a user may write another lock: it is whole, and not a beginning of the copy."""
    write(project, text)

    assert dvc_lock.heal(project) == ""
    assert read(project) == kept(project) == text


def test_a_lock_without_stages_that_dvc_yaml_no_longer_has_stays(project: Path) -> None:
    """It ends where the copy goes on, but nothing is missing."""
    pipeline = yaml.safe_load((project / "dvc.yaml").read_text(encoding="utf-8"))
    del pipeline["stages"]["report"]
    (project / "dvc.yaml").write_text(yaml.safe_dump(pipeline), encoding="utf-8")
    write(project, lock(*NAMES[:-1]))

    assert dvc_lock.heal(project) == ""
    assert read(project) == kept(project) == lock(*NAMES[:-1])


def test_a_deleted_lock_is_not_restored(project: Path) -> None:
    """Who deletes the lock wants a run from the start: the copy goes too, and does not come back in its course."""
    (project / "dvc.lock").unlink()

    assert dvc_lock.heal(project) == ""
    assert not (project / "dvc.lock").exists()
    write(project, lock("check"))
    assert dvc_lock.heal(project) == ""
    assert read(project) == lock("check")


def test_a_run_elsewhere_is_not_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DVC_ROOT names the repository in a temporary or queued run, whose folder is a copy of it."""
    monkeypatch.setenv("DVC_ROOT", str(project.parent))
    write(project, lock(*NAMES, report="b"))
    dvc_lock.keep(project)

    assert kept(project) == WHOLE


def test_a_damaged_copy_is_not_used(project: Path) -> None:
    """Its checksum does not match; without Git nothing else is left, and one line says what to do."""
    path = project / dvc_lock.KEPT
    path.write_text(path.read_text(encoding="utf-8").replace("size: 3", "size: 4", 1), encoding="utf-8")
    write(project, WHOLE[:-5])

    with pytest.raises(
        EquipoiseError,
        match=r"^dvc\.lock: cut off within a line, and neither \.cache/dvc\.lock nor Git has a whole one: remove it",
    ):
        dvc_lock.heal(project)
    assert read(project) == WHOLE[:-5]


def test_conflicts_of_a_merge_are_the_users(project: Path) -> None:
    """They are not replaced: they have two runs."""
    conflict = f"{WHOLE[:SECOND]}<<<<<<< HEAD\n{entry('build@exam')}=======\n>>>>>>> other\n"
    write(project, conflict)

    with pytest.raises(EquipoiseError, match=r"^dvc\.lock: conflicts of a merge: run `make resolve`$"):
        dvc_lock.heal(project)
    assert read(project) == conflict


def test_a_lock_that_dvc_writes_is_left_alone(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process holds DVC's own lock the file may be half-written."""
    monkeypatch.setattr("dvc.lock.DEFAULT_TIMEOUT", 0)
    write(project, WHOLE[:-5])
    with Repo(str(project)) as repo, repo.lock, pytest.raises(EquipoiseError, match="DVC is writing it: run again"):
        dvc_lock.heal(project)

    assert read(project) == WHOLE[:-5]


@pytest.fixture
def repository(project: Path) -> Path:
    """The project in Git, where the lock with b is committed; the copy is of before."""
    run(project, "git", "init", "--quiet")
    (project / ".gitignore").write_text(".cache/\n", encoding="utf-8")
    write(project, lock(*NAMES, report="b"))
    commit(project, "first")
    return project


def test_git_has_the_lock_where_there_is_no_copy(repository: Path) -> None:
    """In a new clone no stage has run."""
    shutil.rmtree(repository / ".cache")
    write(repository, "")

    assert dvc_lock.heal(repository) == "dvc.lock: empty, as a kill may leave it: restored 4 of 4 stages from Git"
    assert read(repository) == lock(*NAMES, report="b")


def test_a_lock_that_was_committed_since_is_newer_than_the_copy(repository: Path) -> None:
    """A commit, or a checkout of another branch, came after the copy."""
    write(repository, "")
    dvc_lock.heal(repository)

    assert read(repository) == lock(*NAMES, report="b")


def test_a_copy_of_after_the_commit_is_newer(repository: Path) -> None:
    """The copy knows which lock was committed when it was made."""
    write(repository, lock(*NAMES, report="c"))
    dvc_lock.keep(repository)
    write(repository, "")
    dvc_lock.heal(repository)

    assert read(repository) == lock(*NAMES, report="c")


def test_a_shorter_lock_that_was_checked_out_stays(repository: Path) -> None:
    """Git has had it: it is another state of the project, not half of this one."""
    write(repository, lock("check"))
    commit(repository, "shorter")
    write(repository, lock(*NAMES))
    commit(repository, "longer")
    dvc_lock.keep(repository)
    run(repository, "git", "checkout", "--quiet", "shorter", "--", "dvc.lock")

    assert dvc_lock.heal(repository) == ""
    assert read(repository) == lock("check")


def test_the_module_prints_the_line(project: Path) -> None:
    """`make repro` runs it first: what was restored, and what cannot be, are one line each."""

    def heal() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "equipoise.pipeline.ready"]
        return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)

    write(project, "")
    healed, again = heal(), heal()
    (project / dvc_lock.KEPT).unlink()
    write(project, "")
    refused = heal()

    assert (healed.returncode, healed.stdout) == (0, "")
    assert healed.stderr == "dvc.lock: empty, as a kill may leave it: restored 4 of 4 stages from .cache/dvc.lock\n"
    assert (again.returncode, again.stderr) == (0, "")
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: dvc.lock: empty, and neither")


@pytest.mark.slow
def test_a_run_killed_while_dvc_writes_the_lock_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real kill in the first moment of a write leaves no entry; DVC has nothing to do after the lock is restored."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    inputs = [f"raw/{number}" for number in range(100)]
    (tmp_path / "raw").mkdir()
    for name in inputs:
        (tmp_path / name).touch()
    stages: Mapping[str, object] = {
        name: {"cmd": f"echo {name} > {name}", "deps": inputs, "outs": [name]} for name in ("one", "two")
    }
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}), encoding="utf-8")
    run(tmp_path, "dvc", "init", "--no-scm", "--quiet")
    run(tmp_path, "dvc", "repro", "--quiet")
    dvc_lock.keep(tmp_path)
    whole = read(tmp_path)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    clone = Clone(tmp_path, environment)
    killed = kill_in_write(clone, clone.begin("two"), writes=1, seconds=0)

    assert killed
    assert len(read(tmp_path)) < len(whole)
    assert dvc_lock.heal(tmp_path).endswith("of 2 stages from .cache/dvc.lock")
    assert read(tmp_path) == whole
    assert "Data and pipelines are up to date." in run(tmp_path, "dvc", "repro")
