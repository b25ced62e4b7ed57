"""Put the run's figures, pictures, cases and provenance into one HTML file that opens without a network."""

from pathlib import Path

from equipoise import records, stage
from equipoise.report.make import read_report
from equipoise.report.page import page


def main(data: Path, metrics: Path, plots: Path, templates: Path, report: Path) -> None:
    """Read the rows in DATA, the figures in METRICS and PLOTS, and the plots' TEMPLATES; write REPORT."""
    records.write_text(report, page(read_report(data, metrics, plots, templates, Path())))


if __name__ == "__main__":
    stage.run(main)
