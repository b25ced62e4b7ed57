"""Tests of clustered values, and of the size and coverage of inference on them."""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.api import OLS

from equipoise.stats.clusters import (
    Mean,
    cluster_means,
    clustered_mean,
    effective_size,
    probit_contrast,
    sign_flip,
    two_way_mean,
)
from equipoise.stats.groups import student_t
from equipoise.stats.paired import mcnemar_exact, mean_interval, paired_t, signed_ranks, t_quantile, wilcoxon
from equipoise.stats.quantities import PairedCells, PValue

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


@given(st.lists(st.floats(-5, 5), min_size=5, max_size=30, unique=True), st.floats(-3, 3))
def test_the_transformed_t_statistic_is_at_its_quantile_at_the_limits(values: list[float], shift: float) -> None:
    """Hall's cubic of t = (mean - limit) / error is Student's quantile; the interval moves with the values."""
    mean = clustered_mean(values, [str(place) for place in range(len(values))])
    assume(mean is not None and mean.standard_error > 1e-3)
    assert mean is not None
    k, limits = mean.skewness, np.array(astuple(mean.skewed_interval()))
    t = (mean.value - limits) / mean.standard_error
    moved = np.array(astuple(mean._replace(value=mean.value + shift).skewed_interval()))

    assert t + k * t**2 / 3 + k**2 * t**3 / 27 + k / 6 == pytest.approx(np.array([1, -1]) * t_quantile(0.05, mean.df))
    assert moved - shift == pytest.approx(limits, abs=1e-9)


def test_skewness_is_the_third_cumulant_of_the_mean() -> None:
    """Of independent 0, 0, 0, 4: residuals -1, -1, -1, 3, third cumulant 24 / 4^3, error sqrt(12 / 3 / 4) = 1."""
    mean = clustered_mean([0.0, 0.0, 0.0, 4.0], ["a", "b", "c", "d"])

    assert mean is not None
    assert mean.skewness == pytest.approx(24 / 64)


def test_an_interval_corrected_for_skewness_misses_less_often() -> None:
    """The upper limit of 25 exponential values lies below their mean in 7 % of samples, Hall's in 5 %."""
    rng, names = np.random.default_rng(1), [str(place) for place in range(25)]
    means = [clustered_mean(row, names) for row in rng.exponential(size=(4_000, 25)).tolist()]
    missed = [
        np.mean([limits(mean).high < 1 for mean in means if mean is not None])
        for limits in (Mean.interval, Mean.skewed_interval)
    ]

    # Standard errors are 0.004 and 0.003.
    assert missed == pytest.approx([0.07, 0.048], abs=0.011)


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
    first_means, second_means = first.mean(axis=1), second.mean(axis=1)
    # G clusters a sample: pooled variance (SS + SS') / (2 G - 2) times 2 / G here; there (SS + SS') / G^2, times
    # 2 G / (2 G - 1) and (N - 1) / (N - 2): the errors are as sqrt((2 G - 1) / (2 G - 2) (N - 2) / (N - 1))
    g, n = CLUSTERS, len(values)
    squares = (first_means.var(ddof=1) + second_means.var(ddof=1)) / 2
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


def test_one_value_a_cluster_is_the_t_test() -> None:
    """Where each value is its own cluster, CR2 and Satterthwaite give Student's t with n - 1 degrees of freedom."""
    values = np.random.default_rng(9).normal(0.3, 1, 12).tolist()
    mean, p, interval = clustered_mean(values, [str(n) for n in range(12)]), paired_t(values), mean_interval(values)

    assert mean is not None
    assert p is not None
    assert interval is not None
    assert mean.df == pytest.approx(11)
    assert mean.test().value == pytest.approx(p.value)
    assert (mean.interval().low, mean.interval().high) == pytest.approx((interval.low, interval.high))


def test_equal_clusters_have_their_number_less_one_degrees_of_freedom() -> None:
    """With equal clusters, mean, error and test are those of the cluster means."""
    values = correlated(np.random.default_rng(10)).ravel().tolist()
    mean, p = clustered_mean(values, NAMES), paired_t(cluster_means(values, NAMES))

    assert mean is not None
    assert p is not None
    assert mean.df == pytest.approx(CLUSTERS - 1)
    assert mean.test().value == pytest.approx(p.value)


@pytest.mark.parametrize(
    ("values", "clusters"),
    [([], []), ([1.0, 2.0], ["a", "a"]), ([1.0, 1.0], ["a", "b"]), ([1.0, -1.0, 1.0, -1.0], ["a", "a", "b", "b"])],
)
def test_no_error_without_spread_between_clusters(values: list[float], clusters: list[str]) -> None:
    """One cluster, equal values, or sums of residuals that are 0 in every cluster give neither interval nor test."""
    assert clustered_mean(values, clusters) is None


def test_two_ways_add_what_each_explains() -> None:
    """The two-way variance is the sum of both ways' less that of their intersection, and never below the larger."""
    values, first_way, second_way = [1.0, 2.0, 4.0, 7.0], ["a", "a", "b", "b"], ["x", "y", "x", "y"]
    mean = two_way_mean(values, first_way, second_way)

    # Mean 3.5. Sums of residuals: -4 and 4 by the first way, -2 and 2 by the second; -2.5, -1.5, 0.5, 3.5 alone.
    # CR2: (16 + 16) / (1 - 1/2) / 16 = 4, (4 + 4) / (1/2) / 16 = 1, (6.25 + 2.25 + 0.25 + 12.25) / (3/4) / 16 = 1.75.
    # 4 + 1 - 1.75 = 3.25 is below 4.
    assert mean is not None
    assert (mean.value, mean.standard_error, mean.df) == pytest.approx((3.5, 2.0, 1.0))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=20))
def test_the_effective_number_is_at_most_the_number(drawn: list[tuple[bool, int]]) -> None:
    """Clusters never add information, and values that are clusters of their own lose none."""
    values, names = [float(value) for value, _ in drawn], [str(name) for _, name in drawn]

    assert 0 <= effective_size(values, names) <= len(values)
    assert effective_size(values, [str(n) for n in range(len(values))]) == len(values)


def test_clusters_that_cannot_be_judged_are_taken_to_agree() -> None:
    """Outcomes that are all alike have no design effect: clusters of 3, 1 and 1 count as 25 / 11 values."""
    # n^2 / sum of squared sizes = 25 / (9 + 1 + 1)
    assert effective_size([0.0] * 5, ["a", "a", "a", "b", "c"]) == pytest.approx(25 / 11)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=25))
def test_signs_of_single_pairs_are_mcnemars_test(moves: list[int]) -> None:
    """Where each pair is its own cluster, changes of sign give the exact McNemar test."""
    by_signs = sign_flip(moves, [str(number) for number in range(len(moves))])
    by_counts = mcnemar_exact(PairedCells(0, moves.count(1), moves.count(-1), moves.count(0)))

    assert by_signs is not None
    assert by_counts is not None
    assert by_signs.value == pytest.approx(by_counts.value)


def test_signs_of_single_differences_are_wilcoxons_test() -> None:
    """Where each difference is its own cluster, signed ranks give Wilcoxon's exact test."""
    values = np.random.default_rng(11).normal(0.4, 1, 15).tolist()
    by_signs, p = sign_flip(signed_ranks(values), [str(number) for number in range(15)]), wilcoxon(values)

    assert by_signs is not None
    assert p is not None
    assert by_signs.value == pytest.approx(p.value)


def test_signs_of_clusters_by_hand() -> None:
    """Three pairs of one story and one of another, all the same way, are two signs and not four."""
    # Sums 3 and 1: of the four assignments of signs two are as far from 0 as 4. The mid-p counts them half.
    p_values = [sign_flip([1, 1, 1, 1], ["a", "a", "a", "b"], mid_p=mid_p) for mid_p in (False, True)]

    assert [p.value for p in p_values if p] == pytest.approx([0.5, 0.25])
    assert sign_flip([], []) is None
    assert sign_flip([1, -1], ["a", "a"]) == PValue(1.0, 0.0)


def test_many_signs_are_approximated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the normal approximation takes the exact distribution's place, and is near it."""
    moves = [1] * 70 + [-1] * 40
    names = [str(number // 2) for number in range(len(moves))]
    exact = sign_flip(moves, names, mid_p=True)
    monkeypatch.setattr("equipoise.stats.clusters.MOST_STEPS", 0)
    approximate = sign_flip(moves, names, mid_p=True)

    assert exact is not None
    assert approximate is not None
    assert approximate.value == pytest.approx(exact.value, rel=0.05)
    assert approximate.neg_log10 == pytest.approx(-np.log10(approximate.value))


def test_uneven_stories_keep_the_size_of_the_test() -> None:
    """25 stories of 1 to 6 pairs, of whose variance half is the story's: near 5 % reject; as independent pairs 12 %."""
    rng = np.random.default_rng(12)
    sizes = [6, 3, 3, 3, 2, 2, 2, 2, 2, *[1] * 16]
    names = np.repeat([str(number) for number in range(25)], sizes).tolist()
    naive = clustered = 0
    for _ in range(STUDIES):
        values = (np.repeat(rng.normal(size=25), sizes) + rng.normal(size=41)).tolist()
        mean = clustered_mean(values, names)
        clustered += mean is not None and rejects(mean.test())
        naive += rejects(paired_t(values))

    # The variance of a mean is 1 + 0.5 (sum n_g^2 / n - 1) = 1 + 0.5 (99 / 41 - 1) = 1.71 times what independence says:
    # P(|z| > 2.02 / 1.31) = 0.12. The standard error of a share of 1,000 is 0.007 at 0.05 and 0.010 at 0.12.
    assert clustered / STUDIES == pytest.approx(0.05, abs=0.025)
    assert naive / STUDIES == pytest.approx(0.12, abs=0.04)


def test_the_error_of_a_quantile_is_that_of_gourevitch_and_galanter() -> None:
    """Of 400 independent answers it is sqrt(p (1 - p) / n) over the normal density at z, but for the correction."""
    contrast = probit_contrast(
        [(number < 80,) for number in range(400)], [str(number) for number in range(400)], (1.0,)
    )

    assert contrast is not None
    # p = 80.5 / 401, z = -0.839, density 0.2806: sqrt(0.2 x 0.8 / 400) / 0.2806 = 0.0713.
    assert contrast.value == pytest.approx(-0.839, abs=1e-3)
    assert contrast.standard_error == pytest.approx(0.0713, rel=0.005)


def test_copies_of_an_answer_in_its_cluster_tell_nothing_new() -> None:
    """Four copies of each of 100 answers have nearly the error of the 100: taken as independent, half of it."""
    rows, names = [(number < 20,) for number in range(100)], [str(number) for number in range(100)]
    once, copied = probit_contrast(rows, names, (1.0,)), probit_contrast(rows * 4, names * 4, (1.0,))

    assert once is not None
    assert copied is not None
    assert copied.standard_error == pytest.approx(once.standard_error, rel=0.03)
    assert copied.df == pytest.approx(once.df, rel=0.03)


def test_alike_answers_have_an_error_and_a_single_cluster_none() -> None:
    """Where every answer is yes, the added observation has nearly all of the variance; one cluster has no error."""
    contrast = probit_contrast([(True,)] * 9, list("abcdefghi"), (1.0,))

    assert contrast is not None
    # p = 9.5 / 10, z = 1.645, density 0.1031; S^2 of nine clusters 0.05^2 each, of the added one 1/4, over 1 - 1/10.
    assert contrast.standard_error == pytest.approx(math.sqrt((9 * 0.0025 + 0.25) / 0.9) / 0.1031 / 10, rel=1e-3)
    assert probit_contrast([(True,), (False,)], ["a", "a"], (1.0,)) is None
