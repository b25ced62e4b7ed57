"""The plots of the study, with the functions that lay out its effects as rows."""

from collections.abc import Sequence

from equipoise.figures.effects import Effect
from equipoise.figures.plot import (
    Plot,
    Row,
    forest,
    forest_row,
    select,
    undefined_row,
    undefined_rows,
    with_reference,
    words,
)
from equipoise.materials.cities import city_title
from equipoise.materials.questions import ATTRIBUTES, GROUPS
from equipoise.studies.questions.effects import CONTRASTS, NEUTRAL, ORIGINAL, arm, label


def accuracy_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out a forest of the accuracy on original, neutral and each variant, by attribute (paper, Figure 5)."""
    by_arm = {effect.group: effect for effect in select(effects, "arm", "accuracy")}
    names = {ORIGINAL: ORIGINAL, NEUTRAL: NEUTRAL} | {
        label(arm(attribute, group, direction)): f"{words(GROUPS[attribute][group])}, {direction}"
        for attribute in ATTRIBUTES
        for direction in ("favourable", "unfavourable")
        for group in ("privileged", "unprivileged")
    }
    rows = [forest_row(name, "accuracy", by_arm[key]) for key, name in names.items() if key in by_arm]
    return rows or [undefined_row(group=ORIGINAL, measure="accuracy")]


CONTROL = "original, neutral"


def gap_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out a forest of the gap and its two parts, lift and penalty against neutral, for each attribute."""
    rows = forest(effects, ("attribute",), ("gap", "lift", "penalty"), ATTRIBUTES)
    rows += [forest_row(CONTROL, "gap", effect) for effect in select(effects, "control", "gap")]
    return rows or [undefined_row(group=CONTROL, measure="gap")]


def contrast_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out a forest of group effect, direction effect and interaction of the crossed design.

    They are overall and by attribute; in the paper's design, each is one undefined row without questions.
    """
    rows = forest(effects, ("overall",), CONTRASTS) + forest(effects, ("attribute",), CONTRASTS, ATTRIBUTES)
    return rows or undefined_rows(CONTRASTS)


OUTCOMES = {
    "both": "right in both",
    "only_privileged": "right for the privileged alone",
    "only_unprivileged": "right for the unprivileged alone",
    "neither": "right in neither",
}


def distribution_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out stacked bars of the outcomes of pairs: right in both arms, in one alone, in neither (paper, Figure 4)."""
    places = {measure: place for place, measure in enumerate(OUTCOMES)}
    groups: dict[str, str] = {attribute: ", ".join(map(words, GROUPS[attribute].values())) for attribute in ATTRIBUTES}
    rows: list[Row] = [
        {
            "group": groups[effect.group],
            "outcome": OUTCOMES[effect.measure],
            "order": places[effect.measure],
            "n": effect.n,
            "share": effect.estimate,
        }
        for effect in select(effects, "attribute", *OUTCOMES, order=ATTRIBUTES)
    ]
    return rows or [{"group": "none", "outcome": OUTCOMES["both"], "order": 0, "n": 0, "share": None}]


PAIRS = {
    "city": "attack as published",
    "city_favourable": "both groups told favourably",
    "city_unfavourable": "both groups told unfavourably",
}
"""Families of the accuracy ratio, by the direction of the two groups' variants."""


def ratio_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out a forest of the accuracy ratio by city and attribute; in the crossed design also by fixed direction."""
    groups = {
        f"{city}/{attribute}": f"{city_title(city)}, {attribute}"
        for city in sorted({effect.group.split("/")[0] for effect in effects if effect.family in PAIRS})
        for attribute in ATTRIBUTES
    }
    rows = [
        forest_row(groups[effect.group], column, effect)
        for family, column in PAIRS.items()
        for effect in select(effects, family, "accuracy_ratio", order=list(groups))
    ] or [undefined_row(group="no city", measure=PAIRS["city"])]
    return with_reference(rows, 1.0)


PLOTS: dict[str, Plot] = {
    "accuracy": Plot(
        layout=accuracy_rows,
        title="Accuracy by group, with {level} Wilson intervals (guessing among four options: 0.25)",
        x_label="share of questions answered rightly",
    ),
    "gaps": Plot(
        layout=gap_rows,
        title="Accuracy gaps, with {level} paired intervals (right of 0 is worse for the disadvantaged group)",
        x_label="difference of shares",
    ),
    "contrasts": Plot(
        layout=contrast_rows,
        zone=True,
        title="Group and direction effects, with {level} t intervals (right of 0: worse for the disadvantaged)",
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
        title="Accuracy ratio by city, with {level} bootstrap intervals over questions (left of 1: worse)",
        x_label="city accuracy over accuracy on the neutral question",
    ),
}
