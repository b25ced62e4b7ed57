"""Draw each city's exam: questions in the proportions of its diseases, each asked once as it stands."""

from pathlib import Path

from equipoise import params, questions, records, stage
from equipoise.adversarial.rows import Item
from equipoise.equity.cities import load_cities
from equipoise.equity.subsets import Sample, asked_items, sample_cities
from equipoise.perturb.templates import EvaluationPrompt
from equipoise.yamlfile import load_yaml


def main(items: Path, cities: Path, template: Path, subsets: Path, exam: Path) -> None:
    """Read the ITEMS, the CITIES and the TEMPLATE of a question; write the cities' SUBSETS and the EXAM's prompts."""
    settings = params.load().section("sample", Sample)
    rows = records.read(items, Item)
    sampled = sample_cities(rows, load_cities(cities), settings)
    asked = load_yaml(template, EvaluationPrompt)
    prompts = [questions.exam_prompt(item, asked, settings.answering) for item in asked_items(rows, sampled)]
    records.write(subsets, sampled)
    records.write(exam, prompts)


if __name__ == "__main__":
    stage.run(main)
