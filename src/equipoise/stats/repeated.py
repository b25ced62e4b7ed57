"""Repeated confidence intervals: intervals of a mean that are valid at all looks of a group-sequential design together.

A study that stops when its interval is conclusive must not use the interval of a fixed sample: after repeated looks, it
misses the truth too often. A group-sequential design fixes its looks beforehand, here after each of fifteen equal parts
of the clusters, and chooses the level of the interval at each look so that each limit is on the right side of the truth
at all looks with probability 1 - alpha / 2.

**Boundary.** The estimate after a share f of the clusters, over its standard error, is a Brownian motion at f over
sqrt(f). Wang and Tsiatis's boundary c f^(SHAPE - 1/2) lies between Pocock's, constant (shape 1/2), and O'Brien and
Fleming's (0); c follows from the probability of crossing it at any look, by integration from look to look (Armitage,
McPherson & Rowe 1969, JRSS A 132:235-244). It is a function of f alone, so an interval depends on the clusters asked,
not on the path. Source: Wang & Tsiatis (1987), Biometrics 43:193-199; Jennison & Turnbull (1989), JRSS B 51:305-361,
for the intervals, and (2000), Group Sequential Methods, sections 2.7, 9.1 and 19.2.

**Few clusters.** The level of a look is that of the normal boundary; the interval at that level is the figure's own,
for a mean with Student's quantile (Pocock 1977, Biometrika 64:191-199). Values within a cluster depend on each other,
so f counts clusters. docs/validity.md has the simulations, decision 22 the choice of the shape.
"""

import math
from functools import lru_cache

import numpy as np

PARTS = 15
"""Equal parts in which clusters are asked."""
FEWEST, FIRST = 20, 0.45
"""Fewest clusters at a look before the last, and their least share of all: the t statistic of a few skewed values
misses the truth too often on one side."""
SHAPE = 0.25
"""The boundary's shape: for fair models it needs nearly as few prompts as Pocock's, at nearly the power of a fixed
sample."""
NODES = 80
"""Nodes of the integral at each look: its error in c is below 1e-6."""
FURTHEST = 6.0
"""Standard deviations beyond which the probability is negligible."""


def looks(clusters: int) -> list[int]:
    """List the cluster counts at which a study of `clusters` clusters is analysed; with few clusters, only the last."""
    part = math.ceil(clusters / PARTS)
    return [*(n for n in range(part, clusters, part) if n >= max(FEWEST, FIRST * clusters)), clusters]


@lru_cache(maxsize=256)
def boundary(shares: tuple[float, ...], alpha: float, shape: float = SHAPE) -> float:
    """Find the constant c of the boundary that a mean of 0 exceeds at any look with the probability alpha / 2.

    `shares` are those of all clusters at the looks, ascending.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    # At least the quantile of one look, at most that of as many independent looks.
    least, most = (-float(ndtri(alpha / 2 / number)) for number in (1, len(shares)))
    return float(brentq(lambda c: _crossing(shares, c, shape) - alpha / 2, least - 0.01, most + 0.01, xtol=1e-7))


def _crossing(shares: tuple[float, ...], c: float, shape: float) -> float:
    """Probability that a Brownian motion is above c f^shape at any of the shares f."""
    from scipy.special import ndtr

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # Positions of the motion that has not crossed yet, and their probabilities.
    places, masses, before, crossed = np.zeros(1), np.ones(1), 0.0, 0.0
    for share in shares:
        step, limit, low = math.sqrt(share - before), c * share**shape, -FURTHEST * math.sqrt(share)
        crossed += float(masses @ ndtr((places - limit) / step))
        reached = low + (nodes + 1) / 2 * (limit - low)
        density = np.exp(-(((reached - places[:, None]) / step) ** 2) / 2) / (step * math.sqrt(2 * math.pi))
        places, masses, before = reached, masses @ density * weights * (limit - low) / 2, share
    return crossed


def level(n: int, planned: int, alpha: float) -> float | None:
    """Return 1 - the repeated interval's level after n of `planned` clusters; None before the first look.

    `alpha` is 1 - the level of all looks together.
    """
    from scipy.special import ndtr

    if n < min(planned, max(FEWEST, FIRST * planned)):
        return None
    c = boundary(tuple(look / planned for look in looks(planned)), alpha)
    return 2 * float(ndtr(-c * (n / planned) ** (SHAPE - 0.5)))
