"""The judge's two pipelines say the truth about what each stage needs, and their figures are those of what is kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from equipoise.core.records import read_one
from equipoise.models.registry import EmbeddedSource, load_judge_entry
from test_pipeline import closure, paths
from workshop.export import Shipped
from workshop.snli import Pair, read_snli, write_snli

ROOT = Path(__file__).parents[3]
HALVES = {"judge/snli": "minilm_snli", "judge": "minilm_nli"}
"""Folder of each pipeline, and the registry's name for the judge that it makes."""
PIPELINES: dict[str, dict[str, Any]] = {
    folder: yaml.safe_load((ROOT / folder / "dvc.yaml").read_text("utf-8"))["stages"] for folder in HALVES
}


@pytest.mark.parametrize(
    ("folder", "name"), [(folder, name) for folder, stages in PIPELINES.items() for name in stages]
)
def test_deps_hold_the_import_closure(folder: str, name: str) -> None:
    """A stage depends on the code that it can import; not on packages' docstrings, which would train anew."""
    stage = PIPELINES[folder][name]
    named = {path for path in paths(stage, "deps") if path.endswith(".py")}
    expected = {path for path in closure(f"judge/stages/{name}.py") if not path.endswith("__init__.py")}

    assert {os.path.normpath(Path(folder) / path) for path in named} == expected


def test_stages_are_thin() -> None:
    """A stage script has at most 40 lines."""
    assert all(len(path.read_text("utf-8").splitlines()) <= 40 for path in (ROOT / "judge/stages").glob("*.py"))


@pytest.mark.parametrize(("folder", "name"), HALVES.items())
def test_metrics_are_those_of_the_kept_weights(folder: str, name: str) -> None:
    """The committed metrics carry the manifest's fidelity and size, and an accuracy that meets the aim of 0.83."""
    metrics = yaml.safe_load((ROOT / folder / "metrics/judge.json").read_text("utf-8"))
    manifest = read_one(ROOT / folder / "weights/manifest.json", Shipped)
    source = load_judge_entry(name, ROOT).source

    assert isinstance(source, EmbeddedSource)
    assert source.files == {file: one.sha256 for file, one in manifest.files.items()}
    assert metrics["fidelity"] == manifest.fidelity.model_dump()
    assert metrics["model_bytes"] == manifest.files["model.onnx"].size
    assert metrics["snli"]["accuracy"] >= 0.83


def test_the_error_that_figures_are_corrected_for_is_that_on_unseen_labels() -> None:
    """The registry's counts are those of the folds that calibration left out, and its aims are met there."""
    held_out = yaml.safe_load((ROOT / "judge/metrics/calibration.json").read_text("utf-8"))["held_out"]
    error = load_judge_entry("minilm_nli", ROOT).error

    assert error is not None
    assert held_out["errors"] == error.model_dump(exclude={"labels"})
    assert held_out["considered"]["kappa"]["estimate"] >= 0.75
    assert held_out["three_way"]["kappa"]["estimate"] >= 0.65
    assert held_out["considered"]["auc"]["estimate"] >= 0.95


def test_the_settings_are_those_that_calibration_chose() -> None:
    """params.yaml reads as the choice in judge/metrics/calibration.json has it."""
    choice = yaml.safe_load((ROOT / "judge/metrics/calibration.json").read_text("utf-8"))["choice"]
    score = yaml.safe_load((ROOT / "params.yaml").read_text("utf-8"))["score"]
    grid = yaml.safe_load((ROOT / "judge/params.yaml").read_text("utf-8"))["calibrate"]["hypotheses"]

    assert score["hypotheses"] == grid[choice["hypotheses"]]
    assert (score["sentences"], score["top_k"], choice["temperature"]) == (choice["sentences"], choice["top_k"], 1)
    assert {name: score["thresholds"][name] for name in choice["thresholds"]} == choice["thresholds"]


def test_pairs_are_read_as_they_were_written(tmp_path: Path) -> None:
    """What `write_snli` writes, `read_snli` reads."""
    pairs = [Pair("A «b»\nc.", "D.", "entailment"), Pair("A.", "D.", "neutral")]
    write_snli(tmp_path / "new" / "pairs.jsonl", pairs)

    assert read_snli(tmp_path / "new" / "pairs.jsonl") == pairs
