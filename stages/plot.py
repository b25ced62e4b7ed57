"""Lay out the figures for `dvc plots`, and draw the same pictures as SVG."""

import json
from pathlib import Path

from equipoise.core import records, stage
from equipoise.report.plots.catalogue import ALL
from equipoise.report.plots.plot import static_svg


def main(effects: Path, templates: Path, folder: Path) -> None:
    """Read the EFFECTS and the TEMPLATES; write the rows and the picture of every plot into FOLDER."""
    rows = records.read(effects, records.Effect)
    with stage.progress("plot") as progress:
        for number, (name, plot) in enumerate(ALL.items(), start=1):
            table = plot.layout(rows)
            records.write_json(folder / f"{name}.json", table)
            template = json.loads(records.read_text(templates / f"{plot.template}.json"))
            records.write_text(folder / f"{name}.svg", static_svg(table, template, plot))
            progress(number, len(ALL))


if __name__ == "__main__":
    stage.run(main)
