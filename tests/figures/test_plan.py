"""Tests of the plans: variance components by level, and the cases that a margin needs."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.figures.options import Component
from equipoise.figures.plan import plan, spread_of, spread_of_interval
from equipoise.stats.clusters import clustered_mean
from equipoise.stats.equivalence import clusters_needed

COMPONENT = Component(margin=0.5, why="made up")


def test_variance_is_taken_apart_by_story_pair_and_sample() -> None:
    """Of 400 stories of two pairs with two samples, with variances 1, 0.5 and 0.25, each is found to within a fifth."""
    rng = np.random.default_rng(1)
    values, stories = {}, {}
    for story in range(400):
        of_story = rng.normal()
        for pair in range(2):
            of_pair = of_story + np.sqrt(0.5) * rng.normal()
            for sample in ("", "#1"):
                key = f"{story}-{pair}{sample}"
                values[key], stories[key] = float(of_pair + 0.5 * rng.normal()), str(story)
    spread = spread_of(values, stories)
    mean = clustered_mean(list(values.values()), list(stories.values()))

    assert spread is not None
    assert mean is not None
    assert (spread.items, spread.clusters, spread.samples) == (800, 400, 2)
    assert (spread.standard_error, spread.df) == pytest.approx((mean.standard_error, mean.df))
    assert spread.between == pytest.approx(1, rel=0.2)
    assert spread.within + spread.sampled == pytest.approx(0.75, rel=0.2)
    assert spread.sampled == pytest.approx(0.25, rel=0.2)


def test_a_plan_has_new_stories_and_stories_like_those_of_the_run() -> None:
    """Of three stories of two pairs, a story has one pair or two; greedy replies are not sampled more often."""
    values = {
        f"{story}-{pair}": value
        for story, row in enumerate(([0, 1], [2, 2.5], [-1, 0]))
        for pair, value in enumerate(row)
    }
    spread = spread_of(values, {key: key[0] for key in values})
    assert spread is not None
    planned = plan(spread, COMPONENT, alpha=0.05, power=0.8)

    assert [(need.size, need.samples) for need in planned.needs] == [(1.0, 1), (2.0, 1)]
    assert [need.clusters for need in planned.needs] == [
        clusters_needed(0.5, spread.between, spread.within, size, alpha=0.025, power=0.8) for size in (1, 2)
    ]
    assert planned.needs[1].items == 2 * planned.needs[1].clusters
    # Today's six pairs support no such margin.
    assert planned.supported > 0.5


def test_a_contrast_is_planned_by_its_conditions() -> None:
    """Means 0, 2 and 1, 3: pooled variance 2, error sqrt(2 (1/2 + 1/2)), and 2 (2 + 2) of each of G conditions."""
    rows = {"a": (0.0, True, "x"), "b": (2.0, True, "y"), "c": (1.0, False, "z"), "d": (3.0, False, "w")}
    spread = spread_of(rows, None)

    assert spread is not None
    assert spread.standard_error == pytest.approx(2**0.5)
    assert (spread.clusters, spread.df, spread.between, spread.within) == (4, 2, 8.0, 0.0)


def test_what_does_not_vary_has_no_plan() -> None:
    """No items, one item, and values that are all alike."""
    assert spread_of({}, None) is None
    assert spread_of({"a": 1.0}, None) is None
    assert spread_of({"a": 1.0, "b": 1.0}, None) is None


def test_an_interval_tells_of_the_whole_variance() -> None:
    """±1.0227 of 10 stories at 95 % is t(9) = 2.262 errors of 0.4521, and a variance of 10 x 0.4521^2 = 2.044."""
    spread = spread_of_interval(10, 10, 1.0227, 0.05)

    assert spread.standard_error == pytest.approx(0.4521, abs=1e-4)
    assert (spread.between, spread.within, spread.df) == (pytest.approx(2.044, abs=1e-3), 0.0, 9)
