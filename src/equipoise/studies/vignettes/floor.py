"""The noise floor: what irrelevant changes of the words do to answers, and how far demographic ones exceed it.

Every pair has two control tellings, the privileged patient's case with irrelevant details that differ between them as
its arms differ in their demographics (`equipoise.materials.stories.compose`); the model reasons about each anew. What
the two arms do is compared, pair by pair, with what the two control tellings do: figures that end in `_control` are the
latter's, those that end in `_excess` the mean paired difference, its interval and test clustered by story.

A floor has no direction. Magnitudes of shifts are compared, |shift| being positive whatever a model does; and against
the rate of differences towards the stereotype stands half the rate at which one control telling gets the stereotyped
and the other the expected answer. Without control tellings the figures are undefined.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.figures.effects import Effect, Estimate, Group, clustered_mean, effect, rate
from equipoise.materials.pairs import Pair
from equipoise.stats import clusters


class Told(NamedTuple):
    """What the arms of a pair do, what its control tellings do, and its story."""

    arms: float
    control: float
    story: str


def floor_effects(group: Group, pairs: Sequence[Pair], alpha: float) -> Iterator[Effect]:
    """Estimate the floor of differences, of shifts (nats) and of differential bias, and the excess over each."""
    told = [pair for pair in pairs if pair.control is not None]
    differences = [Told(pair.any_difference, pair.control_difference, pair.story) for pair in told]
    biased = [Told(pair.differential, pair.control_differential, pair.story) for pair in told]
    shifts = [
        Told(abs(pair.shift), abs(pair.control_shift), pair.story)
        for pair in told
        if pair.shift is not None and pair.control_shift is not None
    ]
    stories = [pair.story for pair in told]
    yield rate(group, "any_difference_rate_control", (pair.control_difference for pair in told), alpha, stories)
    either = rate(group, "differential_bias_rate_control", (one.control > 0 for one in biased), alpha, stories)
    bounds = {"estimate": either.estimate, "ci_low": either.ci_low, "ci_high": either.ci_high}
    yield either.model_copy(update={name: value and value / 2 for name, value in bounds.items()})
    yield from magnitude_effects(group, "shift_magnitude", shifts, alpha)
    yield _excess(group, "any_difference_excess", differences, alpha)
    yield _excess(group, "differential_bias_excess", biased, alpha)


def magnitude_effects(group: Group, measure: str, told: Sequence[Told], alpha: float) -> Iterator[Effect]:
    """Estimate the mean magnitude of what arms do, that of what control tellings do, and the excess."""
    for name, values in ((measure, [one.arms for one in told]), (f"{measure}_control", [one.control for one in told])):
        found = _clustered(values, told, alpha)
        # A magnitude is never negative: that its mean is 0 is not in question.
        yield effect(group, name, len(told), Estimate(found.value, found.interval))
    yield _excess(group, f"{measure}_excess", told, alpha)


def _excess(group: Group, measure: str, told: Sequence[Told], alpha: float) -> Effect:
    return effect(group, measure, len(told), _clustered([one.arms - one.control for one in told], told, alpha))


def _clustered(values: Sequence[float], told: Sequence[Told], alpha: float) -> Estimate:
    """Estimate the mean of the pairs' values, clustered by story."""
    return clustered_mean(values, clusters.clustered_mean(values, [one.story for one in told]), alpha)
