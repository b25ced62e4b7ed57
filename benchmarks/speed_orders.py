"""Cost of several orders of a question's options, compared with the order as written, on the same model and texts."""

from __future__ import annotations

from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Any

from speed_choice import open_folder
from speed_models import ROOT

from equipoise.core import jsonl, params
from equipoise.materials.orders import Asking
from equipoise.materials.questions import Item
from equipoise.studies.exam.subsets import Sample, exam_prompts
from equipoise.studies.questions.neutralize import neutralize_items
from equipoise.studies.questions.prompts import question_prompts
from equipoise.studies.questions.variants.agents import Perturb
from equipoise.studies.questions.variants.loop import complete, perturb
from equipoise.studies.questions.variants.templates import load_templates
from equipoise.studies.questions.variants.validators import load_clinical
from equipoise.studies.questions.variants.writers import RulesGenerator, insert
from equipoise.text.neutral.lexicon import load_lexicon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from speed_models import Asked

    from equipoise.core.prompts import Prompt

    Ask = Callable[[int], list[Prompt]]
    """The prompts of one round, in so many orders."""


def compare_orders(model: Asked, rounds: int) -> dict[str, Any]:
    """Time one order against all orders of params.yaml: processor seconds, round by round.

    A round has one question in all its variants, or four of the exam. Other load of the machine affects both equally.
    """
    settings = params.load(ROOT / "params.yaml")
    orders = settings.section("perturb", Perturb).orders, settings.section("sample", Sample).orders
    makers = {"questions": _questions(rounds), "exam": _exam(rounds)}
    return {study: _ratio(model, ways, most) for (study, ways), most in zip(makers.items(), orders, strict=True)} | {
        "rounds": rounds
    }


def _ratio(model: Asked, ways: Sequence[Ask], orders: int) -> dict[str, Any]:
    seconds: dict[int, list[float]] = {1: [], orders: []}
    counts = dict.fromkeys(seconds, 0)
    with open_folder(model.folder, model) as backend:
        list(backend.answer(ways[0](1)))
        for number, ask in enumerate(ways):
            for count in (1, orders)[:: 1 if number % 2 else -1]:
                prompts = ask(count)
                began = process_time()
                counts[count] += len(list(backend.answer(prompts)))
                seconds[count].append(process_time() - began)
    ratios = [many / single for single, many in zip(seconds[1], seconds[orders], strict=True)]
    return {
        "orders": orders,
        "prompts": counts[orders],
        "processor_seconds": {str(count): round(sum(spent), 1) for count, spent in seconds.items()},
        "cost": {"median": round(median(ratios), 2), "least": round(min(ratios), 2), "most": round(max(ratios), 2)},
    }


def _questions(rounds: int) -> list[Ask]:
    templates = load_templates(ROOT / "data/templates")
    items = jsonl.read(ROOT / "data/items/authored.jsonl", Item)
    included = [row for row in neutralize_items(items, load_lexicon(ROOT / "data/lexicon")) if row.excluded is None]
    rows = complete(
        perturb(
            included[:rounds],
            design="crossed",
            generate=RulesGenerator(templates.frame, templates.themes),
            fuse=insert,
            clinical=load_clinical(ROOT / "data/lexicon/clinical.yaml"),
        )
    )
    texts = [[row for row in rows if row.item == item.key] for item in included[:rounds]]

    def asking(variants: list[Any]) -> Ask:
        return lambda orders: question_prompts(variants, included, Asking(templates.evaluation, "likelihood", orders))

    return [asking(variants) for variants in texts if variants]


def _exam(rounds: int) -> list[Ask]:
    template = load_templates(ROOT / "data/templates").evaluation
    items = jsonl.read(ROOT / "data/items/authored.jsonl", Item)

    def asking(group: list[Item]) -> Ask:
        return lambda orders: [
            prompt for item in group for prompt in exam_prompts(item, Asking(template, "likelihood", orders))
        ]

    return [asking(items[4 * number : 4 * number + 4]) for number in range(rounds)]
