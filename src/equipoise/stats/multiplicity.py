"""Adjustment of p-values over a declared family of tests."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.quantities import UNDERFLOW

SIMULATED = 50_000
"""Draws of the largest of several t statistics."""
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


def joint_alpha(values: NDArray[np.float64], alpha: float) -> float:
    """Find the level at which the intervals of several means hold together with probability 1 - `alpha`.

    `values` is (clusters, means): each cluster's mean of each figure, NaN where it has none. The t statistics of the
    means are as correlated as the values, so that less adjustment is needed than Bonferroni's alpha / k, which bounds
    the result from below. The quantile of the largest |t| is simulated with fixed random numbers. Figures that do not
    vary are taken as independent of the others. Source: Hothorn, Bretz & Westfall (2008), Biometrical J 50:346-363.
    """
    from scipy.stats import t as student

    k = int(values.shape[1])
    if k == 1 or len(values) <= k:
        return alpha / max(1, k)
    known = ~np.isnan(values)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, values, means)
    spread = filled.std(axis=0)
    scaled = (filled - filled.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    correlation = scaled.T @ scaled / len(values)
    np.fill_diagonal(correlation, 1.0)
    rng, df = np.random.default_rng(0), len(values) - 1
    normal = rng.multivariate_normal(np.zeros(k), correlation, SIMULATED, method="eigh")
    largest = np.abs(normal).max(axis=1) / np.sqrt(rng.chisquare(df, SIMULATED) / df)
    joint = 2 * float(student.sf(np.quantile(largest, 1 - alpha), df))
    return float(min(alpha, max(alpha / k, joint)))


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
