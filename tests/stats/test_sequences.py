"""Tests of the confidence sequences: their definition by numerical integration, their error, and their width."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import nct, norm
from scipy.stats import t as student

from equipoise.stats.quantities import Interval
from equipoise.stats.sequences import FEWEST, quantile, stretch, tuned_scale, widened


@pytest.mark.parametrize(("n", "scale"), [(12, 0.5), (25, 0.4), (60, 0.1)])
def test_limits_are_where_the_mixture_of_likelihood_ratios_is_20(n: int, scale: float) -> None:
    """At the limits the noncentral t density, averaged over N(0, g) means, is 1 / 0.05 times the central one."""
    t = quantile(n, 0.05, scale)

    def weighted(effect: float) -> float:
        return float(nct.pdf(t, n - 1, effect * math.sqrt(n)) * norm.pdf(effect, scale=math.sqrt(scale)))

    # Standardised means beyond 5 are too far from any t here to count.
    mixed = quad(weighted, -5, 5, points=[t / math.sqrt(n)], limit=200)[0]
    assert mixed / student.pdf(t, n - 1) == pytest.approx(20, rel=1e-4)


def test_a_sequence_misses_the_truth_less_often_than_alpha_at_all_looks_together() -> None:
    """Of 2,000 sequences of 60 normal values, looked at 50 times, at most 5 % ever miss; of t intervals many do."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2_000, 60))
    ends = np.arange(FEWEST, 60)
    means = np.cumsum(values, axis=1)[:, ends - 1] / ends
    squares = np.cumsum(values**2, axis=1)[:, ends - 1]
    errors = np.sqrt((squares - ends * means**2) / (ends - 1) / ends)
    t = np.abs(means) / errors
    quantiles = [quantile(int(n), 0.05, tuned_scale(60, 0.05)) for n in ends]

    # Three standard errors of a share of 0.05 are 0.015.
    assert (t > quantiles).any(axis=1).mean() < 0.065
    assert (t > student.isf(0.025, ends - 1)).any(axis=1).mean() > 0.15


def test_a_sequence_is_wider_than_an_interval_and_infinite_before_the_first_look() -> None:
    """Of 30 clusters the first look is at 10; at the last, the sequence is 1.6 times as wide as the t interval."""
    assert math.isinf(stretch(9, 30, 0.05))
    assert stretch(10, 30, 0.05) > stretch(30, 30, 0.05) == pytest.approx(1.6, abs=0.05)
    # A third of 60 is 20.
    assert math.isinf(stretch(19, 60, 0.05))
    assert math.isfinite(stretch(20, 60, 0.05))


@given(st.integers(10, 500), st.sampled_from([0.01, 0.05, 0.1]))
def test_it_is_narrowest_where_it_is_tuned(n: int, alpha: float) -> None:
    """No other variance of the mixture gives a narrower sequence at n values."""
    best = tuned_scale(n, alpha)

    assert all(quantile(n, alpha, best) <= quantile(n, alpha, best * factor) for factor in (0.5, 0.9, 1.1, 2))


def test_limits_move_away_from_the_estimate() -> None:
    """Twice as far on either side, which need not be alike; nowhere where the factor is infinite."""
    assert widened(Interval(0.0, 3.0), 1.0, 2.0) == Interval(-1.0, 5.0)
    assert widened(Interval(0.0, 3.0), 1.0, math.inf) is None
    assert widened(None, 1.0, 2.0) is None
