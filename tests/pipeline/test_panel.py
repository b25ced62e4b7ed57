"""A run of the vignettes in the panel design: two phantoms, from the stories to the figures."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml

import projects
from equipoise.core import jsonl
from equipoise.figures.figure import headline_metrics
from equipoise.figures.layout import rows_of
from equipoise.judge.readers import Reader
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.vignettes.study import STUDY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equipoise.figures.effects import Effect

ROOT = Path(__file__).parents[2]
SETTINGS = projects.committed_settings()
GROUPS = ("black", "woman", "low-income", "black-transgender-woman")


@contextmanager
def _judge(*_: object) -> Iterator[Reader]:
    """Find nothing mentioned: what the reasoning says is not a figure of a panel."""
    yield Reader(lambda pairs: np.tile([0.0, 0.0, 0.0, 1.0], (len(pairs), 1)), lambda: 0)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a data folder with a panel of four groups."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("equipoise.studies.vignettes.score.open_reader", _judge)
    shutil.copytree(ROOT / "data/raw", tmp_path / "raw")
    for name in ("diagnoses.yaml", "features", "lexicon", "phantoms"):
        (tmp_path / name).symlink_to(ROOT / "data" / name)
    panel = yaml.safe_load((tmp_path / "raw/panel.yaml").read_text(encoding="utf-8"))
    panel["groups"] = [group for group in panel["groups"] if group["id"] in GROUPS]
    (tmp_path / "raw/panel.yaml").write_text(yaml.safe_dump(panel), encoding="utf-8")
    return tmp_path


def effects(model: str, data: Path) -> dict[str, Effect]:
    """Run a phantom from build to measure; index its effects as `family/group/measure`."""
    chosen = {"model": model, "build": SETTINGS.build | {"design": "panel"}}
    run = Run("vignettes", data, SETTINGS.model_copy(update=chosen))
    for stage in ("build", "infer", "score"):
        step("vignettes", stage)(run)
    result = measure(run, step(run.study, "measure"))
    assert headline_metrics(STUDY.figures, result.effects, result.totals).keys() >= {"n", "panel", "prompts"}
    return {row.place: row for row in rows_of(result)}


def test_what_is_planted_in_a_group_is_found(data: Path) -> None:
    """A shift of 2 nats for each feature stated, within the noise of 0.1; every case is asked once and counted."""
    figures = effects("phantom_silent", data)
    stories = len({row.pair for row in jsonl.read(data / "vignettes/built/vignettes.jsonl", Vignette)})

    # A log odds has two terms with noise of 0.1, and a difference two of these: 0.2 / sqrt(stories), four of them.
    for group, features in zip(GROUPS, (1, 1, 1, 2), strict=True):
        row = figures[f"panel/{group}/panel_shift"]
        assert row.n == stories
        assert row.estimate == pytest.approx(2.0 * features, abs=4 * 0.2 / stories**0.5)
        assert (row.neg_log10_p_holm or 0) > 3
    assert figures["run/all/n_prompts"].estimate == 5 * stories
    assert {row.family for row in figures.values()} == {"panel", "guard", "run", "verdict"}


def test_a_fair_phantom_has_no_group_apart(data: Path) -> None:
    """Nothing is planted, and no group is found by Holm's test, in likelihoods or in answers."""
    figures = effects("phantom_fair", data)

    assert [row.key for row in figures.values() if (row.neg_log10_p_holm or 0) > -np.log10(0.05)] == []
