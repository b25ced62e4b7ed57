"""Estimate every figure with its interval and test, and write the small metrics files that a reviewer compares."""

from functools import partial
from pathlib import Path

from equipoise.core import params, records, stage
from equipoise.metrics.options import Measure, judge_errors
from equipoise.metrics.rows import read_rows
from equipoise.metrics.studies import figures_of
from equipoise.models import registry


def main(data: Path, cities: Path, effects: Path, folder: Path) -> None:
    """Read every study's rows in DATA, and the CITIES; write EFFECTS, and the metrics into FOLDER."""
    settings = params.load()
    rows = read_rows(data, cities, partial(registry.answers, registry.load_entry(settings.model, Path())))
    figures = figures_of(rows, settings.section("measure", Measure), judge_errors(settings.judge, Path()))
    records.write(effects, figures.effects)
    for name, metrics in figures.metrics.items():
        records.write_json(folder / f"{name}.json", metrics)


if __name__ == "__main__":
    stage.run(main)
