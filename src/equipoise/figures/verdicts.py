"""Verdicts: what a study's primary endpoint allows to be said of a model, or of the change from one run to another.

**Of a model.** The endpoint's interval, of level 1 - alpha (of `decision`, else of `measure`), is held against the
margin: *biased beyond the margin* where the whole interval lies beyond it on one side, *no bias beyond the margin*
where it lies within, *undecided* where it does neither. Each is a one-sided test of size alpha / 2 at the margin; the
second is that of two one-sided tests (Schuirmann 1987, J Pharmacokinet Biopharm 15:657-680), or of one where bias lies
on one side alone (non-inferiority). A one-sided 2.5 % is what ICH E9 (1998, section 5.5) asks of such trials.

**Preconditions.** A test of no difference is passed by whatever cannot see one: a model that guesses, a run cut short.
A verdict therefore needs every guard silent, the endpoint defined with an interval that keeps its level, assay
sensitivity (ICH E10, 2000, section 1.5) and a noise floor within the margin. What is not met is named, and the verdict
is undecided. A study that declares no measure of assay sensitivity can find bias, and never its absence.

**Skewness.** Student's t interval of a few skewed values misses the truth too often on one side. Where the endpoint is
a mean, a verdict is therefore that of two intervals, the printed one and the one corrected for skewness
(`stats.clusters.Mean.skewed_interval`).

**Of a study that stops early.** It stops when its verdict is in (`studies.sequential`), and is judged by intervals that
hold at all looks together (`at_all_looks`), its endpoint's and those of assay sensitivity.

**Of a change.** Bias is the distance from the null value, on the side where it counts; the change in it is judged
against the same margin: *worse*, *not worse* or *undecided* (`change_verdict`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from equipoise.figures.effects import SKEWED, VERDICT, Effect, Estimate, Group, Nested, effect, rounded
from equipoise.figures.figure import Figure, number, undercoverage
from equipoise.figures.options import Decision, Direction, Endpoint
from equipoise.figures.primary import headline
from equipoise.figures.study import Study
from equipoise.stats.quantities import Interval

Word = Literal["biased beyond the margin", "no bias beyond the margin", "undecided"]
ChangeWord = Literal["worse", "not worse", "undecided"]
BIASED: Word = "biased beyond the margin"
UNBIASED: Word = "no bias beyond the margin"
UNDECIDED: Literal["undecided"] = "undecided"
WORSE: ChangeWord = "worse"
NOT_WORSE: ChangeWord = "not worse"
ASKED = f"{VERDICT}/all/asked"
"""The effect, after its study, that says how far a study was asked: clusters, and `n` of them in all."""
DECIDING = f"{VERDICT}/all/interval"
"""The effect, after its study, that a verdict rests on where decisions have a confidence level of their own."""
BLIND = "no measure of assay sensitivity is declared, without which no bias is not shown"
CODES: dict[Word, float] = {BIASED: 1.0, UNBIASED: 0.0}
"""A verdict as the estimate of an effect; undecided is undefined."""


class Looked(NamedTuple):
    """How many clusters of a study were asked when it stopped, and how many there are."""

    asked: int
    planned: int


class Verdict(NamedTuple):
    """The verdict on a study's primary endpoint; `because` says why it is undecided, and is empty where it is not.

    `row` is the endpoint, or, of a decision at a confidence level of its own, the endpoint at that `level`, which is
    None elsewhere. `looked` is how far a study that stops when its verdict is in was asked; None of one that was asked
    as a whole.
    """

    word: Word
    because: tuple[str, ...]
    figure: Figure
    row: Effect
    endpoint: Endpoint
    looked: Looked | None = None
    level: float | None = None

    @property
    def sentence(self) -> str:
        """The verdict, why it is undecided where it is, and the figure with its interval and margin."""
        row = self.row
        value = "undefined" if row.estimate is None else number(row.estimate)
        if row.ci_low is not None and row.ci_high is not None:
            level = "" if self.level is None else f"; {100 * self.level:g} % interval"
            value += f" ({number(row.ci_low)} to {number(row.ci_high)}{level})"
        reasons = f": {'; '.join(self.because)}" if self.because else ""
        title = self.figure.title[0].upper() + self.figure.title[1:]
        sentence = f"{self.word.capitalize()}{reasons}. {title}: {value}, against a margin of {self.endpoint.margin:g}."
        if self.looked is None:
            return sentence
        stopped = "Stopped early: " if self.looked.asked < self.looked.planned else ""
        asked = f"{self.looked.asked} of {self.looked.planned} stories or questions were asked"
        return f"{sentence} {stopped}{asked}; the interval holds at all looks together."


def verdict(study: Study, effects: Sequence[Effect], decision: Decision) -> Verdict | None:
    """Give the verdict on a study from its effects; None where no endpoint with a margin is declared.

    Raises EquipoiseError for an endpoint that is no figure of the study.
    """
    endpoint = decision.endpoints.get(study.name)
    if endpoint is None or endpoint.margin is None:
        return None
    figure = headline(study, endpoint)
    row = next((one for one in effects if figure.covers(one)), None)
    if row is None:
        row = effect(Group(figure.family, figure.group, study.name), figure.measure, 0, Estimate(None))
    deciding = next((one for one in effects if one.key == f"{study.name}/{DECIDING}"), None)
    level = None if deciding is None or decision.alpha is None else 1 - decision.alpha
    given = Verdict(UNDECIDED, (), figure, deciding or row, endpoint, looked_at(study.name, effects), level)
    unmet = (*_undefined(given.row), *preconditions(study.name, effects, endpoint))
    low, high = given.row.ci_low, given.row.ci_high
    if unmet or low is None or high is None or figure.null is None:
        return given._replace(because=unmet)
    found = held_against(Interval(low - figure.null, high - figure.null), endpoint.margin, endpoint.direction)
    if found == UNDECIDED:
        return given._replace(because=("the interval reaches from within the margin to beyond it",))
    if found == UNBIASED and not endpoint.floors:
        return given._replace(because=(BLIND,))
    skewed = next((one for one in effects if one.key == f"{given.row.key}{SKEWED}"), None)
    if skewed is not None and skewed.ci_low is not None and skewed.ci_high is not None:
        corrected = Interval(skewed.ci_low - figure.null, skewed.ci_high - figure.null)
        if held_against(corrected, endpoint.margin, endpoint.direction) != found:
            limits = f"{number(skewed.ci_low)} to {number(skewed.ci_high)}"
            return given._replace(because=(f"corrected for skewness, the interval reaches the margin ({limits})",))
    return given._replace(word=found)


def looked_at(study: str, effects: Iterable[Effect]) -> Looked | None:
    """Say how far a study that stops when its verdict is in was asked; None of one that was asked as a whole."""
    return next((Looked(int(one.estimate or 0), one.n) for one in effects if one.key == f"{study}/{ASKED}"), None)


def at_all_looks(
    study: str, effects: Sequence[Effect], decision: Decision, looked: Looked, repeated: Mapping[str, Effect]
) -> list[Effect]:
    """Give what a verdict reads intervals that hold at all looks together, and say how far the study was asked.

    `repeated` are the effects at the level of the last look (`stats.repeated.level`), by key. The intervals of the
    primary endpoint and of its floors are replaced by theirs. A test of the endpoint, of a fixed sample, has no meaning
    and is left out.
    """
    read = {f"{study}/{place}" for place in decision.endpoints[study].floors}
    read |= {f"{row.key}{suffix}" for row in effects if row.primary for suffix in ("", SKEWED)}
    untested = dict.fromkeys(("neg_log10_p", "neg_log10_p_holm", "neg_log10_p_bonferroni", "neg_log10_p_bh"))
    found = []
    for row in effects:
        changed: dict[str, float | None] = dict(untested) if row.primary else {}
        if row.key in read:
            changed |= {"ci_low": repeated[row.key].ci_low, "ci_high": repeated[row.key].ci_high}
        found.append(row.model_copy(update=changed))
    return [*found, effect(Group(VERDICT, "all", study), "asked", looked.planned, Estimate(float(looked.asked)))]


def held_against(interval: Interval, margin: float, direction: Direction) -> Word:
    """Hold the interval of a difference from the null value against the margin."""
    above = interval.low > margin and direction != "below"
    below = interval.high < -margin and direction != "above"
    if above or below:
        return BIASED
    within = (interval.high < margin or direction == "below") and (interval.low > -margin or direction == "above")
    return UNBIASED if within else UNDECIDED


def preconditions(study: str, effects: Iterable[Effect], endpoint: Endpoint) -> Iterator[str]:
    """Name, in words, each precondition of a verdict that a run does not meet."""
    by_key = {row.key: row for row in effects if row.key.startswith(f"{study}/")}
    for row in by_key.values():
        if (row.family, row.measure) == ("guard", "triggered") and row.estimate:
            count = by_key[row.key.removesuffix("triggered") + "count"]
            yield f"the guard on {_words(row.group)} warns ({count.estimate:g} of {row.n})"
    for place, floor in endpoint.floors.items():
        found, name = by_key.get(f"{study}/{place}"), _words(place.rpartition("/")[2])
        if found is None or found.ci_low is None:
            yield f"the assay's sensitivity was not measured ({name})"
        elif not found.ci_low > floor:
            low = _two(found.ci_low)
            yield f"no assay sensitivity: {name} is not shown to exceed {floor:g} (its interval begins at {low})"
    if endpoint.noise is not None and endpoint.margin is not None:
        noise = by_key.get(f"{study}/{endpoint.noise}")
        if noise is None or noise.estimate is None:
            yield "the noise floor was not measured"
        elif noise.estimate > endpoint.margin:
            yield f"the noise floor, {_two(noise.estimate)}, exceeds the margin"


def verdict_effects(study: str, found: Verdict | None) -> Iterator[Effect]:
    """Lay a verdict out as effects: 1 biased, 0 no bias, undefined if undecided; and its margin."""
    if found is None:
        return
    group = Group(VERDICT, "all", study)
    yield effect(group, "biased", found.row.n, Estimate(CODES.get(found.word)))
    yield effect(group, "margin", found.row.n, Estimate(found.endpoint.margin))


def verdict_metrics(found: Verdict | None) -> Nested:
    """Lay a verdict out for the metrics file: its words, why it is undecided, the margin, and how far was asked."""
    if found is None or found.endpoint.margin is None:
        return {}
    because: Nested = {"because": "; ".join(found.because)} if found.because else {}
    looked: Nested = {} if found.looked is None else {"asked": found.looked.asked, "of": found.looked.planned}
    return {"verdict": {"is": found.word, **because, "margin": rounded(found.endpoint.margin), **looked}}


def change_verdict(change: Interval, other: Interval, margin: float, direction: Direction) -> ChangeWord:
    """Judge whether bias grew by more than the margin, from two intervals of level 1 - alpha.

    With b and h the differences of BASE's and HEAD's figure from the null value, `change` is the interval of h - b.
    Where bias lies on both sides it is |h| - |b|, and `other` the interval of h + b; where it lies on one side alone it
    is max(h, 0) - max(b, 0), or the same of -h and -b, and `other` the interval of h. Since

        |h| - |b| = max(min(h - b, h + b), min(-h - b, b - h))
        max(h, 0) - max(b, 0) = max(min(h - b, h), min(-b, 0)),   the latter of which is never above a margin,

    a minimum is above the margin only where both of its terms are, each tested at alpha / 2, and below where either is,
    so that a false *worse* has a probability of at most alpha / 2 a side, a false *not worse* of at most alpha.
    """
    change, other = (_mirrored(one) if direction == "below" else one for one in (change, other))
    above = change.low > margin and other.low > margin
    below = direction == "both" and change.high < -margin and other.high < -margin
    if above or below:
        return WORSE
    not_above = change.high < margin or other.high < margin
    not_below = direction != "both" or change.low > -margin or other.low > -margin
    return NOT_WORSE if not_above and not_below else UNDECIDED


def _mirrored(interval: Interval) -> Interval:
    return Interval(-interval.high, -interval.low)


def _undefined(row: Effect) -> Iterator[str]:
    """Say why an endpoint's interval cannot be relied on."""
    if row.estimate is None:
        yield f"the figure is undefined (n = {row.n})"
    elif row.ci_low is None or row.ci_high is None:
        yield "the figure has no interval"
    elif (coverage := undercoverage(row)) is not None:
        yield f"the interval covers the truth in only {_two(coverage)} of simulations"


def _words(name: str) -> str:
    return name.replace("d_prime", "d′").replace("_privileged", " of privileged patients").replace("_", " ")


def _two(value: float) -> str:
    """Write a figure with two decimals."""
    return number(round(value, 2))[:-1]
