"""Tests of the swap test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.compare.swaps import swap_test
from equipoise.stats.paired import mcnemar_exact
from equipoise.stats.quantities import PairedCells

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rng(seed: int = 0) -> np.random.Generator:
    """Make a generator."""
    return np.random.default_rng(seed)


def p_of(base: list[tuple[float, float]], head: list[tuple[float, float]], n_resamples: int = 10_000) -> float:
    """Run the swap test for its p-value."""
    p = swap_test(np.array(base, dtype=float), np.array(head, dtype=float), rng=rng(), n_resamples=n_resamples)
    assert p is not None
    return p.value


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_of_a_share_it_is_the_exact_mcnemar_test(pairs: list[tuple[bool, bool]]) -> None:
    """Where every item counts once below the line, swapping all ways is what McNemar's exact test counts."""
    expected = mcnemar_exact(PairedCells.count(pairs))

    assert expected is not None
    assert p_of([(a, 1) for a, _ in pairs], [(b, 1) for _, b in pairs]) == pytest.approx(expected.value)


def test_equal_rows_have_p_one() -> None:
    """Without an item that moved there is but one swap, and it is as large as what was seen."""
    assert p_of([(1, 1), (0, 1)], [(1, 1), (0, 1)]) == 1.0


def test_all_against_none_has_no_spread_and_is_found() -> None:
    """Ten of ten against none of ten: of 2^10 swaps only two are as extreme, though no resample could vary."""
    assert p_of([(0, 1)] * 10, [(1, 1)] * 10) == 2 / 2**10


def test_a_swap_without_a_ratio_counts_against_significance() -> None:
    """With one item below the line each, every swap that leaves a revision without one counts as larger."""
    # The items are biased under one revision each; swapping one of them alone leaves the other revision with nothing.
    assert p_of([(1, 1), (0, 0)], [(0, 0), (0, 1)]) == 1.0


def test_a_ratio_over_nothing_has_no_test() -> None:
    """Without anything below the line under one revision there is nothing to test."""
    assert swap_test(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]]), rng=rng(), n_resamples=100) is None


def test_drawn_swaps_come_close_to_all_of_them() -> None:
    """Where swaps are drawn, p is that of all swaps within the error of the draw, and never 0."""
    base, head = [(0.0, 1.0)] * 12, [(1.0, 1.0)] * 9 + [(0.0, 1.0)] * 3
    # 9 discordant items, all one way: 2 / 2^9 = 0.0039. Drawn from 400, of which 512 would be all: about 1.6 and the
    # one that was seen, over 401; four standard errors are 0.0125.
    assert p_of(base, head, 512) == 2 / 2**9
    assert p_of(base, head, 400) == pytest.approx(2 / 2**9, abs=0.015)
    assert p_of(base, head, 400) >= 1 / 401


def biased(draw: np.random.Generator, n: int, share: float, silent: float) -> NDArray[np.float64]:
    """Draw items of which a share count below the line, and of those a share above it."""
    below = draw.random(n) < share
    return np.column_stack([below & (draw.random(n) < silent), below]).astype(float)


def test_keeps_its_size_where_only_the_ratios_are_equal() -> None:
    """Items count three times as often under one revision, both ratios being 0.6: 5 % of tests reject, not more."""
    draw = rng(1)
    rejected = 0
    for _ in range(400):
        base, head = biased(draw, 120, 0.2, 0.6), biased(draw, 120, 0.6, 0.6)
        p = swap_test(base, head, rng=draw, n_resamples=400)
        rejected += p is not None and p.value < 0.05
    # Four standard errors of a share of 0.05 over 400 are 0.044.
    assert rejected / 400 < 0.05 + 0.044
