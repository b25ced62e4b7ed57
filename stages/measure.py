"""Estimate every figure of a study with its interval and test, write the headlines, and draw the pictures."""

import json
from pathlib import Path

from equipoise.core import records, stage
from equipoise.core.records import Effect, Study
from equipoise.metrics.headlines import headline_metrics
from equipoise.metrics.options import Decision, Measure
from equipoise.metrics.verdicts import verdict, verdict_metrics
from equipoise.report.plot import static_svg
from equipoise.report.plots import ALL
from equipoise.studies import measure
from equipoise.studies.run import Run


def main(study: Study, data: Path, templates: Path, metrics: Path, plots: Path) -> None:
    """Read the rows of the STUDY in DATA and the plots' TEMPLATES; write its effects, METRICS and PLOTS."""
    with stage.progress("measure") as progress:
        run = Run.load(study, data, progress)
        effects = measure.measure(run, getattr(measure, study))
    records.write(run.effects, effects)
    found = verdict(study, effects, run.settings.section("decision", Decision))
    records.write_json(metrics, {**headline_metrics(study, effects), **verdict_metrics(found)})
    # As they were written, rounded: the report draws the same.
    draw(study, records.read(run.effects, Effect), templates, run.settings.section("measure", Measure).alpha, plots)


def draw(study: Study, effects: list[Effect], templates: Path, alpha: float, folder: Path) -> None:
    """Lay out every plot of a study for `dvc plots`, and draw the same picture as SVG."""
    for name, plot in ALL[study].items():
        table = plot.rows(effects)
        records.write_json(folder / f"{name}.json", table)
        template = json.loads(records.read_text(templates / f"{plot.template}.json"))
        records.write_text(folder / f"{name}.svg", static_svg(table, template, plot, alpha))


if __name__ == "__main__":
    stage.run(main)
