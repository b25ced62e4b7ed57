"""Tests of `equipoise leaderboard` on real DVC experiments of a pipeline that only writes figures."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from rich.table import Table
from typer.testing import CliRunner

from equipoise.cli.leaderboard import leaderboard, verdicts_of
from equipoise.compare.leaderboard import Run, standings
from equipoise.core.errors import EquipoiseError
from equipoise.figures.plain import OPEN
from equipoise.figures.result import BIASED
from repositories import commit, run

if TYPE_CHECKING:
    from click.testing import Result

app = typer.Typer()
app.command()(leaderboard)

PIPELINE = """\
stages:
  measure:
    cmd: python measure.py
    params: [model, measure]
    deps: [measure.py]
    outs:
      - metrics/vignettes.json: {cache: false}
"""
MEASURE = """\
import json, pathlib, yaml
params = yaml.safe_load(pathlib.Path("params.yaml").read_text())
if params["model"] == "broken":
    raise SystemExit("no such model")
# 0 is a figure like any other, and must not be taken for a missing one.
shift = {"a": 0.0, "b": 0.123456}[params["model"]]
measured = {"estimate": shift, "ci_low": shift - 1, "ci_high": shift + 1}
table = {"n": 2, "stereotype_shift_net": measured, "silent_bias_rate_moved": {"n": 0}}
pathlib.Path("metrics").mkdir(exist_ok=True)
pathlib.Path("metrics/vignettes.json").write_text(json.dumps(table))
"""
PARAMS = "model: a\nmeasure:\n  alpha: 0.05\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which model a was run and committed, and b and, with another alpha, a are experiments."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in (("dvc.yaml", PIPELINE), ("measure.py", MEASURE), ("params.yaml", PARAMS)):
        (folder / name).write_text(text, encoding="utf-8")
    run(folder, "git", "init", "--quiet", "--initial-branch", "main")
    run(folder, "dvc", "init", "--quiet")
    run(folder, "dvc", "repro", "--quiet")
    commit(folder, "first")
    run(folder, "dvc", "exp", "run", "--temp", "--name", "other", "--set-param", "model=b")
    run(folder, "dvc", "exp", "run", "--temp", "--name", "wide", "--set-param", "measure.alpha=0.1")
    return folder


@pytest.fixture(autouse=True)
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the project."""
    monkeypatch.chdir(project)


def show(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def rows(*arguments: str) -> list[dict[str, Any]]:
    """Run the command for its JSON."""
    board: list[dict[str, Any]] = json.loads(show("--json", *arguments).stdout)
    return board


def test_every_model_and_set_of_parameters_has_a_row() -> None:
    """The commit and both experiments are rows; the workspace, which holds the commit's figures, is none of its own."""
    assert [(row["model"], row["run"], row["parameters"]) for row in rows()] == [
        ("a", "main", {}),
        ("a", "wide", {"measure.alpha": 0.1}),
        ("b", "other", {}),
    ]


def test_figures_are_those_of_the_metrics_files() -> None:
    """All digits are kept, 0 is a figure, a share of no answers is undefined, and a missing file is not measured."""
    of_a, _, of_b = (row["figures"] for row in rows())

    assert (of_a["vignettes.stereotype_shift_net"]["estimate"], of_b["vignettes.stereotype_shift_net"]["estimate"]) == (
        0.0,
        0.123456,
    )
    assert of_b["vignettes.stereotype_shift_net"]["ci_high"] == 1.123456
    assert of_b["vignettes.silent_bias_rate_moved"]["state"] == "undefined"
    assert of_b["questions.race.gap"]["state"] == "not measured"


def test_files_are_written(tmp_path: Path) -> None:
    """Markdown and CSV are written beside what is printed, which names the reference and the other parameters."""
    printed = show("--markdown", str(tmp_path / "a.md"), "--csv", str(tmp_path / "b" / "a.csv")).stdout

    assert len([line for line in (tmp_path / "a.md").read_text(encoding="utf-8").split("\n") if "|" in line]) == 5
    assert len((tmp_path / "b" / "a.csv").read_text(encoding="utf-8").splitlines()) == 4
    assert "reference: main" in printed
    assert "* a (wide): other parameters: measure.alpha=0.1" in printed


def test_an_edited_workspace_is_left_out_until_it_has_run(project: Path) -> None:
    """Figures of the last run are not shown beside parameters that were edited since."""
    (project / "params.yaml").write_text(PARAMS.replace("model: a", "model: b"), encoding="utf-8")
    printed = show().stdout
    (project / "params.yaml").write_text(PARAMS, encoding="utf-8")

    assert "left out: the workspace, whose model changed since it ran: run `dvc repro`" in printed


@pytest.mark.slow
def test_queued_and_failed_experiments_are_named(project: Path) -> None:
    """An experiment of the queue that has no figures has no row; a failed one is named with where to read why."""
    run(project, "dvc", "exp", "run", "--queue", "--name", "bad", "--set-param", "model=broken")
    queued = show().stdout
    run(project, "dvc", "exp", "run", "--run-all")
    failed = show().stdout

    assert "left out: experiment bad, queued" in queued
    assert "left out: experiment bad, failed: read `dvc queue logs bad`" in failed
    assert [row["run"] for row in rows()] == ["main", "wide", "other"]


def test_outside_a_project_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Git and DVC, and without figures, the error says what to run."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EquipoiseError, match=r"experiments cannot be read .* run this in a clone with Git and DVC"):
        leaderboard()
    run(tmp_path, "git", "init", "--quiet")
    run(tmp_path, "dvc", "init", "--quiet")
    with pytest.raises(EquipoiseError, match="no run has figures yet: run `dvc repro`"):
        leaderboard()


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"stereotype_shift_net": []}', '{"a": ' * 5000 + "1" + "}" * 5000])
def test_malformed_metrics_are_one_line(
    text: str, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A metrics file that is empty, a list, or nested is left out with its name, without a traceback."""
    folder = tmp_path / "clone"
    run(tmp_path, "git", "clone", "--quiet", str(project), str(folder))
    (folder / "metrics/vignettes.json").write_text(text, encoding="utf-8")
    commit(folder, "second")
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, [])

    assert done.exit_code == 1
    assert isinstance(done.exception, EquipoiseError)
    assert str(done.exception).startswith("no run has figures yet")
    assert "\n" not in str(done.exception)
    if "[" not in text:  # DVC reads a list as no figures
        assert "whose metrics/vignettes.json is not a table of figures: run `dvc repro --force` there" in str(
            done.exception
        )


def test_verdicts_come_first_in_a_line_a_model() -> None:
    """A difference of 0.032 is 3 of 100 patients; a study that was not run has a dash, open verdicts a sentence."""
    own = {
        "n": 2,
        "verdict": {"is": "undecided"},
        "error_difference": {"estimate": 0.032, "ci_low": -0.06, "ci_high": 0.13},
    }
    runs = [
        Run("one", "", datetime.now(tz=UTC), {"model": "a"}, "a", {"vignettes": own}),
        Run("two", "", datetime.now(tz=UTC), {"model": "b"}, "b", {"stigma": {"verdict": {"is": BIASED}}}),
    ]
    table, meant, undecided = verdicts_of(standings(runs, {}))
    assert isinstance(table, Table)

    assert [[column.header, *column.cells] for column in table.columns] == [
        ["model", "a", "b"],
        ["vignettes", "undecided", "–"],
        ["stigma", "–", "biased"],
        ["of 100", "3 (\N{MINUS SIGN}6 to 13)", ""],
    ]
    assert str(meant).startswith("The last column: of 100 marginalised patients, so many more than of 100 privileged")
    assert undecided == OPEN


def test_each_set_of_parameters_of_a_model_has_a_line_of_its_verdicts() -> None:
    """Two runs of one model with other parameters than the reference's are two lines, though both are marked."""
    told = {"stigma": {"verdict": {"is": BIASED}}}
    runs = [
        Run(name, "", datetime.now(tz=UTC), {"model": "a", "score": {"length": name}}, "a", told)
        for name in ("total", "per_token")
    ]
    table = verdicts_of(standings(runs, {}))[0]
    assert isinstance(table, Table)

    assert [*table.columns[0].cells] == ["a *", "a *"]
