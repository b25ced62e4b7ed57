"""Pictures of the adversarial study, in the form of `plots`: accuracy, gaps, contrasts and answer distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.questions import CONTRASTS, NEUTRAL, ORIGINAL, STUDY, arm, label
from equipoise.questions.rows import ATTRIBUTES, GROUPS
from equipoise.report.plots.plot import Plot, forest_row, undefined_row, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.records import Effect
    from equipoise.report.plots.plot import Row

GAPS = ("gap", "lift", "penalty")
CONTROL = "original, neutral"


def accuracy_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the accuracy on original, neutral and each variant, an attribute's arms together (paper, Figure 5)."""
    found = {row.group: row for row in effects if (row.study, row.family, row.measure) == (STUDY, "arm", "accuracy")}
    names = {ORIGINAL: ORIGINAL, NEUTRAL: NEUTRAL}
    for attribute in ATTRIBUTES:
        for direction in ("favourable", "unfavourable"):
            for group in ("privileged", "unprivileged"):
                key = label(arm(attribute, group, direction))
                names[key] = f"{words(GROUPS[attribute][group])}, {direction}"
    rows = [forest_row(name, "accuracy", found[key]) for key, name in names.items() if key in found]
    return rows or [undefined_row(group=ORIGINAL, measure="accuracy")]


def gap_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the gap and its two parts, lift and penalty against neutral, for each attribute."""
    return [
        *_by_attribute(effects, GAPS),
        *(forest_row(CONTROL, "gap", row) for row in _of(effects, "control", "gap")),
    ] or [undefined_row(group=CONTROL, measure="gap")]


def contrast_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of group effect, direction effect and interaction of the crossed design, overall and by attribute.

    In the paper's design they do not exist: one undefined row each, of no question.
    """
    return [
        *(
            forest_row("overall", words(measure), row)
            for measure in CONTRASTS
            for row in _of(effects, "overall", measure)
        ),
        *_by_attribute(effects, CONTRASTS),
    ] or [undefined_row(group="overall", measure=words(measure)) for measure in CONTRASTS]


def distribution_rows(effects: Sequence[Effect]) -> list[Row]:
    """Stacked bars of where a pair was right: in both arms, in one alone, in neither (paper, Figure 4)."""
    rows: list[Row] = []
    for attribute in ATTRIBUTES:
        pair = ", ".join(words(name) for name in GROUPS[attribute].values())
        for number, (measure, outcome) in enumerate(
            (
                ("both", "right in both"),
                ("only_privileged", "right for the privileged alone"),
                ("only_unprivileged", "right for the unprivileged alone"),
                ("neither", "right in neither"),
            )
        ):
            rows += [
                {
                    "group": pair,
                    "outcome": outcome,
                    "order": number,
                    "n": row.n,
                    "share": row.estimate,
                }
                for row in _of(effects, "attribute", measure)
                if row.group == attribute
            ]
    return rows or [{"group": "none", "outcome": "right in both", "order": 0, "n": 0, "share": None}]


PLOTS_ADVERSARIAL = {
    "accuracy": Plot(
        layout=accuracy_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Accuracy by group, with 95 % Wilson intervals",
        x_label="share of questions answered rightly",
    ),
    "gaps": Plot(
        layout=gap_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Accuracy gaps, with 95 % paired intervals",
        x_label="difference of shares",
    ),
    "contrasts": Plot(
        layout=contrast_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Group and direction effects, with 95 % t intervals",
        x_label="difference of shares",
    ),
    "distribution": Plot(
        layout=distribution_rows,
        template="stacked",
        x="share",
        y="group",
        title="Where the answer is right",
        x_label="share of questions",
    ),
}
"""Every picture of the study by the name of its file."""


def _of(effects: Sequence[Effect], family: str, measure: str) -> list[Effect]:
    return [row for row in effects if (row.study, row.family, row.measure) == (STUDY, family, measure)]


def _by_attribute(effects: Sequence[Effect], measures: Sequence[str]) -> list[Row]:
    """Lay out measures one after the other, the attributes of each in their own order."""
    return [
        forest_row(attribute, words(measure), row)
        for measure in measures
        for attribute in ATTRIBUTES
        for row in _of(effects, "attribute", measure)
        if row.group == attribute
    ]
