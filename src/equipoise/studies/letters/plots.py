"""The plot of the study."""

from collections.abc import Sequence

from equipoise.figures.effects import Effect
from equipoise.figures.plot import Plot, Row, forest, undefined_rows, with_reference
from equipoise.studies.letters.effects import DIFFERENCES


def letter_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out a forest of both differences: overall, by class of facts, then by dimension."""
    measures = tuple(DIFFERENCES)
    rows = forest(effects, ("overall", "class", "dimension"), measures) or undefined_rows(measures)
    return with_reference(rows, 0.0)


PLOTS: dict[str, Plot] = {
    "letters": Plot(
        layout=letter_rows,
        zone=True,
        title="Facts left out, and softened or doubted, with {level} t intervals",
        x_label="share of facts, marginalised minus privileged",
    ),
}
