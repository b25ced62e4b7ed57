"""Tests of `equipoise new` and `equipoise check`: what is written is valid untouched, and nothing is overwritten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import projects
from equipoise.cli import models as listing
from equipoise.cli.app import app
from equipoise.core import records
from equipoise.models import registry
from equipoise.questions.cities import load_cities
from equipoise.questions.neutral.lexicon import load_lexicon
from equipoise.questions.neutral.neutralise import neutralise_items
from equipoise.questions.rows import Item
from equipoise.vignettes.library import load_library
from equipoise.vignettes.profiles import planned
from fakes import MadeMachine

if TYPE_CHECKING:
    from click.testing import Result

KINDS = ("model", "pair", "dimension", "items", "city")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the project."""
    monkeypatch.chdir(projects.copy(tmp_path))
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


def invoke(*words: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, list(words), prog_name="equipoise", catch_exceptions=False)


def tree(folder: Path) -> dict[str, bytes]:
    """Give the content of every file of a project."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_new_is_valid_and_found(project: Path) -> None:
    """One of each, untouched: the pair and the dimension are in the profile full, the rest where its reader looks."""
    for kind in KINDS:
        assert invoke("new", kind, "newone").exit_code == 0
    done = json.loads(invoke("check", "--json").stdout)
    library = load_library(project / "data/raw")
    keys = {pair for pair, _, _ in planned(library, "full")}
    neutral = neutralise_items(records.read(project / "data/items/newone.jsonl", Item), load_lexicon(Path("data/lexicon")))

    assert {"newone-01", "newone-02"} <= keys
    assert "newone" in library.dimensions
    assert "newone" in load_cities()
    assert isinstance(registry.load_entry("newone", project), registry.OnnxEntry)
    assert [row.excluded for row in neutral] == [None, None]
    counted = {(one["what"], one["where"]): one["n"] for one in done["checked"]}
    assert counted["items", "data/items/newone.jsonl"] == 2
    # Five sources of a city; of a pair and of a dimension a paper's error and its source; who wrote the questions.
    assert len(done["notes"]) == 5 + 2 * 2 + 1
    assert done["notes"][0].startswith("data/cities.yaml, line ")
