"""Tests of `equipoise results`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import projects
from equipoise.cli.results import results
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Estimate, Group, effect
from equipoise.stats.quantities import Interval, PValue

ROOT = Path(__file__).parents[2]
app = typer.Typer()
app.command()(results)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the effects of two studies, and run from the repository's root in a wide terminal."""
    shift = Estimate(0.25, Interval(0.1, 0.4), PValue.of(0.01, lambda: -2.0))
    vignettes = [
        effect(Group("overall", "all", "vignettes"), "stereotype_shift_net", 41, shift),
        effect(Group("overall", "all", "vignettes"), "gap", 41, Estimate(0.5)),
    ]
    exam = [effect(Group("city", "london", "exam"), "accuracy", 20, Estimate(None))]
    for study, rows in (("vignettes", vignettes), ("exam", exam)):
        jsonl.write(tmp_path / study / "effects.jsonl", rows)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def invoke(*arguments: str) -> str:
    """Run the command."""
    return CliRunner().invoke(app, arguments, catch_exceptions=False).stdout


def test_headline_figures_are_printed_a_table_a_study(data: Path) -> None:
    """A figure has its n, interval and p; what is not a headline is left out, and what is undefined says so."""
    printed = invoke("vignettes", "exam", "--data", str(data))

    assert ["net stereotype shift (nats)", "secondary", "41", "0.250", "0.100 to 0.400", "0.010 (one test)"] in [
        [cell.strip() for cell in line.strip("│┃ ").split("│")] for line in printed.splitlines()
    ]
    assert "95 % interval" in printed
    assert "undefined" in printed
    assert "gap" not in printed


def test_the_tests_of_an_adjusted_p_value_are_counted_below_the_table(data: Path) -> None:
    """Two dimensions with a p-value are two tests; that of a third is undefined, and other figures do not count."""
    groups = [Group("dimension", name, "vignettes") for name in ("age", "gender", "race")]
    tested = [
        effect(group, "stereotype_shift_net", 5, Estimate(0.1)).model_copy(update={"neg_log10_p_holm": p})
        for group, p in zip(groups, (1.0, 0.0, None), strict=True)
    ]
    other = [row.model_copy(update={"key": f"{row.key}_stub", "measure": f"{row.measure}_stub"}) for row in tested]
    jsonl.write(data / "vignettes/effects.jsonl", [*tested, *other])
    printed = invoke("vignettes", "--data", str(data))

    assert "0.100 (Holm)" in printed
    assert "p (Holm) is adjusted over the groups of one figure, not over the figures: dimension 2." in printed


def test_figures_as_json(data: Path) -> None:
    """With --json they are one list."""
    (found,) = json.loads(invoke("vignettes", "--data", str(data), "--json"))

    assert (found["figure"], found["n"], found["estimate"]) == ("vignettes.stereotype_shift_net", 41, 0.25)


def test_a_study_that_is_unknown_or_was_not_run_is_named(data: Path) -> None:
    """The error gives the studies that there are, or the command that runs one."""
    with pytest.raises(EquipoiseError, match="no study 'vignette': known: vignettes, questions, exam"):
        invoke("vignette", "--data", str(data))
    with pytest.raises(EquipoiseError, match=r"stigma/effects\.jsonl: .* not been run: run `dvc repro measure@stigma`"):
        invoke("stigma", "--data", str(data))


def test_recorded_phantoms_come_first(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bias is the first row, then the planted fair model; this run is the last one, with what it means."""
    # The checkout's own settings name the model of the last run.
    (data / "params.yaml").write_text(projects.committed("params.yaml"), encoding="utf-8")
    (data / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(data)
    printed = invoke("vignettes", "--data", str(data))
    rows = [line for line in printed.splitlines() if line.startswith("│ ")]
    models = [row.split("│")[1].strip() for row in rows]

    assert models[0] == "Phantom: biased in silence"
    assert "biased beyond the margin" in rows[0]
    assert models[2] == "Phantom: a fair model"
    assert "no bias beyond the margin" in rows[2]
    assert "this run: smollm2" in models
    assert "Undecided means that the run shows neither a bias beyond the margin nor its absence" in printed


def test_no_table_stands_beside_a_run_without_recorded_ones(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project of one's own has no recorded results until `equipoise record` writes one."""
    (data / "params.yaml").write_text((ROOT / "params.yaml").read_text("utf-8"), encoding="utf-8")
    monkeypatch.chdir(data)

    assert "this run" not in invoke("vignettes", "--data", str(data))
