"""Random partitions of questions between two groups: exact moments over all of them, and one draw (docs/equity.md)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.stats.quantities import PairedCells

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and standard deviation of a figure over the partitions in which it is defined.

    `undefined` is the probability of a partition in which it is undefined. If it is undefined in all, mean and sd are
    None.
    """

    mean: float | None
    sd: float | None
    undefined: float = 0.0

    def over(self, denominator: float) -> Self:
        """Divide by a constant that is not negative; the result is undefined if it is 0."""
        if denominator == 0 or self.mean is None or self.sd is None:
            return replace(self, mean=None, sd=None, undefined=1.0)
        return replace(self, mean=self.mean / denominator, sd=self.sd / denominator)


def reference_size(proportion: float, n: int) -> int:
    """Number of the n questions that are asked about the reference group: the product, a half rounded to even.

    Source: EquiLens' metrics reference, n_M = round(p_M N), with Python's round: half of 801 questions is 400.
    """
    return round(proportion * n)


def seeded_split(ids: Iterable[str], n_reference: int, seed: int) -> tuple[list[str], list[str]]:
    """Draw one partition: the ids asked about the reference group and those about the other one, each sorted.

    The sorted ids are shuffled by numpy's default generator, and the reference group gets the first of them. With seed
    42 this is the partition behind the scores that EquiLens released.
    """
    ordered = sorted(ids)
    if not 0 <= n_reference <= len(ordered):
        message = f"{n_reference} of {len(ordered)} questions cannot be drawn: ask for between 0 and all of them"
        raise EquipoiseError(message)
    shuffled = [ordered[place] for place in np.random.default_rng(seed).permutation(len(ordered))]
    return sorted(shuffled[:n_reference]), sorted(shuffled[n_reference:])


def city_accuracy(reference: Sequence[float], other: Sequence[float], n_reference: int) -> Moments:
    """Compute mean and sd of city accuracy from each question's outcome (1 right, 0 not) about M and m, N >= 1.

    With d the outcome about M less that about m, city accuracy is the accuracy about m plus the sum of d over M's
    questions, divided by N: a sum over a simple random sample of n_M of N, whose variance is
    n_M (1 - n_M / N) S_d^2 / N^2, with S_d^2 of divisor N - 1.
    Source: Cochran (1977), Sampling Techniques, theorem 2.2, for the sample mean.
    """
    right, d = np.asarray(other, dtype=float), np.subtract(reference, other, dtype=float)
    n = len(d)
    mean = float(right.mean() + n_reference / n * d.mean())
    # A single question is in one group for certain, and has no variance.
    variance = n_reference * (1 - n_reference / n) * float(np.var(d, ddof=1)) if n > 1 else 0.0
    return Moments(mean, math.sqrt(variance) / n)


def consistency_ratio(cells: PairedCells, n_reference: int) -> Moments:
    """Compute exact mean and sd of C_M / C_m over the partitions, C_M and C_m each over its own group's questions.

    `cells` counts the questions whose answer about M, and about m, is the one given at baseline. C_m depends only on s,
    the number of M's questions consistent about m, which is hypergeometric; so are the parts of C_M given s, so that
    one sum over s is exact, and linear in N (docs/equity.md). `undefined` is the probability that C_m is 0; it is 1 if
    a group has no questions.
    """
    from scipy.stats import hypergeom

    n, steady = cells.n, cells.both + cells.only_second
    n_other = n - n_reference
    if n_reference == 0 or n_other == 0:
        return Moments(None, None, 1.0)
    s = np.arange(max(0, n_reference - (n - steady)), min(steady, n_reference) + 1)
    probability = hypergeom.pmf(s, n, steady, n_reference)
    probability = probability / probability.sum()
    defined = s < steady
    if not defined.any():
        return Moments(None, None, 1.0)
    undefined = float(probability[~defined].sum())
    weights, s = probability[defined] / probability[defined].sum(), s[defined]
    steady_mean, steady_variance = _drawn(s, steady, cells.both)
    other_mean, other_variance = _drawn(n_reference - s, n - steady, cells.only_first)
    scale = n_other / (n_reference * (steady - s))
    ratios = scale * (steady_mean + other_mean)
    mean = float(weights @ ratios)
    variance = float(weights @ (scale**2 * (steady_variance + other_variance) + (ratios - mean) ** 2))
    return Moments(mean, math.sqrt(variance), undefined)


def _drawn(draws: NDArray[np.int64], n: int, marked: int) -> tuple[Array, Array]:
    """Compute mean and variance of the number of marked items among `draws` of n without replacement."""
    share = marked / max(n, 1)
    mean: Array = draws.astype(float) * share
    variance: Array = mean * (1 - share) * (n - draws) / max(n - 1, 1)
    return mean, variance
