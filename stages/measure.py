"""Estimate every figure of a study with its interval and test, write the headlines, and lay out the plots."""

from pathlib import Path

from equipoise.core import records, stage
from equipoise.core.records import Effect, Study
from equipoise.metrics.headlines import headline_metrics
from equipoise.metrics.options import Decision
from equipoise.metrics.verdicts import verdict, verdict_metrics
from equipoise.report.plots import ALL
from equipoise.studies import measure
from equipoise.studies.run import Run


def main(study: Study, data: Path, metrics: Path, plots: Path) -> None:
    """Read the rows of the STUDY in DATA; write its effects, METRICS and the rows of its PLOTS."""
    with stage.progress("measure") as progress:
        run = Run.load(study, data, progress)
        effects = measure.measure(run, getattr(measure, study))
    records.write(run.effects, effects)
    found = verdict(study, effects, run.settings.section("decision", Decision))
    records.write_json(metrics, {**headline_metrics(study, effects), **verdict_metrics(found)})
    # As they were written, rounded: the report draws the same.
    written = records.read(run.effects, Effect)
    for name, plot in ALL[study].items():
        records.write_json(plots / f"{name}.json", plot.rows(written))


if __name__ == "__main__":
    stage.run(main)
