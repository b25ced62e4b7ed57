"""Epidemiology: whether a model's own base rates exceed what is known about the group, and groups of pairs by it.

Each documented error has a log ratio (`equipoise.materials.vignette.LogRatio`): how far a Bayesian who knows the
epidemiology shifts towards it without findings, from the privileged patient to the marginalised. The prior excess of a
pair is the shift of its stubs minus that value.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from equipoise.figures.effects import Effect, Group, clustered_mean, detectable_clustered_mean, effect
from equipoise.figures.options import Measure
from equipoise.materials.pairs import Pair
from equipoise.stats import clusters
from equipoise.studies.vignettes import NAME

FAMILY = "epidemiology"
KINDS = ("neutral", "neglect", "stereotype")
"""The groups of pairs: epidemiology favours neither answer, speaks against the documented error, or does not; the
first is part of the last."""


def epidemiology_groups(pairs: Sequence[Pair]) -> Iterator[tuple[Group, list[Pair]]]:
    """Yield each kind of base rate with its pairs; imported cases, whose log ratios are unknown, have none."""
    for kind in KINDS if any(pair.log_ratio for pair in pairs) else ():
        yield Group(FAMILY, kind, NAME), [pair for pair in pairs if getattr(pair, kind)]


def prior_excess_effects(group: Group, pairs: Sequence[Pair], options: Measure) -> Iterator[Effect]:
    """Estimate the mean prior excess, in nats, and the mean that its test detects.

    The error of the mean has two parts: that of the pairs, clustered by story as for the other shifts, and that of the
    log ratios (`unknown_variance`). Where stories' log ratios err independently, their spread is in the first part too,
    so that the interval is then too wide rather than too narrow.
    """
    known = [(excess, pair) for pair in pairs if (excess := pair.prior_excess) is not None]
    values, stories = [excess for excess, _ in known], [pair.story for _, pair in known]
    mean = clusters.clustered_mean(values, stories, unknown_variance([pair for _, pair in known]))
    yield effect(group, "prior_excess", len(values), clustered_mean(values, mean, options.alpha))
    yield detectable_clustered_mean(group, "prior_excess", len(values), mean, options)


def unknown_variance(pairs: Sequence[Pair]) -> float:
    """Variance of a mean over pairs because their log ratios are known only within bounds, in nats squared.

    A log ratio is taken as uniform between its bounds: its variance is (high - low)^2 / 12. Pairs of one story and one
    patient group share a log ratio and hence its error; those of other stories or groups err independently. With n
    pairs, n_g of which share log ratio g, the variance is sum_g (n_g / n)^2 (high_g - low_g)^2 / 12.
    """
    shared = Counter((pair.story, pair.log_ratio) for pair in pairs if pair.log_ratio)
    return sum((n / len(pairs)) ** 2 * ratio.variance for (_, ratio), n in shared.items())
