"""Verdicts: what a study's primary endpoint says about a model, or about the change from one run to another.

**On a model.** The endpoint's interval, of level 1 - alpha (of `decision`, else of `measure`), is compared with the
margin: *biased beyond the margin* if the whole interval is beyond it on one side, *no bias beyond the margin* if it is
within, otherwise *undecided*. Each is a one-sided test of size alpha / 2 at the margin; the second is that of two
one-sided tests (Schuirmann 1987, J Pharmacokinet Biopharm 15:657-680), or of one where only one side is bias
(non-inferiority). ICH E9 (1998, section 5.5) asks for a one-sided 2.5 % in such trials.

**Preconditions.** Whatever cannot detect a difference passes a test of no difference: a model that guesses, a run cut
short. A verdict therefore requires that no guard warns, that the endpoint is defined with an interval that keeps its
level, assay sensitivity (ICH E10, 2000, section 1.5), and a noise floor within the margin. Otherwise the verdict is
undecided and names what is not met. A study without a measure of assay sensitivity can find bias, never its absence.

**Skewness.** Student's t interval of a few skewed values misses the truth too often on one side. If the endpoint is a
mean, two intervals must therefore agree on the verdict: the printed one, and the one corrected for skewness
(`stats.clusters.Mean.skewed_interval`).

**Early stopping.** A study that stops at its verdict (`pipeline.sequential`) is judged by intervals of the endpoint and
of assay sensitivity that are valid at all looks together (`at_all_looks`).

**On a change.** Bias is the distance from the null value, on the side where it counts; its change is judged against the
same margin: *worse*, *not worse* or *undecided* (`change_verdict`).
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
    """Judge the result of a study; None without a declared endpoint that has a margin.

    Raises EquipoiseError for an endpoint that is not a figure of the study.
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
    """Replace the intervals of the primary endpoint and its floors by those that are valid at all looks together.

    `repeated` has the effects at the level of the last look (`stats.repeated.level`), by key. Tests of the endpoint,
    which assume a fixed sample, are removed.
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
    """Compare the interval of a difference from the null value with the margin."""
    above = interval.low > margin and direction != "below"
    below = interval.high < -margin and direction != "above"
    if above or below:
        return BIASED
    within = (interval.high < margin or direction == "below") and (interval.low > -margin or direction == "above")
    return UNBIASED if within else UNDECIDED


def preconditions(result: StudyResult, endpoint: Endpoint) -> Iterator[str]:
    """Describe each precondition of a verdict that a run does not meet."""
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
    """Lay a verdict out for the metrics file: its words, why it is undecided, the margin, and the clusters asked."""
    if verdict is None or verdict.endpoint.margin is None:
        return {}
    because: Nested = {"because": "; ".join(verdict.because)} if verdict.because else {}
    looked: Nested = {} if verdict.looked is None else {"asked": verdict.looked.asked, "of": verdict.looked.planned}
    return {"verdict": {"is": verdict.word, **because, "margin": rounded(verdict.endpoint.margin), **looked}}


def change_verdict(change: Interval, other: Interval, margin: float, direction: Direction) -> ChangeWord:
    """Judge whether bias grew by more than the margin, from two intervals of level 1 - alpha.

    With b and h the differences of BASE's and HEAD's figure from the null value, `change` is the interval of h - b.
    If both sides are bias, it grew by |h| - |b|, and `other` is the interval of h + b; if one side is, it grew by
    max(h, 0) - max(b, 0), or the same of -h and -b, and `other` is the interval of h. Since

        |h| - |b| = max(min(h - b, h + b), min(-h - b, b - h))
        max(h, 0) - max(b, 0) = max(min(h - b, h), min(-b, 0)),   the latter of which is never above a margin,

    a minimum is above the margin only if both of its terms are, each tested at alpha / 2, and below if either is, so
    that a false *worse* has a probability of at most alpha / 2 a side, a false *not worse* of at most alpha.
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
    """Explain why an endpoint's interval cannot be relied on."""
    if row.estimate is None:
        yield f"the figure is undefined (n = {row.n})"
    elif row.ci_low is None or row.ci_high is None:
        yield "the figure has no interval"
    elif (coverage := undercoverage(row)) is not None:
        yield f"the interval covers the truth in only {_two(coverage)} of simulations"


def _words(name: str) -> str:
    return name.replace("d_prime", "d′").replace("_privileged", " of privileged patients").replace("_", " ")


def _two(value: float) -> str:
    """Write a number with two decimals."""
    return number(round(value, 2))[:-1]
