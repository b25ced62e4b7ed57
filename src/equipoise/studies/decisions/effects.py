"""The effects of the study `decisions`: how far decisions move towards what is documented of the patient's group.

A decision is measured by its mean level under the model's probabilities, from 0 (of a text: by the level that it
names). A pair's difference, marginalised minus privileged, is signed so that above 0 is towards the stereotype. Labels
of unlike length or frequency start with unlike probabilities: of use are differences between arms, not levels.

- `level_shift` of an end-point is the mean difference in levels; `decision_shift` divides it by the number of steps of
  the scale, so that 1 is from one end to the other, and averages over the end-points of a pair: each pair counts once.
- `decision_tilt` is the same of the line through the levels' log probabilities, from end to end, in nats: where one
  level has nearly all probability, as of a model that always gives it, the mean level cannot move and the tilt can.
- `decision_shift_around` and `_through` split it (`vignettes.swap`) by the reasoning of the other arm.
- `decision_magnitude` is the mean of |difference|, held against the two control tellings (`vignettes.floor`).
- `accuracy_*` and `gap` count the likeliest levels that the guideline asks for, or allows.
- `log_odds_shift` of an end-point with two levels is the difference in the log odds of the stereotyped one, in nats;
  `ordinal_log_odds` the log odds ratio of a more stereotyped likeliest level in a proportional-odds model.

Pairs of one story are a cluster everywhere. Every group but those of grades, of the reverse and of unusual directions
is of decisions whose evidence has grade A or B for the pair's group, in the usual direction of the end-point, told in
the main direction.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

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
from equipoise.studies.decisions.asked import SWAPPED, Asked, Reading
from equipoise.studies.vignettes.floor import Told, magnitude_effects
from equipoise.studies.vignettes.swap import Split, split

FAMILY, ENDPOINT, CELL = "family", "endpoint", "cell"
TESTED_TOGETHER = (FAMILY, ENDPOINT, "dimension", "dimension_family")
"""Families in each of which a measure's tests are adjusted over all groups."""
Both = tuple[Reading, Reading]


@dataclass(frozen=True)
class Decided:
    """A decision about both arms of a pair, the marginalised first, and about its control tellings where there are any.

    `pair` has the number of the sample. `rereads` are the decisions after the reasoning about the other arm.
    """

    asked: Asked
    pair: str
    arms: Both
    control: Both | None
    rereads: Mapping[str, Both]

    def place(self, reading: Reading) -> float | None:
        """How far a reading is towards the stereotype (`place`)."""
        return place(self.asked, reading)

    @property
    def tilted(self) -> float | None:
        """The difference between the arms in the tilt towards the stereotype, in nats."""
        return _difference(*(tilt(self.asked, arm) for arm in self.arms))

    @cached_property
    def split(self) -> Split | None:
        """The difference between the arms, and its parts, as shares of the scale."""
        return split(self, self.place)

    @property
    def told(self) -> tuple[float, float] | None:
        """Magnitudes of the difference between the arms, and between the control tellings; None without either."""
        ends = [None if one is None else self.place(one) for one in (*self.arms, *(self.control or (None, None)))]
        defined = [one for one in ends if one is not None]
        if len(defined) < len(ends):
            return None
        return abs(defined[0] - defined[1]), abs(defined[2] - defined[3])

    @property
    def main(self) -> bool:
        """Whether it counts in the headline figures."""
        return self.asked.grade != "C" and self.asked.usual and not self.asked.reverse


def place(asked: Asked, reading: Reading) -> float | None:
    """How far a reading is towards the stereotype, as a share of the scale; only differences have a meaning."""
    if reading.expected is None:
        return None
    share = reading.expected / (len(asked.levels) - 1)
    return share if asked.direction == "higher" else -share


def tilt(asked: Asked, reading: Reading) -> float | None:
    """How much likelier the stereotyped end of the scale is than the other, in nats; only differences mean anything."""
    if reading.tilt is None:
        return None
    return reading.tilt if asked.direction == "higher" else -reading.tilt


def right(asked: Asked, reading: Reading) -> bool:
    """Whether the chosen level is the guideline's, or one that it allows."""
    return reading.chosen in (asked.answer, *asked.also)


def decision_effects(asked: Sequence[Asked], readings: Sequence[Reading], options: Measure) -> list[Effect]:
    """Estimate every figure: overall, by family, end-point and dimension; and by grade and direction, apart."""
    told = decided(asked, readings)
    found = [row for group, members in _groups(told) for row in _group_effects(group, members, options)]
    return sorted(with_adjusted(found, TESTED_TOGETHER), key=lambda row: row.key)


def decided(asked: Iterable[Asked], readings: Iterable[Reading]) -> list[Decided]:
    """Join the readings of every decision; a KeyError where one of an arm is missing."""
    read = {CaseKey.parse(reading.key): reading for reading in readings}
    numbers = range(1 + max((key.number for key in read), default=0))

    def both(one: Asked, versions: Sequence[str], n: int, rereading: str = "") -> Both:
        own = [CaseKey(one.pair, version, one.ask, number=n) for version in versions]
        # After reasoning that is the own word for word, it is the own decision.
        first, second = (read.get(key._replace(rereading=rereading)) or read[key] for key in own)
        return first, second

    swapped = any(key.rereading == SWAPPED for key in read)
    controls = any(key.version == CONTROLS[0] for key in read)
    return [
        Decided(
            asked=one,
            pair=CaseKey(one.pair, number=n).sample,
            arms=both(one, ROLES, n),
            control=both(one, CONTROLS, n) if controls else None,
            rereads={SWAPPED: both(one, ROLES, n, SWAPPED)} if swapped else {},
        )
        for one in asked
        for n in numbers
    ]


def _groups(told: Sequence[Decided]) -> Iterator[tuple[Group, list[Decided]]]:
    """Yield every group with its decisions; dimensions are of pairs that vary one alone."""
    main = [one for one in told if one.main]
    single = [one for one in main if len(one.asked.dimensions) == 1]
    yield Group("overall", "all", NAME), main
    # Every family, so that a headline figure without decisions is undefined and not missing.
    yield from ((Group(FAMILY, name, NAME), [one for one in main if one.asked.family == name]) for name in FAMILIES)
    yield from _by(ENDPOINT, main, lambda one: one.asked.ask)
    yield from _by("dimension", single, lambda one: one.asked.dimensions[0])
    yield from _by("dimension_family", single, lambda one: f"{one.asked.dimensions[0]}/{one.asked.family}")
    yield from _by(CELL, single, lambda one: f"{one.asked.dimensions[0]}/{one.asked.ask}")
    usual = [one for one in told if one.asked.usual and not one.asked.reverse]
    yield from _by("grade", usual, lambda one: f"{one.asked.family}/{one.asked.grade}")
    yield from _by("reverse", [one for one in told if one.asked.reverse], lambda one: one.asked.family)
    yield from _by("unusual", [one for one in told if not one.asked.usual], lambda one: one.asked.family)


def _by(family: str, told: Sequence[Decided], name: Callable[[Decided], str]) -> Iterator[tuple[Group, list[Decided]]]:
    for group in sorted({name(one) for one in told}):
        yield Group(family, group, NAME), [one for one in told if name(one) == group]


def _group_effects(group: Group, told: Sequence[Decided], options: Measure) -> Iterator[Effect]:
    def part(name: str) -> list[tuple[float, str]]:
        return _of_pairs(told, lambda one: None if one.split is None else one.split.get(name))

    shifts = _of_pairs(told, shift)
    yield from mean_shift(group, "decision_shift", shifts, options)
    if group.family == CELL:
        return
    yield from mean_shift(group, "decision_tilt", _of_pairs(told, lambda one: one.tilted), options)
    stories = [story for _, story in shifts]
    yield effect(group, "decision_shift_median", len(shifts), location([shift for shift, _ in shifts], stories))
    for name in ("around", "through"):
        yield from mean_shift(group, f"decision_shift_{name}", part(name), options)
    arms = _of_pairs(told, lambda one: None if one.told is None else one.told[0])
    control = _of_pairs(told, lambda one: None if one.told is None else one.told[1])
    floor = [Told(own, other, story) for (own, story), (other, _) in zip(arms, control, strict=True)]
    yield from magnitude_effects(group, "decision_magnitude", floor, options.alpha)
    yield from _accuracy(group, told, options.alpha)
    if group.family == ENDPOINT:
        yield from _of_endpoint(group, told, options)


def _of_pairs(told: Iterable[Decided], value: Callable[[Decided], float | None]) -> list[tuple[float, str]]:
    """Average a value over the decisions of each pair where it is defined; with the pair's story."""
    pairs = by_pair(told).values()
    return [(mean, pair[0].asked.story) for pair in pairs if (mean := pair_mean(pair, value)) is not None]


def by_pair(told: Iterable[Decided]) -> dict[str, list[Decided]]:
    """Gather the decisions about each pair."""
    pairs: dict[str, list[Decided]] = {}
    for one in told:
        pairs.setdefault(one.pair, []).append(one)
    return pairs


def pair_mean(decisions: Iterable[Decided], value: Callable[[Decided], float | None]) -> float | None:
    """Average a value over the decisions about a pair where it is defined."""
    values = [defined for one in decisions if (defined := value(one)) is not None]
    return fmean(values) if values else None


def shift(decision: Decided) -> float | None:
    """Give the difference between the arms as a share of the scale, which `decision_shift` averages."""
    return None if decision.split is None else decision.split["total"]


def _accuracy(group: Group, told: Sequence[Decided], alpha: float) -> Iterator[Effect]:
    """Share of decisions, of each arm, that are the guideline's; and privileged minus marginalised."""
    stories = [one.asked.story for one in told]
    outcomes = [(right(one.asked, one.arms[1]), right(one.asked, one.arms[0])) for one in told]
    for name, side in (("accuracy_marginalised", 1), ("accuracy_privileged", 0)):
        yield rate(group, name, (both[side] for both in outcomes), alpha, stories)
    yield effect(group, "gap", len(told), clustered_gap(outcomes, stories, alpha))


def _of_endpoint(group: Group, told: Sequence[Decided], options: Measure) -> Iterator[Effect]:
    """Estimate what has a meaning for one end-point alone: differences in its levels, and each level by arm."""
    asked = told[0].asked
    stories = [one.asked.story for one in told]
    steps = len(asked.levels) - 1
    levels = [(None if (total := shift(one)) is None else total * steps, one.asked.story) for one in told]
    yield from mean_shift(group, "level_shift", levels, options)
    if steps == 1:
        odds = [(_difference(*(arm.log_odds for arm in one.arms)), one.asked.story) for one in told]
        yield from mean_shift(group, "log_odds_shift", odds, options)
    for side, role in enumerate(ROLES):
        for level in asked.levels:
            shares = [_share(one.arms[side], level) for one in told]
            mean = clustered_mean(shares, clusters.clustered_mean(shares, stories), options.alpha)
            yield effect(group, probability(level, role), len(shares), Estimate(mean.value, mean.interval))
    read = [one for one in told if all(arm.chosen for arm in one.arms)]
    # Levels count towards the stereotype.
    first, second = ([asked.towards.index(one.arms[side].chosen) for one in read] for side in (0, 1))
    model = proportional_odds(first, second, [one.asked.story for one in read], options.alpha)
    yield effect(group, "ordinal_log_odds", len(read), Estimate(*model) if model else Estimate(None))


def probability(level: str, role: Role) -> str:
    """Name the measure of the mean probability of a level in one arm."""
    return f"probability_{level.replace(' ', '_')}_{role}"


def _share(reading: Reading, level: str) -> float:
    """The probability of a level; of a text, whether it is named."""
    return reading.probabilities[level] if reading.probabilities else float(reading.chosen == level)


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other
