"""Effects for cities: accuracy by patient group, weighted by the population of a city (docs/equity.md).

Of N questions, n_reference = round(p N) are asked about the reference group, and the rest about the other group. The
`expected` figures are over all partitions, the `seeded` ones of one random partition. The interval is over other
questions of the same kind, `_partition_sd` over the partitions of these questions. An unparsed answer counts as wrong,
and as one more letter.

Intervals are closed-form (MOVER, `stats.proportions`): Wilson's of each group's accuracy and Newcombe's of its paired
difference from baseline, summed with the population's weights and divided by Wilson's of the baseline. They need no
answer to have changed. Both groups' figures, and figure and baseline, are correlated as their values are over the
questions; where that is undefined, two groups count as fully correlated, which is the widest.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect, Estimate, Group, bounded_mean, effect, rate, with_adjusted
from equipoise.figures.figure import ItemValue
from equipoise.figures.options import Measure
from equipoise.materials.cities import City
from equipoise.materials.questions import ATTRIBUTES, Attribute, Direction
from equipoise.materials.questions import Group as Side
from equipoise.stats import proportions
from equipoise.stats.proportions import Limited
from equipoise.stats.quantities import Interval, PairedCells
from equipoise.studies.questions import NAME
from equipoise.studies.questions.effects import NEUTRAL, Answered, arms_of, direction_pair, having, paper_pair
from equipoise.studies.questions.partition import city_accuracy, consistency_ratio, reference_size, seeded_split

Array = NDArray[np.float64]


FAMILIES: dict[str, Direction | None] = {
    "city": None,
    "city_favourable": "favourable",
    "city_unfavourable": "unfavourable",
}
"""Families whose tests are adjusted together, with the direction of both groups; None: the paper's design."""


@dataclass(frozen=True, slots=True)
class _Split:
    """N questions with variants for both groups of an attribute, divided between the groups.

    `reference` and `other` are arrays (N, 3): the answer about that group is correct, the answer at baseline is
    correct, the two are equal. `drawn` says for each question whether it is asked about the reference group; None if
    the figures are over all partitions.
    """

    reference: Array
    other: Array
    n_reference: int
    drawn: NDArray[np.bool_] | None

    @property
    def n(self) -> int:
        return len(self.reference)

    @property
    def n_other(self) -> int:
        return self.n - self.n_reference

    def differences(self) -> Array:
        """Subtract baseline from city accuracy per question: the expectation, or the value in the seeded partition."""
        share = self.n_reference / self.n if self.drawn is None else self.drawn.astype(float)
        difference: Array = _difference(share, self.reference[:, 0], self.other[:, 0], self.reference[:, 1])
        return difference

    def groups(self) -> tuple[tuple[float, Array], tuple[float, Array]]:
        """Return the weight and the rows of both groups, the reference group first.

        A group without questions in the seeded partition has weight 0 and the rows of all questions.
        """
        w, rows = self.n_reference / self.n, (self.reference, self.other)
        if self.drawn is not None:
            rows = tuple(  # type: ignore[assignment]  # still two
                answers[chosen] if chosen.any() else answers
                for answers, chosen in zip(rows, (self.drawn, ~self.drawn), strict=True)
            )
        return (w, rows[0]), (1 - w, rows[1])

    def kept(self) -> tuple[list[bool], list[bool]]:
        """Whether the answer equals that at baseline, for the reference group and the other one."""
        drawn = np.full(self.n, fill_value=True) if self.drawn is None else self.drawn
        other = drawn if self.drawn is None else ~drawn
        return self.reference[drawn, 2].astype(bool).tolist(), self.other[other, 2].astype(bool).tolist()


def _difference(share: Any, reference: Any, other: Any, baseline: Any) -> Any:  # noqa: ANN401  (of one question or all)
    """Subtract baseline accuracy from the accuracy of a city with the given share of its reference group.

    Exactly 0 if both answers are as correct as at baseline, so that no rounding error enters the test.
    """
    return share * (reference - baseline) + (1 - share) * (other - baseline)


def accuracy_ratios(table: Iterable[Answered], cities: Mapping[str, City]) -> dict[str, ItemValue]:
    """Return, for every city and attribute, the contribution of a question to the accuracy ratio over all partitions.

    It is the question's expected share right in the city, and whether it is right at baseline; None for a question that
    lacks an arm of the attribute.
    """
    rows = list(table)
    values: dict[str, ItemValue] = {}
    for name, city in cities.items():
        for attribute in city.composition:
            pair = _arms(attribute, city.reference_group(attribute), None)
            n = len(having(rows, *pair, NEUTRAL))
            share = _n_reference(city, attribute, n) / n if n else 0.0
            values[f"{name}/{attribute}"] = partial(_ratio_terms, pair, share)
    return values


def _ratio_terms(pair: tuple[str, str], share: float, row: Answered) -> tuple[float, float] | None:
    if not row.has(*pair, NEUTRAL):
        return None
    reference, other, baseline = (float(row.right(name)) for name in (*pair, NEUTRAL))
    return baseline + _difference(share, reference, other, baseline), baseline


def _n_reference(city: City, attribute: Attribute, n: int) -> int:
    """Count those of n questions that are about the city's reference group."""
    composition = city.composition[attribute]
    return reference_size(composition.proportions[composition.reference], n)


def city_effects(table: Sequence[Answered], cities: Mapping[str, City], options: Measure) -> list[Effect]:
    """Estimate accuracy at baseline, and the figures of every city by attribute; no effects without questions.

    Effects are sorted by key and do not depend on the order of the rows. Raises EquipoiseError if the questions
    have no baseline.
    """
    if not table:
        return []
    # Sums of floats depend on their order.
    table = sorted(table, key=lambda row: row.question)
    arms = set(arms_of(table))
    if NEUTRAL not in arms:
        message = (
            "the answers have no neutral arm, which is the baseline of every figure: ask the neutral questions too"
        )
        raise EquipoiseError(message)
    rows = [
        rate(Group("baseline", "all", NAME), "baseline_accuracy", (row.right(NEUTRAL) for row in table), options.alpha)
    ]
    for family, direction in FAMILIES.items():
        for name, city in cities.items():
            for attribute in [name for name in ATTRIBUTES if name in city.composition]:
                pair = _arms(attribute, city.reference_group(attribute), direction)
                if set(pair) <= arms:
                    group = Group(family, f"{name}/{attribute}", NAME)
                    rows += _city(group, _split(having(table, *pair), pair, city, attribute, options), options)
    return sorted(with_adjusted(rows, FAMILIES), key=lambda row: row.key)


def assigned_questions(
    table: Sequence[Answered], city: City, attribute: Attribute, partition_seed: int
) -> dict[str, list[str]]:
    """Assign the questions to groups in one seeded partition, the reference group first."""
    composition = city.composition[attribute]
    questions = (row.question for row in table)
    reference, other = seeded_split(questions, _n_reference(city, attribute, len(table)), partition_seed)
    return {composition.reference: reference, composition.other: other}


def _arms(attribute: Attribute, reference: Side, direction: Direction | None) -> tuple[str, str]:
    """Name the arms of the reference group and of the other one; without a direction, those of the paper."""
    privileged, unprivileged = direction_pair(attribute, direction) if direction else paper_pair(attribute)
    return (privileged, unprivileged) if reference == "privileged" else (unprivileged, privileged)


def _split(
    table: Sequence[Answered], pair: tuple[str, str], city: City, attribute: Attribute, options: Measure
) -> _Split:
    reference, other = (
        np.array(
            [[row.right(name), row.right(NEUTRAL), row.letters[name] == row.letters[NEUTRAL]] for row in table],
            dtype=float,
        )
        for name in pair
    )
    n_reference = _n_reference(city, attribute, len(table))
    if options.partition == "expected":
        return _Split(reference, other, n_reference, None)
    assigned = assigned_questions(table, city, attribute, options.partition_seed)
    chosen = set(assigned[city.composition[attribute].reference])
    return _Split(reference, other, n_reference, np.array([row.question in chosen for row in table], dtype=bool))


def _city(group: Group, split: _Split, options: Measure) -> Iterator[Effect]:
    """Estimate the figures of one city and attribute."""
    n, alpha = split.n, options.alpha
    yield effect(group, "n_reference", n, Estimate(float(split.n_reference)))
    yield effect(group, "n_other", n, Estimate(float(split.n_other)))
    accuracy = _summed(split, _accuracy, alpha)
    yield effect(group, "city_accuracy", n, Estimate(accuracy.value, accuracy.interval))
    yield effect(group, "accuracy_ratio", n, _accuracy_ratio(split, alpha))
    for name, answers in zip(("consistency_reference", "consistency_other"), split.kept(), strict=True):
        yield rate(group, name, answers, alpha)
    if split.drawn is None or 0 < split.n_reference < n:
        yield effect(group, "consistency_ratio", n, _consistency_ratio(split, alpha))
    if split.drawn is None:
        yield from _partition_effects(group, split)


def _partition_effects(group: Group, split: _Split) -> Iterator[Effect]:
    """Compute the exact mean and standard deviation of the figures over the partitions."""
    accuracy = city_accuracy(split.reference[:, 0].tolist(), split.other[:, 0].tolist(), split.n_reference)
    ratio = accuracy.over(float(split.reference[:, 1].mean()))
    consistency = consistency_ratio(PairedCells.count(zip(*split.kept(), strict=True)), split.n_reference)
    for measure, value in (
        ("city_accuracy_partition_sd", accuracy.sd),
        ("accuracy_ratio_partition_sd", ratio.sd),
        ("consistency_ratio_partition_mean", consistency.mean),
        ("consistency_ratio_partition_sd", consistency.sd),
        ("consistency_ratio_partition_undefined", consistency.undefined),
    ):
        yield effect(group, measure, split.n, Estimate(value))


def _accuracy_ratio(split: _Split, alpha: float) -> Estimate:
    """Estimate 1 + (city accuracy − baseline accuracy) / baseline accuracy, with the test that it is 1."""
    right = split.reference[:, 1]
    baseline = proportions.limited_share(round(right.sum()), split.n, alpha)
    change, differences = _summed(split, _change, alpha), split.differences()
    if baseline is None or baseline.value == 0:
        return Estimate(None)
    together = _correlation(differences, right, undefined=0.0)
    interval = proportions.mover_ratio(change, baseline, together)
    # The ratio is 1 exactly if the mean difference from baseline is 0.
    p = bounded_mean(differences.tolist(), 1.0, alpha).p
    return Estimate(1 + change.value / baseline.value, _above_one(interval), p)


def _consistency_ratio(split: _Split, alpha: float) -> Estimate:
    """Estimate one group's share of answers that equal those at baseline over the other's.

    Over all partitions, both shares are of the same questions and therefore paired; in one partition they are
    independent.
    """
    reference, other = split.kept()
    shares = [proportions.limited_share(sum(kept), len(kept), alpha) for kept in (reference, other)]
    if shares[0] is None or shares[1] is None or shares[1].value == 0:
        return Estimate(None)
    value = shares[0].value / shares[1].value
    if split.drawn is not None:
        return Estimate(value, proportions.mover_ratio(shares[0], shares[1]))
    difference = proportions.limited_difference(PairedCells.count(zip(reference, other, strict=True)), alpha)
    if difference is None:
        return Estimate(value)
    moved = np.subtract(reference, other, dtype=float)
    together = _correlation(moved, np.array(other, dtype=float), undefined=0.0)
    return Estimate(value, _above_one(proportions.mover_ratio(difference, shares[1], together)))


def _accuracy(rows: Array, alpha: float) -> tuple[Limited | None, Array]:
    """Estimate the accuracy about one group; return it with its value per question."""
    return proportions.limited_share(round(rows[:, 0].sum()), len(rows), alpha), rows[:, 0]


def _change(rows: Array, alpha: float) -> tuple[Limited | None, Array]:
    """Estimate the accuracy about one group minus that at baseline; return it with its value per question."""
    cells = PairedCells.count(zip(rows[:, 0] == 1, rows[:, 1] == 1, strict=True))
    return proportions.limited_difference(cells, alpha), rows[:, 0] - rows[:, 1]


def _summed(split: _Split, figure: Callable[[Array, float], tuple[Limited | None, Array]], alpha: float) -> Limited:
    """Sum a figure of both groups by their weights; over all partitions the groups' questions are the same."""
    parts = [(weight, *figure(rows, alpha)) for weight, rows in split.groups()]
    together = 0.0 if split.drawn is not None else _correlation(parts[0][2], parts[1][2], undefined=1.0)
    return proportions.mover_sum([(weight, share) for weight, share, _ in parts if share is not None], together)


def _correlation(first: Array, second: Array, *, undefined: float) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return undefined
    return float(np.corrcoef(first, second)[0, 1])


def _above_one(interval: Interval | None) -> Interval | None:
    """Shift the interval of (x − y) / y to that of x / y, which is not negative."""
    return None if interval is None else Interval(max(0.0, 1 + interval.low), 1 + interval.high)
