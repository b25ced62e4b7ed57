"""Estimate the accuracy gaps between groups and directions, and their meaning for the cities."""

from collections.abc import Iterable
from typing import TypeVar

from equipoise.figures import guards
from equipoise.figures.result import Counts, StudyResult
from equipoise.materials.cities import load_cities
from equipoise.materials.orders import count_in_one_order, read_choices, unparsed
from equipoise.pipeline.rows import contents, options_of, prompts_and_responses
from equipoise.pipeline.run import Run
from equipoise.studies.questions.attack import attack_effects, attack_tables
from equipoise.studies.questions.city_effects import city_effects
from equipoise.studies.questions.components import component_effects, written_guards
from equipoise.studies.questions.effects import arm_skews, question_effects, question_findings, tabulate
from equipoise.studies.questions.rows import Attempt, Variant
from equipoise.studies.questions.study import STUDY
from equipoise.studies.questions.variants.loop import ATTACK


def measure(run: Run) -> StudyResult:
    """Estimate the accuracy gaps between groups and directions, and their meaning for the cities."""
    prompts, responses = prompts_and_responses(run)
    letters, orders = read_choices(run.judgements)
    plain = {key: letter for key, letter in letters.items() if ATTACK not in key}
    variants, attacks = (_without_texts(run.rows(name, Variant)) for name in ("variants", "attacks"))
    table = tabulate(variants, plain, orders)
    one_order = count_in_one_order((row.item, row.options) for row in variants)
    skews, cities, options = arm_skews(table), load_cities(run.data / "cities.yaml"), options_of(run)
    return StudyResult(
        study=run.study,
        effects=[
            *question_effects(table, options, _without_texts(run.rows("attempts", Attempt))),
            *component_effects(table, {row.item: row.options for row in variants}, options),
            *attack_effects(attack_tables(variants, attacks, orders), options),
            *city_effects(table, cities, options),
        ],
        findings=question_findings(skews),
        guards=[
            *guards.reply_guards(STUDY, responses, contents(prompts)),
            *written_guards(orders),
            *guards.arm_skews(skews.values()),
        ],
        counts=Counts.of(responses, unparsed=unparsed(letters), one_order=one_order),
    )


V = TypeVar("V", Variant, Attempt)


def _without_texts(rows: Iterable[V]) -> list[V]:
    """Drop the texts of variants or attempts, which are most of their bytes and not part of any figure."""
    return [row.model_copy(update={"background": "", "text": ""}) for row in rows]
