"""Tests that the recorded results of phantoms, which the README shows, are those of the code as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import projects
from equipoise.figures.figure import headline_metrics
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.registry import TITLES
from equipoise.studies.vignettes.study import STUDY

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("model", "word"),
    [("phantom_silent", "biased beyond the margin"), ("phantom_fair", "no bias beyond the margin")],
)
def test_a_recorded_phantom_is_as_a_run_of_it(
    model: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default vignettes, run anew, give every recorded figure: else `equipoise record` was forgotten."""
    monkeypatch.chdir(ROOT)
    (path,) = (ROOT / "results").glob(f"{model}@*.json")
    recorded = json.loads(path.read_text(encoding="utf-8"))["metrics"]["vignettes"]
    data = tmp_path / "data"
    shutil.copytree(ROOT / "data", data, ignore=lambda path, _: TITLES if Path(path) == ROOT / "data" else ())
    run = Run("vignettes", data, projects.committed_settings().model_copy(update={"model": model}))
    for stage in ("build", "infer", "score"):
        step("vignettes", stage)(run)
    result = measure(run, step("vignettes", "measure"))

    assert recorded["verdict"]["is"] == word
    assert headline_metrics(STUDY.figures, result.effects, result.totals).items() <= recorded.items()
