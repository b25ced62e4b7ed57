"""The plots of the study, and the rows of each."""

from collections.abc import Sequence

from equipoise.figures.effects import Effect
from equipoise.figures.plot import (
    Plot,
    Row,
    figure,
    forest,
    heatmap,
    heatmap_cell,
    select,
    undefined_row,
    undefined_rows,
    with_reference,
    words,
)
from equipoise.materials.vignette import ROLES


def family_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the decision shift, whole and split by the reasoning: overall, by family, then by dimension."""
    measures = ("decision_shift", "decision_shift_around", "decision_shift_through")
    rows = forest(effects, ("overall", "family", "dimension"), measures) or undefined_rows(measures)
    return with_reference(rows, 0.0)


def decision_rows(effects: Sequence[Effect]) -> list[Row]:
    """Heatmap of the decision shift by end-point and dimension; in a panel by end-point and group."""
    measure = "decision_shift"
    cells = [(effect.group.split("/"), effect) for effect in select(effects, "cell", measure)]
    rows: list[Row] = [
        {**heatmap_cell(words(endpoint), words(name), measure), **figure(effect)} for (name, endpoint), effect in cells
    ]
    return rows or [undefined_row(dimension="none", other="none", measure=words(measure))]


TRIAGE = ("non-urgent", "standard", "urgent", "very_urgent", "immediate")
"""The levels of triage in order, as the measures of their probabilities name them."""


def triage_rows(effects: Sequence[Effect]) -> list[Row]:
    """Bars of the mean probability of each level of triage, from the least urgent on, by arm."""
    rows: list[Row] = [
        {**figure(effect), "group": words(level), "series": role, "panel": "triage"}
        for level in TRIAGE
        for role in ROLES
        for effect in select(effects, "endpoint", f"probability_{level}_{role}")
        if effect.group == "triage"
    ]
    return rows or [undefined_row(group=TRIAGE[0], series=role, panel="triage") for role in ROLES]


PLOTS: dict[str, Plot] = {
    "families": Plot(
        layout=family_rows,
        zone=True,
        title="Decisions towards the stereotype, with {level} t intervals (right of 0: worse for the marginalised)",
        x_label="shift of the level (share of the scale)",
    ),
    "decisions": heatmap(
        decision_rows, "Decisions towards the stereotype, by dimension or group of a panel (above 0 is worse for them)"
    ),
    "triage": Plot(
        layout=triage_rows,
        template="bars",
        title="Triage by arm, with {level} t intervals",
        x_label="mean probability of the level",
    ),
}
