"""The headline figures as cards: the value, its interval, and one sentence on what it means."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from equipoise.core.display import number
from equipoise.figures import reading
from equipoise.figures.effects import Effect, count_adjusted, count_stories
from equipoise.figures.figure import NOTE_EXTREMES, Figure, endpoint_kind, undefined, undercoverage
from equipoise.figures.needed import margin_words
from equipoise.figures.result import StudyResult
from equipoise.figures.silence import interpretation
from equipoise.figures.study import value_of
from equipoise.report.docs import anchor
from equipoise.report.guards import warnings
from equipoise.studies.registry import BOARD, TITLES


class Card(NamedTuple):
    """A headline figure as the page shows it; `interval`, `where` and `detectable` may be empty.

    `warnings` are the guards that warn about its rows, `page` is its page of the documentation.
    """

    name: str
    study: str
    endpoint: str
    title: str
    value: str
    interval: str
    n: str
    where: str
    detectable: str
    sentence: str
    warnings: list[str]
    page: str


def cards(results: Mapping[str, StudyResult], alpha: float) -> list[Card]:
    """Make a card of every headline figure of the run; `results` are by study, `alpha` is 1 − the level.

    The card of an undefined figure says so; a figure of a study that did not run has no card (`absent`).
    """
    measured = [(figure, results[figure.study]) for figure in BOARD if figure.study in results]
    rows = ((figure, effect_of(figure, result.effects), result) for figure, result in measured)
    return [_card(figure, row, result, alpha) for figure, row, result in rows if row is not None]


def absent(results: Mapping[str, StudyResult]) -> list[str]:
    """Name the headline figures whose study has no figures in this run."""
    return [
        f"{TITLES[figure.study]}: {figure.title}"
        for figure in BOARD
        if figure.study not in results or effect_of(figure, results[figure.study].effects) is None
    ]


def effect_of(figure: Figure, effects: Sequence[Effect]) -> Effect | None:
    """Find or pick a headline figure among a run's effects; None if the study has no such figure."""
    rows = [row for row in effects if figure.covers(row)]
    defined = [row for row in rows if row.estimate is not None]
    if figure.pick is None or not defined:
        return next(iter(rows), None)
    choose = min if figure.pick == "lowest" else max
    # Ties go to the first by name.
    return choose(sorted(defined, key=lambda row: row.group), key=lambda row: row.estimate or 0.0)


def interval(row: Effect, alpha: float) -> str:
    """Write the interval with its level."""
    return f"{100 * (1 - alpha):g} % interval {row.interval}" if row.interval else ""


def side_of_null(figure: Figure, row: Effect, without: str = "", within: str = "") -> str:
    """Say on which side of the null value the interval is; for an extreme, that its interval is too narrow.

    An undefined figure says why; `without` says why the run has no likelihoods, if it has none. `within` is the margin
    that the verdict finds the figure to lie in, if it does.
    """
    if row.estimate is None:
        return f"Undefined: {undefined(figure, row, without)} (n = {row.n})."
    if figure.pick:
        return NOTE_EXTREMES.partition("; ")[2].capitalize()
    if figure.null is None or row.interval is None:
        return ""
    inside = f"The interval lies within the margin of {within}." if within else ""
    if row.interval.low > figure.null:
        return f"The interval lies above {figure.null:g}: {figure.above}. {inside}".strip()
    if row.interval.high < figure.null:
        return f"The interval lies below {figure.null:g}: {figure.below}. {inside}".strip()
    return inside or f"The interval contains {figure.null:g}: these cases show neither a difference nor its absence."


def _within(figure: Figure, result: StudyResult) -> str:
    """Write the margin of a figure that the verdict finds within it; empty for any other figure."""
    parts = () if result.verdict is None else result.verdict.parts
    components = (part.component for part in parts if part.figure.name == figure.name and part.state == "within")
    return next((margin_words(None, component) for component in components), "")


def _card(figure: Figure, row: Effect, result: StudyResult, alpha: float) -> Card:
    by_key = {effect.key: effect for effect in result.effects}
    sentences = (
        figure.sentence,
        side_of_null(figure, row, result.why_without, _within(figure, result)),
        _beside(figure, row, by_key),
        _covered(row),
        _silence(figure, row, result),
        _labelled(row, by_key),
        _tested(figure, row, result, alpha),
        "" if figure.in_nats else reading.sentence(result.effects),
    )
    return Card(
        name=figure.name,
        study=TITLES[figure.study],
        endpoint=f"{endpoint_kind(row)} endpoint",
        title=figure.title,
        value="undefined" if row.estimate is None else number(row.estimate),
        interval=interval(row, alpha),
        n=f"n\u00a0=\u00a0{row.n}",
        where=figure.where(row.group) if figure.pick and row.estimate is not None else "",
        detectable=_detectable(row, by_key),
        sentence=" ".join(filter(None, sentences)),
        warnings=warnings(figure, row, result),
        page=anchor(figure.page),
    )


def _beside(figure: Figure, row: Effect, by_key: Mapping[str, Effect]) -> str:
    """Write the figures needed to interpret a difference, if they are defined.

    A model that always gives the documented error, or never, has no difference of criteria, and a d' of 0.
    """
    group = row.key.removesuffix(row.measure)
    estimates = ((value_of(by_key, f"{group}{measure}"), words) for measure, words in figure.beside.items())
    parts = [f"{number(value)} {words}" for value, words in estimates if value is not None]
    return f"For comparison: {', '.join(parts)}." if parts else ""


def _silence(figure: Figure, row: Effect, result: StudyResult) -> str:
    """Interpret the silent bias rate, which needs an influence to be silent about."""
    if not figure.verdict:
        return ""
    influence = result.influence_found is not False
    stories = count_stories(row, result.effects)
    undue = result.has_undue_admissions
    return f"Interpretation: {interpretation(stories, row.ci_low, row.ci_high, influence=influence, undue=undue)}."


def _labelled(row: Effect, by_key: Mapping[str, Effect]) -> str:
    """Write the figure corrected for the judge's error, and the number of labels, if the run has any."""
    corrected, labels = (by_key.get(f"{row.key}_{end}") for end in ("labelled", "labels"))
    if labels is None or corrected is None or corrected.estimate is None or corrected.interval is None:
        return ""
    return (
        f"Corrected for the judge's error with {labels.estimate:g} labels of these answers: "
        f"{number(corrected.estimate)} ({corrected.interval})."
    )


def _detectable(row: Effect, by_key: Mapping[str, Effect]) -> str:
    """Write the smallest effect that the cases could have shown, if the study estimates it."""
    smallest = value_of(by_key, f"{row.key}_minimum_detectable_effect")
    return "" if smallest is None else f"smallest effect that could be found {number(smallest)}"


def _covered(row: Effect) -> str:
    """Warn about an interval that is too narrow in simulations at the figure's own values."""
    coverage = undercoverage(row)
    if coverage is None:
        return ""
    return f"In simulations with these cases' own values, such an interval covers the truth in only {coverage:.0%}."


def _tested(figure: Figure, row: Effect, result: StudyResult, alpha: float) -> str:
    """Write the p-value, after Holm's correction if made, since the interval is not corrected for multiple tests.

    The correction is over the groups of the figure's family, not over the figures.

    If the two disagree on the null value, the sentence says that the interval is followed.
    """
    holm = f"after Holm's correction over the {count_adjusted(row, result.effects)} groups of this figure"
    for p, which in ((row.neg_log10_p_holm, holm), (row.neg_log10_p, "one test, uncorrected")):
        if p is not None:
            value = f"p is {10**-p:.2g} ({which})"
            excluded = _excluded(figure, row)
            if excluded is None or excluded == (10**-p <= alpha):
                return f"The test's {value}."
            return f"The test does not agree, its {value}: the interval is followed."
    return ""


def _excluded(figure: Figure, row: Effect) -> bool | None:
    """Whether the interval excludes the null value; None where either is missing."""
    if figure.null is None or row.interval is None:
        return None
    return not row.interval.low <= figure.null <= row.interval.high
