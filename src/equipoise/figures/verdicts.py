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

**Of a study that stops early.** It stops when its verdict is in (`pipeline.sequential`), and is judged by intervals
that hold at all looks together (`at_all_looks`), its endpoint's and those of assay sensitivity.

**Of a change.** Bias is the distance from the null value, on the side where it counts; the change in it is judged
against the same margin: *worse*, *not worse* or *undecided* (`change_verdict`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

from equipoise.core.display import number
from equipoise.figures.effects import SKEWED, Effect, Estimate, Group, Nested, effect, rounded
from equipoise.figures.figure import undercoverage
from equipoise.figures.options import Decision, Direction, Endpoint
from equipoise.figures.primary import primary_figure
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, Deciding, StudyResult, Verdict, Word
from equipoise.figures.study import Study
from equipoise.stats.quantities import Interval

ChangeWord = Literal["worse", "not worse", "undecided"]
WORSE: ChangeWord = "worse"
NOT_WORSE: ChangeWord = "not worse"
BLIND = "no measure of assay sensitivity is declared, without which no bias is not shown"


def verdict(study: Study, result: StudyResult, decision: Decision) -> Verdict | None:
    """Give the verdict on the result of a study; None where no endpoint with a margin is declared.

    Raises EquipoiseError for an endpoint that is no figure of the study.
    """
    endpoint = decision.endpoints.get(study.name)
    if endpoint is None or endpoint.margin is None:
        return None
    figure = primary_figure(study, endpoint)
    undefined = effect(Group(figure.family, figure.group, study.name), figure.measure, 0, Estimate(None))
    row, skewed = result.endpoint(figure) or Deciding(undefined, None)
    level = None if result.deciding is None or decision.alpha is None else 1 - decision.alpha
    undecided = Verdict(UNDECIDED, (), figure, row, endpoint, result.looked, level)
    unmet = (*_undefined(row), *preconditions(result, endpoint))
    if unmet or row.ci_low is None or row.ci_high is None or figure.null is None:
        return undecided._replace(because=unmet)
    word = held_against(_from_null(row.ci_low, row.ci_high, figure.null), endpoint.margin, endpoint.direction)
    if word == UNDECIDED:
        return undecided._replace(because=("the interval reaches from within the margin to beyond it",))
    if word == UNBIASED and not endpoint.floors:
        return undecided._replace(because=(BLIND,))
    if skewed is not None and skewed.ci_low is not None and skewed.ci_high is not None:
        corrected = _from_null(skewed.ci_low, skewed.ci_high, figure.null)
        if held_against(corrected, endpoint.margin, endpoint.direction) != word:
            limits = f"{number(skewed.ci_low)} to {number(skewed.ci_high)}"
            return undecided._replace(because=(f"corrected for skewness, the interval reaches the margin ({limits})",))
    return undecided._replace(word=word)


def _from_null(low: float, high: float, null: float) -> Interval:
    return Interval(low - null, high - null)


def at_all_looks(result: StudyResult, endpoint: Endpoint, repeated: Mapping[str, Effect]) -> StudyResult:
    """Give what a verdict reads intervals that hold at all looks together.

    `repeated` are the effects at the level of the last look (`stats.repeated.level`), by key. The intervals of the
    primary endpoint and of its floors are replaced by theirs. A test of the endpoint, of a fixed sample, has no meaning
    and is left out.
    """
    read = {f"{result.study}/{place}" for place in endpoint.floors}
    read |= {f"{row.key}{suffix}" for row in result.effects if row.primary for suffix in ("", SKEWED)}
    untested = dict.fromkeys(("neg_log10_p", "neg_log10_p_holm", "neg_log10_p_bonferroni", "neg_log10_p_bh"))
    effects = []
    for row in result.effects:
        changed: dict[str, float | None] = dict(untested) if row.primary else {}
        if row.key in read:
            changed |= {"ci_low": repeated[row.key].ci_low, "ci_high": repeated[row.key].ci_high}
        effects.append(row.model_copy(update=changed))
    return replace(result, effects=effects)


def held_against(interval: Interval, margin: float, direction: Direction) -> Word:
    """Hold the interval of a difference from the null value against the margin."""
    above = interval.low > margin and direction != "below"
    below = interval.high < -margin and direction != "above"
    if above or below:
        return BIASED
    within = (interval.high < margin or direction == "below") and (interval.low > -margin or direction == "above")
    return UNBIASED if within else UNDECIDED


def preconditions(result: StudyResult, endpoint: Endpoint) -> Iterator[str]:
    """Name, in words, each precondition of a verdict that a run does not meet."""
    for guard in result.warnings:
        yield f"the guard on {_words(guard.name)} warns ({guard.wrong} of {guard.n})"
    for place, floor in endpoint.floors.items():
        row, name = result.effect(place), _words(place.rpartition("/")[2])
        if row is None or row.ci_low is None:
            yield f"the assay's sensitivity was not measured ({name})"
        elif not row.ci_low > floor:
            low = _two(row.ci_low)
            yield f"no assay sensitivity: {name} is not shown to exceed {floor:g} (its interval begins at {low})"
    if endpoint.noise is not None and endpoint.margin is not None:
        noise = result.effect(endpoint.noise)
        if noise is None or noise.estimate is None:
            yield "the noise floor was not measured"
        elif noise.estimate > endpoint.margin:
            yield f"the noise floor, {_two(noise.estimate)}, exceeds the margin"


def verdict_metrics(verdict: Verdict | None) -> Nested:
    """Lay a verdict out for the metrics file: its words, why it is undecided, the margin, and how far was asked."""
    if verdict is None or verdict.endpoint.margin is None:
        return {}
    because: Nested = {"because": "; ".join(verdict.because)} if verdict.because else {}
    looked: Nested = {} if verdict.looked is None else {"asked": verdict.looked.asked, "of": verdict.looked.planned}
    return {"verdict": {"is": verdict.word, **because, "margin": rounded(verdict.endpoint.margin), **looked}}


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
    if direction == "below":
        change, other = _mirrored(change), _mirrored(other)
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
