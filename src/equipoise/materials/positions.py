"""Position bias: the probability of each letter whatever its option, and its prior (docs/metrics/position_bias.md).

In cyclic orders of its options (`equipoise.materials.orders`), every option of a question has every letter equally
often: a model that decides by content alone gives each of n letters a mean probability of 1 / n. Source of the prior:
PriDe (Zheng et al. 2024, arXiv:2309.03882).
"""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, geometric_mean

from equipoise.core.keys import grouped
from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.materials.orders import shown_as
from equipoise.materials.questions import Order
from equipoise.stats import paired

FAMILY = "position"
"""The family of these effects; the group is a letter, or `all`."""


def letters_shown(order: Order) -> dict[str, float]:
    """Return the probability of each letter as it was shown; empty if no letter could be read."""
    places = shown_as(order.probabilities, order.shift)
    return {places[letter]: chance for letter, chance in order.probabilities.items()}


def shown_letters(order: Order, gold: str) -> tuple[str | None, str]:
    """Return the likeliest letter (ties: the first) and the right one, as they were shown."""
    chances = letters_shown(order)
    if not chances:
        return None, gold
    return min(chances, key=lambda letter: (-chances[letter], letter)), shown_as(chances, order.shift)[gold]


def position_effects(study: str, questions: Sequence[Sequence[Sequence[Order]]], alpha: float) -> Iterator[Effect]:
    """Estimate the position figures from each question's answers: one sequence of orders for each of its arms.

    The interval is Student's t over the questions. Questions asked in a single order have no figures: the place of the
    right option cannot be separated from the place that the model prefers.
    """
    read = [
        [[chances for order in arm if (chances := letters_shown(order))] for arm in arms if len(arm) > 1]
        for arms in questions
    ]
    read = [answered for arms in read if (answered := [arm for arm in arms if arm])]
    means = [
        (letter, fmean(chances[letter] for arm in arms for chances in arm), len(arms[0][0]))
        for arms in read
        for letter in arms[0][0]
    ]
    chance = grouped((letter, mean) for letter, mean, _ in means)
    excess = grouped((letter, mean - 1 / options) for letter, mean, options in means)
    prior = grouped((letter, fmean(before)) for arms in read for letter, before in _priors(arms).items())
    for measure, by_letter in (("position_probability", chance), ("position_prior", prior)):
        for letter, values in sorted(by_letter.items()):
            estimate = Estimate(fmean(values), paired.mean_interval(values, alpha))
            yield effect(Group(FAMILY, letter, study), measure, len(values), estimate)
    if read:
        total = sum(abs(math.fsum(values)) for values in excess.values()) / len(read) / 2
        yield effect(Group(FAMILY, "all", study), "position_bias", len(read), Estimate(total))


def _priors(arms: Sequence[Sequence[dict[str, float]]]) -> dict[str, list[float]]:
    """Return the prior of every letter in each arm; none if a probability is 0, as in replies."""
    priors: dict[str, list[float]] = {}
    for orders in arms:
        if all(value > 0 for chances in orders for value in chances.values()):
            # The softmax of mean logarithms: geometric means, divided by their sum.
            means = {letter: geometric_mean(chances[letter] for chances in orders) for letter in orders[0]}
            for letter, mean in means.items():
                priors.setdefault(letter, []).append(mean / math.fsum(means.values()))
    return priors
