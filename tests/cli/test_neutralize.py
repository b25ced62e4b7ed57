from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.texts import neutralize
from equipoise.core.errors import EquipoiseError

LEXICON = str(Path(__file__).parents[2] / "data/lexicon")
ROWS = [
    {"id": 1, "q": "A 50-year-old man has a cough. What is it?", "options": {"A": "Gout", "B": "Flu"}},
    {"id": 2, "q": "Which vitamin is C?", "option_A": "A", "option_B": "C"},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A file of two questions under the key `q`, a blank line between them."""
    path = tmp_path / "rows.jsonl"
    path.write_text("\n\n".join(map(json.dumps, ROWS)) + "\n", encoding="utf-8")
    return path


def run(*arguments: str) -> str:
    """Call the command as the program does and return what it prints."""
    app = typer.Typer()
    app.command()(neutralize)
    return CliRunner().invoke(app, [*arguments, "--lexicon", LEXICON], catch_exceptions=False).stdout


def test_json_is_one_object_a_row_in_order(rows: Path) -> None:
    """With --json every row gives its neutral question, the rule that excludes it, and the changes."""
    first, second = map(json.loads, run(str(rows), "--field", "q", "--json").splitlines())

    change = {"start": 14, "end": 17, "before": "man", "after": "patient", "rule": "noun"}
    neutral = "A 50-year-old patient has a cough. What is it?"
    assert {"neutral_question": neutral, "excluded": None, "changes": [change]} == first
    assert second == {"neutral_question": "Which vitamin is C?", "excluded": "no_patient", "changes": []}


def test_table_ends_in_totals(rows: Path) -> None:
    """Without --json the rows are shown, and how many each rule excluded."""
    assert run(str(rows), "--field", "q").splitlines()[-1] == "2 questions: 1 kept, 1 no_patient"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"q": "A"}\n{"q": \n', r"rows\.jsonl, row 2: not JSON"),
        ('{"q": "A"}\n{"p": "A"}\n', r"rows\.jsonl, row 2: field 'q' is missing.*the row has p"),
        ('{"q": 3}\n', r"rows\.jsonl, row 1: field 'q' is not a text"),
        ("[]\n", r"rows\.jsonl: no rows"),
        ("3\n", r"rows\.jsonl, row 1: not a JSON object"),
        ('{"q": "A", "options": {"A": 3}}\n', r"rows\.jsonl, row 1: field 'options'"),
    ],
)
def test_bad_row_is_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    """A malformed row is one error that names file, row and fault, and nothing is printed before it."""
    path = tmp_path / "rows.jsonl"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(EquipoiseError, match=message) as caught:
        run(str(path), "--field", "q", "--json")

    assert "\n" not in str(caught.value)
