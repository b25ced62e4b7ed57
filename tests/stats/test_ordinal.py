"""Tests of the proportional-odds model of two arms."""

from __future__ import annotations

import math

import pytest

from equipoise.stats.ordinal import Ordinal, proportional_odds

FIRST, SECOND = [1] * 6 + [0] * 4, [1] * 2 + [0] * 7 + [1]
NAMES = [str(number) for number in range(10)]


def fitted(first: list[int], second: list[int], clusters: list[str]) -> Ordinal:
    """Fit a model that must be defined."""
    ratio = proportional_odds(first, second, clusters)
    assert ratio is not None
    return ratio


def test_two_levels_are_a_logistic_regression() -> None:
    """6 of 10 against 3 of 10: the log odds ratio is log((6 / 4) / (3 / 7)), its error that of the paired sandwich.

    The influence of a unit with outcomes a and b is (a - 0.6) / (10 x 0.24) - (b - 0.3) / (10 x 0.21); two units have
    (1, 1), four (1, 0), one (0, 1) and three (0, 0). The squares add up to 0.81349, and the correction for 10 clusters,
    20 rows and 2 parameters is 10 / 9 x 19 / 18.
    """
    influences = [(a - 0.6) / 2.4 - (b - 0.3) / 2.1 for a, b in zip(FIRST, SECOND, strict=True)]
    error = math.sqrt(math.fsum(influence**2 for influence in influences) * 10 / 9 * 19 / 18)
    ratio = fitted(FIRST, SECOND, NAMES)

    assert math.fsum(influence**2 for influence in influences) == pytest.approx(0.81349, abs=1e-5)
    assert ratio.value == pytest.approx(math.log(3.5), abs=1e-4)
    assert (ratio.interval.high - ratio.interval.low) / 2 == pytest.approx(1.959964 * error, rel=1e-3)
    assert ratio.p.value == pytest.approx(math.erfc(math.log(3.5) / error / math.sqrt(2)), rel=1e-3)


def test_swapped_arms_have_the_opposite_ratio() -> None:
    """There are three levels, which need not follow each other."""
    ratio, swapped = (
        fitted([0, 2, 5, 2, 5, 5], [0, 0, 2, 2, 5, 2], NAMES[:6]),
        fitted([0, 0, 2, 2, 5, 2], [0, 2, 5, 2, 5, 5], NAMES[:6]),
    )

    assert ratio.value > 0
    assert ratio.value == pytest.approx(-swapped.value, abs=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "clusters"),
    [
        ([], [], []),
        ([1, 1], [1, 1], ["a", "b"]),
        ([1, 0], [0, 0], ["a", "a"]),
        ([1, 0], [1, 0], ["a", "b"]),
        ([2, 2, 2], [0, 1, 0], ["a", "b", "c"]),
    ],
)
def test_what_does_not_vary_or_overlap_is_undefined(first: list[int], second: list[int], clusters: list[str]) -> None:
    """Nothing, one level, one cluster, arms alike in every cluster, and arms without a level in common."""
    assert proportional_odds(first, second, clusters) is None
