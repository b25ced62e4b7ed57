"""A permutation test that two samples of answers come from one distribution."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST_LISTED = 2_000_000
"""Number of tables up to which all are listed; beyond it, tables are drawn."""
DRAWN = 1_000_000
"""Tables that are drawn. The standard error of a p-value of 0.01 is then 0.0001."""
SEED = 0
TIE = 1e-9
"""Relative rounding error of the statistic: tables within it are as extreme as the observed one."""

Counts = NDArray[np.int64]
Values = NDArray[np.float64]


def permutation_p(first: Sequence[int], second: Sequence[int]) -> float:
    """P-value of the permutation test that two samples of answers are exchangeable, with Pearson's chi-square.

    `first` and `second` are the counts of each answer, in one order. Given the total count of each answer and the sizes
    of the samples, every assignment of answers to samples is equally likely under the hypothesis; p is the share of
    assignments whose chi-square is at least the observed one. It is exact up to `MOST_LISTED` tables (two samples of
    50 with five answers have fewer), and otherwise estimated from `DRAWN` tables with a fixed seed, the observed one
    included. It is 1 if a sample is empty, or all answers are the same.
    Source: Freeman & Halton (1951), Biometrika 38:141-149, with chi-square in place of the table's probability.
    """
    pair = np.array([first, second], dtype=np.int64)
    total = pair.sum(axis=0)
    # The answer given most often comes last: its count follows from the others.
    answers = np.argsort(total, kind="stable")[int((total == 0).sum()) :]
    pair, total = pair[:, answers], total[answers]
    size = int(pair[0].sum())
    if len(total) < 2 or size in (0, int(total.sum())):  # noqa: PLR2004  (two answers can differ)
        return 1.0
    observed = _chi_square(pair[:1], total)[0] * (1 - TIE)
    if _number(total, size) <= MOST_LISTED:
        tables, log_weights = _tables(total, size)
        weights = np.exp(log_weights - log_weights.max())
        return float(weights[_chi_square(tables, total) >= observed].sum() / weights.sum())
    drawn = np.random.default_rng(SEED).multivariate_hypergeometric(total, size, DRAWN, method="marginals")
    return float((1 + (_chi_square(drawn, total) >= observed).sum()) / (1 + DRAWN))


def _chi_square(tables: Counts, total: Counts) -> Values:
    """Pearson's statistic of tables given by their first rows; the second row is `total` minus the first."""
    size, n = tables[0].sum(), total.sum()
    expected = total * (size / n)
    # (x - e)^2 / e of both samples: the deviations are equal and opposite.
    statistic: Values = ((tables - expected) ** 2 * (1 / expected + 1 / (total - expected))).sum(axis=1)
    return statistic


def _number(total: Counts, size: int) -> float:
    """Count the first rows: the ways to take `size` answers, up to `total` of each."""
    ways = np.ones(1)
    for count in total:
        ways = np.convolve(ways, np.ones(int(count) + 1))[: size + 1]
    return float(ways[size])


def _tables(total: Counts, size: int) -> tuple[Counts, Values]:
    """List every first row, with the logarithm of the number of assignments that produce it."""
    from scipy.special import gammaln

    rows, left = np.empty((1, 0), dtype=np.int64), np.array([size])
    for place, count in enumerate(total[:-1]):
        taken = np.arange(count + 1)
        rest = left[:, None] - taken
        # The remaining answers must suffice for the rest of the row.
        which, value = np.nonzero((rest >= 0) & (rest <= total[place + 1 :].sum()))
        rows, left = np.column_stack([rows[which], taken[value]]), rest[which, value]
    rows = np.column_stack([rows, left])
    return rows, -(gammaln(rows + 1) + gammaln(total - rows + 1)).sum(axis=1)
