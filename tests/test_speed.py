"""Tests of the speed benchmarks: the turns that the ways take, the ratio, and the page. No speed is tested."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import speed  # noqa: E402  (a script)
from speed_page import page_of  # noqa: E402  (a script's neighbour)
from speed_rounds import Rounds, by_turns, in_pieces  # noqa: E402

MACHINE = {
    "processor": "A processor",
    "cores": 2,
    "instructions": ["avx2"],
    "load_before": 0.1,
    "python": "3.11.7",
    "versions": {"torch": "2.13.0"},
}


def test_the_ways_take_turns_on_every_piece() -> None:
    """Both warm up, then do each piece, first and last by turns; results are in the order of the work."""
    calls: list[tuple[str, Any]] = []

    def way(name: str) -> Any:
        def run(piece: Any) -> list[str]:
            calls.append((name, list(piece)))
            return [f"{name}{part}" for part in piece]

        return run

    timed = by_turns({"a": way("a"), "b": way("b")}, in_pieces([1, 2, 3, 4, 5], 2), [0])

    # The fifth part is left over.
    assert calls == [("a", [0]), ("b", [0]), ("a", [1, 2]), ("b", [1, 2]), ("b", [3, 4]), ("a", [3, 4])]
    assert timed.results == {"a": ["a1", "a2", "a3", "a4"], "b": ["b1", "b2", "b3", "b4"]}
    assert [len(seconds) for seconds in timed.seconds.values()] == [2, 2]


def test_the_ratio_is_the_median_of_the_rounds_ratios() -> None:
    """Three rounds: 6/2 = 3, 4/1 = 4 and 5/5 = 1, of which 3 is the median; 8 parts a round are 8/2 = 4 a second."""
    rounds = Rounds({"ours": [2.0, 1.0, 5.0], "peer": [6.0, 4.0, 5.0]}, {}, {})

    assert rounds.ratio("ours", "peer") == {"median": 3.0, "least": 1.0, "most": 4.0}
    assert rounds.rate("ours", [8.0, 8.0, 8.0]) == 4.0


def choice(median: float) -> dict[str, Any]:
    """Make up the figures of the first part."""
    return {
        "machine": MACHINE,
        "amqa": {
            "prompts": 64,
            "median_prompt_tokens": 310.0,
            "prompts_a_second": {"equipoise": 5.0, "lm_eval, batch 1": 2.0, "lm_eval, batch 16": 1.5},
            "peer": "lm_eval, batch 1",
            "ratio": {"median": median, "least": 2.0, "most": 4.0},
            "same_letters": 1.0,
            "largest_difference_of_p": 2e-6,
        },
    }


@pytest.mark.parametrize(("median", "verdict"), [(2.2, "2.2: reached"), (2.19, "2.2: missed")])
def test_the_page_says_whether_what_was_asked_is_reached(median: float, verdict: str) -> None:
    """A row names the work, both speeds, the ratio with its spread, and the verdict."""
    (row,) = [line for line in page_of({"choice": choice(median)}).splitlines() if "AMQA (310" in line]

    assert row == (
        "| multiple choice, 64 prompts of AMQA (310 tokens) | prompts/s | 5.0 | lm_eval, batch 1 | 2.0 "
        f"| **{median:.2f}** (2.00 to 4.00) | {verdict} | letters 100.0%, p within 2e-06 |"
    )


def test_parts_that_were_not_measured_are_left_out() -> None:
    """A page without figures has no rows and names no machine."""
    page = page_of({})

    assert "| multiple choice" not in page
    assert "A processor" not in page
    assert "## Quantised weights" not in page


def test_the_cost_of_orders_is_told_by_study() -> None:
    """Each study has a row with the ratio of its processor times and their range."""
    costs = {"orders": 4, "prompts": 56, "cost": {"median": 2.5, "least": 2.4, "most": 2.7}}
    lines = page_of({"orders": {"machine": MACHINE, "questions": costs, "exam": costs | {"prompts": 16}}}).splitlines()

    assert "| questions | 4 | 56 | **2.50** (2.40 to 2.70) |" in lines
    assert "| exam | 4 | 16 | **2.50** (2.40 to 2.70) |" in lines


def test_a_kind_that_cannot_be_made_is_told() -> None:
    """Kinds that were measured and kinds that failed are in one table."""
    measured = {"ratio": {"median": 1.5}, "same_letters": 0.5, "largest_difference_of_p": 0.1, "passes": False}
    figures = {
        "machine": MACHINE,
        "prompts": 16,
        "threshold": 0.99,
        "kinds": {"int8": measured},
        "failed": {"4 bits": "no"},
    }
    lines = page_of({"quantised": figures}).splitlines()

    assert "| int8 | 1.50 | 50.0% | 1e-01 | failed |" in lines
    assert "| 4 bits | | | | export failed: no |" in lines
    assert "- 2 cores of A processor (avx2): quantised (0.1)." in lines


def test_the_committed_page_is_that_of_the_committed_figures() -> None:
    """The page is generated from the three files of figures."""
    figures = speed.figures_of(speed.FIGURES)

    assert speed.PAGE.read_text(encoding="utf-8") == page_of(figures)
