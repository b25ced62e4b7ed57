"""Tests of `equipoise plan`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import projects
from equipoise.cli import plan as command
from equipoise.cli.plan import make_plan, planned
from equipoise.compare.revisions import Revision
from equipoise.core import params
from equipoise.core.errors import EquipoiseError
from equipoise.figures.layout import rows_of
from equipoise.figures.options import Decision, Endpoint, Measure
from equipoise.figures.result import Counts, StudyResult
from equipoise.studies.vignettes.comparison import VignetteRows
from runs import Case, vignette_rows

ROOT = Path(__file__).parents[2]
app = typer.Typer()
app.command()(make_plan)


def run(n: int) -> Revision:
    """Make a run of n pairs with stubs that cost 4 prompts, 100 tokens read and 20 written each."""
    rng = np.random.default_rng(1)
    cases = [Case(log_odds=(round(float(rng.normal()), 6), 0.0), stub=(0.0, 0.0)) for _ in range(n)]
    vignettes, judgements, _ = vignette_rows(cases)
    effects = rows_of(StudyResult(study="vignettes", counts=Counts(4 * n, 100 * n, 20 * n, 0)))
    rows = {"vignettes": VignetteRows(vignettes=vignettes, answers=judgements)}
    return Revision(name="run", rows=rows, effects=effects)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan from such a run, with the settings of this repository."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(command, "read_revision", lambda name: run(0 if name == "empty" else 30))


def invoke(*arguments: str) -> str:
    """Run the command."""
    return CliRunner().invoke(app, arguments, catch_exceptions=False).stdout


@pytest.mark.usefixtures("made")
def test_a_plan_says_what_is_needed_and_what_it_costs() -> None:
    """Costs are those of the run's pairs; 120 tokens a pair at 10 tokens a second take 12 seconds."""
    (found,) = json.loads(invoke("--json", "--speed", "10"))
    (need,) = found["needs"]

    assert (found["study"], found["margin"], found["run"]["items"]) == ("vignettes", 0.5, 30)
    assert (need["n_prompts"], need["prompt_tokens"]) == (4 * need["items"], 100 * need["items"])
    assert need["seconds"] == pytest.approx(12 * need["items"])
    # 30 pairs of sd about 1 support about 3.4 standard errors of 0.18.
    assert 0.45 < found["supported_margin"] < 0.8


@pytest.mark.usefixtures("made")
def test_a_plan_is_printed_as_a_table() -> None:
    """The sentence before it says what today's cases support."""
    printed = invoke()

    assert "Vignettes: net stereotype shift (nats), margin 0.5, power 0.8" in printed
    assert "these cases support a margin of 0." in printed
    assert "tokens written" in printed
    # The made run has no mirrors and no control tellings.
    assert "no number of cases suffices for a run like this one: the assay's sensitivity was not measured" in printed


def test_a_plan_says_where_no_bias_can_never_be_shown() -> None:
    """An endpoint without a measure of assay sensitivity can find bias, and never its absence."""
    endpoint = Endpoint(figure="stereotype_shift_net", margin=0.5, why="made up")
    (found,) = planned(run(30), Decision(endpoints={"vignettes": endpoint}), Measure())

    assert found.unmet == ("no measure of assay sensitivity is declared, without which no bias is not shown",)


@pytest.mark.usefixtures("made")
def test_a_plan_is_at_the_level_and_power_of_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """More power needs more pairs; of a study that stops early, the last line says what that takes."""
    settings = projects.committed_settings()
    decision = settings.decision | {"power": 0.95, "sequential": True}
    (before,) = json.loads(invoke("--json"))
    monkeypatch.setattr(params, "load", lambda: settings.model_copy(update={"decision": decision}))
    (after,) = json.loads(invoke("--json"))
    printed = invoke()

    assert after["needs"][0]["clusters"] > before["needs"][0]["clusters"]
    assert "margin 0.5, power 0.95" in printed
    assert "stops when its verdict is in needs an eighth more stories" in printed


@pytest.mark.usefixtures("made")
def test_without_a_run_there_is_no_plan() -> None:
    """Variance has to come from somewhere."""
    with pytest.raises(EquipoiseError, match=r"empty: no study .* figures that vary: run `dvc repro` first"):
        make_plan("empty")
