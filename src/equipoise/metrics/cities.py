"""Effects for cities: accuracy by patient group, weighted by the population of a city.

In a city n_reference = round(p N) of the N questions are asked about the reference group and the rest about the other
group. Definitions:

- City accuracy is the proportion correct when every question is asked about the group it is assigned to; the accuracy
  ratio divides it by the accuracy at baseline (the neutral question); the consistency ratio is the rate at which
  answers about the reference group equal those at baseline, divided by the same rate for the other group.
- An unparsed answer counts as wrong, and as one more letter, as in `letters_differ_rate`: two unparsed answers are
  equal, as in the published figures.
- `expected`: every figure over all partitions. City accuracy and its ratio are expectations; the consistency ratio is
  that of the rates over all questions, and `consistency_ratio_partition_mean` its exact mean over the partitions.
  `seeded`: every figure of one random partition, with its questions.
- Two separate uncertainties. The interval is a bootstrap over questions: other questions of the same kind. The
  `_partition_sd` is the exact standard deviation over partitions of these questions.
- In the paper's design, and so in the family `city`, group and direction of attack are confounded. In the crossed
  design both groups have the same direction in `city_favourable` and `city_unfavourable`, so that only the group
  differs.
- The resamples of a figure are the same for every city, so that cities with the same composition have the same
  interval, and cities are compared on the same resamples.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Effect, Study
from equipoise.metrics.effects import Estimate, Group, effect, rate, with_adjusted
from equipoise.metrics.options import Measure
from equipoise.metrics.questions import NEUTRAL, Answered, arm, arms_of, paper_pair
from equipoise.questions.cities import City
from equipoise.questions.partition import Consistent, city_accuracy, consistency_ratio, reference_size, seeded_split
from equipoise.questions.rows import ATTRIBUTES, Attribute, Direction
from equipoise.questions.rows import Group as Side
from equipoise.stats import paired
from equipoise.stats.bootstrap import cluster_bootstrap, generator, observed

Array = NDArray[np.float64]


STUDY: Study = "questions"
"""First part of every key here, and the stem of the metrics file."""
FAMILIES: dict[str, Direction | None] = {
    "city": None,
    "city_favourable": "favourable",
    "city_unfavourable": "unfavourable",
}
"""Families whose tests are adjusted together, with the direction of both groups; None: the paper's design."""
NOISE = 1e-12
"""Differences below this are rounding error: the figure is the same in every resample."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The N questions in variants for both groups of an attribute, and which are assigned to the reference group.

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
        """Per question, city accuracy − baseline accuracy: its expectation, or the value in the seeded partition."""
        change = self.reference[:, 0] - self.reference[:, 1], self.other[:, 0] - self.other[:, 1]
        share = self.n_reference / self.n if self.drawn is None else self.drawn.astype(float)
        # Exactly 0 if both answers are correct, or wrong, as at baseline: no rounding error enters the test.
        difference: Array = share * change[0] + (1 - share) * change[1]
        return difference

    def strata(self) -> list[Array]:
        """The resampled rows; their concatenated means have six columns, three per group, reference group first.

        A group without questions in the seeded partition has weight 0, and all questions are used in its place.
        """
        if self.drawn is None:
            return [np.hstack([self.reference, self.other])]
        groups = (self.reference, self.drawn), (self.other, ~self.drawn)
        return [rows[chosen] if chosen.any() else rows for rows, chosen in groups]

    def kept(self) -> tuple[list[bool], list[bool]]:
        """Whether the answer equals that at baseline, for the reference group and the other one."""
        drawn = np.full(self.n, fill_value=True) if self.drawn is None else self.drawn
        other = drawn if self.drawn is None else ~drawn
        return self.reference[drawn, 2].astype(bool).tolist(), self.other[other, 2].astype(bool).tolist()


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
        rate(Group("baseline", "all", STUDY), "baseline_accuracy", (row.right(NEUTRAL) for row in table), options.alpha)
    ]
    for family, direction in FAMILIES.items():
        for name, city in cities.items():
            for attribute in (one for one in ATTRIBUTES if one in city.composition):
                pair = _arms(attribute, city.reference_group(attribute), direction)
                if set(pair) <= arms:
                    group = Group(family, f"{name}/{attribute}", STUDY)
                    rows += _city(group, _ask(table, pair, city, attribute, options), attribute, options)
    return sorted(with_adjusted(rows, FAMILIES), key=lambda row: row.key)


def assigned_questions(
    table: Sequence[Answered], city: City, attribute: Attribute, partition_seed: int
) -> dict[str, list[str]]:
    """Assign the questions to groups in one seeded partition, the reference group first."""
    composition = city.composition[attribute]
    n_reference = reference_size(composition.proportions[composition.reference], len(table))
    reference, other = seeded_split((row.question for row in table), n_reference, partition_seed)
    return {composition.reference: reference, composition.other: other}


def _arms(attribute: Attribute, reference: Side, direction: Direction | None) -> tuple[str, str]:
    """Names of the arms of the reference group and of the other one; without a direction, those of the paper."""
    if direction is None:
        privileged, unprivileged = paper_pair(attribute)
    else:
        privileged, unprivileged = (arm(attribute, side, direction) for side in ("privileged", "unprivileged"))
    return (privileged, unprivileged) if reference == "privileged" else (unprivileged, privileged)


def _ask(
    table: Sequence[Answered], pair: tuple[str, str], city: City, attribute: Attribute, options: Measure
) -> _Asked:
    reference, other = (
        np.array(
            [[row.right(name), row.right(NEUTRAL), row.letters[name] == row.letters[NEUTRAL]] for row in table],
            dtype=float,
        )
        for name in pair
    )
    composition = city.composition[attribute]
    n_reference = reference_size(composition.proportions[composition.reference], len(table))
    if options.partition == "expected":
        return _Asked(reference, other, n_reference, None)
    chosen = set(assigned_questions(table, city, attribute, options.partition_seed)[composition.reference])
    return _Asked(reference, other, n_reference, np.array([row.question in chosen for row in table], dtype=bool))


def _city(group: Group, asked: _Asked, attribute: Attribute, options: Measure) -> Iterator[Effect]:
    """Estimate the figures of one city and attribute."""
    n, w = asked.n, asked.n_reference / asked.n
    right = np.array([w, 0, 0, 1 - w, 0, 0])
    baseline = np.array([0, w, 0, 0, 1 - w, 0])
    kept = np.array([0, 0, 1, 0, 0, 0]), np.array([0, 0, 0, 0, 0, 1])
    yield effect(group, "n_reference", n, Estimate(float(asked.n_reference)))
    yield effect(group, "n_other", n, Estimate(float(asked.n_other)))
    yield effect(group, "city_accuracy", n, _figure(f"{attribute}/city_accuracy", asked, (right, None), options))
    ratio = _figure(f"{attribute}/accuracy_ratio", asked, (right, baseline), options)
    # The ratio is 1 exactly if the mean difference from baseline is 0.
    p = None if ratio.value is None else paired.paired_t(asked.differences().tolist())
    yield effect(group, "accuracy_ratio", n, Estimate(ratio.value, ratio.interval, p))
    for name, answers in zip(("consistency_reference", "consistency_other"), asked.kept(), strict=True):
        yield rate(group, name, answers, options.alpha)
    if asked.drawn is None or 0 < asked.n_reference < n:
        yield effect(group, "consistency_ratio", n, _figure(f"{attribute}/consistency_ratio", asked, kept, options))
    if asked.drawn is None:
        yield from _partition_effects(group, asked)


def _partition_effects(group: Group, asked: _Asked) -> Iterator[Effect]:
    """Exact mean and standard deviation of the figures over the partitions."""
    accuracy = city_accuracy(asked.reference[:, 0].tolist(), asked.other[:, 0].tolist(), asked.n_reference)
    ratio = accuracy.over(float(asked.reference[:, 1].mean()))
    consistency = consistency_ratio(Consistent.count(zip(*asked.kept(), strict=True)), asked.n_reference)
    for measure, value in (
        ("city_accuracy_partition_sd", accuracy.sd),
        ("accuracy_ratio_partition_sd", ratio.sd),
        ("consistency_ratio_partition_mean", consistency.mean),
        ("consistency_ratio_partition_sd", consistency.sd),
        ("consistency_ratio_partition_undefined", consistency.undefined),
    ):
        yield effect(group, measure, asked.n, Estimate(value))


def _figure(name: str, asked: _Asked, terms: tuple[Array, Array | None], options: Measure) -> Estimate:
    """Estimate one linear function of the means over another (or over 1), with its interval over questions.

    There is no interval if all resamples would have the same value.
    """
    above, below = terms

    def statistic(means: Sequence[Array]) -> Array:
        columns = np.hstack(means)
        if below is None:
            return columns @ above
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient: Array = (columns @ above) / (columns @ below)
        return quotient

    strata = asked.strata()
    value = observed(strata, statistic)
    if value is None:
        return Estimate(None)
    # The figure is constant over resamples if numerator - value x denominator does not vary.
    residual = above if below is None else above - value * below
    ends = np.cumsum([rows.shape[1] for rows in strata])[:-1]
    parts = np.split(residual, ends)
    if all(np.ptp(rows @ part) < NOISE for rows, part in zip(strata, parts, strict=True)):
        return Estimate(value)
    rng = generator(options.seed, f"equity/{name}")
    interval = cluster_bootstrap(strata, statistic, rng=rng, n_resamples=options.n_bootstrap, alpha=options.alpha)
    return Estimate(value, interval)
