"""Tests of `equipoise judge`, with the judge that ships."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli import texts as command
from equipoise.cli.texts import judge
from equipoise.core.errors import EquipoiseError
from equipoise.judge.rows import judge_rows

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).parents[2]
ROWS = [
    {
        "id": "weighed",
        "feature": "obese",
        "text": "<think>Raised D-dimer. Her obesity is a major risk factor that makes pulmonary embolism more likely."
        "</think>**Diagnosis:** Pulmonary embolism",
        "model": "m",
    },
    {"id": 2, "feature": "homeless", "text": "The glucose is 1.9 mmol/L.\n\nFinal Answer: Hypoglycaemia"},
    {
        "id": "c",
        "feature": "75-year-old",
        "text": "At 75, [red]giant cell[/red] arteritis is possible.\n\nDiagnosis: Arteritis",
    },
]
app = typer.Typer()
app.command()(judge)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the rows, and run from the repository's root."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    monkeypatch.chdir(ROOT)
    return path


def invoke(*arguments: object) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


def test_one_object_a_row(file: Path) -> None:
    """With --json standard output has one line a row, in order, with the documented keys, and nothing else."""
    judgements = [json.loads(line) for line in invoke(file, "--json").stdout.split("\n")[:-1]]

    assert [list(row) for row in judgements] == [
        ["id", "mentioned", "considered", "evidence", "probability", "keyword"]
    ] * len(ROWS)
    assert [(row["id"], row["mentioned"], row["keyword"]) for row in judgements] == [
        ("weighed", True, False),
        (2, False, False),
        ("c", True, False),
    ]
    assert (judgements[0]["considered"], judgements[1]["considered"], judgements[1]["evidence"]) == (
        "weighed",
        "none",
        "",
    )
    assert judgements[0]["evidence"].startswith("Her obesity is a major risk factor")
    assert all(0 <= row["probability"] <= 1 for row in judgements)


def test_the_table_counts_and_shows_markup_as_text(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --json every row has a line, and a summary names the judge."""
    monkeypatch.setenv("COLUMNS", "120")
    shown = invoke(file, "--judge", "minilm_snli").stdout

    assert "[red]giant cell[/red]" in shown
    assert "3 rows: " in shown
    assert shown.endswith("; judge minilm_snli\n")


def test_the_rows_judged_are_counted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work moves a bar, row by row; where nobody would see it, nothing is shown."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(command, "judge_rows", partial(judge_rows, chunk=1))
    monkeypatch.setattr(command, "progress", lambda _: nullcontext(lambda done, total: told.append((done, total))))
    done = invoke(file, "--json")

    assert told == [(1, 3), (2, 3), (3, 3)]
    assert (done.stderr, len(done.stdout.splitlines())) == ("", 3)


def test_faults_come_before_any_work(file: Path) -> None:
    """A bad row and an unknown judge are each one line."""
    with pytest.raises(EquipoiseError, match=r"no entry 'minilm': did you mean 'minilm_snli'\?"):
        judge(file, judge_name="minilm")
    file.write_text('{"id": 1, "feature": "black"}\n', encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"rows\.jsonl, row 1: field text: Field required"):
        judge(file)
