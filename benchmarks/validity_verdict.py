"""Verdicts of the simulation study: is a measured proportion consistent with its nominal value?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Kind = Literal["coverage", "error", "power", "mean", "sd", "cost"]
Verdict = Literal["within", "conservative", "deviates"]

LEVEL = 0.999
"""Probability that a proportion falls within its band if its true value is nominal."""
Z = 3.2905267
"""The standard normal quantile with upper tail (1 - LEVEL) / 2."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one row; `draws` counts those with a defined figure, `undefined` is the proportion of the others.

    `measured` and the verdict are None if the figure was never defined.
    """

    nominal: float
    measured: float | None
    low: float | None
    high: float | None
    draws: int
    undefined: float
    verdict: Verdict | None


def binomial_band(nominal: float, draws: int) -> tuple[float, float]:
    """Central range, as proportions, of a binomial count of `draws` trials with success probability `nominal`."""
    from scipy.stats import binom

    tail = (1 - LEVEL) / 2
    return float(binom.ppf(tail, draws, nominal)) / draws, float(binom.ppf(1 - tail, draws, nominal)) / draws


def verdict_of(kind: Kind, measured: float, low: float, high: float) -> Verdict:
    """Compare a figure with its band: outside on the safe side is conservative, on the other side it deviates.

    Safe means more coverage, fewer errors, more power or a lower cost than nominal; a mean or standard deviation has no
    safe side.
    """
    if low <= measured <= high:
        return "within"
    below, above = measured < low, measured > high
    safe = {"coverage": above, "power": above, "error": below, "cost": below}
    return "conservative" if safe.get(kind, False) else "deviates"


def finding(kind: Kind, nominal: float, values: Array) -> Finding:
    """Compare the draws with the nominal value; `values` has 1, 0 or, for moments, the figure; NaN if undefined."""
    defined = values[~np.isnan(values)]
    draws, undefined = len(defined), 1 - len(defined) / len(values)
    if draws == 0:
        return Finding(nominal, None, None, None, 0, undefined, None)
    measured = float(np.std(defined) if kind == "sd" else np.mean(defined))
    low, high = (
        _moment_band(kind, nominal, defined) if kind in {"mean", "sd", "cost"} else binomial_band(nominal, draws)
    )
    return Finding(nominal, measured, low, high, draws, undefined, verdict_of(kind, measured, low, high))


def _moment_band(kind: Kind, nominal: float, values: Array) -> tuple[float, float]:
    """Normal band of a simulated mean or standard deviation, with the standard error estimated from the draws.

    The standard error of a standard deviation s is s sqrt((k - 1) / 4n), with k the kurtosis (3 for a normal).
    """
    spread = float(np.std(values))
    if spread == 0:
        return nominal, nominal
    kurtosis = float(np.mean(((values - values.mean()) / spread) ** 4))
    error = spread * math.sqrt(((kurtosis - 1) / 4 if kind == "sd" else 1.0) / len(values))
    return nominal - Z * error, nominal + Z * error
