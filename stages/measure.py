"""Estimate every figure of a study with its interval and test, and write the headlines that a reviewer compares."""

from pathlib import Path

from equipoise.core import records, stage
from equipoise.core.records import Study
from equipoise.metrics.headlines import headline_metrics
from equipoise.metrics.options import Decision
from equipoise.metrics.verdicts import verdict, verdict_metrics
from equipoise.studies import measure
from equipoise.studies.run import Run


def main(study: Study, data: Path, metrics: Path) -> None:
    """Read the rows of the STUDY in DATA; write its effects, and its headline figures to METRICS."""
    with stage.progress("measure") as progress:
        run = Run.load(study, data, progress)
        effects = measure.measure(run, getattr(measure, study))
    records.write(run.effects, effects)
    found = verdict(study, effects, run.settings.section("decision", Decision))
    records.write_json(metrics, {**headline_metrics(study, effects), **verdict_metrics(found)})


if __name__ == "__main__":
    stage.run(main)
