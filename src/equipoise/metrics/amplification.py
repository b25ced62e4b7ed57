"""The intersectionality amplification factor (IAF): is bias at an intersection more than that of its parts?

IAF = differential bias rate of intersectional pairs / differential bias rate of single-dimension pairs, in two forms:

- matched (primary): each intersectional pair is compared with the mean of the single-dimension rates of its components.
  A pair with a component that has no single-dimension pair (mental health) has no match and is left out;
- pooled: compared with the rate of all single-dimension pairs.

Undefined where the denominator is 0. The interval is a bootstrap over pairs: intersectional pairs are drawn together,
since a combination may have only one, single-dimension pairs within their dimension (matched) or together (pooled). It
is left out where all pairs of the numerator, or all of the denominator, have the same outcome: resampling them shows no
spread. `compounded` is 1 only where the interval lies above 1, else 0: not shown.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.core.records import Effect
from equipoise.metrics.effects import Estimate, Group, effect
from equipoise.metrics.pairs import Pair
from equipoise.stats.bootstrap import cluster_bootstrap, generator, observed
from equipoise.stats.quantities import Interval

Array = NDArray[np.float64]


def amplification_effects(pairs: Sequence[Pair], *, seed: int, n_resamples: int, alpha: float) -> Iterator[Effect]:
    """Estimate matched and pooled IAF overall, per intersectional tier and per combination.

    n is the number of intersectional pairs in the numerator. Without intersectional pairs there is no effect.
    """
    singles = [pair for pair in pairs if pair.tier == "single"]
    rates = {
        dimension: _differential([pair for pair in singles if pair.dimensions == (dimension,)])
        for dimension in sorted({dimension for pair in singles for dimension in pair.dimensions})
    }
    for group, members in _intersections([pair for pair in pairs if pair.tier != "single"]):
        matched = [pair for pair in members if rates.keys() >= set(pair.dimensions)]
        for measure, n, strata in (
            ("iaf_matched", len(matched), _matched_strata(matched, rates)),
            ("iaf_pooled", len(members), [_differential(members, ("all",)), _differential(singles)]),
        ):
            estimate = observed(strata, _amplification)
            interval: Interval | None = None
            if estimate is not None and _vary(strata[0][:, :1]) and any(_vary(rows) for rows in strata[1:]):
                rng = generator(seed, f"{group.family}/{group.name}/{measure}")
                interval = cluster_bootstrap(strata, _amplification, rng=rng, n_resamples=n_resamples, alpha=alpha)
            compounded = None if estimate is None else float(interval is not None and interval.low > 1)
            yield effect(group, measure, n, Estimate(estimate, interval))
            yield effect(group, f"{measure}_compounded", n, Estimate(compounded))


def _intersections(crossed: Sequence[Pair]) -> Iterator[tuple[Group, list[Pair]]]:
    """Yield the groups of intersectional pairs: all of them, each tier, each combination."""
    if crossed:
        yield Group("overall", "all"), list(crossed)
    for tier in sorted({pair.tier for pair in crossed}):
        yield Group("tier", tier), [pair for pair in crossed if pair.tier == tier]
    for combination in sorted({pair.combination for pair in crossed}):
        yield Group("combination", combination), [pair for pair in crossed if pair.combination == combination]


def _matched_strata(matched: Sequence[Pair], rates: Mapping[str, Array]) -> list[Array]:
    """Lay out the matched IAF: the intersectional pairs, then the pairs of each dimension that is a component."""
    components = tuple(d for d in rates if any(d in pair.dimensions for pair in matched))
    return [_differential(matched, components), *(rates[dimension] for dimension in components)]


def _differential(pairs: Sequence[Pair], parts: Sequence[str] = ()) -> Array:
    """Return an array (pairs, 1 + parts): differential bias as 0 or 1, then the pair's weight on each part.

    A pair weighs its own dimensions equally; the part "all" takes the whole weight.
    """
    rows = [
        [
            float(pair.differential),
            *(1.0 if part == "all" else (part in pair.dimensions) / len(pair.dimensions) for part in parts),
        ]
        for pair in pairs
    ]
    return np.asarray(rows, dtype=float).reshape(len(rows), 1 + len(parts))


def _amplification(means: Sequence[Array]) -> Array:
    """Divide the intersectional rate by the parts' rates, weighted as the intersectional pairs weigh them."""
    crossed, *parts = means
    expected = sum(crossed[:, 1 + column] * rate[:, 0] for column, rate in enumerate(parts))
    # x / 0 is infinite and 0 / 0 is NaN, which the bootstrap treats as what they are.
    with np.errstate(divide="ignore", invalid="ignore"):
        factor: Array = crossed[:, 0] / expected
    return factor


def _vary(rows: Array) -> bool:
    return bool(np.ptp(rows) > 0)
