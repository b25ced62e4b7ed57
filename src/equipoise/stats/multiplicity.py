"""Adjustment of p-values over a declared family of tests."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.quantities import UNDERFLOW

Method = Literal["holm", "bonferroni", "fdr_bh"]


def adjust(p_values: Sequence[float | None], method: Method) -> list[float | None]:
    """Adjust the p-values of one family, in the same order; None stays None and does not count as a test.

    `holm` and `bonferroni` control the family-wise error rate, `fdr_bh` the false discovery rate. A p-value below
    1e-300 is raised to 1e-300, so that its adjusted value is an upper bound, not 0.
    Source: Holm (1979), Scand J Stat 6:65-70; Benjamini & Hochberg (1995), JRSS B 57:289-300.
    """
    defined = np.array([max(p, UNDERFLOW) for p in p_values if p is not None])
    if not len(defined):
        return [None] * len(p_values)
    adjusted = iter(_holm(defined) if method == "holm" else _by_statsmodels(defined, method))
    return [None if p is None else float(next(adjusted)) for p in p_values]


def _holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's step-down. Same as statsmodels', which runs the garbage collector on every call: seconds in large runs."""
    order = np.argsort(p_values)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(adjusted, 1.0)


def _by_statsmodels(p_values: NDArray[np.float64], method: Method) -> NDArray[np.float64]:
    from statsmodels.stats.multitest import multipletests

    adjusted: NDArray[np.float64] = multipletests(p_values, method=method)[1]
    return adjusted
