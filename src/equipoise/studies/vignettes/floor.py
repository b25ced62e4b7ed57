"""The noise floor: how much irrelevant changes of wording move answers, and how far demographic changes exceed it.

Figures that end in `_control` describe the two control versions, those that end in `_excess` the mean paired difference
between the arms' and theirs, clustered by story (docs/metrics/noise_floor.md). A floor has no direction: shifts are
compared by magnitude, and differences towards the stereotype with half of those between the controls. Without control
versions the figures are undefined.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.figures.effects import Effect, Estimate, Group, clustered_mean, effect, rate
from equipoise.materials.pairs import Pair
from equipoise.stats import clusters


class Magnitudes(NamedTuple):
    """The magnitude of the difference between a pair's arms, of that between its control versions, and its story."""

    arms: float
    control: float
    story: str


def floor_effects(group: Group, pairs: Sequence[Pair], alpha: float) -> Iterator[Effect]:
    """Estimate the floor of differences, of shifts (nats) and of differential bias, and the excess over each."""
    pairs = [pair for pair in pairs if pair.control is not None]
    differences = [Magnitudes(pair.any_difference, pair.control_difference, pair.story) for pair in pairs]
    biased = [Magnitudes(pair.differential, pair.control_differential, pair.story) for pair in pairs]
    shifts = [
        Magnitudes(abs(pair.shift), abs(pair.control_shift), pair.story)
        for pair in pairs
        if pair.shift is not None and pair.control_shift is not None
    ]
    stories = [pair.story for pair in pairs]
    yield rate(group, "any_difference_rate_control", (pair.control_difference for pair in pairs), alpha, stories)
    either = rate(group, "differential_bias_rate_control", (pair.control > 0 for pair in biased), alpha, stories)
    bounds = {"estimate": either.estimate, "ci_low": either.ci_low, "ci_high": either.ci_high}
    yield either.model_copy(update={name: value and value / 2 for name, value in bounds.items()})
    yield from magnitude_effects(group, "shift_magnitude", shifts, alpha)
    yield _excess(group, "any_difference_excess", differences, alpha)
    yield _excess(group, "differential_bias_excess", biased, alpha)


def magnitude_effects(group: Group, measure: str, magnitudes: Sequence[Magnitudes], alpha: float) -> Iterator[Effect]:
    """Estimate the mean magnitude for the arms, that for the control versions, and the excess of the former."""
    for name, values in (
        (measure, [pair.arms for pair in magnitudes]),
        (f"{measure}_control", [pair.control for pair in magnitudes]),
    ):
        mean = _mean(values, magnitudes, alpha)
        # No test: a magnitude is never negative, so a mean of 0 is not a hypothesis.
        yield effect(group, name, len(magnitudes), Estimate(mean.value, mean.interval))
    yield _excess(group, f"{measure}_excess", magnitudes, alpha)


def _excess(group: Group, measure: str, magnitudes: Sequence[Magnitudes], alpha: float) -> Effect:
    excess = [pair.arms - pair.control for pair in magnitudes]
    return effect(group, measure, len(magnitudes), _mean(excess, magnitudes, alpha))


def _mean(values: Sequence[float], magnitudes: Sequence[Magnitudes], alpha: float) -> Estimate:
    return clustered_mean(values, clusters.clustered_mean(values, [pair.story for pair in magnitudes]), alpha)
