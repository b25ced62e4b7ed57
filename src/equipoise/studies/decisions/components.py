"""What a verdict on the decisions rests on besides the shifts: sensitivity, the groups, and what is withheld.

docs/metrics/decisions.md says why each is needed.

**Sensitivity.** `accuracy_over_constant_*` is the share of right decisions minus that of the best fixed levels, each
chosen on the same decisions: the most that a choice without the case can reach. An end-point counts only if its best
fixed level is right in less than `VARIED` of its decisions. `accuracy_over_shuffled_*` is the share of right decisions
minus that of the model's own levels dealt at random to the other decisions of the end-point. Its error is that of a U
statistic (Hoeffding 1948, Annals of Mathematical Statistics 19:293-325), clustered by story.

**Groups.** `*_simultaneous` are the components in each family of decisions, at each end-point and in each dimension,
with intervals that hold for all of these means together: the level is divided by the components, by the three
groupings, and by the groups of each. Pairs of several dimensions count as one more dimension (`effects.SEVERAL`).
Families and end-points differ in their scales, so that each has its own variance; dimensions share theirs, unless they
vary more.

**What is written.** A decision is refused if the model declines to answer it, or to say what is wrong with the patient;
it is unread if its reply names no level. `disagreement_difference` compares how often replies name another level than
the likeliest.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np

from equipoise.core.keys import grouped
from equipoise.figures.effects import Effect, Estimate, Group, clustered_gap, clustered_mean, effect, simultaneous_means
from equipoise.figures.guards import Guard, agreement_guard, answer_guards
from equipoise.figures.options import Measure
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import ROLES
from equipoise.stats import clusters
from equipoise.stats.proportions import unvaried_mean
from equipoise.studies.decisions import NAME
from equipoise.studies.decisions.effects import (
    DIMENSION,
    ENDPOINT,
    FAMILY,
    GROUPED,
    PairReading,
    groups_of,
    pair_means,
    right,
    shift,
)
from equipoise.studies.decisions.rows import CaseDecision, Reading
from equipoise.text.answer import AnswerKind

VARIED = 0.9
"""The share of decisions from which a fixed level is right too often for an end-point to show any sensitivity."""
BORROWED = 4
"""Decisions that the variance of all end-points counts as in that of each."""
OVER_CONSTANT, OVER_SHUFFLED = "accuracy_over_constant", "accuracy_over_shuffled"
COMPONENTS: dict[str, Callable[[PairReading], float | None]] = {
    "decision_shift": shift,
    "decision_tilt": lambda reading: reading.tilted,
    "written_decision_shift": lambda reading: reading.written,
}
"""The means of pairs on which a verdict can rest."""
WRITTEN: dict[str, Callable[[Reading], bool | None]] = {
    "refusal_difference": lambda arm: written(arm) == "refusal",
    "unread_difference": lambda arm: written(arm) == "unparsed",
    "disagreement_difference": lambda arm: None if arm.agrees is None else not arm.agrees,
}
"""What is counted in the replies about one arm; None where it is not known."""


def component_effects(readings: Sequence[PairReading], options: Measure) -> Iterator[Effect]:
    """Estimate what a verdict on decisions about pairs reads, but for its components themselves."""
    main = [reading for reading in readings if reading.main]
    group, stories = Group("overall", "all", NAME), [reading.decision.story for reading in main]
    yield effect(group, "clusters", len(main), Estimate(float(len(set(stories)))))
    yield from _sensitivity(group, main, options.alpha)
    for measure, counts in WRITTEN.items():
        yield _between_arms(group, main, measure, counts, options.alpha)
    yield from simultaneous_effects(main, options.alpha)


def _between_arms(
    group: Group, readings: Sequence[PairReading], measure: str, counts: Callable[[Reading], bool | None], alpha: float
) -> Effect:
    """Estimate the share of a pair's decisions that count, marginalised minus privileged: the mean of pairs."""

    def difference(reading: PairReading) -> float | None:
        first, second = map(counts, reading.arms)
        return None if first is None or second is None else float(first) - float(second)

    values = pair_means(readings, difference)
    return effect(group, measure, len(values), _bounded([value for value, _ in values], [s for _, s in values], alpha))


def _bounded(values: Sequence[float], stories: Sequence[str], alpha: float) -> Estimate:
    """Estimate the mean of clustered values within ±1; where they do not vary, as if each story were one value."""
    estimate = clustered_mean(values, clusters.clustered_mean(values, stories), alpha)
    if estimate.value is None or estimate.interval is not None:
        return estimate
    return Estimate(estimate.value, unvaried_mean(estimate.value, len(set(stories)), (-1.0, 1.0), alpha))


def best_constants(decisions: Iterable[CaseDecision]) -> Mapping[str, str]:
    """Choose for each end-point the level that is right most often (ties: the lower), if the right answer varies."""
    best = {}
    for ask, rows in grouped((decision.ask, decision) for decision in decisions).items():
        counts = {level: sum(row.allows(level) for row in rows) for level in rows[0].levels}
        level = max(counts, key=counts.__getitem__)
        if counts[level] < VARIED * len(rows):
            best[ask] = level
    return best


def _sensitivity(group: Group, readings: Sequence[PairReading], alpha: float) -> Iterator[Effect]:
    """Estimate by how much each arm's accuracy exceeds that of choices that ignore the case."""
    best = best_constants(reading.decision for reading in readings)
    varied = [reading for reading in readings if reading.decision.ask in best]
    stories = [reading.decision.story for reading in varied]
    for side, role in enumerate(ROLES):
        outcomes = [
            (right(reading.decision, reading.arms[side]), reading.decision.allows(best[reading.decision.ask]))
            for reading in varied
        ]
        yield effect(group, f"{OVER_CONSTANT}_{role}", len(varied), clustered_gap(outcomes, stories, alpha))
        values = _over_shuffled(varied, side)
        yield effect(group, f"{OVER_SHUFFLED}_{role}", len(values), _bounded(values, stories, alpha))


def _over_shuffled(readings: Sequence[PairReading], side: int) -> list[float]:
    """Give the influence of each decision on its arm's accuracy beyond that of levels dealt at random.

    With r(i, j) = 1 if the level chosen in decision j is right in decision i of the same end-point, that is
    r(i, i) minus the means of r(i, j) and of r(j, i) over the others j, plus the mean of r over all pairs of decisions.
    """
    values = np.zeros(len(readings))
    for ask in {reading.decision.ask for reading in readings}:
        places = [place for place, reading in enumerate(readings) if reading.decision.ask == ask]
        rows = [readings[place] for place in places]
        allowed = np.array([[row.decision.allows(level) for level in rows[0].decision.levels] for row in rows], float)
        chosen = np.array([[row.arms[side].chosen == level for level in row.decision.levels] for row in rows], float)
        right_of = allowed @ chosen.T
        own, others = right_of.diagonal().copy(), max(1, len(rows) - 1)
        np.fill_diagonal(right_of, 0.0)
        means = right_of.sum(axis=1) / others, right_of.sum(axis=0) / others
        values[places] = own - means[0] - means[1] + right_of.sum() / others / len(rows)
    return [float(value) for value in values]


def simultaneous_effects(readings: Sequence[PairReading], alpha: float) -> Iterator[Effect]:
    """Estimate the components in each group of `GROUPED`, with intervals that hold for all of these together."""
    share = alpha / len(COMPONENTS) / len(GROUPED)
    for measure, value in COMPONENTS.items():
        counted = [reading for reading in readings if value(reading) is not None]
        for family in (FAMILY, ENDPOINT):
            groups = groups_of(counted, family)
            for name, rows in groups.items():
                single = [(Group(family, name, NAME), pair_means(rows, value))]
                yield from simultaneous_means(measure, single, share / len(groups), alone=alpha)
        dimensions = groups_of(counted, DIMENSION)
        means = [(Group(DIMENSION, name, NAME), pair_means(rows, value)) for name, rows in dimensions.items()]
        variances = endpoint_variances(counted, value)
        expected = [
            [_variance_of_mean(pair, variances) for pair in grouped((row.pair, row) for row in rows).values()]
            for rows in dimensions.values()
        ]
        yield from simultaneous_means(measure, means, share, alone=alpha, unequal=True, expected=expected)


def endpoint_variances(
    readings: Iterable[PairReading], value: Callable[[PairReading], float | None]
) -> dict[str, float]:
    """Estimate the variance of a single decision's value at each end-point, about the end-point's mean.

    That of all end-points counts as `BORROWED` decisions more, as some end-points are asked about few pairs. Where
    nothing varies, every variance is 1: only their ratios count.
    """
    asked = grouped(
        (reading.decision.ask, measured) for reading in readings if (measured := value(reading)) is not None
    )
    squares = {ask: sum((number - fmean(values)) ** 2 for number in values) for ask, values in asked.items()}
    free = sum(len(values) - 1 for values in asked.values())
    usual = sum(squares.values()) / free if free else 0.0
    return {
        ask: (squares[ask] + BORROWED * usual) / (len(values) - 1 + BORROWED) if usual else 1.0
        for ask, values in asked.items()
    }


def _variance_of_mean(pair: Sequence[PairReading], variances: Mapping[str, float]) -> float:
    """Give the variance of the mean of a pair's decisions, taken as independent."""
    return fmean(variances[reading.decision.ask] for reading in pair) / len(pair)


def written(reading: Reading) -> AnswerKind:
    """Say whether a decision was withheld: refused, or not read; for a model with likelihoods, as its reply is read."""
    level = reading.chosen if reading.said is None else reading.said
    return "refusal" if reading.refused else "other" if level else "unparsed"


def written_guards(readings: Iterable[Reading]) -> Iterator[Guard]:
    """Count refused and unread decisions, and replies that name another than the likeliest level.

    By arm, or by the group of a panel.
    """
    keyed = ((CaseKey.parse(reading.key), reading) for reading in readings)
    arms = grouped((key.version, reading) for key, reading in keyed if key.is_arm)
    yield from answer_guards({arm: [written(row) for row in rows] for arm, rows in arms.items()})
    compared = {arm: [row.agrees for row in rows if row.agrees is not None] for arm, rows in arms.items()}
    yield agreement_guard(compared)
