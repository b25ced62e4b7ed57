"""Tests of the figures of matching."""

from __future__ import annotations

from workshop.figures import matching_figures


def test_figures_by_hand() -> None:
    """Kappa is of yes against the rest; an answer without a label counts nowhere."""
    figures = matching_figures(
        ["yes", "yes", "no", "partly", None, "no"],
        ["yes", "unclear", "no", "yes", "yes", "no"],
        ["a", "b", "a", "b", "a", "c"],
        ["m", "m", "m", "n", "n", "n"],
        seed=0,
        n_bootstrap=100,
    )
    same = figures["same"]
    counts = figures["counts"]
    assert isinstance(same, dict)
    assert isinstance(counts, dict)
    assert isinstance(same["kappa"], dict)

    # Of 5, right are 3; by chance 2/5 × 2/5 + 3/5 × 3/5 = 13/25: (15/25 - 13/25) / (12/25) = 1/6.
    assert (same["n"], same["n_yes"], same["kappa"]["estimate"]) == (5, 2, round(1 / 6, 6))
    assert counts == {
        "yes": {"yes": 1, "partly": 0, "no": 0, "unclear": 1},
        "partly": {"yes": 1, "partly": 0, "no": 0, "unclear": 0},
        "no": {"yes": 0, "partly": 0, "no": 2, "unclear": 0},
    }
    assert figures["unlabelled"] == 1
    assert isinstance(figures["models"], dict)
    assert list(figures["models"]) == ["m", "n"]
