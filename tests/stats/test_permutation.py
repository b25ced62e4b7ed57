"""Tests of the permutation test of two samples of answers."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.stats import permutation
from equipoise.stats.permutation import permutation_p

COUNTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4)


def by_assignments(first: list[int], second: list[int]) -> float:
    """The definition: of all ways to choose the first sample, the share with a chi-square at least the observed one."""
    pooled = [answer for answer, pair in enumerate(zip(first, second, strict=True)) for _ in range(sum(pair))]
    total = np.bincount(pooled, minlength=len(first))
    size, n = sum(first), len(pooled)

    def statistic(counts: np.ndarray) -> float:
        expected = total[total > 0] * size / n
        rest = total[total > 0] - expected
        return float(((counts[total > 0] - expected) ** 2 * (1 / expected + 1 / rest)).sum())

    least = statistic(np.array(first)) * (1 - 1e-9)
    drawn = [
        np.bincount([pooled[place] for place in chosen], minlength=len(first))
        for chosen in combinations(range(n), size)
    ]
    return sum(statistic(counts) >= least for counts in drawn) / len(drawn)


def test_by_hand() -> None:
    """Three answers A against three answers B: 2 of the 20 ways to choose three of six are as uneven."""
    assert permutation_p([3, 0], [0, 3]) == pytest.approx(2 / comb(6, 3))


@pytest.mark.parametrize(("first", "second"), [([5, 0], [9, 0]), ([0, 0], [3, 2]), ([], []), ([4], [4])])
def test_nothing_to_tell_apart(first: list[int], second: list[int]) -> None:
    """One answer throughout, or an empty sample, is no evidence."""
    assert permutation_p(first, second) == 1


@settings(deadline=None, max_examples=40)
@given(COUNTS.filter(lambda pairs: sum(map(sum, pairs)) <= 12 and all(map(sum, zip(*pairs, strict=True)))))
def test_as_defined(pairs: list[tuple[int, int]]) -> None:
    """The share of assignments, counted one by one, is the p-value."""
    first, second = ([pair[place] for pair in pairs] for place in (0, 1))

    assert permutation_p(first, second) == pytest.approx(by_assignments(first, second))


@settings(deadline=None, max_examples=40)
@given(COUNTS, st.randoms())
def test_names_do_not_matter(pairs: list[tuple[int, int]], order: object) -> None:
    """Neither the order of the answers, nor which sample comes first, changes the p-value."""
    shuffled = list(pairs)
    order.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives random.Random
    first, second = ([pair[place] for pair in pairs] for place in (0, 1))
    shuffled_first, shuffled_second = ([pair[place] for pair in shuffled] for place in (0, 1))

    assert permutation_p(first, second) == pytest.approx(permutation_p(shuffled_second, shuffled_first))


def test_drawn_tables_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many tables to list, drawn ones give the exact p-value within their error."""
    first, second = [30, 12, 8], [70, 10, 20]
    exact = permutation_p(first, second)
    monkeypatch.setattr(permutation, "MOST_LISTED", 0)

    # five standard errors of a share of 1,000,000 draws
    assert permutation_p(first, second) == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 1e6) ** 0.5)


def test_keeps_its_size() -> None:
    """Of 2,000 pairs of samples from one distribution, at most about 5 in 100 have p <= 0.05, and not far fewer."""
    draw = np.random.default_rng(5).multinomial
    rejected = np.mean(
        [permutation_p(draw(50, p).tolist(), draw(50, p).tolist()) <= 0.05 for p in [(0.6, 0.3, 0.1)] * 2000]
    )

    # the standard error of a share of 0.05 of 2,000 is 0.005; the test is discrete, so that it may be below
    assert 0.03 < rejected < 0.065
