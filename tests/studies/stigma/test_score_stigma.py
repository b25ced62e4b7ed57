"""Tests of `equipoise score stigma`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from equipoise.core.errors import EquipoiseError
from equipoise.studies.stigma.cli import score_stigma
from equipoise.studies.stigma.library import load_library

FOLDER = Path(__file__).parents[3] / "data/sentences"
LIBRARY = load_library(FOLDER)
app = typer.Typer()
app.command()(score_stigma)


def invoke(*arguments: object) -> str:
    """Run the command and give what it prints."""
    words = [*map(str, arguments), "--library", str(FOLDER)]
    return CliRunner().invoke(app, words, catch_exceptions=False).stdout


def names_of(condition_set: str) -> list[str]:
    """List the conditions of a set."""
    return [row.name for row in LIBRARY.conditions if row.condition_set == condition_set]


def share(sentence: int, condition: int, *, mental: bool) -> float:
    """Make up a female share that varies with sentence and condition, and is higher beside mental illness."""
    return 0.2 + 0.1 * mental + 0.01 * condition + 0.03 * (sentence % 2)


def write_rq1(path: Path, *, mental: bool, template: str = "<mask> has [diagnosis]") -> Path:
    """Write two sentences of rq1 about every condition of a set."""
    rows = [",probability,gender,diagnosis,prompt"]
    for sentence, text in enumerate((template, "<mask> is in therapy for [diagnosis]")):
        for number, name in enumerate(names_of("mental" if mental else "control")):
            values = {"female": share(sentence, number, mental=mental), "male": 0.2, "ambig": 0.1}
            rows += [f"0,{value!r},{gender},{name},{text}" for gender, value in values.items()]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def write_steps(path: Path) -> Path:
    """Write the paths of one sentence of rq2 about every mental illness; one is a part of a word."""
    rows = [",diagnosis,stigma_category,sequence,probability"]
    for number, name in enumerate(names_of("mental")):
        for phrase, value in (("woman", 0.25 + 0.01 * number), ("man", 0.125), ("schoolgirl friend", 0.0625)):
            rows.append(f"0,{name},Fear,I feel scared of a {phrase} with {name}.,{value!r}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def write_tokens(path: Path) -> Path:
    """Write a log of rq1's first sentence about every mental illness."""
    lists = [
        [
            {"score": 0.25 + 0.01 * number, "token_str": "She", "sequence": f"She has {name}"},
            {"score": 0.125, "token_str": "Mark", "sequence": f"Mark has {name}"},
        ]
        for number, name in enumerate(names_of("mental"))
    ]
    path.write_text(f"running experiment 0\n{lists}\n", encoding="utf-8")
    return path


def figures(printed: str, family: str, group: str, measure: str) -> Any:
    """Find the figures of one measure in the JSON that the command prints."""
    return json.loads(printed)["metrics"][family][group][measure]


def test_mental_and_control_files_are_compared(tmp_path: Path) -> None:
    """The set is read from the file; with both sets the difference of the disparities is given."""
    mental, control = write_rq1(tmp_path / "a.csv", mental=True), write_rq1(tmp_path / "b.csv", mental=False)
    printed = invoke("--rq1", mental, "--rq1", control, "--json")
    scored = json.loads(printed)

    assert scored["files"] == {str(mental): 22, str(control): 22}  # 2 sentences x 11 conditions
    assert scored["notes"] == []
    assert list(scored["metrics"]) == ["rq1_mental", "rq1_control", "rq1_difference"]
    # mean female share 0.3 + 0.05 + 0.015, male 0.2; the sets differ by 0.1
    assert figures(printed, "rq1_mental", "all", "disparity")["estimate"] == pytest.approx(0.165, abs=1e-6)
    assert figures(printed, "rq1_difference", "all", "disparity")["estimate"] == pytest.approx(0.1, abs=1e-6)


def test_one_set_has_no_difference(tmp_path: Path) -> None:
    """Without a second set there is nothing to compare with."""
    printed = invoke("--rq1", write_rq1(tmp_path / "a.csv", mental=True), "--json")

    assert list(json.loads(printed)["metrics"]) == ["rq1_mental"]


def test_steps_are_summed_either_way(tmp_path: Path) -> None:
    """Parts of words count with --legacy alone."""
    steps = write_steps(tmp_path / "steps.csv")
    female = [
        figures(invoke("--steps", steps, *flags, "--json"), "rq2_mental", "fear", "female")["estimate"]
        for flags in ([], ["--legacy"])
    ]

    assert female == pytest.approx([0.3, 0.3625], abs=1e-6)  # 0.25 + 0.05, and 0.0625 more


def test_first_names_are_unspecified_without_their_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the short lists alone are matched; --names wants the imported lists."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    log = write_tokens(tmp_path / "output.txt")

    assert figures(invoke("--tokens", log, "--json"), "rq1_mental", "all", "unspecified")["estimate"] == 0.125
    with pytest.raises(EquipoiseError, match="not imported: run `equipoise import names`"):
        invoke("--tokens", log, "--names")


def test_a_table_a_family(tmp_path: Path) -> None:
    """Without --json every family is a table that fits 80 columns, in per cent."""
    files = ["--rq1", write_rq1(tmp_path / "a.csv", mental=True), "--rq1", write_rq1(tmp_path / "b.csv", mental=False)]
    printed = invoke(*files, "--steps", write_steps(tmp_path / "steps.csv"))

    assert "rq1: who has a mental illness" in printed
    assert "rq1: disparity, mental illness less others" in printed
    assert "rq2: towards whom with a mental illness" in printed
    (total,) = [line for line in printed.split("\n") if line.startswith("all ")][:1]
    assert total.split()[:5] == ["all", "22", "36.5", "20.0", "10.0"]
    assert "…" not in printed
    assert max(map(len, printed.split("\n"))) <= 80


def test_a_copy_is_refused(tmp_path: Path) -> None:
    """The same bytes, or the same values, under two names are refused."""
    first = write_rq1(tmp_path / "a.csv", mental=True)
    second = write_rq1(tmp_path / "b.csv", mental=True)

    with pytest.raises(EquipoiseError, match=r"b\.csv: is a byte copy of .*a\.csv: one of them has a wrong name"):
        invoke("--rq1", first, "--rq1", second)
    second.write_text(second.read_text(encoding="utf-8").replace(",female,", ",Female,"), encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"b\.csv: holds the same values as .*a\.csv"):
        invoke("--rq1", first, "--rq1", second)


def test_two_runs_are_refused(tmp_path: Path) -> None:
    """Two files about the same sentences are not of one model and run."""
    first = write_rq1(tmp_path / "a.csv", mental=True)
    second = write_rq1(tmp_path / "b.csv", mental=True)
    second.write_text(second.read_text(encoding="utf-8").replace("0,0.", "0,0.1"), encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"b\.csv: rq1/has/depression is in .*a\.csv too: score one model"):
        invoke("--rq1", first, "--rq1", second)


def test_sets_over_other_sentences_are_refused(tmp_path: Path) -> None:
    """Mental and control conditions are compared over the same sentences only."""
    mental = write_rq1(tmp_path / "a.csv", mental=True)
    control = write_rq1(tmp_path / "b.csv", mental=False, template="<mask> suffers from [diagnosis]")

    with pytest.raises(EquipoiseError, match="missing fills: rq1/has/"):
        invoke("--rq1", mental, "--rq1", control)


@pytest.mark.parametrize("twice", [False, True])
def test_files_are_named_once(tmp_path: Path, *, twice: bool) -> None:
    """No file, or one given twice, is one clear line."""
    path = write_rq1(tmp_path / "a.csv", mental=True)

    with pytest.raises(EquipoiseError, match="given twice: give it once" if twice else "no file is given: name one"):
        invoke(*(["--rq1", path, "--rq1", path] if twice else []))
