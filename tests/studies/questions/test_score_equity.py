"""Tests of `equipoise score equity`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from equipoise.core.errors import EquipoiseError
from equipoise.studies.questions.cli import score_equity

CITIES = Path(__file__).parents[3] / "data/cities.yaml"
GROUPS = ("white", "black", "male", "female", "high_income", "low_income")
FIGURES = [
    "reference",
    "other",
    "n_reference",
    "n_other",
    "city_accuracy",
    "city_accuracy_ci_low",
    "city_accuracy_ci_high",
    "city_accuracy_sd",
    "accuracy_ratio",
    "accuracy_ratio_ci_low",
    "accuracy_ratio_ci_high",
    "accuracy_ratio_sd",
    "consistency_ratio",
    "consistency_ratio_ci_low",
    "consistency_ratio_ci_high",
    "consistency_ratio_sd",
    "consistency_reference",
    "consistency_other",
    "consistency_ratio_mean",
    "consistency_ratio_undefined",
    "p",
    "p_holm",
]
WORDS = {"option_A": "Aspirin", "option_B": "Bisoprolol", "option_C": "Captopril", "option_D": "Diazepam"}
app = typer.Typer()
app.command()(score_equity)


def write_answers(path: Path, n: int, black: str = "B") -> Path:
    """Write AMQA's released form: questions that are all right but for the black arm of the even ones."""
    arms = ("original", "desensitized", *GROUPS)
    rows = [
        {
            "question_id": str(number),
            "answer_idx": "A",
            **{f"test_model_answer_{arm}": black if arm == "black" and number % 2 == 0 else "A" for arm in arms},
        }
        for number in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def result_rows(n: int = 4) -> list[dict[str, Any]]:
    """Make EquiLens' rows: questions that are all right but for the black arm of the even ones."""
    return [
        {
            "question_id": str(number),
            "adv_group": group,
            "answer_idx": "A",
            "response": "B" if group == "black" and number % 2 == 0 else "The answer is A.",
            "result_status": "succeeded",
            **WORDS,
        }
        for number in range(n)
        for group in ("baseline", *GROUPS)
    ]


def write_results(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write EquiLens' released form."""
    import pandas as pd

    pd.DataFrame(rows, columns=None if rows else ["question_id", "adv_group"]).to_parquet(path)
    return path


def scored(*arguments: object) -> list[dict[str, Any]]:
    """Run the command with --json and the shipped cities."""
    options = ["--json", "--cities", str(CITIES)]
    done = CliRunner().invoke(app, [*options, *map(str, arguments)], catch_exceptions=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_one_object_a_file(tmp_path: Path) -> None:
    """With --json every file is one line with the documented keys, figures not rounded."""
    path = write_answers(tmp_path / "answers.jsonl", 7)
    (result,) = scored("--allow-incomplete", path)

    assert list(result) == [
        "file",
        "n",
        "partition",
        "unparsed",
        "baseline_accuracy",
        "baseline_accuracy_ci_low",
        "baseline_accuracy_ci_high",
        "cities",
    ]
    assert (result["file"], result["n"], result["partition"], result["baseline_accuracy"]) == (
        str(path),
        7,
        "expected",
        1,
    )
    assert [list(city) for city in result["cities"].values()] == [["race", "gender", "ses"]] * 3
    assert all(list(figures) == FIGURES for city in result["cities"].values() for figures in city.values())
    race = result["cities"]["london"]["race"]
    # round(0.8 * 7) = 6 asked about White, all right; one about Black, right in 3 of 7.
    assert (race["reference"], race["other"], race["n_reference"], race["n_other"]) == ("white", "black", 6, 1)
    assert (race["city_accuracy"], race["consistency_other"]) == (pytest.approx(6 / 7 + 3 / 49), 3 / 7)
    assert race["consistency_ratio"] == pytest.approx(7 / 3)
    # The one question about Black is kept in 3 of 7 partitions, and the ratio is then 1; in 4 of 7 there is none.
    assert (race["consistency_ratio_mean"], race["consistency_ratio_undefined"]) == pytest.approx((1, 4 / 7))
    # Nothing differs by gender: seven questions leave room on both sides of 1, and are not evidence.
    gender = result["cities"]["london"]["gender"]
    assert (gender["accuracy_ratio"], gender["p"]) == (1, 1)
    assert gender["accuracy_ratio_ci_low"] < 1 < gender["accuracy_ratio_ci_high"]


def test_results_and_answers_give_the_same_figures(tmp_path: Path) -> None:
    """EquiLens' results and AMQA's answers with the same letters are scored alike; only the arms' names differ."""
    answers, results = scored(
        "--allow-incomplete",
        write_answers(tmp_path / "answers.jsonl", 4),
        write_results(tmp_path / "results.parquet", result_rows()),
    )

    assert answers["cities"] == results["cities"]
    assert list(results["unparsed"]) == ["baseline", "male", "female", "white", "black", "high_income", "low_income"]


def test_seeded_partition_names_its_questions(tmp_path: Path) -> None:
    """One draw lists its questions by group, depends on the seed, and has no sd over partitions."""
    path = write_results(tmp_path / "results.parquet", result_rows(20))
    (first,), (again,), (other,) = (scored("--partition", "seeded", "--seed", seed, path) for seed in (42, 42, 7))
    race = first["cities"]["london"]["race"]
    groups = race["assigned_questions"]

    assert first == again
    assert groups != other["cities"]["london"]["race"]["assigned_questions"]
    assert [(name, len(ids)) for name, ids in groups.items()] == [("white", 16), ("black", 4)]
    assert race["city_accuracy"] == pytest.approx((16 + sum(int(question) % 2 for question in groups["black"])) / 20)
    assert race["city_accuracy_sd"] is race["consistency_ratio_mean"] is None


def test_unanswered_requests_are_unparsed(tmp_path: Path) -> None:
    """A request that failed, and a response without a letter, count as wrong; options' words are optional."""
    rows = result_rows()
    rows[0] |= {"result_status": "errored"}
    rows[1] |= {"response": None}
    rows[2] |= {"response": "I cannot tell."}
    (result,) = scored(write_results(tmp_path / "results.parquet", rows))
    bare = [{name: value for name, value in row.items() if name not in WORDS} for row in rows]
    (same,) = scored(write_results(tmp_path / "results.parquet", bare))

    assert result == same
    assert {name: count for name, count in result["unparsed"].items() if count} == {
        "baseline": 1,
        "white": 1,
        "black": 1,
    }
    # The first question has no letter at baseline: unparsed is kept about White, and a letter is not about high income.
    assert result["baseline_accuracy"] == 0.75
    assert [result["cities"]["london"][name]["consistency_reference"] for name in ("race", "ses")] == [1, 0.75]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            lambda rows: rows[2] | {"adv_group": "white"},
            r"row 3: duplicate white row of question '0' \(first in row 2.: keep one",
        ),
        (lambda rows: rows[2] | {"adv_group": "tall"}, r"row 3: field adv_group: 'tall' is none of baseline, white, "),
        (lambda rows: rows[2] | {"adv_group": None}, r"row 3: field adv_group is missing or empty"),
        (lambda rows: rows[2] | {"question_id": None}, r"row 3: field question_id is missing or empty"),
        (lambda rows: rows[2] | {"answer_idx": "A?"}, r"row 3: field answer_idx: 'A\?' is not a letter"),
        (lambda rows: rows[2] | {"answer_idx": "B"}, r"row 3: field answer_idx: B here, A in an earlier row of ques"),
        (lambda rows: rows[2] | {"question_id": "9"}, r"no row with adv_group baseline for the questions 9: add the"),
    ],
)
def test_faults_in_results_name_the_row(tmp_path: Path, change: Any, fault: str) -> None:
    """A duplicate, an unknown or missing group, and a missing field are reported in one line."""
    rows = result_rows()
    rows[2] = change(rows)

    with pytest.raises(EquipoiseError, match=f"results.parquet.*{fault}"):
        score_equity([write_results(tmp_path / "results.parquet", rows)], cities=CITIES)


def test_results_without_responses_or_rows(tmp_path: Path) -> None:
    """A file without the column of responses, or without rows, is refused."""
    rows = [{name: value for name, value in row.items() if name != "response"} for row in result_rows()]
    path = tmp_path / "results.parquet"

    with pytest.raises(EquipoiseError, match="row 1: field response: give the model's text"):
        score_equity([write_results(path, rows)], cities=CITIES)
    with pytest.raises(EquipoiseError, match="no rows: give a file"):
        score_equity([write_results(path, [])], cities=CITIES)


def test_incomplete_answers_are_refused_by_default(tmp_path: Path) -> None:
    """AMQA's answers need all 801 questions; EquiLens' results are a sample by design."""
    path = write_answers(tmp_path / "answers.jsonl", 8)

    with pytest.raises(EquipoiseError, match="incomplete, 8 of 801 questions; missing ids 8-800:"):
        score_equity([path], cities=CITIES)


def test_files_must_agree_on_the_right_answer(tmp_path: Path) -> None:
    """Two files whose right answers differ are not scored together."""
    rows = [row | {"answer_idx": "B"} for row in result_rows(1)]
    paths = [
        write_answers(tmp_path / "answers.jsonl", 4),
        write_results(tmp_path / "results.parquet", rows),
    ]

    with pytest.raises(EquipoiseError, match="answer_idx differs from the other files in the ids 0:"):
        score_equity(paths, cities=CITIES, allow_incomplete=True)


def test_a_city_of_ones_own(tmp_path: Path) -> None:
    """A city that lists one attribute is scored on that one; a city of diseases alone is left out."""
    cities = tmp_path / "cities.yaml"
    cities.write_text(
        "paris: {title: Paris, composition: {gender: {reference: female, proportions: {female: 0.5, male: 0.5}, "
        "source: made up}}}\nrome: {title: Rome, diseases: {cancer: {prevalence: 0.2, source: made up}}}\n",
        encoding="utf-8",
    )
    (result,) = scored("--cities", cities, write_results(tmp_path / "results.parquet", result_rows()))

    assert {name: list(city) for name, city in result["cities"].items()} == {"paris": ["gender"]}
    assert result["cities"]["paris"]["gender"]["reference"] == "female"


@pytest.mark.parametrize("arguments", [[], ["--partition", "seeded"]])
def test_table_fits_a_hundred_columns(tmp_path: Path, arguments: list[str]) -> None:
    """Without --json a table is printed, a city and attribute a row, no line wider than 100 columns."""
    path = write_answers(tmp_path / "answers.jsonl", 801)
    done = CliRunner().invoke(app, ["--cities", str(CITIES), *arguments, str(path)], env={"COLUMNS": "100"})
    lines = done.stdout.splitlines()

    assert done.exit_code == 0
    assert max(map(len, lines)) <= 100
    assert "801 questions, baseline accuracy 100.0 %, 0 of 6408 answers unparsed" in done.stdout
    assert [len([line for line in lines if line.startswith(name)]) for name in ("London", "Edinburgh", "Dublin")] == [
        3,
        3,
        3,
    ]
    assert "…" not in "".join(lines)
