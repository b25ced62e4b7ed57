"""The headline figures as cards: the value, its interval, and one sentence on what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.compare.leaderboard_rows import HEADLINES, NOT_MEASURED, STUDIES, figure
from equipoise.compare.leaderboard_text import NOTE_EXTREMES, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equipoise.compare.leaderboard_rows import Figure

ATTRIBUTES = {"race": "ethnicity", "ses": "income"}
"""What readers call an attribute where it is not called by its name."""


class Meaning(NamedTuple):
    """What a figure is in one sentence, its null value (None where no value stands for no bias), and its two sides."""

    sentence: str
    null: float | None = None
    below: str = ""
    above: str = ""


class Card(NamedTuple):
    """A headline figure as the page shows it; `interval`, `where` and `detectable` are empty where there is none."""

    name: str
    study: str
    title: str
    value: str
    interval: str
    n: str
    where: str
    detectable: str
    sentence: str


def _gap(better: str, worse: str) -> Meaning:
    return Meaning(
        f"Share of questions answered rightly when told of {better} patient in favourable circumstances, less the "
        f"share when told of {worse} patient in unfavourable ones.",
        0.0,
        f"the model is right more often as told of {worse} patient",
        f"the model is right more often as told of {better} patient",
    )


def _ratio(extreme: str) -> Meaning:
    return Meaning(
        "Right answers when the questions are told of a city's patients, over right answers on the neutral text: "
        f"the {extreme} of all cities and attributes.",
        1.0,
        "the model is right less often about that city's patients than on the neutral text",
        "the model is right more often about that city's patients than on the neutral text",
    )


MEANINGS = {
    "stereotype_shift": Meaning(
        "How far the log odds of the stereotyped diagnosis, against the expected one, rise when the patient is a "
        "marginalised one.",
        0.0,
        "the model leans away from the stereotype",
        "the model leans towards the stereotype",
    ),
    "differential_bias_rate": Meaning(
        "Share of pairs in which the marginalised patient gets the stereotyped diagnosis, and the privileged patient "
        "with the same complaint the expected one."
    ),
    "silent_bias_rate": Meaning(
        "Among biased answers, the share whose reasoning neither weighs nor dismisses the patient's features."
    ),
    "gap_race": _gap("a white", "a Black"),
    "gap_gender": _gap("a male", "a female"),
    "gap_ses": _gap("a high-income", "a low-income"),
    "neutral_accuracy": Meaning(
        "Share of multiple-choice questions answered rightly without any demographics; guessing among four options "
        "gives 0.250."
    ),
    "accuracy_ratio_lowest": _ratio("lowest"),
    "accuracy_ratio_highest": _ratio("highest"),
    "stigma_difference": Meaning(
        "Probability of a female subject less that of a male one beside mental illness, less the same beside other "
        "illness, each condition counted once.",
        0.0,
        "mental illness is put beside men more than other illness is",
        "mental illness is put beside women more than other illness is",
    ),
    "openr1_gap": Meaning(
        "How near the reply to the privileged client is to the gold answer, less the same for the marginalised client.",
        0.0,
        "the privileged client's reply is further from the gold answer",
        "the marginalised client's reply is further from the gold answer",
    ),
    "cases_silent_bias_rate": Meaning(
        "Among biased answers in the saved outputs, the share whose reasoning does not consider the feature."
    ),
}
"""What each headline figure says, by its name. docs/metrics/ has their definitions."""


def cards(metrics: Mapping[str, Mapping[str, Any]], alpha: float) -> list[Card]:
    """Make a card of every headline figure that the run has; `alpha` is one less the level of the intervals.

    A figure that is undefined has a card that says so; one of a study that did not run has none (`absent`).
    """
    found = [(headline, figure(headline, metrics)) for headline in HEADLINES]
    return [
        Card(
            name=headline.name,
            study=STUDIES[headline.study],
            title=headline.title,
            value=value(one),
            interval=interval(one, alpha),
            n=f"n\u00a0=\u00a0{one.n}" if one.n is not None else "",
            where=_where(one.where),
            detectable=_detectable(headline.path, metrics.get(headline.file, {})),
            sentence=" ".join(
                part
                for part in (
                    MEANINGS[headline.name].sentence,
                    verdict(headline.name, one),
                    _tested(headline.path, metrics.get(headline.file, {})),
                )
                if part
            ),
        )
        for headline, one in found
        if one.state != NOT_MEASURED
    ]


def absent(metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Name the headline figures whose study has no figures in this run."""
    return [
        f"{STUDIES[headline.study]}: {headline.title}"
        for headline in HEADLINES
        if figure(headline, metrics).state == NOT_MEASURED
    ]


def value(one: Figure) -> str:
    """Write the estimate, or that there is none."""
    return one.state if one.estimate is None else number(one.estimate)


def interval(one: Figure, alpha: float) -> str:
    """Write the interval with its level."""
    if one.ci_low is None or one.ci_high is None:
        return ""
    return f"{100 * (1 - alpha):g} % interval {number(one.ci_low)} to {number(one.ci_high)}"


def verdict(name: str, one: Figure) -> str:
    """Say on which side of the null value the interval lies; nothing of an extreme, whose interval is too narrow."""
    meaning = MEANINGS[name]
    if one.estimate is None:
        return f"Undefined: nothing to count (n = {one.n})."
    if one.where:
        return NOTE_EXTREMES.partition("; ")[2].capitalize()
    if meaning.null is None or one.ci_low is None or one.ci_high is None:
        return ""
    if one.ci_low > meaning.null:
        return f"The interval lies above {meaning.null:g}: {meaning.above}."
    if one.ci_high < meaning.null:
        return f"The interval lies below {meaning.null:g}: {meaning.below}."
    return f"The interval holds {meaning.null:g}: these cases do not show a difference, nor that there is none."


def _where(where: str) -> str:
    """Write `dublin/ses` for readers."""
    city, _, attribute = where.partition("/")
    return f"{city.title()}, by {ATTRIBUTES.get(attribute, attribute)}" if where else ""


def _detectable(path: tuple[str, ...], table: Mapping[str, Any]) -> str:
    """Write the smallest effect that the cases could have shown, where the figure has one."""
    found = _inner(path, table).get("minimum_detectable_effect")
    return "" if found is None else f"smallest effect that could be found {number(found)}"


def _tested(path: tuple[str, ...], table: Mapping[str, Any]) -> str:
    """Write the p-value beside the interval, which corrects for nothing: after Holm's correction where there is one."""
    found = _inner(path, table)
    for name, which in (("neg_log10_p_holm", "after Holm's correction"), ("neg_log10_p", "uncorrected")):
        if name in found:
            return f"The test's p is {10 ** -found[name]:.2g} ({which})."
    return ""


def _inner(path: tuple[str, ...], table: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in path:
        table = table.get(name, {})
    return table
