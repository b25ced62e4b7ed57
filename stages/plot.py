"""Lay out the figures of a study for `dvc plots`, and draw the same pictures as SVG."""

import json
from pathlib import Path

from equipoise.core import params, records, stage
from equipoise.core.records import Study
from equipoise.report.plot import static_svg
from equipoise.report.plots import ALL


def main(study: Study, effects: Path, templates: Path, folder: Path) -> None:
    """Read the EFFECTS of the STUDY and the TEMPLATES; write the rows and the picture of every plot into FOLDER."""
    rows = records.read(effects, records.Effect)
    alpha = float(params.load().measure["alpha"])
    with stage.progress("plot") as progress:
        for number, (name, plot) in enumerate(ALL[study].items(), start=1):
            table = plot.rows(rows)
            records.write_json(folder / f"{name}.json", table)
            template = json.loads(records.read_text(templates / f"{plot.template}.json"))
            records.write_text(folder / f"{name}.svg", static_svg(table, template, plot, alpha))
            progress(number, len(ALL[study]))


if __name__ == "__main__":
    stage.run(main)
