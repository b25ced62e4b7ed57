"""Put the run's figures, pictures, cases and provenance into one HTML file that opens without a network.

Beside it lies the manifest of the run's inputs, with licence, source and sha256, for a program to read.
"""

from pathlib import Path

from equipoise.core import records, stage
from equipoise.report.page import page, read_report


def main(data: Path, templates: Path, docs: Path, report: Path, inputs: Path) -> None:
    """Read the rows and effects in DATA, the plots' TEMPLATES and the pages in DOCS; write REPORT and INPUTS."""
    made = read_report(data, templates, docs, Path())
    records.write_text(report, page(made))
    records.write_json(inputs, [one._asdict() for one in made.provenance.inputs])


if __name__ == "__main__":
    stage.run(main)
