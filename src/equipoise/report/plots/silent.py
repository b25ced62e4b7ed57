"""Bias of the paired vignettes in pictures: forests of the rates and of the shift, and where dimensions meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.report.plots.plot import Plot, forest_row, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.records import Effect
    from equipoise.report.plots.plot import Row

RATES = ("differential_bias_rate", "silent_bias_rate")
SHIFT = ("stereotype_shift",)
INTERSECTIONS = ("stereotype_shift", "differential_bias_rate")


def rate_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the differential and silent bias rates: overall, then each dimension."""
    return _forest(effects, RATES)


def shift_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the mean stereotype shift, in nats: overall, then each dimension."""
    return _forest(effects, SHIFT)


def intersection_rows(effects: Sequence[Effect]) -> list[Row]:
    """Heatmap of dimension by dimension: one alone on the diagonal, two together off it, each pair of them twice.

    Combinations of three dimensions have no cell.
    """
    rows: list[Row] = []
    for measure in INTERSECTIONS:
        for effect in _chosen(effects, measure, ("dimension", "combination")):
            match effect.group.split("+"):
                case [alone]:
                    cells = [(alone, alone)]
                case [one, other]:
                    cells = [(one, other), (other, one)]
                case _:
                    continue
            rows += [
                {
                    "dimension": words(column),
                    "other": words(row),
                    "measure": words(measure),
                    "n": effect.n,
                    "estimate": effect.estimate,
                }
                for column, row in cells
            ]
    return rows or [
        {"dimension": "none", "other": "none", "measure": words(measure), "n": 0, "estimate": None}
        for measure in INTERSECTIONS
    ]


PLOTS_SILENT = {
    "rates": Plot(
        layout=rate_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Bias rates, with 95 % Wilson intervals",
        x_label="rate",
    ),
    "shift": Plot(
        layout=shift_rows,
        places=2,
        template="forest",
        x="estimate",
        y="group",
        title="Stereotype shift, with 95 % t intervals",
        x_label="log odds of the stereotyped answer, marginalised less privileged (nats)",
    ),
    "intersections": Plot(
        layout=intersection_rows,
        template="heatmap",
        x="dimension",
        y="other",
        title="Bias where dimensions meet",
        x_label="",
    ),
}
"""Every picture of the study by the name of its file."""


def _forest(effects: Sequence[Effect], measures: Sequence[str]) -> list[Row]:
    return [
        forest_row(words(effect.group) if effect.family == "dimension" else effect.family, words(measure), effect)
        for measure in measures
        for effect in _chosen(effects, measure, ("overall", "dimension"))
    ]


def _chosen(effects: Sequence[Effect], measure: str, families: Sequence[str]) -> list[Effect]:
    """Return a measure's effects, family by family, groups in order."""
    chosen = [effect for effect in effects if effect.measure == measure and effect.family in families]
    return sorted(chosen, key=lambda effect: (families.index(effect.family), effect.group))
