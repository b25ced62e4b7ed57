"""Tests of the repeated intervals: their boundary against published ones, their error, and their width."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm
from scipy.stats import t as student

from equipoise.stats.quantities import Interval
from equipoise.stats.repeated import FEWEST, FIRST, PARTS, boundary, looks, stretch, widened

STUDIES = 4_000


@pytest.mark.parametrize(
    ("shape", "looked", "published"),
    [(0.5, 2, 2.178), (0.5, 5, 2.413), (0.5, 10, 2.555), (0.0, 2, 1.977), (0.0, 5, 2.040), (0.0, 10, 2.087)],
)
def test_the_boundary_is_that_of_pocock_and_of_o_brien_and_fleming(shape: float, looked: int, published: float) -> None:
    """Jennison & Turnbull (2000), tables 2.1 and 2.3: the constants C_P and C_B at alpha 0.05, equally spaced looks."""
    shares = tuple(look / looked for look in range(1, looked + 1))

    assert boundary(shares, 0.05, shape) == pytest.approx(published, abs=0.001)


def test_two_looks_by_the_bivariate_normal_distribution() -> None:
    """A boundary c f^(1/4 - 1/2) at shares 1/2 and 1 is crossed with 0.025: correlation of the looks sqrt(1/2)."""
    c, root = boundary((0.5, 1.0), 0.05, 0.25), math.sqrt(0.5)
    below = multivariate_normal(cov=[[1, root], [root, 1]]).cdf([c * 0.5**-0.25, c])

    assert 1 - below == pytest.approx(0.025, abs=1e-5)


def test_one_look_at_all_clusters_is_the_fixed_interval() -> None:
    """With ten clusters, the fewest at which one looks, there is no other look; before it there is no interval."""
    assert looks(FEWEST) == [FEWEST]
    assert looks(FEWEST - 1) == []
    assert boundary((1.0,), 0.05) == pytest.approx(norm.isf(0.025))
    assert stretch(FEWEST, FEWEST, 0.05) == pytest.approx(1)


@given(st.integers(FEWEST, 2_000))
def test_looks_are_at_most_fifteen_parts_from_a_third_on(clusters: int) -> None:
    """They end at all clusters, and ascend."""
    found = looks(clusters)

    assert found[-1] == clusters
    assert found == sorted(set(found))
    assert len(found) <= PARTS * (1 - FIRST) + 1


@pytest.mark.parametrize("clusters", [15, 30, 60])
def test_repeated_intervals_miss_the_truth_as_often_as_alpha_at_all_looks_together(clusters: int) -> None:
    """Of 4,000 studies of normal values 5 % ever miss, though the quantiles are Student's; of t intervals many do."""
    rng = np.random.default_rng(clusters)
    values = rng.normal(size=(STUDIES, clusters))
    ends = np.array(looks(clusters))
    means = np.cumsum(values, axis=1)[:, ends - 1] / ends
    squares = np.cumsum(values**2, axis=1)[:, ends - 1]
    errors = np.sqrt((squares - ends * means**2) / (ends - 1) / ends)
    t, quantiles = np.abs(means) / errors, student.isf(0.025, ends - 1)
    repeated = quantiles * [stretch(int(n), clusters, 0.05) for n in ends]

    # Three standard errors of a share of 0.05 are 0.0103.
    assert (t > repeated).any(axis=1).mean() == pytest.approx(0.05, abs=0.0103)
    assert (t > quantiles).any(axis=1).mean() > 0.075


def test_a_repeated_interval_is_widest_at_the_first_look_and_infinite_before_it() -> None:
    """Of 30 clusters the first look is at 10; at the last, the interval is 1.15 times as wide as the t interval."""
    assert math.isinf(stretch(9, 30, 0.05))
    assert stretch(10, 30, 0.05) > stretch(20, 30, 0.05) > stretch(30, 30, 0.05) == pytest.approx(1.146, abs=0.001)
    # A third of 60 is 20.
    assert math.isinf(stretch(19, 60, 0.05))
    assert math.isfinite(stretch(20, 60, 0.05))


def test_limits_move_away_from_the_estimate() -> None:
    """Twice as far on either side, which need not be alike; nowhere where the factor is infinite."""
    assert widened(Interval(0.0, 3.0), 1.0, 2.0) == Interval(-1.0, 5.0)
    assert widened(Interval(0.0, 3.0), 1.0, math.inf) is None
    assert widened(None, 1.0, 2.0) is None
