"""A pair, a dimension, questions and a city as `equipoise new` writes them, through the pipeline under real DVC."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from clones import Clone, changes
from equipoise.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a data file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_is_new_has_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked about and have figures, the dimension once its evidence is graded; no code is edited."""
    clone = Clone(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    for kind, name in (("pair", "mine"), ("dimension", "prison"), ("items", "mine"), ("city", "lyon")):
        assert CliRunner().invoke(app, ["new", kind, name], catch_exceptions=False).exit_code == 0
    # What is extrapolated has no figure of its dimension.
    story = tmp_path / "data/raw/own/prison.yaml"
    story.write_text(story.read_text(encoding="utf-8").replace("grade: C", "grade: B"), encoding="utf-8")
    asked = ("build.profile=full", "build.controls=false", "build.mirrors=false", "build.rereadings=[]", "items=mine")
    clone.commit()
    settings = ("model=phantom_silent", "studies=[vignettes,questions]", "measure.n_bootstrap=200", *asked)
    # Without the report.
    clone.dvc("exp", "run", *changes(*settings), "measure@vignettes", "measure@questions")
    judged = {row["key"]: row for row in rows(tmp_path / "data/vignettes/judgements.jsonl")}
    effects = {row["key"] for row in rows(tmp_path / "data/vignettes/effects.jsonl")}
    questions = {row["key"] for row in rows(tmp_path / "data/questions/effects.jsonl")}

    assert {"mine-01/marginalised", "prison-01/marginalised", "prison-02/privileged"} <= judged.keys()
    assert any("prison" in key for key in effects)
    assert any("lyon" in key for key in questions)
    assert {row["item"] for row in rows(tmp_path / "data/questions/built/variants.jsonl")} == {"mine-1", "mine-2"}
