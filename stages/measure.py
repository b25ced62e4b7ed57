"""Estimate every figure of a study with its interval and test, write the headlines, and lay out the plots."""

from pathlib import Path

from equipoise.core import jsonl, stage
from equipoise.figures.effects import Effect
from equipoise.figures.layout import result_of, rows_of
from equipoise.figures.options import Decision, Measure
from equipoise.figures.summary import study_metrics
from equipoise.pipeline import steps
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run


def main(study: str, data: Path, metrics: Path, plots: Path) -> None:
    """Read the rows of the STUDY in DATA; write its effects, METRICS and the rows of its PLOTS."""
    declared = steps.study_of(study)
    with stage.progress("measure") as progress:
        run = Run.load(study, data, progress)
        result = measure(run, steps.step(study, "measure"))
    jsonl.write(run.effects, rows_of(result))
    decision, options = run.settings.section("decision", Decision), run.settings.section("measure", Measure)
    jsonl.write_json(metrics, study_metrics(declared, result, decision, options))
    # As they were written, rounded: the report draws the same.
    written = result_of(study, jsonl.read(run.effects, Effect))
    for name, plot in declared.plots.items():
        jsonl.write_json(plots / f"{name}.json", plot.rows(written.effects, result.margins))


if __name__ == "__main__":
    stage.run(main)
