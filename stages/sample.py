"""Draw each city's exam: questions in the proportions of its diseases, each asked once as it stands."""

from pathlib import Path

from equipoise.core import params, records, stage
from equipoise.core.yamlfile import load_yaml
from equipoise.exam.subsets import Sample, asked_items, sample_cities
from equipoise.questions import asked as questions
from equipoise.questions.cities import load_cities
from equipoise.questions.rows import Item
from equipoise.questions.variants.templates import EvaluationPrompt


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
