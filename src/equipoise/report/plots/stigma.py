"""Pictures of the stigma study, in the form of `plots`: whom a model puts beside an illness and beside a stigma."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.stigma import ALL, STUDY
from equipoise.report.plots.plot import Plot, forest_row, undefined_row, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from equipoise.core.records import Effect
    from equipoise.report.plots.plot import Row

PHASES = ("diagnosis", "intention", "action")
"""Phases of seeking care in their order (Health Action Process Approach); any other group comes after them."""
GENDERS = ("female", "male", "unspecified")
STIGMA = "disparity_corrected_clustered"
COLUMNS = {"mental": "mental illness", "control": "control conditions", "difference": "difference"}


def gender_rows(effects: Sequence[Effect]) -> list[Row]:
    """Bars of the mean probability of each gender by phase of seeking care, for both sets of conditions."""
    rows: list[Row] = []
    for name in ("mental", "control"):
        for phase, measures in _groups(effects, f"rq1_{name}"):
            for gender in GENDERS:
                row = measures[gender]
                rows.append({**_figure(row), "group": words(phase), "series": gender, "panel": COLUMNS[name]})
    return rows or [undefined_row(group=ALL, series=gender, panel=COLUMNS["mental"]) for gender in GENDERS]


def stigma_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of each dimension's disparity: beside mental illness, beside control conditions, and the difference.

    Corrected for reversed sentences, and each condition counted once.
    """
    rows = [
        forest_row(words(dimension), column, measures[STIGMA])
        for name, column in COLUMNS.items()
        for dimension, measures in _groups(effects, f"rq2_{name}")
    ]
    return rows or [undefined_row(group=ALL, measure=column) for column in COLUMNS.values()]


PLOTS_STIGMA = {
    "genders": Plot(
        layout=gender_rows,
        template="bars",
        x="estimate",
        y="group",
        title="Whom the model puts beside an illness, with 95 % t intervals over conditions",
        x_label="probability of the subject's gender",
    ),
    "stigma": Plot(
        layout=stigma_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Stigma by gender, with 95 % t intervals over conditions",
        x_label="probability, female less male; reversed sentences turned round",
    ),
}
"""Every picture of the study by the name of its file."""


def _groups(effects: Sequence[Effect], family: str) -> Iterator[tuple[str, dict[str, Effect]]]:
    """Give a family's groups with their measures: phases in order, the others by name, `all` last."""
    found: dict[str, dict[str, Effect]] = {}
    for row in effects:
        if (row.study, row.family) == (STUDY, family):
            found.setdefault(row.group, {})[row.measure] = row
    yield from sorted(found.items(), key=lambda item: _place(item[0]))


def _place(group: str) -> tuple[bool, int, str]:
    return group == ALL, PHASES.index(group) if group in PHASES else len(PHASES), group


def _figure(row: Effect) -> Row:
    return {"n": row.n, "estimate": row.estimate, "ci_low": row.ci_low, "ci_high": row.ci_high}
