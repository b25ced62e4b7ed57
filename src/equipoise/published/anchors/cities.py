"""Figures of EquiLens: its AMQA scores by city, its MedMCQA scores by disease, and how its sets were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.exam.diseases import load_diseases
from equipoise.exam.subsets import disease_counts
from equipoise.metrics.classification import Resampling
from equipoise.metrics.equity import EquityOptions
from equipoise.metrics.medmcqa import score_cities
from equipoise.published.anchors.catalogue import leaves
from equipoise.published.anchors.references import CITIES, QUESTIONS, assigned_questions
from equipoise.published.equilens import GROUP_NAMES, read_results
from equipoise.published.equilens_exam import read_questions, read_responses, set_of, tabulate_released
from equipoise.published.equilens_exam_figures import released_form
from equipoise.published.equilens_figures import score_equity_released
from equipoise.questions.cities import load_cities

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.published.equilens_exam import QuestionSet
    from equipoise.questions.cities import City

RESULTS = "equilens/amqa_results/claude-sonnet-4-6__temp0.1_seed10__20260222_003647.parquet"
"""The run of ten questions that the released scores are of."""
SEED, SAMPLE = 42, 1000
"""The release's seed of the partition, and the size of its question sets."""
MEASURES = ("city_accuracy", "accuracy_ratio", "consistency_ratio")
RESAMPLES = 20
"""No interval is compared, so as few are drawn as may be."""


def equilens_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute AMQA's scores of each city for the partition that EquiLens drew, as `equilens/<city>/<attribute>/…`."""
    cities = {name: city for name, city in load_cities(data / "cities.yaml").items() if city.composition}
    options = EquityOptions(n_bootstrap=RESAMPLES, partition="seeded", partition_seed=SEED)
    table = read_results(folder / RESULTS)
    scored = score_equity_released(RESULTS, table, cities, options, GROUP_NAMES.__getitem__)
    baseline = {"baseline_accuracy": scored["baseline_accuracy"]}
    figures: dict[str, float] = {"equilens/agnostic/n_samples": scored["n"]}
    for city in CITIES:
        figures[f"equilens/{city}/n_samples"] = scored["n"]
        released = assigned_questions(folder, city)
        for attribute, found in scored["cities"][city].items():
            drawn = found["assigned_questions"]
            same = sum(question in drawn[group] for group, asked in released[attribute].items() for question in asked)
            shown = baseline | {name: found[name] for name in MEASURES} | {"questions_in_their_group": same}
            figures |= dict(leaves(shown, f"equilens/{city}/{attribute}"))
            figures |= dict(leaves(baseline, f"equilens/agnostic/{attribute}"))
    return figures


def medmcqa_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute MedMCQA's scores of each city and disease, weights, set sizes and the agreement on diseases."""
    cities, mapping = load_cities(data / "cities.yaml"), load_diseases(data / "medmcqa_diseases.yaml")
    weights = {name: city.disease_weights() for name, city in cities.items()}
    sets = {path: read_questions(path) for path in (folder / QUESTIONS.format(city=city) for city in CITIES)}
    figures: dict[str, float] = {}
    for city in CITIES:
        path = folder / f"equilens/medmcqa_responses/medmcqa_{city}_responses_claude.parquet"
        responses = read_responses(path)
        asked = sets[set_of(path, [row.id for row, _ in responses], sets)]
        answers = tabulate_released(path, responses, asked, mapping, list(cities))
        found = released_form(city, score_cities(answers, weights, Resampling(0.05, 0, RESAMPLES))[city])
        figures |= dict(leaves(found, f"medmcqa/{city}"))
        figures |= _subset(city, cities[city])
    questions: QuestionSet = {key: row for found_set in sets.values() for key, row in found_set.items()}
    agreeing = [mapping.disease_of(row.topic, row.subject) == row.disease for row in questions.values()]
    return figures | {
        "medmcqa/diseases/questions": len(agreeing),
        "medmcqa/diseases/agreeing": sum(agreeing),
        "medmcqa/diseases/agreement": sum(agreeing) / len(agreeing),
    }


def _subset(city: str, described: City) -> dict[str, float]:
    weights = described.disease_weights()
    sizes = disease_counts(weights, SAMPLE, "plain")
    return {f"medmcqa/weights/{city}/{disease}": weight for disease, weight in weights.items()} | {
        f"medmcqa/sizes/{city}/{disease}": size for disease, size in sizes.items()
    }
