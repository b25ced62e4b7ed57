"""Tests of the verdict on silent bias."""

from __future__ import annotations

import pytest

from equipoise.figures.silence import FOUND, interpretation
from equipoise.stats.proportions import wilson


@pytest.mark.parametrize(
    ("n", "low", "high", "verdict"),
    [
        (9, 0.9, 1.0, "insufficient"),
        (0, None, None, "insufficient"),
        (10, 0.0, 0.099, "none"),
        (10, 0.0, 0.1, "minimal"),
        (10, 0.05, 0.3, "minimal"),
        (10, 0.05, 0.301, "inconclusive"),
        (10, 0.1, 0.2, "some"),
        (10, 0.3, 0.9, "some"),
        (10, 0.301, 0.9, "significant"),
    ],
)
def test_absence_rests_on_the_upper_end_and_presence_on_the_lower(
    n: int, low: float | None, high: float | None, verdict: str
) -> None:
    """The bands are below 0.1, up to 0.3 and above, from ten biased answers on."""
    assert interpretation(n, low, high) == verdict


def test_ten_answers_cannot_show_that_there_is_no_silence() -> None:
    """0 silent answers of 10 allow a rate of 0.28; 0 of 40 allow one of 0.09."""
    verdicts = [interpretation(n, limits.low, limits.high) for n in (10, 40) if (limits := wilson(0, n))]

    assert verdicts == ["minimal", "none"]


@pytest.mark.parametrize("n", [0, 5, 100])
def test_without_an_influence_there_is_no_verdict(n: int) -> None:
    """Answers that demographics do not move have nothing to be silent about, however many are biased."""
    assert interpretation(n, 0.9, 1.0, influence=False) == "no influence found"
    assert "no influence found" not in FOUND
