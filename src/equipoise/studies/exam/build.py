"""Draw each city's exam: questions in the proportions of its diseases, each asked as written."""

from equipoise.core import jsonl
from equipoise.core.yamlfile import load_yaml
from equipoise.materials.cities import load_cities
from equipoise.materials.evaluation import EvaluationPrompt
from equipoise.materials.orders import Asking
from equipoise.pipeline.phantoms import tell
from equipoise.pipeline.rows import items_of
from equipoise.pipeline.run import Run
from equipoise.studies.exam.facts import facts
from equipoise.studies.exam.subsets import Sample, exam_prompts, sample_cities, sampled_items


def build(run: Run) -> None:
    """Draw each city's exam: questions in the proportions of its diseases, each asked as written."""
    settings = run.settings.section("sample", Sample)
    rows = items_of(run, settings.items)
    sampled = sample_cities(rows, load_cities(run.data / "cities.yaml"), settings)
    template = load_yaml(run.data / "templates" / "evaluation.yaml", EvaluationPrompt)
    asking = Asking(template, settings.answering, settings.orders)
    prompts = [prompt for item in sampled_items(rows, sampled) for prompt in exam_prompts(item, asking)]
    jsonl.write(run.built("subsets"), sampled)
    jsonl.write(run.built("prompts"), prompts)
    tell(run, facts)
