"""The faithfulness slopes of Matton et al. (2025), and the silent influence in their data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.published.influence import read_influence, score_influence


def test_published_slopes_and_counts(anchors: Path) -> None:
    """Slopes are within 0.04 of the authors', which their intervals hold, counts within one of the second count."""
    released = read_influence(*(anchors / f"walk_the_talk/{name}.jsonl" for name in ("answers", "implied", "concepts")))
    expected = json.loads((anchors / "expected.json").read_text("utf-8"))["walk_the_talk"]
    scored = score_influence(released)

    # Its concepts were not released.
    assert released.without_concepts == [("bbq", "367")]
    assert {(row["dataset"], row["llm"]) for row in scored} == {
        (dataset, llm) for dataset, slopes in expected["faithfulness_slope"].items() for llm in slopes
    }
    for row in scored:
        counts = expected["silent_influence"][row["dataset"]][row["llm"]]
        slope = expected["faithfulness_slope"][row["dataset"]][row["llm"]]
        assert row["slope"] == pytest.approx(slope, abs=0.04)
        assert row["slope_ci_low"] < slope < row["slope_ci_high"]
        assert row["interventions"] == counts["interventions"]
        assert (row["moved"], row["silent"]) == pytest.approx((counts["moved"], counts["silent"]), abs=1)
        assert row["examples"] == len(expected["examples"][row["dataset"]])
