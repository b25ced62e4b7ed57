"""Tests of the cluster bootstrap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.stats import bootstrap
from equipoise.stats.bootstrap import cluster_bootstrap, generator, observed_value
from equipoise.stats.quantities import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def rate(means: Sequence[Array]) -> Array:
    """Yes answers over answers, of one stratum."""
    return means[0][:, 0] / means[0][:, 1]


def relative(means: Sequence[Array]) -> Array:
    """Ratio of the first stratum's rate to the second's."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Array = means[0][:, 0] / means[1][:, 0]
    return quotient


def column(*values: float) -> Array:
    """Make a stratum of single values."""
    return np.array(values, dtype=float).reshape(-1, 1)


def test_observed_value_is_that_of_the_sample() -> None:
    """The statistic of the sample uses each cluster once."""
    # 3 of 4 and 1 of 6: 4 of 10
    assert pytest.approx(observed_value([np.array([[3.0, 4.0], [1.0, 6.0]])], rate)) == 0.4


@pytest.mark.parametrize("strata", [[column(1, 0), column(0, 0)], [column(0, 0), column(0, 0)], [column(), column(1)]])
def test_undefined_value_is_none(strata: list[Array]) -> None:
    """A ratio over 0, and one of an empty stratum, are undefined."""
    assert observed_value(strata, relative) is None


def test_interval_of_two_clusters_spans_them() -> None:
    """Two clusters with means 0 and 1 are drawn as 0, 1/2 or 1, so the 95 % interval is (0, 1)."""
    clusters = np.array([[0.0, 1.0], [1.0, 1.0]])

    assert Interval(0.0, 1.0) == cluster_bootstrap([clusters], rate, rng=np.random.default_rng(0), n_resamples=200)


def test_same_name_and_seed_give_the_same_interval() -> None:
    """An interval depends on the seed and the figure's name alone."""
    clusters = column(*np.random.default_rng(1).normal(size=20))

    def interval(seed: int, name: str) -> Interval | None:
        return cluster_bootstrap([clusters], lambda m: m[0][:, 0], rng=generator(seed, name), n_resamples=200)

    assert interval(1, "a") == interval(1, "a")
    assert interval(1, "a") != interval(1, "b")
    assert interval(1, "a") != interval(2, "a")


def test_infinite_replicates_leave_the_interval_open() -> None:
    """Where the denominator often vanishes in resamples, the upper bound is infinite and the lower one is not."""
    # the denominator is 0 in (3/4)^4 = 32 % of resamples, the numerator never
    interval = cluster_bootstrap(
        [column(1, 1), column(0, 0, 0, 1)], relative, rng=np.random.default_rng(0), n_resamples=500
    )

    assert interval is not None
    # the largest denominator that is drawn in more than 2.5 % is 3/4 (4.7 %), and 1 in 0.4 %
    assert (4 / 3, np.inf) == pytest.approx((interval.low, interval.high))


def test_undefined_replicates_leave_no_interval() -> None:
    """Where 0 / 0 is frequent, no bound can be given."""
    strata = [column(0, 1), column(0, 1)]

    assert cluster_bootstrap(strata, relative, rng=np.random.default_rng(0), n_resamples=500) is None


def test_empty_stratum_leaves_no_interval() -> None:
    """A stratum without clusters cannot be resampled."""
    assert cluster_bootstrap([column(), column(1)], relative, rng=np.random.default_rng(0), n_resamples=50) is None


def test_too_few_resamples_are_refused() -> None:
    """Ten resamples have no 2.5 % tail."""
    with pytest.raises(EquipoiseError, match=r"10 resamples .* at least 20"):
        cluster_bootstrap([column(1, 2)], relative, rng=np.random.default_rng(0), n_resamples=10)


def test_clusters_are_covered_where_single_answers_are_not() -> None:
    """With answers alike within clusters the cluster interval covers the rate, one over single answers does not."""
    rng = np.random.default_rng(5)
    covered = {"clusters": 0, "answers": 0}
    for _ in range(300):
        # 40 clusters of 6 answers; a cluster's own rate is 0.3 on average, from a beta(0.6, 1.4): strongly alike
        yes = rng.binomial(6, rng.beta(0.6, 1.4, size=40))
        clusters = np.column_stack([yes, np.full(40, 6)]).astype(float)
        answers = np.repeat([[1.0, 1.0], [0.0, 1.0]], [yes.sum(), 240 - yes.sum()], axis=0)
        for unit, rows in (("clusters", clusters), ("answers", answers)):
            interval = cluster_bootstrap([rows], rate, rng=rng, n_resamples=300)
            covered[unit] += interval is not None and interval.low <= 0.3 <= interval.high

    # the standard error of a share of 300 is 0.013; percentile intervals of 40 clusters run a little short of 0.95
    assert covered["clusters"] / 300 > 0.91
    assert covered["answers"] / 300 < 0.85


def test_clusters_drawn_in_parts_are_drawn_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many counts are held at once changes no interval."""
    clusters = column(*np.random.default_rng(1).normal(size=20))

    def interval() -> Interval | None:
        return cluster_bootstrap([clusters], lambda m: m[0][:, 0], rng=np.random.default_rng(2), n_resamples=201)

    whole = interval()
    monkeypatch.setattr(bootstrap, "DRAWN_TOGETHER", 100)
    assert interval() == whole


def test_equal_clusters_drawn_together_have_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether 900 clusters of three kinds are drawn one by one or by kind, the interval is that of the normal limit."""
    clusters = np.repeat([[0.0, 1.0], [1.0, 1.0], [1.0, 2.0]], 300, axis=0)

    def interval() -> Interval:
        limits = cluster_bootstrap([clusters], rate, rng=np.random.default_rng(2), n_resamples=4000)
        assert limits is not None
        return limits

    apart = interval()
    monkeypatch.setattr(bootstrap, "MANY", 899)
    together = interval()

    # The rate is 2/4. A cluster bears on it by (yes - rate * answers) / mean answers: -3/8, 3/8 and 0, variance 3/32,
    # standard error sqrt(3/32 / 900) = 0.01021. A bound over 4,000 resamples errs by about 0.0004.
    for bounds in (apart, together):
        assert pytest.approx((0.5 - 1.96 * 0.01021, 0.5 + 1.96 * 0.01021), abs=0.0015) == (bounds.low, bounds.high)
