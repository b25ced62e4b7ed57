"""The judge's two pipelines say the truth about what each stage needs, and their figures are those of what is kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

import projects
from equipoise.core.jsonl import read_one
from equipoise.judge.passages import passage_files, read_passages
from equipoise.models.registry import EmbeddedSource, load_classifier_entry
from test_pipeline import closure, paths
from workshop.export import Shipped
from workshop.snli import Pair, read_snli, write_snli

ROOT = Path(__file__).parents[3]
FOLDERS = ("judge/snli", "judge")
"""Folder of each pipeline."""
KEPT = {
    "minilm_snli": "judge/snli/weights",
    "minilm_passages": "judge/reader",
}
"""The judges that ship, by their names in the registry, and where their weights are."""
PIPELINES: dict[str, dict[str, Any]] = {
    folder: yaml.safe_load((ROOT / folder / "dvc.yaml").read_text("utf-8"))["stages"] for folder in FOLDERS
}


@pytest.mark.parametrize(
    ("folder", "name"), [(folder, name) for folder, stages in PIPELINES.items() for name in stages]
)
def test_deps_hold_the_import_closure(folder: str, name: str) -> None:
    """A stage depends on the code that it can import; not on packages' docstrings, which would train anew."""
    stage = PIPELINES[folder][name]
    named = {path for path in paths(stage, "deps") if path.endswith((".py", "thinking.yaml"))}
    expected = {path for path in closure(f"judge/stages/{name}.py") if not path.endswith("__init__.py")}

    assert {os.path.normpath(Path(folder) / path) for path in named} == expected
    # DVC accepts a path that is listed twice.
    assert len(stage["deps"]) == len(set(stage["deps"]))


def test_stages_are_thin() -> None:
    """A stage script has at most 40 lines."""
    assert all(len(path.read_text("utf-8").splitlines()) <= 40 for path in (ROOT / "judge/stages").glob("*.py"))


@pytest.mark.parametrize(("name", "folder"), KEPT.items())
def test_the_registry_has_the_kept_weights(name: str, folder: str) -> None:
    """The registry's checksums are those of the manifest."""
    manifest = read_one(ROOT / folder / "manifest.json", Shipped)
    source = load_classifier_entry(name, ROOT).source

    assert isinstance(source, EmbeddedSource)
    assert source.files == {file: record.sha256 for file, record in manifest.files.items()}


def test_metrics_are_those_of_the_kept_weights() -> None:
    """The metrics of the judge of inference have the manifest's fidelity and size, and meet the aim of 0.83 on SNLI."""
    metrics = yaml.safe_load((ROOT / "judge/snli/metrics/judge.json").read_text("utf-8"))
    manifest = read_one(ROOT / KEPT["minilm_snli"] / "manifest.json", Shipped)

    assert metrics["fidelity"] == manifest.fidelity.model_dump()
    assert metrics["model_bytes"] == manifest.files["model.onnx"].size
    assert metrics["snli"]["accuracy"] >= 0.83


def test_the_kept_weights_are_small_enough_for_git() -> None:
    """The weights of all judges in the repository have at most 45 MB together."""
    assert sum((ROOT / folder / "model.onnx").stat().st_size for folder in KEPT.values()) <= 45_000_000


def test_the_default_judge_is_measured_first() -> None:
    """The first judge of `validate` is that of the main pipeline, and its weights ship with the repository."""
    settings = yaml.safe_load((ROOT / "judge/params.yaml").read_text("utf-8"))["validate"]
    default = yaml.safe_load(projects.committed("params.yaml"))["judge"]

    assert settings["judges"][0] == default
    assert default in KEPT


def test_the_error_that_figures_are_corrected_for_is_that_on_unseen_labels() -> None:
    """The registry's counts are those of the benchmark, on which nothing was trained or chosen."""
    measured = yaml.safe_load((ROOT / "judge/metrics/validation.json").read_text("utf-8"))["minilm_passages"]
    error = load_classifier_entry("minilm_passages", ROOT).error

    assert error is not None
    assert measured["passages"]["errors"] == error.model_dump(exclude={"labels"})


def test_no_passage_of_the_benchmark_is_trained_on() -> None:
    """Passages for training and for measuring share no text."""
    trained, measured = (
        {passage.text for passage in read_passages(passage_files(ROOT / "judge" / name))}
        for name in ("passages", "benchmark")
    )

    assert trained.isdisjoint(measured)


def test_pairs_are_read_as_they_were_written(tmp_path: Path) -> None:
    """`read_snli` reads what `write_snli` writes."""
    pairs = [Pair("A «b»\nc.", "D.", "entailment"), Pair("A.", "D.", "neutral")]
    write_snli(tmp_path / "new" / "pairs.jsonl", pairs)

    assert read_snli(tmp_path / "new" / "pairs.jsonl") == pairs
