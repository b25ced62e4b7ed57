"""Tests of the permutation test of two samples within strata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, permutation_test

from equipoise.stats.groups import PERMUTATIONS, least_p, stratified_permutation_p

if TYPE_CHECKING:
    from collections.abc import Sequence

FEW = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=5)


def exact(rows: Sequence[tuple[float, float]], kind: Literal["independent", "samples"]) -> float:
    """Give the p-value of every permutation: of all values, or within each row."""
    result = permutation_test(
        tuple(np.array(rows, dtype=float).T),
        lambda first, second, axis: first.mean(axis=axis) - second.mean(axis=axis),
        permutation_type="samples" if kind == "samples" else "independent",
        vectorized=True,
        n_resamples=10**6,
    )
    return float(result.pvalue)


@pytest.mark.parametrize("kind", ["independent", "samples"])
@given(rows=FEW)
def test_random_permutations_come_near_all_of_them(
    kind: Literal["independent", "samples"], rows: Sequence[tuple[float, float]]
) -> None:
    """One stratum is scipy's unpaired test, and a stratum a place its paired one, with ties and without."""
    first, second = zip(*rows, strict=True)
    p = exact(rows, kind)
    estimate = stratified_permutation_p(first, second, range(len(rows)) if kind == "samples" else [0] * len(rows))

    # Five standard errors of a share of 9,999, and the observed permutation, which is counted too.
    assert estimate == pytest.approx(p, abs=5 * (p * (1 - p) / PERMUTATIONS) ** 0.5 + 1.1 / PERMUTATIONS)


def test_strata_are_permuted_apart() -> None:
    """Two strata whose samples lie apart by 1 within, and by 100 between: the larger difference does not count."""
    # Each stratum has values 0, 0, 1, 1 (or 100 more) in C(4, 2) = 6 orders, of which one has the difference of 2 seen:
    # 1 of 36 on either side.
    p = stratified_permutation_p([1, 1, 101, 101], [0, 0, 100, 100], [0, 0, 1, 1])

    assert p == pytest.approx(2 / 36, abs=0.012)
    assert least_p([0, 0, 1, 1]) == 2 / 36


@pytest.mark.parametrize(
    ("strata", "least"),
    [
        ([0, 0, 0, 0], 2 / 70),  # C(8, 4)
        ([0, 1, 2, 3, 4], 2 / 32),  # a change of sign a place
        ([0], 1.0),
        ([], 2.0),  # nothing to permute: larger than any size of a test
    ],
)
def test_the_least_p_value_is_that_of_both_extremes(strata: Sequence[int], least: float) -> None:
    """Of all permutations two are most extreme: the one that was seen, and the same with the samples exchanged."""
    assert least_p(strata) == pytest.approx(least)


def test_equal_samples_are_alike() -> None:
    """Without a difference, and without any spread, p is 1."""
    assert stratified_permutation_p([1.0, 2.0], [2.0, 1.0], [0, 0]) == 1
    assert stratified_permutation_p([0.1] * 8, [0.1] * 8, [0] * 8) == 1


def test_rounding_breaks_no_tie() -> None:
    """The sum of 0.1, 0.2 and 0.3 against 0 depends on its order in the last bit; each of 8 signs' extremes counts."""
    assert stratified_permutation_p([0.1, 0.2, 0.3], [0.0, 0.0, 0.0], [0, 1, 2]) == pytest.approx(2 / 8, abs=0.022)


@pytest.mark.parametrize("strata", [[0] * 8, list(range(8)), [0, 0, 0, 0, 1, 1, 1, 1]])
def test_the_size_is_kept(strata: Sequence[int]) -> None:
    """Of 400 sets of alike samples, skewed and apart between strata, at most some 5 % have p of at most 0.05."""
    rng = np.random.default_rng(4)
    shift = 5.0 * np.array(strata)
    sets = 400
    rejections = sum(
        stratified_permutation_p(rng.exponential(size=8) + shift, rng.exponential(size=8) + shift, strata) <= 0.05
        for _ in range(sets)
    )

    assert binom.ppf(0.0005, sets, 0.04) <= rejections <= binom.ppf(0.9995, sets, 0.05)
