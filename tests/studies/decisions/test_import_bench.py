"""Tests of `equipoise import bench`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.studies.decisions.cli import import_bench
from equipoise.studies.vignettes.panel import Story, load_panel, story_versions

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "data/examples/bench.jsonl"
ASK = (
    "dvc exp run -S 'studies=[decisions]' -S build.design=panel -S build.cases=NAME, with the file as "
    "data/items/NAME.jsonl (NAME in lower-case letters, digits and underscores)"
)
app = typer.Typer()
app.command()(import_bench)


def imported(*words: str, out: Path) -> str:
    """Run the command; give what it printed."""
    arguments = [*words, "--out", str(out / "bench.jsonl"), "--raw", str(ROOT / "data/raw")]
    return CliRunner().invoke(app, arguments, catch_exceptions=False).stdout


def test_the_examples_are_imported_and_told(tmp_path: Path) -> None:
    """20 cases x 32 tellings are 640 prompts, each with words of its own, and fewer than published, which is said."""
    printed = imported(str(EXAMPLES), out=tmp_path)
    stories = jsonl.read(tmp_path / "bench.jsonl", Story)
    told = list(story_versions(stories, load_panel(ROOT / "data/raw"), "decisions"))

    assert printed.splitlines() == [
        f"{tmp_path}/bench.jsonl: 20 cases x 32 versions (a control and 31 groups) = 640 prompts",
        "another number than as published, 500 x 32 = 16,000",
        f"ask for decisions about them with: {ASK}",
    ]
    assert len({version.text for version in told}) == len(told) == 640
    assert {story.source for story in stories} == {"authored"}


def test_a_file_as_published_is_recognised(tmp_path: Path) -> None:
    """500 cases told 32 times are 16,000 prompts."""
    rows = [{"id": number, "text": f"{{patient}} has had gout {number} times."} for number in range(500)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    printed = json.loads(imported(str(tmp_path / "a.jsonl"), "--json", out=tmp_path))

    assert (printed["tellings"], printed["prompts"], printed["published"]) == (32, 16000, True)
    assert "another number" not in imported(str(tmp_path / "a.jsonl"), out=tmp_path)


def test_a_fault_writes_nothing(tmp_path: Path) -> None:
    """The file is refused whole."""
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "A man."}\n', encoding="utf-8")
    with pytest.raises(EquipoiseError, match="no field has the slot"):
        import_bench([str(tmp_path / "a.jsonl")], out=tmp_path / "bench.jsonl", raw=ROOT / "data/raw")

    assert not (tmp_path / "bench.jsonl").exists()
