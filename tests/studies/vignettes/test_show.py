"""Tests of `equipoise show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

import runs
from builders import judgement
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read, write
from equipoise.materials.judgement import Judgement
from equipoise.materials.versions import REREADINGS
from equipoise.materials.vignette import ROLES, Vignette
from equipoise.studies.vignettes.show import show

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).parents[3]
FILES: Any = (("built/vignettes.jsonl", Vignette), ("judgements.jsonl", Judgement))
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

    assert "housing-02 (housing, single): moved, unmentioned" in shown
    assert any("A homeless man" in line and "A stably housed man" in line for line in shown.splitlines())
    assert "[bold]rough[/bold]" in shown
    for part in ("documented error: alcoholic neuropathy", "−1.500", "dismissed", "p weighed", "by likelihood"):
        assert part in shown


@pytest.mark.parametrize("width", ["80", "60"])
def test_a_list_of_pairs_is_whole_in_a_narrow_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    """No key and no answer is cut or folded."""
    monkeypatch.setenv("COLUMNS", width)
    words = invoke(folder).stdout.split()

    assert {"housing-01", "housing-02", "housing-03"} <= {word.rstrip(";:") for word in words}
    assert "…" not in words


def test_a_pair_as_json(folder: Path) -> None:
    """With --json the pair is one object."""
    pair = json.loads(invoke(folder, "housing-01/privileged", "--json").stdout)

    assert (pair["pair"], list(pair["arms"])) == ("housing-01", ["marginalised", "privileged"])
    assert pair["arms"]["privileged"]["text"] == "A stably housed man has a numb foot."


def test_the_grade_and_the_other_tellings_are_shown(folder: Path) -> None:
    """Evidence of grade B; the stubs' and mirrors' log odds stand with their arms, and what is missing is said."""
    vignettes, judgements = ([*read(folder / name, kind)] for name, kind in FILES)
    tellings = [
        row.model_copy(update={"key": f"housing-02/{kind}-{role}", "answer": answer, "log_odds": odds})
        for row, role in zip(judgements[:2], ROLES, strict=True)
        for kind, answer, odds in (("stub", "distractor", 0.125), ("mirror", "stereotyped", 2.5))
    ]
    stubs = [
        telling.model_copy(update={"key": f"{pair}/{telling.key.partition('/')[2]}"})
        for telling in tellings
        for pair in ("housing-01", "housing-03")
        if "stub" in telling.key
    ]
    write(folder / FILES[0][0], [vignette.model_copy(update={"grade": "B"}) for vignette in vignettes])
    write(folder / FILES[1][0], [*judgements, *tellings, *stubs])
    shown = invoke(folder, "housing-02").stdout
    arms = json.loads(invoke(folder, "housing-02", "--json").stdout)["arms"]

    assert "evidence: grade B; with stubs and mirrors" in shown
    assert shown.count("0.125 (documented error") == shown.count("2.500 (documented error") == 2
    assert arms["privileged"]["stub"] == {"log_odds": 0.125}
    assert arms["marginalised"]["mirror"] == {"answer": "stereotyped", "label": "frostbite", "log_odds": 2.5}
    assert "evidence: grade B; with stubs\n" in invoke(folder, "housing-01").stdout.replace(" \n", "\n")


def test_imported_cases_have_no_grade(folder: Path) -> None:
    """Nor stubs or mirrors: both are said."""
    assert "evidence: no grade; no stubs or mirrors" in invoke(folder, "housing-02").stdout


def reread(folder: Path, odds: dict[str, tuple[float | None, float | None]]) -> None:
    """Add answers of housing-01 after other reasoning: log odds by reading, the marginalised patient's first."""
    file = folder / "judgements.jsonl"
    rows = [
        judgement(f"housing-01/{role}/{reading}", log_odds=value)
        for reading, values in odds.items()
        for role, value in zip(("marginalised", "privileged"), values, strict=True)
    ]
    own = jsonl.read(file, Judgement)
    own[0] = own[0].model_copy(update={"log_odds": 2.0})
    jsonl.write(file, [*own, *rows])


def test_a_pair_without_other_reasoning_has_no_cells(folder: Path) -> None:
    """Where no answer was read again nothing is printed of it, and JSON has null."""
    assert "case \\ reasoning" not in invoke(folder, "housing-01").stdout
    assert json.loads(invoke(folder, "housing-01", "--json").stdout)["reread"] is None


def test_the_four_cells_of_a_pair(folder: Path) -> None:
    """Own answers are 2 and -1.5, those with the reasonings exchanged 1 and -0.5; each is at its case and reasoning."""
    odds = dict.fromkeys(REREADINGS, (0.5, -0.5)) | {"swapped": (1.0, -0.5), "blinded": (1.5, -1.0)}
    reread(folder, odds)

    shown = invoke(folder, "housing-01").stdout.splitlines()
    report = json.loads(invoke(folder, "housing-01", "--json").stdout)["reread"]

    cells = [line.split() for line in shown if line.startswith(("marginalised  ", "privileged  "))]
    # Case, then: own or exchanged reasoning about each patient, the same blinded, and none.
    assert cells == [
        ["marginalised", "2.000", "1.000", "1.500", "0.500", "0.500"],
        ["privileged", "\u22120.500", "\u22121.500", "\u22120.500", "\u22121.000", "\u22120.500"],
    ]
    # Around: the mean of 2 + 0.5 and 1 + 1.5. Through: the mean of 2 - 1 and -0.5 + 1.5. Interaction: 2.5 - 2.5.
    text = " ".join(shown)
    assert "whole effect +3.500 = around +2.500, through +1.000; interaction 0.000" in text
    # Blinded, the reasonings differ by 1.5 - 0.5 and by -0.5 + 1.
    assert "through, both reasonings blinded: +0.750" in text
    assert "if asked without reasoning +1.000, after 25\u00a0% +1.000" in text
    assert report["cells"]["marginalised"] == {"marginalised": 2.0, "privileged": 1.0}
    assert (report["unit"], report["split"]["around"], report["split"]["through"]) == ("nats", 2.5, 1.0)


def test_cells_that_were_not_asked_for_are_left_out(folder: Path) -> None:
    """A run that read the answer again without reasoning alone has that column and the whole effect, not split."""
    reread(folder, {"unreasoned": (0.5, -0.5)})

    shown = invoke(folder, "housing-01").stdout

    assert "blinded" not in shown
    assert "around" not in shown
    assert "whole effect +3.500\nwhole effect if asked without reasoning +1.000\n" in shown


def test_without_log_odds_a_cell_is_whether_the_answer_is_stereotyped(folder: Path) -> None:
    """The marginalised patient's own answer has no log odds: every cell is 1 for a stereotyped answer, else 0."""
    reread(folder, {"swapped": (None, None)})
    file = folder / "judgements.jsonl"
    rows = [row.model_copy(update={"log_odds": None}) for row in jsonl.read(file, Judgement)]
    jsonl.write(file, rows)

    report = json.loads(invoke(folder, "housing-01", "--json").stdout)["reread"]

    assert (report["unit"], report["cells"]["marginalised"]["marginalised"]) == ("stereotyped", 0.0)
    assert "1 for the stereotyped answer, 0 for another" in invoke(folder, "housing-01").stdout


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
    keys = [json.loads(line)["pair"] for line in invoke(folder, *filters, "--json").stdout.splitlines()]

    assert keys == expected
    assert f"{len(expected)} of 3 pairs" in invoke(folder, *filters).stdout


def test_unsure_has_margins(folder: Path) -> None:
    """With --unsure each arm's distance from the turn is given, and the nearest pair is first."""
    pairs = [json.loads(line) for line in invoke(folder, "--unsure", "--json").stdout.splitlines()]
    margins = [min(arm["margin"] for arm in pair["arms"].values()) for pair in pairs]

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
