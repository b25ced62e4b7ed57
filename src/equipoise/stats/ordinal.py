"""Ordinal outcomes of two arms: the proportional-odds model, with an error that is robust to clusters."""

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from equipoise.stats.quantities import Interval, PValue

LEAST = 1e-6
"""Standard error below which the clusters do not vary: in each cluster, the arms have the same levels."""
SEPARATED = 10.0
"""Log odds ratio beyond which the levels of the arms are assumed not to overlap: the likelihood has no maximum."""


class Ordinal(NamedTuple):
    """The log odds ratio of a higher level, first arm against second, with its interval and test."""

    value: float
    interval: Interval
    p: PValue


def proportional_odds(
    first: Sequence[int], second: Sequence[int], clusters: Sequence[str], alpha: float = 0.05
) -> Ordinal | None:
    """Estimate the common log odds ratio of a higher level in the first arm than in the second.

    `first` and `second` are the levels of the two arms of the same units, `clusters` names the cluster of each unit.
    The model assumes that levels are independent; its cluster-robust (sandwich) standard error allows for the pairing.
    The interval is normal, and too narrow with few clusters. None if fewer than two levels or clusters occur, if the
    clusters do not vary, and if the arms are separated. Source: McCullagh (1980), J Royal Statistical Society B
    42:109-142; Liang & Zeger (1986), Biometrika 73:13-22.
    """
    import numpy as np
    from scipy.stats import norm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    levels = np.unique([*first, *second], return_inverse=True)[1]
    names = np.unique([*clusters, *clusters], return_inverse=True)[1]
    if not len(levels) or not levels.any() or not names.any():
        return None
    arm = np.repeat([1.0, 0.0], len(first))[:, None]
    with warnings.catch_warnings():
        # With separated arms it warns that the search did not converge, or that a standard error is not a number.
        warnings.simplefilter("ignore")
        fitted = OrderedModel(levels, arm, distr="logit").fit(
            method="bfgs", disp=False, cov_type="cluster", cov_kwds={"groups": names}
        )
    value, error = float(fitted.params[0]), float(fitted.bse[0])
    if abs(value) > SEPARATED or not math.isfinite(error) or error <= LEAST:
        return None
    reach, statistic = float(norm.isf(alpha / 2)) * error, abs(value) / error
    p = PValue.of(2 * float(norm.sf(statistic)), lambda: math.log(2) + float(norm.logsf(statistic)))
    return Ordinal(value, Interval(value - reach, value + reach), p)
