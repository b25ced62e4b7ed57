"""Tests of `equipoise score amqa`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from equipoise.core.errors import EquipoiseError
from equipoise.studies.questions.cli import score_amqa

if TYPE_CHECKING:
    from pathlib import Path

ARMS = ("original", "desensitized", "white", "black", "high_income", "low_income", "male", "female")
PAIR_KEYS = [
    "both",
    "only_privileged",
    "only_unprivileged",
    "neither",
    "gap",
    "ci_low",
    "ci_high",
    "p_exact",
    "p_chi2_cc",
    "p_holm",
    "letters_differ",
]
app = typer.Typer()
app.command()(score_amqa)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write 8 questions, all right but for the black arm."""
    rows = [
        {
            "question_id": str(n),
            "answer_idx": "A",
            **{f"test_model_answer_{arm}": "B" if arm == "black" else "A" for arm in ARMS},
        }
        for n in range(8)
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_one_object_a_file(file: Path) -> None:
    """With --json every file is one line with the documented keys and unrounded p-values."""
    done = CliRunner().invoke(app, ["--json", "--allow-incomplete", str(file)], catch_exceptions=False)
    scored = json.loads(done.stdout)

    assert list(scored) == ["file", "n", "unparsed", "accuracy", "pairs"]
    assert list(scored["pairs"]) == ["race", "ses", "gender", "original_neutral"]
    assert [list(pair) for pair in scored["pairs"].values()] == [PAIR_KEYS] * 4
    assert (
        scored["n"],
        scored["unparsed"]["black"],
        scored["accuracy"]["black"],
        scored["accuracy"]["white"],
    ) == (8, 0, 0.0, 1.0)
    race = scored["pairs"]["race"]
    # All 8 discordant pairs one way: p = 2 / 2^8; three tests in the family.
    assert tuple(race[key] for key in (*PAIR_KEYS[:5], "letters_differ")) == (0, 8, 0, 0, 1.0, 8)
    assert pytest.approx([race["p_exact"], race["p_holm"]]) == [2 / 2**8, 6 / 2**8]
    # Without a discordant pair the chi-square test is undefined and the exact p is 1.
    assert (scored["pairs"]["ses"]["p_chi2_cc"], scored["pairs"]["ses"]["p_exact"]) == (None, 1.0)


def test_holm_runs_over_all_files(file: Path) -> None:
    """Scored beside a second file, a test is adjusted for six tests, three a file."""
    other = file.with_name("other.jsonl")
    other.write_bytes(file.read_bytes())
    done = CliRunner().invoke(app, ["--json", "--allow-incomplete", str(file), str(other)], catch_exceptions=False)
    first, second = (json.loads(line) for line in done.stdout.splitlines())

    assert pytest.approx(first["pairs"]["race"]["p_holm"]) == 12 / 2**8
    assert first["pairs"]["race"] == second["pairs"]["race"]


def test_table_warns_of_label_skew(file: Path) -> None:
    """Without --json a table is printed, with a warning where one letter is given far too often."""
    done = CliRunner().invoke(app, ["--allow-incomplete", str(file)], catch_exceptions=False)

    assert "white black" in done.stdout
    assert "label skew: black 100%" in done.stdout


def test_incomplete_file_is_refused_by_default(file: Path) -> None:
    """A file without all 801 questions is refused, with the missing ids."""
    with pytest.raises(EquipoiseError, match="incomplete, 8 of 801 questions; missing ids 8-800:"):
        score_amqa([file])


def test_items_set_the_questions(file: Path, tmp_path: Path) -> None:
    """With --items a file is complete when it has the items' ids, no more and no fewer."""
    rows = [
        {"question_id": n, "original_question": "Which?", "option_A": "a", "option_B": "b", "answer_idx": "A"}
        for n in range(9)
    ]
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps(row) + "\n" for row in rows[:8]), encoding="utf-8")
    score_amqa([file], as_json=True, items=str(items))
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    with pytest.raises(EquipoiseError, match="incomplete, 8 of 9 questions; missing ids 8:"):
        score_amqa([file], as_json=True, items=str(items))
