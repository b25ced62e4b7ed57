"""The plots of the study, with the functions that lay out its effects as rows."""

from collections.abc import Sequence

from equipoise.figures.effects import Effect
from equipoise.figures.plot import Plot, Row, figure, forest_row, select, undefined_row, words
from equipoise.studies.stigma.effects import ALL

PHASES = ("diagnosis", "intention", "action")
"""Phases of seeking care in their order (Health Action Process Approach); any other group comes after them."""
GENDERS = ("female", "male", "unspecified")
STIGMA = "disparity_corrected_clustered"
SETS = {"mental": "mental illness", "control": "control conditions", "difference": "difference"}


def gender_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out bars of the mean probability of each gender by phase of seeking care, for both sets of conditions."""
    rows: list[Row] = [
        {**figure(effect), "group": words(effect.group), "series": effect.measure, "panel": SETS[name]}
        for name in ("mental", "control")
        for effect in select(effects, f"rq1_{name}", *GENDERS, order=PHASES, last=ALL)
    ]
    return rows or [undefined_row(group=ALL, series=gender, panel=SETS["mental"]) for gender in GENDERS]


def stigma_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out a forest of each dimension's disparity: for mental illness, for control conditions, and the difference.

    Disparities are corrected for reversed sentences and count each condition once.
    """
    rows = [
        forest_row(words(effect.group), column, effect)
        for name, column in SETS.items()
        for effect in select(effects, f"rq2_{name}", STIGMA, last=ALL)
    ]
    return rows or [undefined_row(group=ALL, measure=column) for column in SETS.values()]


PLOTS: dict[str, Plot] = {
    "genders": Plot(
        layout=gender_rows,
        template="bars",
        title="Whom the model puts beside an illness, with {level} t intervals over conditions",
        x_label="probability of the subject's gender",
    ),
    "stigma": Plot(
        layout=stigma_rows,
        title="Stigma by gender, with {level} t intervals over conditions (right of 0: more of women)",
        x_label="probability, female minus male (reversed: flipped)",
    ),
}
