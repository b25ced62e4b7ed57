"""The plots of the study, and the rows of each."""

from collections.abc import Sequence

from equipoise.figures.effects import Effect
from equipoise.figures.plot import Plot, Row, forest_row, undefined_row

READINGS = {"overall": "read by the judge", "legacy": "as published"}
"""Families of the saved outputs' figures: how a biased answer and its silence are read."""


def output_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the silent bias rate of saved outputs, in both readings."""
    return [
        forest_row("all outputs", READINGS[effect.family], effect)
        for effect in effects
        if effect.measure == "silent_bias_rate" and effect.family in READINGS
    ] or [undefined_row(group="no output", measure=READINGS["overall"])]


PLOTS: dict[str, Plot] = {
    "silent": Plot(
        layout=output_rows,
        title="Silent bias rate of saved outputs, with {level} Wilson intervals",
        x_label="share of biased answers",
    ),
}
