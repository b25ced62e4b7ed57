"""Tests of options that name a file to write: none overwrites what it did not write, or anything that is not a file."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest
from typer.testing import CliRunner

from equipoise.cli import evidence as command
from equipoise.cli.app import COMMANDS, app
from equipoise.core.errors import EquipoiseError
from equipoise.core.overwriting import is_same
from equipoise.report import packing

ROOT = Path(__file__).parents[2]
READ = {
    *("data", "pack", "file", "files", "log", "samples", "sheets", "vignettes", "responses", "judgements", "cases"),
    *("features", "lexicon", "diagnoses", "raw", "library", "mapping", "cities", "questions", "women", "men"),
    *("answers", "implied", "concepts", "rq1", "rq2", "steps", "tokens"),
}
"""Parameters of commands that are paths to read."""
FOLDERS = {("export run", "out"), ("blind import", "ratings")}
READ_THERE = {("blind import", "key")}
WRITTEN: dict[tuple[str, str], str] = {
    ("leaderboard", "markdown_file"): "leaderboard --markdown {}",
    ("leaderboard", "csv_file"): "leaderboard --csv {}",
    ("pack", "evidence"): "pack --evidence {}",
    ("verify", "report"): "verify run.zip --report {}",
    ("blind export", "out"): "blind export --out {}",
    ("blind export", "key"): "blind export --key {}",
    ("blind import", "out"): "blind import anna.csv --out {}",
    ("export vignettes", "out"): "export vignettes {}",
    ("import amqa", "out"): "import amqa any.jsonl --out {}",
    ("import bench", "out"): "import bench any.jsonl --out {}",
    ("import medmcqa", "out"): "import medmcqa any.jsonl --out {}",
    ("import openr1-psy", "out"): "import openr1-psy any.jsonl --out {}",
    ("import vignettes", "out"): "import vignettes any.json --out {}",
}
"""Each option that names a file to write, and a command that does so; what it refuses, it refuses before it reads."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder of a project."""
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    return tmp_path / "empty"


def refusal(words: str) -> str:
    """Run a command that ends with 1; give the line that it prints."""
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 1, done.output
    (line,) = done.output.splitlines()
    return line


def kinds(folder: Path) -> dict[str, tuple[int, int]]:
    """Say which file, and of what kind, each name of a folder stands for."""
    return {path.name: (path.lstat().st_ino, path.lstat().st_mode) for path in folder.iterdir()}


def test_every_path_of_every_command_is_one_to_read_or_to_write() -> None:
    """A new option comes into one of these lists."""
    paths = {
        (words, name)
        for words, entry in COMMANDS.items()
        for module, _, function in [entry.function.partition(":")]
        for name, kind in get_type_hints(getattr(import_module(module), function)).items()
        if "Path" in str(kind)
    }

    assert {(words, name) for words, name in paths if name not in READ} == {*WRITTEN, *FOLDERS, *READ_THERE}


@pytest.mark.parametrize("option", WRITTEN, ids="/".join)
def test_what_a_command_did_not_write_is_kept(folder: Path, option: tuple[str, str]) -> None:
    """A file of mine, and standard output by its usual name."""
    (folder / "mine.json").write_text("mine\n", encoding="utf-8")

    message = refusal(WRITTEN[option].format("mine.json"))
    kept = "already exists and may hold ratings" if option[0] == "blind export" else "not written by this command"
    assert message.startswith(f"error: mine.json: {kept}: ")
    assert (folder / "mine.json").read_text("utf-8") == "mine\n"
    if option[0] != "export vignettes":  # its file is to end in .json
        assert "-: this command writes a file, not standard output: " in refusal(WRITTEN[option].format("-"))
    assert [path.name for path in folder.iterdir()] == ["mine.json"]


@pytest.mark.parametrize("option", WRITTEN, ids="/".join)
def test_what_is_no_file_is_kept(folder: Path, option: tuple[str, str]) -> None:
    """A pipe, a link to one, a circle of links and a folder stay."""
    os.mkfifo(folder / "pipe.json")
    (folder / "link.json").symlink_to("pipe.json")
    (folder / "circle.json").symlink_to("circle.json")
    (folder / "folder.json").mkdir()
    before = kinds(folder)

    for name in ("pipe", "link", "circle", "folder"):
        fault = "a folder" if name == "folder" else "not a regular file"
        assert refusal(WRITTEN[option].format(f"{name}.json")).startswith(f"error: {name}.json: {fault}: ")
    assert kinds(folder) == before


def test_a_report_does_not_replace_its_pack(folder: Path) -> None:
    """Neither by the pack's name, nor by a link to it, nor with --force."""
    (folder / "run.zip").write_bytes(b"pack")
    (folder / "link.md").symlink_to("run.zip")
    (folder / "hard.md").hardlink_to(folder / "run.zip")

    for name in ("run.zip", "link.md", "hard.md"):
        message = refusal(f"verify run.zip --report {name} --force")
        assert message == f"error: {name}: is the pack itself, and would be overwritten: name another with --report"
    assert (folder / "run.zip").read_bytes() == b"pack"


def test_a_pack_that_does_not_verify_leaves_the_earlier_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is replaced by a verified pack alone."""
    (folder / "run.zip").write_bytes(b"earlier")
    monkeypatch.setattr(packing, "pack", lambda: b"new")
    monkeypatch.setattr(command.evidence, "read", lambda path: path.read_bytes())
    monkeypatch.setattr(command, "differences", lambda contents: iter([f"{contents!r} differs"]))

    with pytest.raises(EquipoiseError, match=r"^b'new' differs: other code or settings made this run"):
        command.pack_evidence(Path("run.zip"), force=True, as_json=False)
    assert (folder / "run.zip").read_bytes() == b"earlier"
    monkeypatch.setattr(command, "differences", lambda _: iter([]))
    command.pack_evidence(Path("run.zip"), force=True, as_json=False)
    assert (folder / "run.zip").read_bytes() == b"new"
    assert [path.name for path in folder.iterdir()] == ["run.zip"]


def test_paths_to_one_file_are_the_same(folder: Path) -> None:
    """Through links, through `..`, before the file is there, and where a link leads to itself."""
    (folder / "a").touch()
    (folder / "b").symlink_to("a")
    (folder / "circle").symlink_to("circle")
    (folder / "other").symlink_to("other")

    assert is_same(Path("a"), folder / "b")
    assert is_same(Path("new"), folder / "x" / ".." / "new")
    assert is_same(Path("circle"), folder / "circle")
    assert not is_same(Path("circle"), Path("other"))
    assert not is_same(Path("a"), Path("new"))
