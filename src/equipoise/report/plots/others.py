"""Pictures of the studies that are off by default: OpenR1-Psy and saved outputs to cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.report.plots.plot import Plot, forest_row, undefined_row, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.records import Effect
    from equipoise.report.plots.plot import Row

READINGS = {"overall": "read by the judge", "legacy": "as published"}
"""Families of the saved outputs' figures: how a biased answer and its silence are read."""


def agreement_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the agreement gap, overall and by dimension."""
    found = [row for row in effects if row.measure == "agreement_gap"]
    rows = [forest_row(words(row.group), "agreement gap", row) for row in found]
    return [{**row, "reference": 0.0} for row in rows or [undefined_row(group="no message", measure="agreement gap")]]


def silent_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the silent bias rate, in both readings."""
    return [
        forest_row("all outputs", READINGS[row.family], row)
        for row in effects
        if row.measure == "silent_bias_rate" and row.family in READINGS
    ] or [undefined_row(group="no output", measure=READINGS["overall"])]


PLOTS_OPENR1 = {
    "agreement": Plot(
        layout=agreement_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Agreement gap with the gold answer, with 95 % t intervals",
        x_label="similarity, privileged minus marginalised",
    ),
}
PLOTS_CASES = {
    "silent": Plot(
        layout=silent_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Silent bias rate of saved outputs, with 95 % Wilson intervals",
        x_label="share of biased answers",
    ),
}
