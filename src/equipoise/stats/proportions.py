"""Confidence intervals of a proportion, a paired difference, and a weighted sum of independent proportions."""

import math
from collections.abc import Sequence

from equipoise.core.errors import EquipoiseError
from equipoise.stats.quantities import Interval, PairedCells


def wilson(count: float, n: float, alpha: float = 0.05) -> Interval | None:
    """Wilson score interval of the proportion `count / n`, within [0, 1]; None where n is 0.

    The method is given explicitly because statsmodels defaults to the normal approximation, whose interval for 0 of
    40 is (0, 0). Of clustered outcomes, `n` is their effective number (`clusters.effective_size`), which may be a
    fraction.
    Source: Wilson (1927), JASA 22:209-212.
    """
    from statsmodels.stats.proportion import proportion_confint

    if not 0 <= count <= n:
        message = f"{count} of {n} is not a proportion: give a count between 0 and n"
        raise EquipoiseError(message)
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
    inverse of the exact McNemar test: in borderline cases the interval may exclude 0 while p > alpha. Of clustered
    pairs, `size` is their effective number (`clusters.effective_size` of the differences).
    Source: Newcombe (1998), Stat Med 17:2635-2650, method 10.
    """
    if cells.n == 0:
        return None
    n = float(cells.n) if size is None else size
    both, only_first, only_second, neither = (
        count * n / cells.n for count in (cells.both, cells.only_first, cells.only_second, cells.neither)
    )
    first, second = both + only_first, both + only_second
    wilson_first, wilson_second = wilson(first, n, alpha), wilson(second, n, alpha)
    if wilson_first is None or wilson_second is None:
        return None
    p_first, p_second = first / n, second / n
    phi = _phi(both, only_first, only_second, neither)

    def reach(one: float, other: float) -> float:
        # (one - other)^2 + 2(1 - phi) one other is the same quadratic form, but cannot become negative by rounding.
        return math.sqrt((one - other) ** 2 + 2 * (1 - phi) * one * other)

    difference = p_first - p_second
    return Interval(
        max(-1.0, difference - reach(p_first - wilson_first.low, wilson_second.high - p_second)),
        min(1.0, difference + reach(wilson_first.high - p_first, p_second - wilson_second.low)),
    )


def weighted_sum(parts: Sequence[tuple[float, int, int]], alpha: float = 0.05) -> Interval | None:
    """Interval of the sum of weight x count / n over independent samples; None without parts or where an n is 0.

    `parts` are (weight, count, n); a weight may be negative. Method of variance estimates recovery (MOVER): the
    distance of each Wilson limit from its proportion is used as the standard error on that side, and the squared
    distances are summed. One part of weight 1 yields Wilson's interval, weights 1 and -1 Newcombe's for the difference
    of independent proportions. With positive weights the limits lie within the weighted sums of the Wilson limits.
    Source: Zou, Huang & Zhang (2009), Computational Statistics & Data Analysis 53:1080-1085.
    """
    below = above = total = 0.0
    if not parts:
        return None
    for weight, count, n in parts:
        limits = wilson(count, n, alpha)
        if limits is None:
            return None
        share = count / n
        reaches = weight * (share - limits.low), weight * (limits.high - share)
        total += weight * share
        down, up = reaches if weight > 0 else reaches[::-1]
        below, above = below + down**2, above + up**2
    return Interval(total - math.sqrt(below), total + math.sqrt(above))


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
