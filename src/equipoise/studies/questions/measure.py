"""Estimate the accuracy gaps between groups and directions, and what they mean for the cities."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from equipoise.figures import guards
from equipoise.figures.effects import Effect
from equipoise.figures.guards import run_effects
from equipoise.materials.asked import read_choices, unparsed
from equipoise.materials.cities import load_cities
from equipoise.pipeline.rows import contents, options_of, prompts_and_responses
from equipoise.pipeline.run import Run
from equipoise.studies.questions.attack import attack_effects, attack_tables
from equipoise.studies.questions.city_effects import city_effects
from equipoise.studies.questions.effects import question_effects, tabulate
from equipoise.studies.questions.rows import Attempt, Variant
from equipoise.studies.questions.study import STUDY
from equipoise.studies.questions.variants.loop import ATTACK


def measure(run: Run) -> Iterator[Effect]:
    """Estimate the accuracy gaps between groups and directions, and what they mean for the cities."""
    prompts, responses = prompts_and_responses(run)
    letters, orders = read_choices(run.judgements)
    plain = {key: letter for key, letter in letters.items() if ATTACK not in key}
    variants, attacks = (_without_texts(run.rows(name, Variant)) for name in ("variants", "attacks"))
    table = tabulate(variants, plain, orders)
    cities, options = load_cities(run.data / "cities.yaml"), options_of(run)
    attempts = _without_texts(run.rows("attempts", Attempt))
    adversarial = question_effects(table, options, attempts)
    yield from adversarial
    yield from attack_effects(attack_tables(variants, attacks, orders), options)
    yield from city_effects(table, cities, options)
    found = [
        *guards.reply_guards(STUDY, responses, contents(prompts)),
        guards.unread(order.probabilities or None for asked in orders.values() for order in asked),
        *guards.arm_skews(adversarial),
    ]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, unparsed(letters))


V = TypeVar("V", Variant, Attempt)


def _without_texts(rows: Iterable[V]) -> list[V]:
    """Keep variants or attempts without their texts, which are most of their bytes, and not part of any figure."""
    return [row.model_copy(update={"background": "", "text": ""}) for row in rows]
