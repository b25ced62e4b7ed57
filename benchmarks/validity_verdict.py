"""Verdicts of the simulation study: does a measured share agree with the promise, as far as the draws can tell?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Kind = Literal["coverage", "error", "power", "mean", "sd"]
Verdict = Literal["within", "conservative", "deviates"]

LEVEL = 0.999
"""Probability that a share that is exactly as promised falls within its band."""
Z = 3.2905267
"""The standard normal quantile that leaves half of 1 - LEVEL above it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the draws of one row came to; `draws` are those with a figure, `undefined` the share of those without.

    `measured` and the verdict are None where no draw had a figure.
    """

    nominal: float
    measured: float | None
    low: float | None
    high: float | None
    draws: int
    undefined: float
    verdict: Verdict | None


def binomial_band(nominal: float, draws: int) -> tuple[float, float]:
    """Central range, as shares, of a binomial count of `draws` trials that each succeed with probability `nominal`."""
    from scipy.stats import binom

    tail = (1 - LEVEL) / 2
    return float(binom.ppf(tail, draws, nominal)) / draws, float(binom.ppf(1 - tail, draws, nominal)) / draws


def verdict_of(kind: Kind, measured: float, low: float, high: float) -> Verdict:
    """Judge a figure by its band: outside on the safe side is conservative, outside on the other deviates.

    Safe is more coverage than promised, fewer errors, more power; a mean and a standard deviation have no safe side.
    """
    if low <= measured <= high:
        return "within"
    safe = {"coverage": measured > high, "power": measured > high, "error": measured < low}
    return "conservative" if safe.get(kind, False) else "deviates"


def finding(kind: Kind, nominal: float, values: Array) -> Finding:
    """Compare the draws with what was promised; `values` has 1, 0 or, for moments, the figure; NaN is no figure."""
    found = values[~np.isnan(values)]
    draws, undefined = len(found), 1 - len(found) / len(values)
    if draws == 0:
        return Finding(nominal, None, None, None, 0, undefined, None)
    measured = float(np.std(found) if kind == "sd" else np.mean(found))
    low, high = _moment_band(kind, nominal, found) if kind in {"mean", "sd"} else binomial_band(nominal, draws)
    return Finding(nominal, measured, low, high, draws, undefined, verdict_of(kind, measured, low, high))


def _moment_band(kind: Kind, nominal: float, values: Array) -> tuple[float, float]:
    """Band of a simulated mean or standard deviation, normal, with the standard error that the draws show.

    That of a standard deviation s is s sqrt((k - 1) / 4n), with k the kurtosis (3 where normal).
    """
    spread = float(np.std(values))
    if spread == 0:
        return nominal, nominal
    kurtosis = float(np.mean(((values - values.mean()) / spread) ** 4))
    error = spread * math.sqrt((1.0 if kind == "mean" else (kurtosis - 1) / 4) / len(values))
    return nominal - Z * error, nominal + Z * error
