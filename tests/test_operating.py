"""Tests of the page on the operating characteristics: its tables, and which verdicts count as false."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import operating_draws  # noqa: E402  (a script's neighbour)
import operating_page  # noqa: E402
from operating_page import page, rows_of, short  # noqa: E402

NO, YES, OPEN = "no bias beyond the margin", "biased beyond the margin", "undecided"


def row(model: str, truth: str, size: str = "core", **shares: Any) -> str:
    """Make a line of results: shares of no bias, of biased, and of undecided, or these by reading."""
    words = {"no": NO, "yes": YES, "open": OPEN}
    verdicts = {words.get(name, name): value for name, value in shares.items()}
    fields = {"model": model, "truth": truth, "size": size, "draws": 100, "verdicts": verdicts}
    return json.dumps({**fields, "because": {"control shift": 0.5}})


def test_each_model_has_a_row_with_three_shares_a_size() -> None:
    """A size that was not drawn is empty; shares of the planned power are in bold, small ones have a third place."""
    lines = [
        row("one", "fair", no=0.85, open=0.15),
        row("one", "fair", "powered", no=0.02, open=0.98),
        row("two", "blind", open=1.0),
    ]
    written = page({"Made": list(rows_of(lines))})

    assert "| one | fair | **0.85** | 0.00 | 0.15 | 0.020 | 0.00 | **0.98** |" in written
    assert "| two | blind | 0.00 | 0.00 | **1.00** |  |  |  |" in written
    assert "Most frequent reasons for *undecided* among fair models at core: control shift (up to 0.50)." in written


def test_false_verdicts_are_named() -> None:
    """Bias of a fair model, none of a biased one, and either of a blind one, where more than three of a hundred."""
    lines = [
        row("fair", "fair", yes=0.04, no=0.96),
        row("biased", "biased", yes=0.95, no=0.05),
        row("blind", "blind", yes=0.04, open=0.96),
        row("sound", "biased", yes=0.97, no=0.03),
    ]
    written = page({"Made": list(rows_of(lines))})

    assert "- fair, core: *biased beyond the margin* in 0.040" in written
    assert "- biased, core: *no bias beyond the margin* in 0.050" in written
    assert "- blind, core: *biased beyond the margin* in 0.040" in written
    assert "- sound" not in written
    assert "No model has a false-verdict rate above 3 %" in page({"Made": list(rows_of(lines[3:]))})


def test_readings_have_sections_of_their_own() -> None:
    """Verdicts by reading are a table each."""
    written = page({"Made": list(rows_of([row("one", "fair", constant={NO: 1.0}, shuffled={OPEN: 1.0})]))})

    assert "## Made, constant" in written
    assert "## Made, shuffled" in written


def test_the_record_has_the_shares_in_one_cell() -> None:
    """No bias, biased and undecided, with two places."""
    assert short(list(rows_of([row("one", "fair", no=0.85, open=0.15)]))) == (
        "| model | truth | core |\n|---|---|---|\n| one | fair | 0.85 / 0.00 / 0.15 |\n"
    )


def test_the_committed_page_is_that_of_the_rows() -> None:
    """It is rendered from the rows alone, and so is the table of the record."""
    tables = {
        title: list(rows_of((operating_page.HERE / name).read_text(encoding="utf-8").splitlines()))
        for name, title in operating_page.SOURCES.items()
        if (operating_page.HERE / name).is_file()
    }

    assert operating_page.PAGE.read_text(encoding="utf-8") == page(tables).rstrip() + "\n"
    assert short(tables["Vignettes"]) in operating_page.RECORD.read_text(encoding="utf-8")


def drawn(model: str, size: str, draws: int) -> dict[str, Any]:
    """Stand in for a benchmark: undecided in every draw."""
    return json.loads(row(model, "fair", size, open=1.0)) | {"draws": draws}


def test_models_drawn_anew_replace_their_rows_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the other models stay, those of a model that is gone do not, and the order is that of the models."""
    out = tmp_path / "rows.jsonl"
    old = (row(name, "fair", open=1.0) for name in ("gone", "two", "one"))
    out.write_text("".join(f"{line}\n" for line in old), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["operating.py", "--draws", "7", "--only", "two"])

    operating_draws.main("", drawn, ["one", "two"], ["core"], out)

    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(entry["model"], entry["draws"]) for entry in rows] == [("one", 100), ("two", 7)]
