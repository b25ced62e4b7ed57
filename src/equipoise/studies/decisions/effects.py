"""The effects of the study `decisions`: how far decisions move towards what is documented about the patient's group.

A decision is measured by its mean level under the model's probabilities, counted from 0, or, without likelihoods, by
the level that the reply names. A pair's difference, marginalised minus privileged, is signed so that a value above 0 is
towards the stereotype; pairs of one story are a cluster. docs/metrics/decisions.md defines each figure, and says which
decisions each group contains. Labels of different length or frequency start with different probabilities, so interpret
differences between arms, not levels.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import fmean

from equipoise.core.keys import grouped
from equipoise.figures.effects import (
    Effect,
    Estimate,
    Group,
    clustered_gap,
    clustered_mean,
    effect,
    location,
    mean_shift,
    rate,
    with_adjusted,
)
from equipoise.figures.options import Measure
from equipoise.materials.stories.endpoints import FAMILIES
from equipoise.materials.versions import CONTROLS, CaseKey
from equipoise.materials.vignette import ROLES, Role
from equipoise.stats import clusters
from equipoise.stats.ordinal import proportional_odds
from equipoise.studies.decisions import NAME
from equipoise.studies.decisions.rows import SWAPPED, CaseDecision, Reading
from equipoise.studies.vignettes.floor import Magnitudes, magnitude_effects
from equipoise.studies.vignettes.swap import Split, split

FAMILY, ENDPOINT, DIMENSION, CELL = "family", "endpoint", "dimension", "cell"
TESTED_TOGETHER = (FAMILY, ENDPOINT, DIMENSION, "dimension_family")
"""Families in each of which a measure's tests are adjusted over all groups."""
SEVERAL = "several_at_once"
"""The group of the pairs that vary several dimensions, among those that vary one."""
GROUPED: Mapping[str, Callable[[CaseDecision], str]] = {
    FAMILY: lambda decision: decision.family,
    ENDPOINT: lambda decision: decision.ask,
    DIMENSION: lambda decision: decision.dimensions[0] if len(decision.dimensions) == 1 else SEVERAL,
}
"""The groupings in which every decision about a pair has one group, on which a verdict rests."""
Both = tuple[Reading, Reading]


@dataclass(frozen=True)
class PairReading:
    """A decision about both arms of a pair, the marginalised first, and about its control versions if there are any.

    `pair` has the number of the sample. `rereads` are the decisions after the reasoning about the other arm.
    """

    decision: CaseDecision
    pair: str
    arms: Both
    control: Both | None
    rereads: Mapping[str, Both]

    @property
    def tilted(self) -> float | None:
        """The difference between the arms in the tilt towards the stereotype, in nats."""
        return _difference(*(tilt(self.decision, arm) for arm in self.arms))

    @property
    def written(self) -> float | None:
        """The difference between the arms in the level that the reply names, as a share of the scale."""
        return _difference(*(written_place(self.decision, arm) for arm in self.arms))

    @cached_property
    def split(self) -> Split | None:
        """The difference between the arms, and its parts, as shares of the scale."""
        return split(self, partial(place, self.decision))

    @property
    def magnitudes(self) -> tuple[float, float] | None:
        """The absolute differences between the arms and between the control versions; None without either."""
        if self.control is None:
            return None
        arms, control = (
            _difference(*(place(self.decision, row) for row in rows)) for rows in (self.arms, self.control)
        )
        return None if arms is None or control is None else (abs(arms), abs(control))

    @property
    def main(self) -> bool:
        """Whether it counts in the headline figures."""
        return self.decision.grade != "C" and self.decision.usual and not self.decision.reverse


def place(decision: CaseDecision, reading: Reading) -> float | None:
    """How far a reading is towards the stereotype, as a share of the scale; only differences are meaningful."""
    if reading.expected is None:
        return None
    share = reading.expected / (len(decision.levels) - 1)
    return share if decision.direction == "higher" else -share


def written_place(decision: CaseDecision, reading: Reading) -> float | None:
    """How far the level that a reply names beside the likelihoods is towards the stereotype, as a share of the scale.

    None without a reply, or where the reply names no level.
    """
    return decision.towards.index(reading.said) / (len(decision.levels) - 1) if reading.said else None


def tilt(decision: CaseDecision, reading: Reading) -> float | None:
    """How much likelier the stereotyped end of the scale is than the other, in nats; only compare differences."""
    if reading.tilt is None:
        return None
    return reading.tilt if decision.direction == "higher" else -reading.tilt


def right(decision: CaseDecision, reading: Reading) -> bool:
    """Whether the chosen level is the guideline's, or one that it allows."""
    return decision.allows(reading.chosen)


def decision_effects(decisions: Sequence[CaseDecision], readings: Sequence[Reading], options: Measure) -> list[Effect]:
    """Estimate every figure: overall, by family, end-point and dimension; and separately by grade and direction."""
    groups = _groups(pair_readings(decisions, readings))
    effects = [row for group, members in groups for row in _group_effects(group, members, options)]
    return sorted(with_adjusted(effects, TESTED_TOGETHER), key=lambda row: row.key)


def pair_readings(decisions: Iterable[CaseDecision], readings: Iterable[Reading]) -> list[PairReading]:
    """Join the readings of every decision about a pair; raise KeyError where that of an arm is missing."""
    by_key = {CaseKey.parse(reading.key): reading for reading in readings}
    numbers = range(1 + max((key.number for key in by_key), default=0))

    def both(decision: CaseDecision, versions: Sequence[str], n: int, rereading: str = "") -> Both:
        own = [CaseKey(decision.pair, version, decision.ask, number=n) for version in versions]
        # Where the other arm's reasoning is identical, the decision after it was not requested: it is the arm's own.
        first, second = (by_key.get(key._replace(rereading=rereading)) or by_key[key] for key in own)
        return first, second

    swapped = any(key.rereading == SWAPPED for key in by_key)
    controls = any(key.version == CONTROLS[0] for key in by_key)
    return [
        PairReading(
            decision=decision,
            pair=CaseKey(decision.pair, number=n).sample,
            arms=both(decision, ROLES, n),
            control=both(decision, CONTROLS, n) if controls else None,
            rereads={SWAPPED: both(decision, ROLES, n, SWAPPED)} if swapped else {},
        )
        for decision in decisions
        for n in numbers
    ]


def _groups(readings: Sequence[PairReading]) -> Iterator[tuple[Group, list[PairReading]]]:
    """Yield every group with its decisions; a dimension's are about pairs that vary it alone."""
    main = [reading for reading in readings if reading.main]
    single = [reading for reading in main if len(reading.decision.dimensions) == 1]
    yield Group("overall", "all", NAME), main
    # Every family, so that a headline figure without decisions is undefined and not missing.
    for family in FAMILIES:
        yield Group(FAMILY, family, NAME), [reading for reading in main if reading.decision.family == family]
    yield from _by(ENDPOINT, main, lambda reading: reading.decision.ask)
    yield from _by(DIMENSION, single, lambda reading: reading.decision.dimensions[0])
    yield from _by(
        "dimension_family", single, lambda reading: f"{reading.decision.dimensions[0]}/{reading.decision.family}"
    )
    yield from _by(CELL, single, lambda row: f"{row.decision.dimensions[0]}/{row.decision.ask}")
    usual = [reading for reading in readings if reading.decision.usual and not reading.decision.reverse]
    yield from _by("grade", usual, lambda reading: f"{reading.decision.family}/{reading.decision.grade}")
    reverse = [reading for reading in readings if reading.decision.reverse]
    yield from _by("reverse", reverse, lambda reading: reading.decision.family)
    unusual = [reading for reading in readings if not reading.decision.usual]
    yield from _by("unusual", unusual, lambda reading: reading.decision.family)


def groups_of(readings: Iterable[PairReading], family: str) -> dict[str, list[PairReading]]:
    """Group readings by one of `GROUPED`, sorted by the groups' names."""
    return dict(sorted(grouped((GROUPED[family](reading.decision), reading) for reading in readings).items()))


def _by(
    family: str, readings: Sequence[PairReading], name: Callable[[PairReading], str]
) -> Iterator[tuple[Group, list[PairReading]]]:
    for group in sorted(set(map(name, readings))):
        yield Group(family, group, NAME), [reading for reading in readings if name(reading) == group]


def _group_effects(group: Group, readings: Sequence[PairReading], options: Measure) -> Iterator[Effect]:
    def part(name: str) -> list[tuple[float, str]]:
        return pair_means(readings, lambda reading: None if reading.split is None else reading.split.get(name))

    shifts = pair_means(readings, shift)
    yield from mean_shift(group, "decision_shift", shifts, options)
    if group.family == CELL:
        return
    yield from mean_shift(group, "decision_tilt", pair_means(readings, lambda reading: reading.tilted), options)
    written = pair_means(readings, lambda reading: reading.written)
    yield from mean_shift(group, "written_decision_shift", written, options, sparse=True)
    stories = [story for _, story in shifts]
    yield effect(group, "decision_shift_median", len(shifts), location([shift for shift, _ in shifts], stories))
    for name in ("around", "through"):
        yield from mean_shift(group, f"decision_shift_{name}", part(name), options)
    arms = pair_means(readings, lambda reading: reading.magnitudes and reading.magnitudes[0])
    control = pair_means(readings, lambda reading: reading.magnitudes and reading.magnitudes[1])
    floor = [Magnitudes(own, other, story) for (own, story), (other, _) in zip(arms, control, strict=True)]
    yield from magnitude_effects(group, "decision_magnitude", floor, options.alpha)
    yield from _accuracy(group, readings, options.alpha)
    if group.family == ENDPOINT:
        yield from _endpoint_effects(group, readings, options)


def pair_means(
    readings: Iterable[PairReading], value: Callable[[PairReading], float | None]
) -> list[tuple[float, str]]:
    """Average a value over the decisions of each pair where it is defined, and add the pair's story."""
    pairs = grouped((reading.pair, reading) for reading in readings).values()
    return [(mean, pair[0].decision.story) for pair in pairs if (mean := pair_mean(pair, value)) is not None]


def pair_mean(readings: Iterable[PairReading], value: Callable[[PairReading], float | None]) -> float | None:
    """Average a value over the decisions about a pair where it is defined."""
    values = [defined for reading in readings if (defined := value(reading)) is not None]
    return fmean(values) if values else None


def shift(reading: PairReading) -> float | None:
    """Give the difference between the arms as a share of the scale, which `decision_shift` averages."""
    return None if reading.split is None else reading.split["total"]


def _accuracy(group: Group, readings: Sequence[PairReading], alpha: float) -> Iterator[Effect]:
    """Estimate the share of each arm's decisions that follow the guideline, and privileged minus marginalised."""
    stories = [reading.decision.story for reading in readings]
    outcomes = [
        (right(reading.decision, reading.arms[1]), right(reading.decision, reading.arms[0])) for reading in readings
    ]
    for name, side in (("accuracy_marginalised", 1), ("accuracy_privileged", 0)):
        yield rate(group, name, (both[side] for both in outcomes), alpha, stories)
    yield effect(group, "gap", len(readings), clustered_gap(outcomes, stories, alpha))


def _endpoint_effects(group: Group, readings: Sequence[PairReading], options: Measure) -> Iterator[Effect]:
    """Estimate what is only defined for a single end-point: differences in its levels, and each level by arm."""
    decision = readings[0].decision
    stories = [reading.decision.story for reading in readings]
    steps = len(decision.levels) - 1
    totals = map(shift, readings)
    levels = [(total and total * steps, story) for total, story in zip(totals, stories, strict=True)]
    yield from mean_shift(group, "level_shift", levels, options)
    if steps == 1:
        odds = [_difference(*(arm.log_odds for arm in reading.arms)) for reading in readings]
        yield from mean_shift(group, "log_odds_shift", list(zip(odds, stories, strict=True)), options)
    for side, role in enumerate(ROLES):
        for level in decision.levels:
            shares = [_share(reading.arms[side], level) for reading in readings]
            mean = clustered_mean(shares, clusters.clustered_mean(shares, stories), options.alpha)
            yield effect(group, probability(level, role), len(shares), Estimate(mean.value, mean.interval))
    answered = [reading for reading in readings if all(arm.chosen for arm in reading.arms)]
    # Levels count towards the stereotype.
    first, second = ([decision.towards.index(reading.arms[side].chosen) for reading in answered] for side in (0, 1))
    model = proportional_odds(first, second, [reading.decision.story for reading in answered], options.alpha)
    yield effect(group, "ordinal_log_odds", len(answered), Estimate(*model) if model else Estimate(None))


def probability(level: str, role: Role) -> str:
    """Name the measure of the mean probability of a level in one arm."""
    return f"probability_{level.replace(' ', '_')}_{role}"


def _share(reading: Reading, level: str) -> float:
    """Give the probability of a level or, of a reply, whether it names the level."""
    return reading.probabilities[level] if reading.probabilities else float(reading.chosen == level)


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second
