"""The plots of the study, with the functions that lay out its effects as rows."""

from collections.abc import Sequence

from equipoise.figures.effects import Effect
from equipoise.figures.plot import Plot, Row, forest_row, undefined_row, with_reference, words


def agreement_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out a forest of the agreement gap, overall and by dimension."""
    rows = [
        forest_row(words(effect.group), "agreement gap", effect)
        for effect in effects
        if effect.measure == "agreement_gap"
    ]
    return with_reference(rows or [undefined_row(group="no message", measure="agreement gap")], 0.0)


PLOTS: dict[str, Plot] = {
    "agreement": Plot(
        layout=agreement_rows,
        zone=True,
        title="Agreement gap with the gold answer, with {level} t intervals",
        x_label="similarity, privileged minus marginalised",
    ),
}
