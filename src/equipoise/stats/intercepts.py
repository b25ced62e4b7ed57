"""Means adjusted for a covariate: what values would be where the covariate is 0, by analysis of covariance.

The intercept a of the least-squares line x = a + b s is the mean of x adjusted to s = 0. Unlike the mean of x - s, it
assumes no slope, and has a smaller variance wherever b differs from 1.
Source: Vickers & Altman (2001), BMJ 323:1123-1124.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.paired import SPREAD_FLOOR

MIN_POINTS = 3
"""Points of a line that leave at least one degree of freedom."""


class Line(NamedTuple):
    """A least-squares line: its value where the covariate is 0, and its slope."""

    intercept: float
    slope: float


def fitted_line(values: Sequence[float], covariate: Sequence[float]) -> Line | None:
    """Fit a line; its slope is 0 where the covariate does not vary. None with fewer than `MIN_POINTS` points."""
    if len(values) < MIN_POINTS:
        return None
    x, s = np.asarray(values, dtype=float), np.asarray(covariate, dtype=float)
    spread = s - s.mean()
    flat = np.ptp(s) <= SPREAD_FLOOR * np.abs(s).max()
    slope = 0.0 if flat else float(spread @ x / (spread @ spread))
    return Line(float(x.mean() - slope * s.mean()), slope)


def intercept_values(values: Sequence[float], covariate: Sequence[float]) -> list[float]:
    """Give one value per point whose mean is the intercept of the line, and whose spread is the intercept's.

    With n points, residuals e and the covariate's mean m and variance v, a point moves the intercept by its influence,
    e (1 - m (s - m) / v) / n. The spread thus contains the error of the slope, which counts more the farther 0 is from
    m. Residuals are divided by the root of 1 - leverage, as in HC2, but for the part 1 / n of the leverage, for which
    the error of any mean of n values allows. Empty with fewer than `MIN_POINTS` points.
    Source: Hampel (1974), JASA 69:383-393; MacKinnon & White (1985), J Econometrics 29:305-325.
    """
    line = fitted_line(values, covariate)
    if line is None:
        return []
    x, s, n = np.asarray(values, dtype=float), np.asarray(covariate, dtype=float), len(values)
    spread, residuals = s - s.mean(), x - line.intercept - line.slope * s
    moves: NDArray[np.float64] = residuals
    if line.slope:
        leverage = spread**2 / (spread @ spread)
        # A point that alone determines the slope has no residual, and nothing to divide by.
        room = np.maximum(1 - 1 / n - leverage, SPREAD_FLOOR)
        moves = residuals * np.sqrt((1 - 1 / n) / room) * (1 - s.mean() * spread / float(spread @ spread / n))
    return [float(value) for value in line.intercept + moves - moves.mean()]
