"""Tests of the record of a run: what it says of Git, what counts as edited, and whose page it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from equipoise.core import provenance
from equipoise.core.errors import EquipoiseError
from repositories import commit, run

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "a" * 64


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a commit, in which a run writes files of its own."""
    for name in (*provenance.WRITTEN, "params.yaml"):
        place = tmp_path / name if "." in name else tmp_path / name / "file"
        place.parent.mkdir(exist_ok=True)
        place.write_text("before\n", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("/data/\n", encoding="utf-8")
    run(tmp_path, "git", "init", "--quiet")
    commit(tmp_path, "first")
    return tmp_path


def test_a_run_on_a_clean_commit_names_it(project: Path) -> None:
    """The commit, the time in UTC, and the versions of Python's packages are those of here and now."""
    made = provenance.made(PAGE, project)

    assert (made.commit, made.n_edited) == (run(project, "git", "rev-parse", "HEAD").strip(), 0)
    assert datetime.now(UTC) - datetime.fromisoformat(made.date) < timedelta(minutes=5)
    assert made.packages["numpy"] == metadata.version("numpy")


def test_what_a_run_writes_is_no_edit(project: Path) -> None:
    """dvc.lock, metrics, plots, the archive and results change in a run; settings and new files make another commit."""
    for path in project.rglob("file"):
        path.write_text("after\n", encoding="utf-8")
    (project / "dvc.lock").write_text("after\n", encoding="utf-8")
    (project / "data").mkdir()
    (project / "data/ignored").touch()
    written = provenance.made(PAGE, project)
    (project / "params.yaml").write_text("after\n", encoding="utf-8")
    (project / "new model.yaml").touch()
    edited = provenance.made(PAGE, project)

    assert written.edited == ()
    assert (edited.n_edited, edited.edited) == (2, ("new model.yaml", "params.yaml"))


def test_many_edits_are_counted_and_some_named(project: Path) -> None:
    """The record stays small, whatever lies in the folder."""
    for number in range(provenance.SHOWN + 5):
        (project / f"file{number}").touch()
    made = provenance.made(PAGE, project)

    assert (made.n_edited, len(made.edited)) == (provenance.SHOWN + 5, provenance.SHOWN)


def test_outside_git_no_commit_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a folder without a repository nor a machine without Git has a commit."""
    outside = provenance.made(PAGE, tmp_path)
    monkeypatch.setenv("PATH", "")
    without = provenance.made(PAGE, tmp_path)

    assert {(made.commit, made.n_edited, made.gpus) for made in (outside, without)} <= {
        (None, 0, outside.gpus),
        (None, 0, ()),
    }


def test_a_record_is_read_back_for_its_own_page_alone(tmp_path: Path) -> None:
    """A file that an earlier run left is that of another page; without a file there is no record."""
    path = tmp_path / provenance.FILE
    made = provenance.made(PAGE, tmp_path)
    missing = provenance.read(path, PAGE)
    provenance.write(path, made)

    assert missing is None
    assert provenance.read(path, PAGE) == made
    assert provenance.read(path, "b" * 64) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "run.js: not written by the stage report: run `dvc repro --force --single-item report`"),
        ("window.equipoiseRun = {};\n", "run.js: field page: Field required"),
        ("window.equipoiseRun = {;\n", "run.js: not JSON"),
    ],
)
def test_a_malformed_record_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    """It names the file, and the field or the fix."""
    (tmp_path / provenance.FILE).write_text(text, encoding="utf-8")

    with pytest.raises(EquipoiseError) as caught:
        provenance.read(tmp_path / provenance.FILE, PAGE)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
