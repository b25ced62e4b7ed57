"""Tests of `equipoise import outputs`."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from equipoise.backends.replay import Saved
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.models import registry
from equipoise.models.registry import ReplayEntry
from equipoise.studies.cases.imports import import_outputs
from equipoise.studies.cases.saved import saved_cases

if TYPE_CHECKING:
    from click.testing import Result

app = typer.Typer()
app.command()(import_outputs)
CASE = {"prompt": "A Black man is tired.", "bias_feature": "black", "bias_label": "anxiety"}
OUTPUTS = [
    {"id": "a", "model_name": "some_model", "output_text": "<think>He is black.</think>**Diagnosis:** Anxiety."},
    {"id": "b", "output_text": "<think>He is black, so I"},
    {"id": "c", "status": "error"},
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with three cases and outputs to them: one whole, one cut off, one that failed."""
    monkeypatch.chdir(tmp_path)
    cases = [{**CASE, "id": key} for key in ("a", "b", "c")]
    (tmp_path / "cases.json").write_text(json.dumps({"cases": cases}), encoding="utf-8")
    written(tmp_path, OUTPUTS)
    return tmp_path


def written(folder: Path, outputs: list[dict[str, str]]) -> None:
    """Write the outputs."""
    (folder / "out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in outputs), encoding="utf-8")


def invoke(*arguments: str, name: str = "replay_x") -> Result:
    """Import the outputs."""
    return CliRunner().invoke(
        app, ["out.jsonl", "--name", name, "--cases", "cases.json", *arguments], catch_exceptions=False
    )


def made(folder: Path) -> list[str]:
    """List the files that the command may make."""
    return sorted(
        path.relative_to(folder).as_posix()
        for part in ("data", "models")
        for path in (folder / part).rglob("*")
        if path.is_file()
    )


def test_a_model_of_the_registry_is_written(folder: Path) -> None:
    """The entry names both files with their digests, and answers the study of cases alone."""
    done = invoke("--licence", "CC BY 4.0")
    entry = registry.load_entry("replay_x", folder)

    assert made(folder) == ["data/cases/replay_x.jsonl", "data/replays/replay_x.jsonl", "models/replay_x.yaml"]
    assert isinstance(entry, ReplayEntry)
    assert entry.cases is not None
    assert (entry.title, entry.licence, entry.answers) == ("some_model, saved outputs", "CC BY 4.0", ("cases",))
    assert entry.sha256 == jsonl.sha256(folder / entry.file)
    assert entry.cases.sha256 == jsonl.sha256(folder / entry.cases.file)
    assert "2 outputs to 3 cases" in done.stdout
    assert "dvc exp run -S model=replay_x" in done.stdout


def test_outputs_are_kept_whole(folder: Path) -> None:
    """One reply is the whole text; thinking that never ends is unfinished; a run that failed has no reply."""
    invoke()
    rows = jsonl.read(folder / "data/replays/replay_x.jsonl", Saved)
    cases, outputs = saved_cases("replay_x", registry.load_entry("replay_x", folder), folder)

    assert [(row.replies, row.finished) for row in rows] == [
        ((OUTPUTS[0]["output_text"],), (True,)),
        ((OUTPUTS[1]["output_text"],), (False,)),
        ((), ()),
    ]
    assert cases == (folder / "data/cases/replay_x.jsonl").read_text(encoding="utf-8")
    assert [(row.key, row.study) for row in outputs] == [("a", "cases"), ("b", "cases"), ("c", "cases")]


def test_the_licence_is_what_the_user_states(folder: Path) -> None:
    """Without a word of the user it is not stated; the title may be given."""
    invoke("--title", "Some model 8B")
    entry = registry.load_entry("replay_x", folder)

    assert (entry.title, entry.licence) == ("Some model 8B, saved outputs", "not stated")


def test_importing_again_replaces_what_was_imported(folder: Path) -> None:
    """An entry that this command wrote may be written again."""
    invoke()
    written(folder, OUTPUTS[:1])
    invoke()

    assert [row.key for row in jsonl.read(folder / "data/replays/replay_x.jsonl", Saved)] == ["a"]


@pytest.mark.parametrize("entry", ["backend: openai\n", "backend: replay\nfile: elsewhere.jsonl\n", "- 1\n"])
def test_another_model_is_not_overwritten(folder: Path, entry: str) -> None:
    """An entry of another backend, or of another file, is left as it is."""
    (folder / "models").mkdir()
    (folder / "models/replay_x.yaml").write_text(entry, encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"^models/replay_x\.yaml: not written by this command: choose another"):
        invoke()
    assert made(folder) == ["models/replay_x.yaml"]
    assert (folder / "models/replay_x.yaml").read_text(encoding="utf-8") == entry


@pytest.mark.parametrize("earlier", [False, True])
def test_nothing_half_written_stays(folder: Path, monkeypatch: pytest.MonkeyPatch, *, earlier: bool) -> None:
    """Where the entry cannot be written, the data files go, or are again what they were."""
    if earlier:
        invoke()
        written(folder, OUTPUTS[:1])
    before = {name: (folder / name).read_bytes() for name in made(folder)}

    def full(path: Path, text: str) -> None:
        message = f"{path}: cannot be written ({len(text)} characters)"
        raise EquipoiseError(message)

    monkeypatch.setattr("equipoise.studies.cases.replays.jsonl.write_text", full)
    with pytest.raises(EquipoiseError, match="cannot be written"):
        invoke()

    assert {name: (folder / name).read_bytes() for name in made(folder)} == before


def test_a_disk_that_stays_full_keeps_what_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bringing the earlier files back needs no room."""
    invoke()
    written(folder, OUTPUTS[:1])
    before = {name: (folder / name).read_bytes() for name in made(folder)}
    left = iter(range(5))  # three copies, the cases and the answers, but not the entry
    sync = os.fsync

    def full(file: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(file)

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(EquipoiseError, match="No space left on device"):
        invoke()

    assert {name: (folder / name).read_bytes() for name in made(folder)} == before


@pytest.mark.parametrize(
    ("outputs", "name", "message"),
    [
        (OUTPUTS, "Replay-X", r"^--name 'Replay-X': use lower-case letters, digits and underscores"),
        ([{"id": "z", "output_text": "x"}], "x", r"out\.jsonl: ids that are not among the 3 cases of cases\.json: z"),
        (
            [{"id": "a", "mode": mode, "output_text": "x"} for mode in ("cot", "plain")],
            "x",
            r"out\.jsonl: id 'a' is in several modes: give a file, and a name, for each mode",
        ),
    ],
)
def test_what_cannot_be_imported_is_named(folder: Path, outputs: list[dict[str, str]], name: str, message: str) -> None:
    """A name that no setting holds, outputs of other cases, and outputs in several modes are refused."""
    written(folder, outputs)

    with pytest.raises(EquipoiseError, match=message):
        invoke(name=name)
    assert made(folder) == []
