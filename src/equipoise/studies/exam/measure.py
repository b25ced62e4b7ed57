"""Estimate the accuracy on each city's questions, by disease and weighted by prevalence."""

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.result import Counts, StudyResult
from equipoise.materials.cities import load_cities
from equipoise.materials.orders import count_in_one_order, read_choices, unparsed
from equipoise.materials.positions import position_effects, shown_letters
from equipoise.pipeline.rows import contents, options_of, prompts_and_responses
from equipoise.pipeline.run import Run
from equipoise.studies.exam.effects import exam_effects, score_cities, tabulate_exam
from equipoise.studies.exam.study import STUDY
from equipoise.studies.exam.subsets import EXAM, Sampled


def measure(run: Run) -> StudyResult:
    """Estimate the accuracy on each city's questions, by disease and weighted by prevalence."""
    prompts, responses = prompts_and_responses(run)
    letters, orders = read_choices(run.judgements)
    sampled, cities = jsonl.read(run.built("subsets"), Sampled), load_cities(run.data / "cities.yaml")
    weights = {name: city.disease_weights() for name, city in cities.items() if city.diseases}
    options = options_of(run)
    answered = {key.removesuffix(EXAM): letter for key, letter in letters.items()}
    scores = score_cities(tabulate_exam(sampled, answered), weights, options)
    gold = {f"{row.item}{EXAM}": row.gold for row in sampled}
    one_order = count_in_one_order((row.item, row.options) for row in sampled)
    return StudyResult(
        study=run.study,
        effects=[
            *exam_effects(scores, options.alpha),
            *position_effects(run.study, [[arm] for arm in orders.values()], options.alpha),
        ],
        guards=[
            *guards.reply_guards(STUDY, responses, contents(prompts)),
            # No question is about a group of patients: all are one arm.
            *guards.answer_guards({"all": [order.written for arm in orders.values() for order in arm]}),
            guards.exam_skew([shown_letters(order, gold[key]) for key, arm in orders.items() for order in arm]),
        ],
        counts=Counts.of(responses, unparsed=unparsed(letters), one_order=one_order),
    )
