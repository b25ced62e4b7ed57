"""Tests of the leaderboard as text."""

from __future__ import annotations

import csv
import io
import json

from equipoise.compare.leaderboard_rows import HEADLINES, Figure, Run, Standing
from equipoise.compare.leaderboard_text import cell, csv_text, json_rows, markdown

DEFINED = Figure("defined", 41, -0.5, -1.0, 0.25)
UNDEFINED = Figure("undefined", 0)


def standing(figures: dict[str, Figure], changed: dict[str, object] | None = None) -> Standing:
    """Build a row with the given figures and the others not measured."""
    found = {headline.name: Figure("not measured") for headline in HEADLINES} | figures
    return Standing("a", Run("x|y", "0" * 40, None, {}, "Model A", {}), changed or {}, found, 12, None)


def test_a_cell_has_its_interval_or_its_word() -> None:
    """An estimate stands with its interval and a real minus sign, an extreme with its place, anything else in words."""
    assert cell(DEFINED) == "−0.500 (−1.000 to 0.250)"
    assert cell(Figure("defined", 9, 0.9, where="london/race")) == "0.900, london/race"
    assert cell(UNDEFINED) == "undefined"
    assert cell(Figure("not measured")) == "not measured"


def test_markdown_has_a_row_a_model_and_marks_other_parameters() -> None:
    """Every line has the same cells, bars inside them are escaped, and changed parameters are bold."""
    text = markdown([standing({"stereotype_shift": DEFINED}, {"measure.alpha": 0.1})])
    lines = text.split("\n")
    row = lines[2].replace(r"\|", "")

    # Six cells, of which one is the only figure that was measured.
    assert [line.count("|") for line in (*lines[:2], row)] == [7] * 3
    assert "| Vignettes: stereotype shift (nats) |" in lines[0]
    assert "| **measure.alpha=0.1** | −0.500 (−1.000 to 0.250) |" in lines[2]
    assert "none is a best one" in text


def test_csv_has_numbers_and_the_word() -> None:
    """Numbers are written in full, and an undefined figure has the word in place of its estimate and no interval."""
    row = standing({"stereotype_shift": DEFINED, "silent_bias_rate": UNDEFINED})
    (read,) = csv.DictReader(io.StringIO(csv_text([row])))

    assert [read[f"stereotype_shift_{name}"] for name in ("n", "estimate", "ci_low", "ci_high")] == [
        *("41", "-0.5", "-1.0", "0.25")
    ]
    assert [read[f"silent_bias_rate_{name}"] for name in ("n", "estimate", "ci_low")] == ["0", "undefined", ""]
    assert read["accuracy_ratio_lowest_where"] == ""
    assert read["run"] == "x|y"


def test_json_has_null_for_what_is_missing() -> None:
    """The rows are JSON without NaN; an undefined estimate is null, and its state says what it is."""
    (row,) = json.loads(json.dumps(json_rows([standing({"silent_bias_rate": UNDEFINED})]), allow_nan=False))

    assert row["figures"]["silent_bias_rate"]["estimate"] is None
    assert row["figures"]["silent_bias_rate"]["state"] == "undefined"
    assert row["figures"]["gap_race"]["state"] == "not measured"
