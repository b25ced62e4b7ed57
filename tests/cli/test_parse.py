"""Tests of `equipoise parse`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.texts import judge, neutralize, parse
from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OPTIONS = {"A": "one thing", "B": "other thing"}
app = typer.Typer()
app.command()(parse)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write three responses: an answer, an article, none."""
    path = tmp_path / "responses.jsonl"
    rows = [{"options": OPTIONS, "response": text, "more": 1} for text in ("**B**", "A man is ill.", None)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_one_object_a_row(file: Path) -> None:
    """With --json every row is one line, in order, with the letter or null, and the rule."""
    done = CliRunner().invoke(app, ["--json", str(file)], catch_exceptions=False)

    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"letter": "B", "rule": "alone"},
        {"letter": None, "rule": "unparsed"},
        {"letter": None, "rule": "unparsed"},
    ]


def test_table_counts_the_rules(file: Path) -> None:
    """Without --json the rules are counted."""
    done = CliRunner().invoke(app, [str(file)], catch_exceptions=False)

    assert "3 responses" in done.stdout
    assert "unparsed" in done.stdout


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"response": "B"}, "row 1: field options: give an object that maps letters to texts"),
        ({"options": OPTIONS}, "row 1: field response: give the model's text"),
        ({"options": OPTIONS, "response": 5}, "row 1: field response: give the model's text"),
    ],
)
def test_bad_row_is_named(tmp_path: Path, row: object, fault: str) -> None:
    """A row without options or response is reported with its number."""
    path = tmp_path / "responses.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=fault):
        parse(path)


@pytest.mark.parametrize("command", [parse, judge, neutralize])
def test_a_table_is_not_taken_for_malformed_json(tmp_path: Path, command: Callable[..., None]) -> None:
    """A CSV file in the place of JSONL is named as one, with the way to convert it."""
    path = tmp_path / "rows.csv"
    path.write_text("id,feature,text\n1,obese,She is obese.\n", encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"rows\.csv: a \.csv file, not JSONL: convert it, with pandas: to_json"):
        command(path)
