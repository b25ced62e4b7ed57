"""The change in the size of a bias by group: by hand, against the change of one mean, and its coverage."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from equipoise.stats.clusters import magnitude_change
from equipoise.stats.magnitudes import MOST, size_change

STORIES = [str(place // 2) for place in range(48)]


def drawn(rng: np.random.Generator, means: list[float], places: np.ndarray, shared: np.ndarray) -> list[float]:
    """Draw an observation of each pair about the mean of its group, with what its story shares."""
    values: list[float] = (np.array(means)[places] + shared + rng.normal(0, 0.15, 48)).tolist()
    return values


def test_a_bias_that_changes_sides_keeps_its_size() -> None:
    """Two of three in group a: 2/3 (|-0.3| - |0.3|) + 1/3 (|0| - |0.3|) = -0.1; the mean goes from 0.3 to -0.2."""
    before, after = [0.2, 0.4, 0.3] * 2, [-0.4, -0.2, 0.0] * 2

    change = size_change(before, after, ["a", "a", "b"] * 2, ["s", "t", "u", "v", "w", "x"])
    assert change.value == pytest.approx(-0.1)


def test_one_group_is_the_change_of_one_mean() -> None:
    """Both signs are the two tests of `magnitude_change`; where that is decided, interval and p are the same."""
    rng = np.random.default_rng(1)
    places, shared = np.zeros(48, dtype=int), np.repeat(rng.normal(0, 0.05, 24), 2)
    before, after = (drawn(rng, [mean], places, shared) for mean in (0.4, 0.1))
    known, change = magnitude_change(before, after, STORIES), size_change(before, after, ["x"] * 48, STORIES)

    assert change.value == pytest.approx(known.value)
    assert change.p is not None
    assert known.p is not None
    assert change.p.value == pytest.approx(known.p.value)
    assert change.interval == pytest.approx(known.interval)


def test_what_does_not_vary_has_no_interval() -> None:
    """A treatment that changes nothing, and a single story."""
    values = [0.1, 0.2, 0.3]
    for clusters in (["s", "t", "u"], ["s"] * 3):
        assert size_change(values, values, ["a", "b", "b"], clusters) == (0.0, None, None)


def test_the_smallest_of_many_groups_count_as_one() -> None:
    """Of 20 groups 13 are kept, and seven of opposite signs are one, whose mean of (4 - 3) / 7 is not seen as 1."""
    groups = [str(number) for number in range(MOST - 1) for _ in range(3)] + [f"small{number}" for number in range(7)]
    before = [0.0] * 39 + [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0]

    change = size_change(before, [0.0] * 46, groups, [str(place) for place in range(46)])
    assert change.value == pytest.approx(-1 / 46)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([0.15] * 4, [0.15, 0.15, -0.15, -0.15]),
        ([0.15] * 4, [-0.15] * 4),
        ([0.15] * 4, [0.0] * 4),
        ([0.0] * 4, [0.0] * 4),
        ([0.0] * 4, [0.1, 0.1, -0.1, -0.1]),
        ([0.15] * 4, [0.3, 0.3, 0.0, 0.0]),
        ([0.1] * 8, [0.1] * 4 + [-0.1] * 4),
    ],
)
def test_the_interval_covers_the_truth(before: list[float], after: list[float]) -> None:
    """Of 400 runs of 48 pairs on 24 stories 95 % or more hold it; where the size is the same, 5 % claim a change."""
    rng = np.random.default_rng(45)
    places = np.arange(48) // 2 % len(before)
    truth = fmean(abs(b) for b in after) - fmean(abs(a) for a in before)
    covered, claimed = [], []
    for _ in range(400):
        shared = np.repeat(rng.normal(0, 0.08, 24), 2)
        values = [drawn(rng, means, places, shared) for means in (before, after)]
        change = size_change(*values, [str(place) for place in places], STORIES)
        assert change.interval is not None
        assert change.p is not None
        covered.append(change.interval.low <= truth <= change.interval.high)
        claimed.append(change.p.value < 0.05)
        assert claimed[-1] == (not change.interval.low <= 0 <= change.interval.high)

    # Three binomial standard errors of 400 below 0.95, and above 0.05.
    assert fmean(covered) >= 0.917
    if not truth:
        assert fmean(claimed) <= 0.083
