"""Tests of the repeated intervals: their boundary against published ones, their error, and their width."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm
from scipy.stats import t as student

from equipoise.stats.repeated import FEWEST, FIRST, PARTS, boundary, level, looks

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
    """With twenty clusters, the fewest at which one looks, or less there is no other look, and no interval before."""
    assert looks(FEWEST) == [FEWEST]
    assert looks(3) == [3]
    assert boundary((1.0,), 0.05) == pytest.approx(norm.isf(0.025))
    assert level(FEWEST, FEWEST, 0.05) == pytest.approx(0.05)
    assert level(3, 3, 0.05) == pytest.approx(0.05)
    assert level(2, 3, 0.05) is None


@given(st.integers(1, 2_000))
def test_looks_are_at_most_fifteen_parts_from_nearly_a_half_on(clusters: int) -> None:
    """They end at all clusters, and ascend."""
    planned = looks(clusters)

    assert planned[-1] == clusters
    assert planned == sorted(set(planned))
    assert len(planned) <= PARTS * (1 - FIRST) + 1
    assert all(look >= max(FEWEST, FIRST * clusters) for look in planned[:-1])


@pytest.mark.parametrize("clusters", [24, 40, 60])
def test_repeated_intervals_miss_the_truth_as_often_as_alpha_at_all_looks_together(clusters: int) -> None:
    """Of 4,000 studies of normal values 5 % ever miss, though the quantiles are Student's; of t intervals many do."""
    rng = np.random.default_rng(clusters)
    values = rng.normal(size=(STUDIES, clusters))
    ends = np.array(looks(clusters))
    means = np.cumsum(values, axis=1)[:, ends - 1] / ends
    squares = np.cumsum(values**2, axis=1)[:, ends - 1]
    errors = np.sqrt((squares - ends * means**2) / (ends - 1) / ends)
    t, quantiles = np.abs(means) / errors, student.isf(0.025, ends - 1)
    repeated = student.isf([(level(int(n), clusters, 0.05) or 0.0) / 2 for n in ends], ends - 1)

    # Three standard errors of a share of 0.05 are 0.0103.
    assert (t > repeated).any(axis=1).mean() == pytest.approx(0.05, abs=0.0103)
    assert (t > quantiles).any(axis=1).mean() > 0.065


def test_intervals_grow_narrower_from_look_to_look() -> None:
    """With 60 clusters the first look is at 28, seven parts of fifteen; before it there is no interval."""
    levels = [level(n, 60, 0.05) or 0.0 for n in looks(60)]

    assert looks(60)[0] == 28
    assert level(26, 60, 0.05) is None
    assert levels == sorted(levels)
    assert 0 < levels[0] < levels[-1] < 0.05
