"""The plots of the study: how each lays out its effects as rows."""

from collections.abc import Sequence

from equipoise.figures.effects import Effect
from equipoise.figures.plot import (
    Plot,
    Row,
    forest,
    forest_row,
    select,
    undefined_row,
    with_reference,
    words,
)
from equipoise.materials.questions import ATTRIBUTES, GROUPS
from equipoise.studies.questions.effects import CONTRASTS, NEUTRAL, ORIGINAL, arm, label

CONTROL = "original, neutral"


OUTCOMES = {
    "both": "right in both",
    "only_privileged": "right for the privileged alone",
    "only_unprivileged": "right for the unprivileged alone",
    "neither": "right in neither",
}
"""Where a pair of arms was answered correctly, in the order of the stack."""


PAIRS = {
    "city": "attack as published",
    "city_favourable": "both groups told favourably",
    "city_unfavourable": "both groups told unfavourably",
}
"""Families of the accuracy ratio: which of a question's variants the two groups are given."""


def accuracy_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the accuracy on original, neutral and each variant, an attribute's arms together (paper, Figure 5)."""
    found = {row.group: row for row in select(effects, "arm", "accuracy")}
    names = {ORIGINAL: ORIGINAL, NEUTRAL: NEUTRAL} | {
        label(arm(attribute, group, direction)): f"{words(GROUPS[attribute][group])}, {direction}"
        for attribute in ATTRIBUTES
        for direction in ("favourable", "unfavourable")
        for group in ("privileged", "unprivileged")
    }
    rows = [forest_row(name, "accuracy", found[key]) for key, name in names.items() if key in found]
    return rows or [undefined_row(group=ORIGINAL, measure="accuracy")]


def gap_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the gap and its two parts, lift and penalty against neutral, for each attribute."""
    rows = forest(effects, ("attribute",), ("gap", "lift", "penalty"), ATTRIBUTES)
    rows += [forest_row(CONTROL, "gap", row) for row in select(effects, "control", "gap")]
    return rows or [undefined_row(group=CONTROL, measure="gap")]


def contrast_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of group effect, direction effect and interaction of the crossed design, overall and by attribute.

    In the paper's design they do not exist: one undefined row each, of no question.
    """
    undefined = [undefined_row(group="overall", measure=words(measure)) for measure in CONTRASTS]
    rows = [
        row for family in ("overall", "attribute") for row in forest(effects, (family,), tuple(CONTRASTS), ATTRIBUTES)
    ]
    return rows or undefined


def distribution_rows(effects: Sequence[Effect]) -> list[Row]:
    """Stacked bars of where a pair was right: in both arms, in one alone, in neither (paper, Figure 4)."""
    rows: list[Row] = [
        {
            "group": ", ".join(words(name) for name in GROUPS[attribute].values()),
            "outcome": outcome,
            "order": number,
            "n": row.n,
            "share": row.estimate,
        }
        for attribute in ATTRIBUTES
        for number, (measure, outcome) in enumerate(OUTCOMES.items())
        for row in select(effects, "attribute", measure, ATTRIBUTES)
        if row.group == attribute
    ]
    return rows or [{"group": "none", "outcome": OUTCOMES["both"], "order": 0, "n": 0, "share": None}]


def ratio_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the accuracy ratio by city and attribute; in the crossed design also with the direction held fixed."""
    found = {family: select(effects, family, "accuracy_ratio") for family in PAIRS}
    cities = sorted({row.group.split("/")[0] for rows in found.values() for row in rows})
    rows = [
        forest_row(f"{city_title(city)}, {attribute}", column, row)
        for family, column in PAIRS.items()
        for city in cities
        for attribute in ATTRIBUTES
        for row in found[family]
        if row.group == f"{city}/{attribute}"
    ] or [undefined_row(group="no city", measure=PAIRS["city"])]
    return with_reference(rows, 1.0)


def city_title(name: str) -> str:
    return words(name).title()


PLOTS: dict[str, Plot] = {
    "accuracy": Plot(
        layout=accuracy_rows,
        title="Accuracy by group, with {level} Wilson intervals",
        x_label="share of questions answered rightly",
    ),
    "gaps": Plot(layout=gap_rows, title="Accuracy gaps, with {level} paired intervals", x_label="difference of shares"),
    "contrasts": Plot(
        layout=contrast_rows,
        zone=True,
        title="Group and direction effects, with {level} t intervals",
        x_label="difference of shares",
    ),
    "distribution": Plot(
        layout=distribution_rows,
        template="stacked",
        x="share",
        title="Where the answer is right",
        x_label="share of questions",
    ),
    "cities": Plot(
        layout=ratio_rows,
        title="Accuracy ratio by city, with {level} bootstrap intervals over questions",
        x_label="city accuracy over accuracy on the neutral question",
    ),
}
