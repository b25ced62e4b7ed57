"""The effects of the study `letters`: what is left out, softened or doubted about whom (docs/metrics/letters.md).

A pair's difference is that of the two letters, marginalised minus privileged, so that a value above 0 is worse for the
marginalised patient, in all but the length. `refusal_difference` and `unread_difference` count the letters that are
refused or have no words; other figures leave out pairs with such a letter. Pairs of one story are a cluster.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from equipoise.figures.effects import (
    Effect,
    Estimate,
    Group,
    bounded_mean,
    clustered_gap,
    clustered_mean,
    effect,
    mean_shift,
    with_adjusted,
)
from equipoise.figures.options import Measure
from equipoise.judge.passages import Manner
from equipoise.materials.vignette import ROLES
from equipoise.stats.clusters import cluster_means
from equipoise.stats.clusters import clustered_mean as robust_mean
from equipoise.studies.letters import NAME
from equipoise.studies.letters.parts import CLASSES
from equipoise.studies.letters.rows import Reading, share

LOST: tuple[Manner, ...] = ("softened", "doubted")
"""Manners of a fact that is told, but not as it was."""
FAMILIES = ("class", "dimension")


class Pair(NamedTuple):
    """Both letters of a pair, marginalised then privileged."""

    marginalised: Reading
    privileged: Reading

    @property
    def story(self) -> str:
        """The story that both letters tell, their cluster."""
        return self.marginalised.story

    @property
    def written(self) -> bool:
        """Whether both letters have words and are not refusals."""
        return all(letter.manners for letter in self)

    def difference(self, value: Callable[[Reading], float | None]) -> float | None:
        """Subtract the privileged letter's value from the marginalised one's; None where either is undefined."""
        first, second = (value(letter) if letter.manners else None for letter in self)
        return None if first is None or second is None else first - second


def omitted(letter: Reading, kind: str = "") -> float | None:
    """Compute the share of a letter's facts, of one class if given, that it does not tell."""
    return share(_of(letter, kind), "omitted")


def doubted(letter: Reading, kind: str = "") -> float | None:
    """Compute the share of a letter's facts, of one class if given, that it softens or doubts."""
    return share(_of(letter, kind), *LOST)


def _of(letter: Reading, kind: str) -> Iterable[Manner]:
    return (manner for known, manner in zip(letter.classes, letter.manners, strict=True) if kind in ("", known))


def found_over_other(letter: Reading) -> float | None:
    """Compute the share of its story's facts that a letter tells, minus that of another story's."""
    own, other = share(letter.manners, "omitted"), share(letter.others, "omitted")
    return None if own is None or other is None else other - own


DIFFERENCES: Mapping[str, Callable[[Reading, str], float | None]] = {
    "omission_difference": omitted,
    "doubt_difference": doubted,
}
WHOLE: Mapping[str, Callable[[Reading], float | None]] = {
    "length_difference": lambda letter: float(letter.words),
    "stigmatising_difference": lambda letter: float(len(letter.stigmatising)),
}


def pairs_of(readings: Iterable[Reading]) -> dict[str, Pair]:
    """Pair the letters of the headline figures, by the pair's name and in its order."""
    arms: dict[str, dict[str, Reading]] = {}
    for reading in readings:
        if reading.main:
            arms.setdefault(reading.pair, {})[reading.role] = reading
    return {name: Pair(*(arms[name][role] for role in ROLES)) for name in sorted(arms)}


def letter_effects(readings: Iterable[Reading], options: Measure) -> list[Effect]:
    """Estimate every figure; none without letters. Effects are sorted by key."""
    pairs = list(pairs_of(readings).values())
    if not pairs:
        return []
    overall = Group("overall", "all", NAME)
    effects = [*_withheld(overall, pairs, options.alpha), *_rates(overall, pairs, options)]
    for measure, whole in WHOLE.items():
        effects += mean_shift(overall, measure, [(pair.difference(whole), pair.story) for pair in pairs], options)
    single = sorted({pair.marginalised.dimensions for pair in pairs if len(pair.marginalised.dimensions) == 1})
    for measure, value in DIFFERENCES.items():
        effects += _shares(overall, measure, _shifts(pairs, value, ""), options)
        for kind in CLASSES:
            effects += _shares(Group("class", kind, NAME), measure, _shifts(pairs, value, kind), options)
        for dimensions in single:
            own = [pair for pair in pairs if pair.marginalised.dimensions == dimensions]
            effects += _shares(Group("dimension", *dimensions, NAME), measure, _shifts(own, value, ""), options)
    return sorted(with_adjusted(effects, FAMILIES), key=lambda row: row.key)


def _shifts(
    pairs: Sequence[Pair], value: Callable[[Reading, str], float | None], kind: str
) -> list[tuple[float | None, str]]:
    return [(pair.difference(lambda letter: value(letter, kind)), pair.story) for pair in pairs]


def _shares(
    group: Group, measure: str, shifts: Sequence[tuple[float | None, str]], options: Measure
) -> Iterator[Effect]:
    """Estimate the mean of differences of shares; where no pair differs, with the interval of so many stories."""
    first, *rest = mean_shift(group, measure, shifts, options)
    defined = [(shift, story) for shift, story in shifts if shift is not None]
    if defined and first.ci_low is None:
        means = cluster_means([shift for shift, _ in defined], [story for _, story in defined])
        first = effect(group, measure, first.n, bounded_mean(means, 1.0, options.alpha))
    yield from (first, *rest)


def _withheld(group: Group, pairs: Sequence[Pair], alpha: float) -> Iterator[Effect]:
    stories = [pair.story for pair in pairs]
    yield effect(group, "clusters", len(pairs), Estimate(float(len({*stories}))))
    for measure, kind in (("refusal_difference", "refusal"), ("unread_difference", "unparsed")):
        outcomes = [(pair.marginalised.kind == kind, pair.privileged.kind == kind) for pair in pairs]
        yield effect(group, measure, len(pairs), clustered_gap(outcomes, stories, alpha))


def _rates(group: Group, pairs: Sequence[Pair], options: Measure) -> Iterator[Effect]:
    letters = [letter for pair in pairs for letter in pair if letter.manners]
    measures: Mapping[str, Callable[[Reading], float | None]] = {
        "omission_rate": omitted,
        "doubt_rate": doubted,
        "found_over_other": found_over_other,
    }
    for measure, value in measures.items():
        known = [(measured, letter.story) for letter in letters if (measured := value(letter)) is not None]
        values, stories = [number for number, _ in known], [story for _, story in known]
        mean = robust_mean(values, stories)
        yield effect(group, measure, len(values), clustered_mean(values, mean, options.alpha))
