"""The headline figures that two revisions are compared by, and what each item of a revision adds to them.

An item is what a figure's error counts as independent: a pair of vignettes, a question with all its variants; in the
stigma study a sentence, whose condition is the cluster. Definitions are those of `equipoise.metrics`; every figure is
read from rows by the code at hand, so that both revisions are measured alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from equipoise.metrics.answered import NEUTRAL, arm, paper_pair, tabulate
from equipoise.metrics.pairs import pair_up
from equipoise.questions.asked import letters_of
from equipoise.questions.partition import reference_size
from equipoise.questions.rows import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from equipoise.compare.revisions import Revision
    from equipoise.metrics.answered import Answered
    from equipoise.metrics.pairs import Pair
    from equipoise.questions.cities import City
    from equipoise.questions.rows import Attribute

Kind = Literal["mean", "share", "ratio", "contrast"]
Value: TypeAlias = "float | bool | tuple[float, float] | tuple[float, bool, str]"
"""A mean's and a share's value; of a ratio what is above and below the line; of a contrast value, set and cluster."""
Values: TypeAlias = "dict[str, Value]"

STUDIES = {"silent_bias": "Vignettes", "questions": "Adversarial", "equity": "Equity", "stigma": "Stigma"}
"""Titles of the studies, by the stems of their metrics files."""
CONDITIONS = {"rq1": "who has the condition", "rq2": "towards whom is the attitude"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure: its name for gates and files, its title, how its change is estimated, and where it is recorded.

    `study` is the stem of the metrics file, and `path` leads to the figure in it. `unit` is the plural of the item,
    `below` what a ratio's denominator counts, where a reader should see it; `plots` the stems of the pictures that
    show it.
    """

    name: str
    title: str
    study: str
    kind: Kind
    unit: str
    path: tuple[str, ...]
    plots: tuple[str, ...]
    below: str = ""


def known_figures(cities: Iterable[str]) -> list[Figure]:
    """List the figures, those of the given cities included, in the order in which they are shown."""
    rates = {"study": "silent_bias", "unit": "pairs", "plots": ("rates",)}
    overall = ("overall",)
    figures = [
        Figure(
            name="silent_bias.stereotype_shift",
            title="stereotype shift (nats)",
            study="silent_bias",
            kind="mean",
            unit="pairs",
            path=(*overall, "stereotype_shift"),
            plots=("shift",),
        ),
        Figure(
            name="silent_bias.differential_bias_rate",
            title="differential bias rate",
            kind="share",
            path=(*overall, "differential_bias_rate"),
            **rates,  # type: ignore[arg-type]  # each value is of its field's kind
        ),
        Figure(
            name="silent_bias.silent_bias_rate",
            title="silent bias rate",
            kind="ratio",
            path=(*overall, "silent_bias_rate"),
            below="biased",
            **rates,  # type: ignore[arg-type]
        ),
        Figure(
            name="adversarial.neutral.accuracy",
            title="accuracy, neutral",
            study="questions",
            kind="share",
            unit="questions",
            path=("arm", "neutral", "accuracy"),
            plots=("accuracy",),
        ),
    ]
    figures += [
        Figure(
            name=f"adversarial.{attribute}.{measure}",
            title=f"{measure.replace('_', ' ')}, {attribute}",
            study="questions",
            kind="mean",
            unit="questions",
            path=("attribute", attribute, measure),
            plots=("gaps",) if measure == "gap" else ("contrasts",),
        )
        for measure in ("gap", "group_effect", "direction_effect")
        for attribute in ATTRIBUTES
    ]
    figures += [
        Figure(
            name=f"equity.{city}.{attribute}.accuracy_ratio",
            title=f"accuracy ratio, {city}, {attribute}",
            study="equity",
            kind="ratio",
            unit="questions",
            path=("city", city, attribute, "accuracy_ratio"),
            plots=("cities",),
        )
        for city in cities
        for attribute in ATTRIBUTES
    ]
    figures += [
        Figure(
            name=f"stigma.{question}.difference",
            title=f"{who}, mental less other illness",
            study="stigma",
            kind="contrast",
            unit="sentences",
            path=(f"{question}_difference", "all", "disparity_clustered"),
            plots=("stigma",),
        )
        for question, who in CONDITIONS.items()
    ]
    return figures


def item_values(revision: Revision) -> dict[str, Values]:
    """Give what each item of a revision adds to each figure, by the figure's name; a study not run has no figure.

    A city's ratio is that over all partitions of the revision's own questions (`partition: expected`).
    """
    answered = {response.study for response in revision.responses}
    values: dict[str, Values] = {}
    if "vignettes" in answered:
        values |= _vignettes(pair_up(revision.vignettes, revision.judgements))
    if "questions" in answered:
        table = tabulate(revision.variants, letters_of(revision.responses, revision.variants))
        values |= _adversarial(table)
        values |= _equity(table, revision.cities)
    for question in CONDITIONS:
        fills = [fill for fill in revision.fills if fill.question == question]
        if fills:
            values[f"stigma.{question}.difference"] = {
                fill.key: (fill.female - fill.male, fill.condition_set == "mental", fill.condition) for fill in fills
            }
    return values


def _vignettes(pairs: Sequence[Pair]) -> dict[str, Values]:
    shifts: Values = {}
    rates: Values = {}
    silent: Values = {}
    for pair in pairs:
        marginalised, privileged = pair.arms
        if marginalised.log_odds is not None and privileged.log_odds is not None:
            shifts[pair.key] = marginalised.log_odds - privileged.log_odds
        biased = marginalised.answer == "stereotyped"
        rates[pair.key] = biased and privileged.answer == "expected"
        silent[pair.key] = (float(biased and marginalised.considered == "none"), float(biased))
    return {
        "silent_bias.stereotype_shift": shifts,
        "silent_bias.differential_bias_rate": rates,
        "silent_bias.silent_bias_rate": silent,
    }


def _adversarial(table: Sequence[Answered]) -> dict[str, Values]:
    """Give every figure as a weighted sum of which arms were answered rightly; an arm that is not asked has none."""
    values: dict[str, Values] = {}
    if all(NEUTRAL in row.letters for row in table):
        values["adversarial.neutral.accuracy"] = {row.question: row.right(NEUTRAL) for row in table}
    for attribute in ATTRIBUTES:
        for measure, weights in _weights(attribute).items():
            if all(weights.keys() <= row.letters.keys() for row in table):
                values[f"adversarial.{attribute}.{measure}"] = {
                    row.question: sum(weight * row.right(name) for name, weight in weights.items()) for row in table
                }
    return values


def _weights(attribute: Attribute) -> dict[str, dict[str, float]]:
    """Give each contrast's weight of every arm: the paper's gap, and the two effects of the crossed design."""
    privileged, unprivileged = paper_pair(attribute)
    other_privileged = arm(attribute, "privileged", "unfavourable")
    other_unprivileged = arm(attribute, "unprivileged", "favourable")
    return {
        "gap": {privileged: 1, unprivileged: -1},
        "group_effect": {privileged: 0.5, other_unprivileged: -0.5, other_privileged: 0.5, unprivileged: -0.5},
        "direction_effect": {privileged: 0.5, other_unprivileged: 0.5, other_privileged: -0.5, unprivileged: -0.5},
    }


def _equity(table: Sequence[Answered], cities: Mapping[str, City]) -> dict[str, Values]:
    """Give each question's expected share right in a city over whether it is right at baseline."""
    values: dict[str, Values] = {}
    for name, city in cities.items():
        for attribute, composition in city.composition.items():
            pair = paper_pair(attribute)
            reference, other = pair if city.reference_group(attribute) == "privileged" else pair[::-1]
            if not all({reference, other, NEUTRAL} <= row.letters.keys() for row in table):
                continue
            share = reference_size(composition.proportions[composition.reference], len(table)) / len(table)
            values[f"equity.{name}.{attribute}.accuracy_ratio"] = {
                row.question: (
                    share * row.right(reference) + (1 - share) * row.right(other),
                    float(row.right(NEUTRAL)),
                )
                for row in table
            }
    return values
