"""Confidence intervals of a proportion, a paired difference, and of weighted sums and ratios of such figures."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.stats.quantities import Interval, PairedCells


@lru_cache(maxsize=4096)
def wilson(count: float, n: float, alpha: float = 0.05) -> Interval | None:
    """Wilson score interval of the proportion `count / n`, within [0, 1]; None where n is 0.

    The method is given explicitly because statsmodels defaults to the normal approximation, whose interval for 0 of
    40 is (0, 0). For clustered outcomes, `n` is their effective number (`clusters.effective_size`), which may be a
    fraction.
    Source: Wilson (1927), JASA 22:209-212.
    """
    from statsmodels.stats.proportion import proportion_confint

    if not 0 <= count <= n:
        raise EquipoiseError(f"{count} of {n} is not a proportion: give a count between 0 and n")
    if n == 0:
        return None
    low, high = proportion_confint(count, n, alpha=alpha, method="wilson")
    return Interval(float(low), float(high))


def paired_difference(cells: PairedCells, alpha: float = 0.05, size: float | None = None) -> Interval | None:
    """Interval of the paired difference, first arm's proportion − second's, within [-1, 1]; None without pairs.

    Newcombe's hybrid score interval for paired data: the Wilson limits of the two arms, combined through their
    correlation phi, whose numerator is corrected for continuity where it is positive. Chosen over Tango's score
    interval because it has a closed form, never exceeds [-1, 1] and is defined for every table, while both are close
    to nominal coverage in small samples (Fagerland, Lydersen & Laake 2014, Stat Med 33:2850-2875). It is not the
    inverse of the exact McNemar test: in borderline cases the interval may exclude 0 while p > alpha. For clustered
    pairs, `size` is their effective number (`clusters.effective_size` of the differences).
    Source: Newcombe (1998), Stat Med 17:2635-2650, method 10.
    """
    if cells.n == 0:
        return None
    n = float(cells.n) if size is None else size
    both, only_first, only_second, neither = (
        count / cells.n * n for count in (cells.both, cells.only_first, cells.only_second, cells.neither)
    )
    # The share first, which is at most 1: a product divided by the number of pairs may exceed n by rounding.
    first, second = ((cells.both + only) / cells.n * n for only in (cells.only_first, cells.only_second))
    wilson_first, wilson_second = wilson(first, n, alpha), wilson(second, n, alpha)
    if wilson_first is None or wilson_second is None:
        return None
    p_first, p_second = first / n, second / n
    phi = _phi(both, only_first, only_second, neither)

    def reach(a: float, b: float) -> float:
        # The same quadratic form as a^2 + b^2 - 2 phi a b, which could become negative by rounding.
        return math.sqrt((a - b) ** 2 + 2 * (1 - phi) * a * b)

    difference = p_first - p_second
    return Interval(
        max(-1.0, difference - reach(p_first - wilson_first.low, wilson_second.high - p_second)),
        min(1.0, difference + reach(wilson_first.high - p_first, p_second - wilson_second.low)),
    )


def unvaried_mean(value: float, n: int, bounds: tuple[float, float], alpha: float = 0.05) -> Interval | None:
    """Interval of the mean of bounded values if all `n` observed values equal `value`; None if n is 0.

    Up to a share u of other values is compatible with having seen none among n: u is the upper limit of Clopper and
    Pearson for 0 of n, 1 - (alpha / 2)^(1 / n), about 3.7 / n. The mean is furthest from `value` if all of those are at
    a bound.
    Source: Clopper & Pearson (1934), Biometrika 26:404-413.
    """
    if n == 0:
        return None
    share = 1 - (alpha / 2) ** (1 / n)
    low, high = bounds
    return Interval(value - share * (value - low), value + share * (high - value))


def unvaried_size(share: float, alpha: float = 0.05) -> int:
    """Fewest equal values by which more than a `share` of other ones is excluded (`unvaried_mean`).

    The limit of 0 of n is 1 - (alpha / 2)^(1 / n), below the share from n = log(alpha / 2) / log(1 - share): 72 for
    0.05, 36 for 0.1.

    >>> unvaried_size(0.05), unvaried_size(0.1)
    (72, 36)
    """
    return 1 if share >= 1 else math.ceil(math.log(alpha / 2) / math.log1p(-share))


class Limited(NamedTuple):
    """An estimate with the limits of its interval."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> Interval:
        """The interval alone."""
        return Interval(self.low, self.high)


def limited_share(count: float, n: float, alpha: float = 0.05) -> Limited | None:
    """Return a proportion with its Wilson interval; None if n is 0."""
    limits = wilson(count, n, alpha)
    return None if limits is None else Limited(count / n, limits.low, limits.high)


def limited_difference(cells: PairedCells, alpha: float = 0.05) -> Limited | None:
    """Return a paired difference with Newcombe's interval; None without pairs."""
    limits, value = paired_difference(cells, alpha), cells.difference
    return None if limits is None or value is None else Limited(value, limits.low, limits.high)


def weighted_shares(parts: Sequence[tuple[float, float, float]], alpha: float = 0.05) -> Limited | None:
    """Sum weight x count / n over independent samples; None without parts or if an n is 0.

    `parts` are (weight, count, n); a weight may be negative. Wilson's intervals, combined by `mover_sum`: one part of
    weight 1 yields Wilson's interval, weights 1 and -1 Newcombe's for the difference of independent proportions. With
    positive weights the limits lie within the weighted sums of the Wilson limits.
    """
    shares = [(weight, share) for weight, count, n in parts if (share := limited_share(count, n, alpha)) is not None]
    return mover_sum(shares) if shares and len(shares) == len(parts) else None


def mover_sum(parts: Sequence[tuple[float, Limited]], correlation: float = 0.0) -> Limited:
    """Sum of weight x estimate with its interval, from the intervals of the estimates.

    Method of variance estimates recovery (MOVER): the distance of each limit from its estimate is used as the standard
    error on that side, and the squared distances are summed, with twice `correlation` times each product of two.
    Estimates from one sample are correlated as their values are over its members.
    Source: Zou, Huang & Zhang (2009), Computational Statistics & Data Analysis 53:1080-1085; Zou (2008), Am J Epidemiol
    168:212-224, for correlated estimates.
    """
    reaches = [
        (weight * (limits.value - limits.low), weight * (limits.high - limits.value))[:: 1 if weight > 0 else -1]
        for weight, limits in parts
    ]
    value = math.fsum(weight * limits.value for weight, limits in parts)
    down, up = (_combined_reach(side, correlation) for side in zip(*reaches, strict=True))
    return Limited(value, value - down, value + up)


def mover_ratio(numerator: Limited, denominator: Limited, correlation: float = 0.0) -> Interval | None:
    """Interval of the ratio of two estimates, from their intervals; None unless the denominator is positive.

    The ratios q for which 0 lies within the MOVER limits of numerator - q x denominator. The upper limit is infinite
    where the denominator's interval reaches 0. With Wilson's intervals of two independent proportions this is the
    interval that Fagerland, Lydersen & Laake (2015, Stat Methods Med Res 24:224-254) call MOVER-R Wilson and recommend
    for small samples. `correlation` is that of the two estimates.
    Source: Donner & Zou (2012), Stat Methods Med Res 21:347-359; Newcombe (2016), Stat Methods Med Res
    25:1774-1778; Tang, Li & Tang (2012), Stat Methods Med Res 21:361-378, for correlated proportions.
    """
    if denominator.value <= 0:
        return None
    above = Limited(-numerator.value, -numerator.high, -numerator.low)
    return Interval(_least_ratio(numerator, denominator, correlation), -_least_ratio(above, denominator, -correlation))


def _least_ratio(numerator: Limited, denominator: Limited, correlation: float) -> float:
    """Solve numerator - q x denominator = its reach downwards, a quadratic in q, for the smaller root."""
    if numerator.low == 0:
        return 0.0
    reach = numerator.value - numerator.low
    # q has the sign of the numerator's limit, which decides which limit of the denominator applies.
    other = denominator.high - denominator.value if numerator.low > 0 else denominator.value - denominator.low
    a = denominator.value**2 - other**2
    b = numerator.value * denominator.value - correlation * reach * other
    c = numerator.value**2 - reach**2
    root = math.sqrt(max(b * b - a * c, 0.0))
    if b > 0:
        return c / (b + root)
    return (b - root) / a if a > 0 or (a < 0 and numerator.low > 0) else -math.inf


def _combined_reach(reaches: Sequence[float], correlation: float) -> float:
    squares, total = math.fsum(reach * reach for reach in reaches), math.fsum(reaches)
    # The sum of all products of two different reaches, counted twice, is total^2 - squares.
    return math.sqrt(max((1 - correlation) * squares + correlation * total**2, 0.0))


def _phi(both: float, only_first: float, only_second: float, neither: float) -> float:
    """Correlation of the two arms as in Newcombe's method 10; 0 where a margin is empty."""
    n, first, second = both + only_first + only_second + neither, both + only_first, both + only_second
    margins = first * (only_second + neither) * second * (only_first + neither)
    if margins == 0:
        return 0.0
    numerator = both * neither - only_first * only_second
    if numerator > 0:
        numerator = max(numerator - n / 2, 0.0)
    return numerator / math.sqrt(margins)
