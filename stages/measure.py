"""Estimate every figure with its interval and test, and write the small metrics files that a reviewer compares."""

from pathlib import Path

from equipoise import params, records, stage
from equipoise.adversarial.rows import Attempt, Variant
from equipoise.cases import Case, CaseJudgement
from equipoise.equity.cities import load_cities
from equipoise.equity.rows import Sampled
from equipoise.metrics.options import Measure, judge_errors
from equipoise.metrics.studies import Rows, figures_of
from equipoise.openr1.rows import Agreement
from equipoise.stigma.rows import Fill


def main(data: Path, cities: Path, effects: Path, folder: Path) -> None:
    """Read every study's rows in DATA, and the CITIES; write EFFECTS, and the metrics into FOLDER."""
    rows = Rows(
        vignettes=records.read(data / "vignettes.jsonl", records.Vignette),
        judgements=records.read(data / "judgements.jsonl", records.Judgement),
        variants=records.read(data / "variants.jsonl", Variant),
        attempts=records.read(data / "attempts.jsonl", Attempt),
        sampled=records.read(data / "subsets.jsonl", Sampled),
        responses=records.read(data / "responses.jsonl", records.Response),
        fills=records.read(data / "fills.jsonl", Fill),
        agreements=records.read(data / "agreements.jsonl", Agreement),
        cases=records.read(data / "cases.jsonl", Case),
        case_judgements=records.read(data / "case_judgements.jsonl", CaseJudgement),
        cities=load_cities(cities),
    )
    settings = params.load()
    figures = figures_of(rows, settings.section("measure", Measure), judge_errors(settings.judge, Path()))
    records.write(effects, figures.effects)
    for name, metrics in figures.metrics.items():
        records.write_json(folder / f"{name}.json", metrics)


if __name__ == "__main__":
    stage.run(main)
