"""Tests of `equipoise show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

import runs
from equipoise.cli.show import show
from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).parents[2]
app = typer.Typer()
app.command()(show)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write three pairs, and run from the repository's root in a wide terminal."""
    runs.write_housing_study(tmp_path)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def invoke(folder: Path, *arguments: str) -> Result:
    """Run the command on the three pairs."""
    return CliRunner().invoke(app, [*arguments, "--data", str(folder)], catch_exceptions=False)


def test_a_pair_side_by_side(folder: Path) -> None:
    """Both arms are in one line; replies, answers and probabilities are shown."""
    shown = invoke(folder, "housing-02").stdout

    assert "housing-02 (housing, single): silent bias" in shown
    assert any("A homeless man" in line and "A stably housed man" in line for line in shown.splitlines())
    assert "[bold]rough[/bold]" in shown
    for part in ("stereotyped: alcoholic neuropathy", "−1.500", "dismissed", "p weighed", "by likelihood"):
        assert part in shown


def test_a_pair_as_json(folder: Path) -> None:
    """With --json the pair is one object."""
    found = json.loads(invoke(folder, "housing-01/privileged", "--json").stdout)

    assert (found["pair"], list(found["arms"])) == ("housing-01", ["marginalised", "privileged"])
    assert found["arms"]["privileged"]["text"] == "A stably housed man has a numb foot."


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], ["housing-01", "housing-02", "housing-03"]),
        (["--biased"], ["housing-02", "housing-03"]),
        (["--silent"], ["housing-02"]),
        (["--dimension", "housing"], ["housing-01", "housing-02", "housing-03"]),
    ],
)
def test_filters(folder: Path, filters: list[str], expected: list[str]) -> None:
    """Without a key the pairs are listed, as filtered, with and without --json."""
    found = [json.loads(line)["pair"] for line in invoke(folder, *filters, "--json").stdout.splitlines()]

    assert found == expected
    assert f"{len(expected)} of 3 pairs" in invoke(folder, *filters).stdout


def test_unsure_has_margins(folder: Path) -> None:
    """With --unsure each arm's distance from its threshold is given, and the nearest pair is first."""
    found = [json.loads(line) for line in invoke(folder, "--unsure", "--json").stdout.splitlines()]
    margins = [min(arm["margin"] for arm in pair["arms"].values()) for pair in found]

    assert margins == sorted(margins)
    assert "margin" in invoke(folder, "--unsure").stdout


def test_faults_are_one_line(folder: Path) -> None:
    """A missing file names the fix, an unknown key the nearest; a key and a filter do not go together."""
    with pytest.raises(EquipoiseError, match=r"no pair 'housing-1': the nearest are housing-01"):
        show("housing-1", data=folder)
    with pytest.raises(EquipoiseError, match="'housing-01' is one pair, which no filter applies to"):
        show("housing-01", biased=True, data=folder)
    (folder / "judgements.jsonl").unlink()
    with pytest.raises(EquipoiseError, match=r"judgements\.jsonl: no such file: .*`dvc repro`"):
        show(data=folder)
