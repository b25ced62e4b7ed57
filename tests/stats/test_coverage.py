"""Tests of the coverage that is simulated at a figure's own values."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.stats.clusters import RESAMPLES, clustered_mean, simulated_coverage, simulated_misses

NAMES = [f"story{number}" for number in range(12)]


def test_coverage_is_that_of_the_interval_itself() -> None:
    """Resampling whole clusters and asking for each interval gives the same share."""
    values, clusters = [3.0, 1.0, -2.0, 0.5, 4.0, 0.0, 1.5], ["a", "a", "b", "c", "c", "c", "d"]
    members = {name: [v for v, c in zip(values, clusters, strict=True) if c == name] for name in "abcd"}
    hits = []
    for draw in np.random.default_rng(0).integers(4, size=(RESAMPLES, 4)).tolist():
        drawn = [(value, str(place)) for place, which in enumerate(draw) for value in members["abcd"[which]]]
        mean = clustered_mean([value for value, _ in drawn], [name for _, name in drawn])
        # A resample without an interval misses the mean.
        interval = None if mean is None else mean.interval()
        hits.append(interval is not None and interval.low <= np.mean(values) <= interval.high)

    assert simulated_coverage(values, clusters) == pytest.approx(np.mean(hits), abs=1e-9)


def test_skewed_values_cover_less_than_even_ones() -> None:
    """One story in twelve that stands far out lets the interval miss; values on both sides alike do not."""
    skewed, even = [0.1 * number for number in range(11)] + [60.0], [float(number) for number in range(12)]
    low, high = simulated_coverage(skewed, NAMES), simulated_coverage(even, NAMES)

    assert low is not None
    assert high is not None
    # The resamples without the outlier, (11/12)^12 = 35 %, have intervals far below the mean.
    assert low < 0.92 < high


def test_resamples_without_an_interval_miss() -> None:
    """One value of 1 among eleven of 0: the resamples that leave it out do not vary, and show no bias at all."""
    values = [0.0] * 11 + [1.0]
    # (11/12)^12 = 0.352 of the resamples have zeros alone. Those with one to four values of 1 cover 1/12 = 0.083: that
    # of four is 0.333 ± 2.2 × 0.142, from 0.020; that of five, 0.417 ± 2.2 × 0.149, begins at 0.090, and 0.002 of the
    # resamples have five or more. The standard error of 2,000 resamples is 0.011.
    coverage = simulated_coverage(values, NAMES)

    assert coverage == pytest.approx(1 - 0.352 - 0.002, abs=0.03)


def test_without_spread_or_clusters_there_is_no_coverage() -> None:
    """Values that do not vary, and a single cluster, have no interval whose coverage could be asked for."""
    assert simulated_coverage([1.0] * 12, NAMES) is None
    assert simulated_coverage([1.0, 2.0], ["a", "a"]) is None


def test_a_limit_is_missed_on_the_side_of_the_tail() -> None:
    """Samples without the one large value, (39/40)^40 of all, end below the mean; those of mirrored values above it."""
    values = [0.01, 0.011] * 19 + [0.01, 1.0]
    names = [str(place) for place in range(40)]
    missed, mirrored = (simulated_misses([sign * value for value in values], names) for sign in (1, -1))

    assert missed is not None
    assert mirrored is not None
    # The standard error of a share of 2,000 samples is 0.011.
    assert missed.high == pytest.approx((39 / 40) ** 40, abs=0.04)
    assert max(missed.low, missed.undefined) < 0.01
    assert (mirrored.low, mirrored.high) == (missed.high, missed.low)
    assert simulated_coverage(values, names) == pytest.approx(1 - sum(missed))
