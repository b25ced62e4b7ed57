"""Swap test of the change of a ratio: would the change be as large if each item's two revisions had been swapped?

Where the revisions do not differ, each item might as well have given its two rows the other way round. The test counts
in what share of all such swaps the change is at least as large; where the swaps are too many, it draws from them. For a
share of items it is the exact McNemar test.

The change is divided by its standard error (linearised), since a ratio may keep its value while what is below the line
grows tenfold: then the swapped changes spread less than the real one, and unstudentised would be rejected too often.
Studentised, the test is exact where items are exchangeable, and of the right size in large samples where only the two
ratios are equal.
Source: Janssen (1997), Statistics & Probability Letters 36:9-21, for studentised permutation; Konietschke & Pauly
(2014), Statistics and Computing 24:283-296, for matched pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.stats.quantities import PValue

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NOISE = 1e-12
"""A change or a variance below this is rounding."""
TIE = 1e-9
"""Statistics closer than this, relatively, are equal: sums of floats depend on their order."""


def swap_test(base: Array, head: Array, *, rng: np.random.Generator, n_resamples: int) -> PValue | None:
    """Two-sided test that two ratios of totals are equal, from rows (items, 2) of what is above and below the line.

    Every swap counts where there are no more than `n_resamples`; else that many are drawn, and the swap that was seen
    is added to them, so that p is never 0. A swap that leaves a ratio undefined counts as one with a larger change.
    None where either ratio is undefined.
    """
    if base[:, 1].sum() == 0 or head[:, 1].sum() == 0:
        return None
    moved = np.flatnonzero((base != head).any(axis=1))
    sums = _products(base, head).sum(axis=0, keepdims=True)
    # What the sums change by where an item is swapped.
    steps = _products(head, base)[moved] - _products(base, head)[moved]
    seen = _statistic(sums)[0]
    exact = 2 ** len(moved) <= n_resamples
    if exact:
        swaps = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
    else:
        swaps = rng.integers(0, 2, size=(n_resamples, len(moved)), dtype=np.int8)
    statistics = _statistic(sums + swaps @ steps)
    count = int((np.isnan(statistics) | (statistics >= seen * (1 - TIE))).sum())
    p = count / len(swaps) if exact else (count + 1) / (len(swaps) + 1)
    return PValue.of(p, lambda: float(np.log(p)))


def _products(base: Array, head: Array) -> Array:
    """Give, per item, the two revisions' values and their products, (items, 14): all that the statistic is made of."""
    (xb, yb), (xh, yh) = base.T, head.T
    columns = [xb, yb, xb * xb, xb * yb, yb * yb, xh, yh, xh * xh, xh * yh, yh * yh, xh * xb, xh * yb, yh * xb, yh * yb]
    return np.column_stack(columns)


def _statistic(sums: Array) -> Array:
    """Give the absolute change over its standard error; NaN where a ratio is undefined."""
    xb, yb, xxb, xyb, yyb, xh, yh, xxh, xyh, yyh, xhxb, xhyb, yhxb, yhyb = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = np.where(yb == 0, np.nan, xb / yb), np.where(yh == 0, np.nan, xh / yh)
        # An item's share in the change is its residual above the line under head, over the total below it, less that
        # under base; the residuals add up to 0.
        spread_before = (xxb - 2 * before * xyb + before**2 * yyb) / yb**2
        spread_after = (xxh - 2 * after * xyh + after**2 * yyh) / yh**2
        together = (xhxb - before * xhyb - after * yhxb + before * after * yhyb) / (yh * yb)
        variance = spread_before + spread_after - 2 * together
        change = np.abs(after - before)
        statistic: Array = np.where(variance > NOISE, change / np.sqrt(variance), np.inf)
    statistic = np.where(change < NOISE, 0.0, statistic)
    return np.where(np.isnan(change), np.nan, statistic)
