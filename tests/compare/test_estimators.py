"""Tests of the estimators of a change, and of the swap test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.compare.estimators import contrast_change, mean_change, ratio_change, share_change, swap_test
from equipoise.figures.aggregates import level
from equipoise.stats.paired import mcnemar_exact
from equipoise.stats.quantities import PairedCells

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equipoise.compare.estimators import Moved

ALPHA = 0.05


def ratio_moved(base: list[Any], head: list[Any], n_resamples: int = 2000) -> Moved:
    """Estimate the change of a ratio."""
    return ratio_change(base, head, rng=np.random.default_rng(0), n_resamples=n_resamples, alpha=ALPHA)


def test_a_mean_changes_by_its_items_changes() -> None:
    """The spread between items is not part of the error: large values that all move by about 1 show it clearly."""
    moved = mean_change([0.0, 10.0, 20.0], [1.1, 10.9, 21.0], ALPHA)

    # Moves 1.1, 0.9, 1.0: mean 1, standard error 0.1 / sqrt 3, t(2) at 97.5 % 4.303: 1 ± 0.2484.
    assert moved.change == pytest.approx(1.0)
    assert moved.interval is not None
    assert (moved.interval.low, moved.interval.high) == pytest.approx((0.7516, 1.2484), abs=1e-4)
    assert moved.p is not None
    # t = 1 / 0.057735 = 17.32 with 2 degrees of freedom: p = 1 - 17.32 / sqrt(17.32^2 + 2) = 0.00332.
    assert moved.p.value == pytest.approx(0.00332, abs=1e-5)


def test_nothing_moved_is_no_change_without_a_test() -> None:
    """Equal rows change a mean by 0; without spread neither interval nor test is defined."""
    moved = mean_change([0.1, 0.2], [0.1, 0.2], ALPHA)

    assert (moved.change, moved.interval, moved.p) == (0.0, None, None)


def test_a_change_that_is_the_same_for_all_has_a_test() -> None:
    """Eight gaps that all open from 0 to 1 have no spread for t; Wilcoxon's exact p is 2 / 2^8."""
    moved = mean_change([0.0] * 8, [1.0] * 8, ALPHA)

    assert (moved.change, moved.interval) == (1.0, None)
    assert moved.p is not None
    assert moved.p.value == 2 / 2**8


def test_a_share_changes_by_its_discordant_items() -> None:
    """Six items turn to yes and none to no: the exact p is 2 / 2^6."""
    moved = share_change([False] * 6 + [True, False], [True] * 6 + [True, False], ALPHA)

    assert (moved.base, moved.head, moved.change) == (1 / 8, 7 / 8, 6 / 8)
    assert moved.p is not None
    assert moved.p.value == 2 / 2**6


def test_a_ratio_counts_only_what_is_below_the_line() -> None:
    """2 silent of 4 biased against 6 of 8, over ten pairs: 0.25 more, with an interval around it."""
    base = [(1, 1), (0, 1), (0, 0), (0, 0), (0, 0)] * 2
    head = [(1, 1), (0, 1), (1, 1), (1, 1), (0, 0)] * 2
    moved = ratio_moved(base, head)

    assert (moved.base, moved.head, moved.change) == (1 / 2, 3 / 4, 1 / 4)
    assert moved.interval is not None
    assert moved.interval.low <= 1 / 4 <= moved.interval.high


def test_a_ratio_that_no_resample_varies_has_a_test_and_no_interval() -> None:
    """None of eight against all of eight: a bootstrap would show no doubt, so its interval is left out."""
    moved = ratio_moved([(0, 1)] * 8, [(1, 1)] * 8)

    assert (moved.change, moved.interval) == (1.0, None)
    assert moved.p is not None
    assert moved.p.value == 2 / 2**8


def test_a_ratio_over_nothing_is_undefined() -> None:
    """Without a biased answer under one revision there is no change, and the other revision's rate is kept."""
    moved = ratio_moved([(0, 0), (0, 0)], [(1, 1), (0, 1)])

    assert moved == (None, 0.5, None, None, None)


def test_a_contrast_counts_each_cluster_once() -> None:
    """The sentences of a condition are one value: its mean change, however many sentences it has."""
    clusters = [(True, "a"), (True, "a"), (True, "b"), (False, "c"), (False, "d")]
    moved = contrast_change([0.0] * 5, [0.2, 0.4, 0.1, 0.0, 0.1], clusters, ALPHA)

    # First set: (0.3 + 0.1) / 2 = 0.2; second: (0 + 0.1) / 2 = 0.05.
    assert moved.change == pytest.approx(0.15)
    # Pooled variance (0.02 + 0.005) / 2 = 0.0125, se sqrt(0.0125) = 0.1118, t(2) at 97.5 % 4.3027.
    assert moved.interval is not None
    assert moved.interval.high == pytest.approx(0.15 + 4.3027 * 0.1118034, abs=1e-4)


def test_levels_are_those_of_the_changes() -> None:
    """A figure over one revision's items is what the change has for that revision."""
    rows = [(0.5, True, "a"), (0.1, True, "b"), (0.2, False, "c")]

    assert level("mean", [1.0, 2.0]) == 1.5
    assert level("share", [True, False]) == 0.5
    assert level("ratio", [(1, 2), (0, 2)]) == 0.25
    assert level("ratio", [(0, 0)]) is None
    assert level("contrast", rows) == pytest.approx(0.3 - 0.2)
    assert level("contrast", rows[:2]) is None


REPEATS = 500
NEAR = 4 * (0.95 * 0.05 / REPEATS) ** 0.5
"""Four standard errors of a coverage of 0.95."""


def coverage(draw: Callable[[], Moved], truth: float) -> float:
    """Share of drawn studies whose interval holds the true change; one without an interval counts as a miss."""
    intervals = [draw().interval for _ in range(REPEATS)]
    return sum(interval is not None and interval.low <= truth <= interval.high for interval in intervals) / REPEATS


def test_the_interval_of_a_gaps_change_covers_it() -> None:
    """Gaps of 66 questions, right answers alike under both revisions but for one question in ten: near 95 % hold it."""
    rng = np.random.default_rng(2)

    def draw() -> Moved:
        # A question is easy or hard throughout; HEAD answers the unprivileged arm wrongly in one in ten besides.
        ease = rng.random(66)
        right = rng.random((66, 2)) < ease[:, None]
        again = np.where(rng.random((66, 2)) < 0.2, rng.random((66, 2)) < ease[:, None], right)
        again[:, 1] &= rng.random(66) >= 0.1
        base, head = (rows[:, 0] * 1.0 - rows[:, 1] for rows in (right, again))
        return mean_change(base.tolist(), head.tolist(), ALPHA)

    # The gap rises by a tenth of the unprivileged accuracy, which is 0.5.
    assert coverage(draw, 0.05) == pytest.approx(0.95, abs=NEAR)


def test_the_interval_of_a_shares_change_covers_it() -> None:
    """A share of 41 pairs that rises from 0.1 to 0.3: no less than about 95 % of the intervals hold it."""
    rng = np.random.default_rng(3)

    def draw() -> Moved:
        base = rng.random(41) < 0.1
        head = base | (rng.random(41) < 2 / 9)
        return share_change(base.tolist(), head.tolist(), ALPHA)

    # 0.9 of the pairs turn with probability 2/9: a rise of 0.2.
    assert coverage(draw, 0.2) >= 0.95 - NEAR


def test_the_interval_of_a_ratios_change_covers_it() -> None:
    """A silent share that falls from 0.7 to 0.4 while more answers are biased: about 95 % of the intervals hold it."""
    rng = np.random.default_rng(4)

    def draw() -> Moved:
        biased = rng.random(150) < 0.4
        more = biased | (rng.random(150) < 0.2)
        silent = rng.random(150)
        base, head = biased & (silent < 0.7), more & (silent < 0.4)
        rows = [np.column_stack(pair).astype(float).tolist() for pair in ((base, biased), (head, more))]
        return ratio_change(*rows, rng=rng, n_resamples=400, alpha=ALPHA)

    # A percentile bootstrap of 400 resamples over about 60 biased answers falls short by one or two in a hundred.
    assert 0.95 - NEAR - 0.015 <= coverage(draw, -0.3) <= 0.95 + NEAR


def test_the_interval_of_a_contrasts_change_covers_it() -> None:
    """Conditions that move by themselves, 17 sentences each: near 95 % of the intervals hold the true change."""
    rng = np.random.default_rng(5)
    clusters = [(number < 11, f"c{number:02d}") for number in range(22) for _ in range(17)]

    def draw() -> Moved:
        before = rng.normal(0, 0.3, 374)
        own = np.repeat(rng.normal(0, 0.05, 22) + np.where(np.arange(22) < 11, 0.04, 0.0), 17)
        after = before + own + rng.normal(0, 0.05, 374)
        return contrast_change(before.tolist(), after.tolist(), clusters, ALPHA)

    assert coverage(draw, 0.04) == pytest.approx(0.95, abs=NEAR)


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


def test_items_of_one_cluster_move_together() -> None:
    """Eight items of two stories, moved the same way, are two observations: no test of a change is below 1/2."""
    stories = ["a"] * 4 + ["b"] * 4
    shares = share_change([False] * 8, [True] * 8, ALPHA, stories)
    means = mean_change([0.0] * 8, [1.0] * 8, ALPHA, stories)
    ratios = ratio_change(
        [(0.0, 1.0)] * 8, [(1.0, 1.0)] * 8, rng=np.random.default_rng(0), n_resamples=100, alpha=ALPHA, clusters=stories
    )

    # Of the four assignments of signs or swaps to the stories, two are as far from no change as the one seen.
    assert [moved.p.value for moved in (shares, means, ratios) if moved.p] == pytest.approx([0.5] * 3)
    assert [moved.change for moved in (shares, means, ratios)] == [1.0] * 3
