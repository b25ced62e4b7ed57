"""Put figures, pictures, cases and provenance into one HTML file; beside it its inputs, Vega and when it was made."""

import json
from pathlib import Path

from equipoise.core import jsonl, params, provenance, stage
from equipoise.figures.layout import read_result
from equipoise.figures.options import Decision, Measure
from equipoise.figures.plot import static_svg
from equipoise.figures.summary import summary_metrics
from equipoise.report.page import bundle, identity, page, read_report
from equipoise.studies import registry


def main(
    data: Path, templates: Path, docs: Path, report: Path, inputs: Path, vega: Path, summary: Path, pictures: Path
) -> None:
    """Read the rows in DATA, plots' TEMPLATES and pages in DOCS; write REPORT, INPUTS, VEGA, SUMMARY and PICTURES."""
    contents = read_report(data, templates, docs, Path())
    jsonl.write_text(report, text := page(contents))
    jsonl.write_json(inputs, [item._asdict() for item in contents.provenance.inputs])
    jsonl.write_text(vega, bundle())
    settings = params.load()
    alpha, decision = settings.section("measure", Measure).alpha, settings.section("decision", Decision)
    for study in registry.chosen(settings):
        result = read_result(data, study, decision)
        jsonl.write_json(summary / f"{study.name}.json", summary_metrics(study, result, decision))
        for name, plot in study.plots.items():
            template = json.loads(jsonl.read_text(templates / f"{plot.template}.json"))
            picture = static_svg(plot.rows(result.effects, result.margins), template, plot, alpha)
            jsonl.write_text(pictures / study.name / f"{name}.svg", picture)
    provenance.write(report.with_name(provenance.FILE), provenance.made(identity(text), Path()))
    print(f"Next: equipoise results, and open {report}")  # noqa: T201  (the last stage, of any run)


if __name__ == "__main__":
    stage.run(main)
