"""The headline figures as cards: the value, its interval, and one sentence on what it means."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect
from equipoise.figures.figure import NOTE_EXTREMES, Figure, endpoint, number, undercoverage
from equipoise.figures.silence import interpretation
from equipoise.report.docs import anchor
from equipoise.report.guards import warnings
from equipoise.studies.registry import BOARD, TITLES

ATTRIBUTES = {"race": "ethnicity", "ses": "income"}
"""Readers' words for an attribute where they are not its name."""

BESIDE = {
    "stereotype_shift_net": {"stereotype_shift": "with the findings", "stereotype_shift_stub": "without them"},
    "criterion_difference": {
        "d_prime_marginalised": "d\N{PRIME} in marginalised patients",
        "d_prime_privileged": "in privileged ones (0: cases and mirrors are not told apart)",
    },
    "silent_influence_rate": {
        "influence_rate": "of the pairs that were tested are moved",
        "overclaimed_rate": "of those whose reasoning weighs the features are not",
    },
    "shift_around": {
        "shift_around_net": "beyond the model's base rates, the same difference without findings",
        "shift_through": "through the reasoning",
        "shift_through_blinded": "through it with the demographics taken out of both reasonings",
        "share_mediated": "the share of the whole that goes through it",
    },
}
"""Measures of the same group that are written with a figure, in words that follow the number."""


def read_effects(data: Path, study: str) -> list[Effect]:
    """Read the figures of a study's last run; a file that is missing, or has none of them, is an EquipoiseError."""
    path = data / study / "effects.jsonl"
    if not path.is_file():
        raise EquipoiseError(f"{path}: the study has not been run: run `dvc repro measure@{study}`")
    rows = jsonl.read(path, Effect)
    if not any(row.study == study for row in rows):
        raise EquipoiseError(f"{path}: no figure of the study: run `dvc repro --force measure@{study}`")
    return rows


class Card(NamedTuple):
    """A headline figure as the page shows it; `interval`, `where` and `detectable` are empty where there is none.

    `warnings` are the guards that warn of what it is computed from, `page` is that of the documentation.
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


def cards(effects: Sequence[Effect], alpha: float) -> list[Card]:
    """Make a card of every headline figure that the run has; `alpha` is 1 − the level of the intervals.

    A figure that is undefined has a card that says so; one of a study that did not run has none (`absent`).
    """
    found = ((headline, figure(headline, effects)) for headline in BOARD)
    return [_card(headline, row, effects, alpha) for headline, row in found if row is not None]


def absent(effects: Sequence[Effect]) -> list[str]:
    """Name the headline figures whose study has no figures in this run."""
    return [f"{TITLES[one.study]}: {one.title}" for one in BOARD if figure(one, effects) is None]


def figure(headline: Figure, effects: Sequence[Effect]) -> Effect | None:
    """Find a headline figure among a run's effects, or pick it; None where the study has no such figure."""
    rows = [row for row in effects if headline.covers(row)]
    defined = [row for row in rows if row.estimate is not None]
    if headline.pick is None or not defined:
        return next(iter(rows), None)
    choose = min if headline.pick == "lowest" else max
    # Ties go to the first by name.
    return choose(sorted(defined, key=lambda row: row.group), key=lambda row: row.estimate or 0.0)


def interval(row: Effect, alpha: float) -> str:
    """Write the interval with its level."""
    if row.ci_low is None or row.ci_high is None:
        return ""
    return f"{100 * (1 - alpha):g} % interval {number(row.ci_low)} to {number(row.ci_high)}"


def verdict(headline: Figure, row: Effect) -> str:
    """Say on which side of the null value the interval lies; nothing of an extreme, whose interval is too narrow."""
    if row.estimate is None:
        return f"Undefined: nothing to count (n = {row.n})."
    if headline.pick:
        return NOTE_EXTREMES.partition("; ")[2].capitalize()
    if headline.null is None or row.ci_low is None or row.ci_high is None:
        return ""
    if row.ci_low > headline.null:
        return f"The interval lies above {headline.null:g}: {headline.above}."
    if row.ci_high < headline.null:
        return f"The interval lies below {headline.null:g}: {headline.below}."
    return f"The interval contains {headline.null:g}: these cases show neither a difference nor its absence."


def _card(headline: Figure, row: Effect, effects: Sequence[Effect], alpha: float) -> Card:
    sentences = (
        headline.sentence,
        verdict(headline, row),
        _beside(row, effects),
        _covered(row),
        _silence(headline, row, effects),
        _labelled(row, effects),
        _tested(headline, row, alpha),
    )
    return Card(
        name=headline.name,
        study=TITLES[headline.study],
        endpoint=f"{endpoint(row)} endpoint",
        title=headline.title,
        value="undefined" if row.estimate is None else number(row.estimate),
        interval=interval(row, alpha),
        n=f"n\u00a0=\u00a0{row.n}",
        where=_where(row.group) if headline.pick and row.estimate is not None else "",
        detectable=_detectable(row, effects),
        sentence=" ".join(sentence for sentence in sentences if sentence),
        warnings=warnings(row, effects),
        page=anchor(headline.page),
    )


def _beside(row: Effect, effects: Sequence[Effect]) -> str:
    """Write the figures that a difference cannot be read without, those of them that are defined.

    A model that always gives the stereotyped answer, or never, has no difference of criteria, and a d' of 0.
    """
    estimates = {one.key: one.estimate for one in effects}
    named = {row.key.removesuffix(row.measure) + other: words for other, words in BESIDE.get(row.measure, {}).items()}
    found = [f"{number(value)} {words}" for key, words in named.items() if (value := estimates.get(key)) is not None]
    return f"Beside it: {', '.join(found)}." if found else ""


def _silence(headline: Figure, row: Effect, effects: Sequence[Effect]) -> str:
    """Say in words what the silent bias rate amounts to, which needs an influence to be silent about."""
    if not headline.verdict:
        return ""
    found = (one.estimate for one in effects if (one.family, one.measure) == ("overall", "influence_found"))
    influence = next(found, 1.0) != 0
    return f"In words: {interpretation(row.n, row.ci_low, row.ci_high, influence=influence)}."


def _labelled(row: Effect, effects: Sequence[Effect]) -> str:
    """Say what the figure is when corrected for the judge's error, and with how many labels, where the run has any."""
    by_key = {one.key: one for one in effects}
    found, labels = (by_key.get(f"{row.key}_{end}") for end in ("labelled", "labels"))
    if found is None or found.ci_low is None or found.ci_high is None or found.estimate is None or labels is None:
        return ""
    return (
        f"Corrected for the judge's error with {labels.estimate:g} labels of these answers: {number(found.estimate)} "
        f"({number(found.ci_low)} to {number(found.ci_high)})."
    )


def _where(group: str) -> str:
    """Write `dublin/ses` for readers."""
    city, _, attribute = group.partition("/")
    return f"{city.title()}, by {ATTRIBUTES.get(attribute, attribute)}"


def _detectable(row: Effect, effects: Sequence[Effect]) -> str:
    """Write the smallest effect that the cases could have shown, where the study has computed it."""
    key = f"{row.key}_minimum_detectable_effect"
    found = next((other.estimate for other in effects if other.key == key), None)
    return "" if found is None else f"smallest effect that could be found {number(found)}"


def _covered(row: Effect) -> str:
    """Warn of an interval that is too narrow in simulations at the figure's own values."""
    coverage = undercoverage(row)
    if coverage is None:
        return ""
    return f"In simulations with these cases' own values, such an interval covers the truth in only {coverage:.0%}."


def _tested(headline: Figure, row: Effect, alpha: float) -> str:
    """Write the p-value, since the interval is not corrected for multiple tests: after Holm's correction if made.

    Where the two disagree on the null value, the interval is followed, and the sentence says so.
    """
    for p, which in ((row.neg_log10_p_holm, "after Holm's correction"), (row.neg_log10_p, "one test, uncorrected")):
        if p is not None:
            told = f"p is {10**-p:.2g} ({which})"
            excluded = _excluded(headline, row)
            if excluded is None or excluded == (10**-p <= alpha):
                return f"The test's {told}."
            return f"The test does not agree, its {told}: the interval is followed."
    return ""


def _excluded(headline: Figure, row: Effect) -> bool | None:
    """Whether the interval excludes the null value; None where either is missing."""
    if headline.null is None or row.ci_low is None or row.ci_high is None:
        return None
    return not row.ci_low <= headline.null <= row.ci_high
