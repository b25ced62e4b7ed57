"""Tests of cluster means, and of the size and coverage of inference on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.api import OLS

from equipoise.stats.clusters import cluster_means
from equipoise.stats.groups import student_t
from equipoise.stats.paired import mean_interval, paired_t

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equipoise.stats.quantities import PValue

CLUSTERS, SIZE = 11, 17
"""Those of the stigma study's first question: diagnoses and templates."""
STUDIES = 1000
NAMES = np.repeat([f"{number:02d}" for number in range(CLUSTERS)], SIZE).tolist()


def correlated(rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw clusters of values whose true mean is 0 and of whose variance a third is the cluster's."""
    shared = rng.normal(0, 0.5**0.5, size=(CLUSTERS, 1))
    drawn: NDArray[np.float64] = shared + rng.normal(0, 1, size=(CLUSTERS, SIZE))
    return drawn


def rejects(p: PValue | None) -> bool:
    """Say whether a test rejects at 5 %."""
    return p is not None and p.value <= 0.05


def test_means_by_hand() -> None:
    """Each cluster counts once, in order of its name, however many values it has."""
    assert cluster_means([1, 2, 6, 10], ["b", "a", "a", "b"]) == [4.0, 5.5]
    assert cluster_means([], []) == []


def test_a_value_without_cluster_is_refused() -> None:
    """Values and clusters must have the same length."""
    with pytest.raises(ValueError, match="zip"):
        cluster_means([1.0, 2.0], ["a"])


@settings(deadline=None, max_examples=20)
@given(values=st.lists(st.floats(-1, 1), min_size=1, max_size=12))
def test_clusters_of_one_are_the_values(values: list[float]) -> None:
    """With one value a cluster nothing changes."""
    assert values == cluster_means(values, [f"{number:02d}" for number in range(len(values))])


def test_robust_regression_agrees_on_one_sample() -> None:
    """With equal clusters, the p-value and the interval are those of least squares with cluster-robust errors."""
    values = correlated(np.random.default_rng(1)).ravel()
    means = cluster_means(values.tolist(), NAMES)
    fitted = OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": NAMES}, use_t=True)
    p, interval = paired_t(means), mean_interval(means)

    assert p is not None
    assert interval is not None
    assert fitted.pvalues[0] == pytest.approx(p.value)
    assert fitted.conf_int()[0] == pytest.approx((interval.low, interval.high))


def test_robust_regression_is_near_on_two_samples() -> None:
    """With equal clusters, two samples' t is that of cluster-robust errors but for the correction of few clusters."""
    rng = np.random.default_rng(2)
    first, second = correlated(rng) + 0.4, correlated(rng)
    values = np.concatenate([first.ravel(), second.ravel()])
    design = np.column_stack([np.ones(len(values)), np.repeat([1.0, 0.0], CLUSTERS * SIZE)])
    groups = np.repeat(np.arange(2 * CLUSTERS), SIZE)
    fitted = OLS(values, design).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    one, other = first.mean(axis=1), second.mean(axis=1)
    # G clusters a sample: pooled variance (SS + SS') / (2 G - 2) times 2 / G here; there (SS + SS') / G^2, times
    # 2 G / (2 G - 1) and (N - 1) / (N - 2): the errors are as sqrt((2 G - 1) / (2 G - 2) (N - 2) / (N - 1))
    g, n = CLUSTERS, len(values)
    squares = (one.var(ddof=1) + other.var(ddof=1)) / 2
    error = float(np.sqrt(squares * 2 / g))

    assert fitted.bse[1] * np.sqrt((2 * g - 1) / (2 * g - 2) * (n - 2) / (n - 1)) == pytest.approx(error)
    assert fitted.bse[1] == pytest.approx(error, rel=0.03)


def test_clustered_test_keeps_its_size_and_the_naive_one_does_not() -> None:
    """Without a true mean, a test over sentences rejects in 43 % of studies; over diagnoses, in 5 %."""
    rng = np.random.default_rng(5)
    naive = clustered = 0
    for _ in range(STUDIES):
        values = correlated(rng).ravel().tolist()
        naive += rejects(paired_t(values))
        clustered += rejects(paired_t(cluster_means(values, NAMES)))

    # The variance of a mean is 1 + 16 / 3 = 6.3 times what independence says, so t is 2.5 times too large:
    # P(|z| > 1.97 / 2.5) = 0.43. The standard error of a share of 1,000 is 0.007 at 0.05 and 0.016 at 0.43.
    assert naive / STUDIES == pytest.approx(0.43, abs=0.06)
    assert clustered / STUDIES == pytest.approx(0.05, abs=0.025)


def test_clustered_comparison_keeps_its_size_and_the_naive_one_does_not() -> None:
    """The same holds of the difference between two sets of diagnoses."""
    rng = np.random.default_rng(6)
    naive = clustered = 0
    for _ in range(STUDIES):
        first, second = (correlated(rng).ravel().tolist() for _ in range(2))
        naive += rejects(student_t(first, second))
        clustered += rejects(student_t(cluster_means(first, NAMES), cluster_means(second, NAMES)))

    assert naive / STUDIES == pytest.approx(0.43, abs=0.06)
    assert clustered / STUDIES == pytest.approx(0.05, abs=0.025)


def test_unequal_clusters_break_the_sandwich_and_not_the_test_of_means() -> None:
    """With two of eleven clusters far larger, cluster-robust errors reject too often, and cluster means do not."""
    rng = np.random.default_rng(8)
    sizes = [60, 40, *[4] * 9]
    names = np.repeat([f"{number:02d}" for number in range(CLUSTERS)], sizes).tolist()
    robust = clustered = 0
    for _ in range(600):
        values = np.repeat(rng.normal(0, 0.5**0.5, CLUSTERS), sizes) + rng.normal(0, 1, len(names))
        fitted = OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": names}, use_t=True)
        robust += fitted.pvalues[0] <= 0.05
        clustered += rejects(paired_t(cluster_means(values.tolist(), names)))

    # the standard error of a share of 600 is 0.009 at 0.05
    assert robust / 600 > 0.15
    assert clustered / 600 == pytest.approx(0.05, abs=0.03)


def test_clustered_interval_covers_where_the_naive_one_does_not() -> None:
    """An interval over diagnoses covers the true mean in about 95 % of studies, one over sentences in far fewer."""
    rng = np.random.default_rng(7)
    covered = {"naive": 0, "clustered": 0}
    for _ in range(STUDIES):
        values = correlated(rng).ravel().tolist()
        for name, sample in (("naive", values), ("clustered", cluster_means(values, NAMES))):
            interval = mean_interval(sample)
            covered[name] += interval is not None and interval.low <= 0 <= interval.high

    assert covered["naive"] / STUDIES < 0.7
    assert covered["clustered"] / STUDIES == pytest.approx(0.95, abs=0.025)
