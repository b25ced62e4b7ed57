"""Lay out the figures for `dvc plots`, and draw the same pictures as SVG."""

import json
from pathlib import Path

from equipoise import records, stage
from equipoise.plots import PLOTS, static_svg
from equipoise.plots_adversarial import PLOTS_ADVERSARIAL
from equipoise.plots_equity import PLOTS_EQUITY
from equipoise.plots_stigma import PLOTS_STIGMA


def main(effects: Path, templates: Path, folder: Path) -> None:
    """Read the EFFECTS and the TEMPLATES; write the rows and the picture of every plot into FOLDER."""
    rows = records.read(effects, records.Effect)
    for name, plot in (PLOTS | PLOTS_ADVERSARIAL | PLOTS_EQUITY | PLOTS_STIGMA).items():
        table = plot.layout(rows)
        records.write_json(folder / f"{name}.json", table)
        template = json.loads(records.read_text(templates / f"{plot.template}.json"))
        records.write_text(folder / f"{name}.svg", static_svg(table, template, plot))


if __name__ == "__main__":
    stage.run(main)
