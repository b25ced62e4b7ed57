"""Put the run's figures, pictures, cases and provenance into one HTML file that opens without a network.

Beside it lie the manifest of inputs (licence, source, sha256), for a program, and Vega for the page of `dvc plots`.
The summary, one file a study, is what `dvc metrics` and `dvc exp show` print; the pictures are SVG files for a README.
"""

import json
from pathlib import Path

from equipoise.core import jsonl, params, stage
from equipoise.figures.options import Decision, Measure
from equipoise.figures.plot import static_svg
from equipoise.figures.summary import summary_metrics
from equipoise.report.headlines import read_effects
from equipoise.report.page import bundle, page, read_report
from equipoise.studies import registry


def main(
    data: Path, templates: Path, docs: Path, report: Path, inputs: Path, vega: Path, summary: Path, pictures: Path
) -> None:
    """Read the rows in DATA, plots' TEMPLATES and pages in DOCS; write REPORT, INPUTS, VEGA, SUMMARY and PICTURES."""
    made = read_report(data, templates, docs, Path())
    jsonl.write_text(report, page(made))
    jsonl.write_json(inputs, [one._asdict() for one in made.provenance.inputs])
    jsonl.write_text(vega, bundle())
    settings = params.load()
    effects = {study: read_effects(data, study.name) for study in registry.chosen(settings)}
    for name, values in summary_metrics(effects, settings.section("decision", Decision)).items():
        jsonl.write_json(summary / f"{name}.json", values)
    alpha = settings.section("measure", Measure).alpha
    for study, rows in effects.items():
        for name, plot in study.plots.items():
            template = json.loads(jsonl.read_text(templates / f"{plot.template}.json"))
            jsonl.write_text(pictures / study.name / f"{name}.svg", static_svg(plot.rows(rows), template, plot, alpha))


if __name__ == "__main__":
    stage.run(main)
