"""The step `measure` of each study: every figure with its interval and test, from rows found to belong together."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from equipoise.core import jsonl
from equipoise.core.prompts import Prompt, Response
from equipoise.core.units import Unit, of_asked
from equipoise.figures import guards
from equipoise.figures.effects import SKEWED, Effect
from equipoise.figures.guards import diagnoses_read, run_effects
from equipoise.figures.options import Decision, Measure
from equipoise.figures.primary import declared, headline
from equipoise.figures.responses import Asked, Noted, asked, note, require_answered
from equipoise.figures.verdicts import DECIDING, Looked, at_all_looks, verdict, verdict_effects
from equipoise.judge.rating.labelled import FOLDER, read_labels
from equipoise.materials.cities import load_cities
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import require_same_keys
from equipoise.materials.positions import position_effects, shown_letters
from equipoise.materials.questions import Choice, Order
from equipoise.materials.versions import is_arm, is_rereading
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.followed import followed
from equipoise.pipeline.run import Run
from equipoise.stats.misclassification import ErrorCounts
from equipoise.stats.repeated import level
from equipoise.studies.cases.effects import case_effects
from equipoise.studies.cases.rows import Case, CaseJudgement
from equipoise.studies.decisions.effects import decision_effects
from equipoise.studies.decisions.panel_effects import panel_decision_effects
from equipoise.studies.exam.asked import EXAM
from equipoise.studies.exam.effects import exam_effects, score_cities, tabulate_exam
from equipoise.studies.exam.subsets import Sampled
from equipoise.studies.openr1.effects import openr1_effects
from equipoise.studies.openr1.rows import Agreement
from equipoise.studies.questions.attack import attack_effects, attack_tables
from equipoise.studies.questions.city_effects import city_effects
from equipoise.studies.questions.effects import question_effects, tabulate
from equipoise.studies.questions.rows import Attempt, Variant
from equipoise.studies.questions.variants.loop import ATTACK
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.stigma.fills import identical_fills, require_whole
from equipoise.studies.stigma.rows import Fill
from equipoise.studies.vignettes.decisions import Asked as Decided
from equipoise.studies.vignettes.decisions import Reading, is_decision
from equipoise.studies.vignettes.effects import judge_errors, vignette_effects
from equipoise.studies.vignettes.panel import Telling
from equipoise.studies.vignettes.panel_effects import panel_vignette_effects
from equipoise.studies.vignettes.profiles import Build

V = TypeVar("V", Variant, Attempt)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Hold off the search for cycles, of which rows have none: among a million of them it takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def measure(run: Run, step: Callable[[Run], Iterator[Effect]]) -> list[Effect]:
    """Compute the effects of a study, sorted by key; `step` is the function of its name below.

    EquipoiseError where a file or a row is malformed, or where responses are not those of the prompts.
    """
    with _uncollected():
        decision = run.settings.section("decision", Decision)
        found = list(declared(step(run), run.study, decision.endpoints))
        # Whether an interval keeps its level is judged at that of the figures.
        coverage = next((row.coverage for row in found if row.primary), None)
        looked = _looked_at(run, units) if (units := run.units) else None
        found += (row.model_copy(update={"coverage": coverage}) for row in _deciding(run, step, decision, looked))
        if looked is not None:
            repeated = {row.key: row for row in _at_level(run, step, level(*looked, _options(run).alpha))}
            found = at_all_looks(run.study, found, decision, looked, repeated)
        found += verdict_effects(run.study, verdict(run.study, found, decision))
        return sorted(found, key=lambda row: row.key)


def _deciding(
    run: Run, step: Callable[[Run], Iterator[Effect]], decision: Decision, looked: Looked | None
) -> Iterator[Effect]:
    """Estimate the endpoint at the confidence level of decisions, where it is not that of the figures.

    Also the interval of it that is corrected for skewness.
    """
    endpoint, alpha = decision.endpoints.get(run.study), decision.applied(_options(run)).alpha
    if endpoint is None or endpoint.margin is None or alpha == _options(run).alpha:
        return
    figure, (family, group, measure) = headline(run.study, endpoint), DECIDING.split("/")
    for row in _at_level(run, step, alpha if looked is None else level(*looked, alpha)):
        for suffix in ("", SKEWED):
            if replace(figure, measure=f"{figure.measure}{suffix}").covers(row):
                names = {"family": family, "group": group, "measure": f"{measure}{suffix}"}
                yield row.model_copy(update={"key": f"{run.study}/{DECIDING}{suffix}", **names})


def _at_level(run: Run, step: Callable[[Run], Iterator[Effect]], alpha: float | None) -> Iterator[Effect]:
    """Estimate every figure with intervals of the level 1 - alpha; without any where it is None."""
    if alpha is None:
        yield from (row.model_copy(update={"ci_low": None, "ci_high": None}) for row in step(run))
    else:
        changed = {"measure": run.settings.measure | {"alpha": alpha}}
        yield from step(replace(run, settings=run.settings.model_copy(update=changed)))


def _looked_at(run: Run, units: Sequence[Unit]) -> Looked:
    """Count the clusters that contribute to the primary endpoint: those that were asked, and all."""
    counted = {unit.key for unit in units}
    if run.study == "vignettes":
        told = jsonl.each(run.built("vignettes"), Vignette)
        counted = {row.pair for row in told if row.grade != "C" and not row.reverse}
    elif run.study == "decisions":
        wanted = jsonl.each(run.built("decisions"), Decided)
        counted = {row.pair for row in wanted if row.grade != "C" and row.usual and not row.reverse}
    clusters = {unit.cluster for unit in units if unit.key in counted}
    return Looked(len({unit.cluster for unit in units if unit.asked} & clusters), len(clusters))


def vignettes(run: Run) -> Iterator[Effect]:
    """Estimate the stereotype shift, the rates of differential and of silent bias, and the noise floor; or a panel."""
    prompts, responses = _asked_and_followed(run)
    told, judged = list(run.rows("vignettes", Vignette)), jsonl.read(run.judgements, Judgement)
    require_same_keys("response", (one.key for one in responses), "judgement", (one.key for one in judged))
    how = run.settings.section("build", Build)
    if how.design == "panel":
        yield from panel_vignette_effects(judged, _options(run))
    else:
        labels = read_labels(run.data / FOLDER, run.responses, (one.key for one in judged))
        yield from vignette_effects(told, judged, _options(run), _errors(run), 1 + len(how.wordings), labels)
    tellings = run.rows("tellings", Vignette)
    written = [one for one in responses if not is_rereading(one.key)]
    presentations = {vignette.key: vignette.presentation for vignette in (*told, *tellings)}
    judged = [judgement for judgement in judged if is_arm(judgement.key)]
    found = [
        *guards.reply_guards(run.study, written, _contents(prompts), presentations),
        *guards.answer_guards([judgement.answer for judgement in judged]),
        guards.diagnosis_skew(told, judged),
    ]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, diagnoses_read(judged))


def decisions(run: Run) -> Iterator[Effect]:
    """Estimate how far decisions move towards what is documented of the patient's group; or those about a panel."""
    prompts, responses = _asked_and_followed(run)
    readings = jsonl.read(run.judgements, Reading)
    of_decisions = (one.key for one in responses if is_decision(one.key))
    require_same_keys("response", of_decisions, "judgement", (one.key for one in readings))
    panel = run.settings.section("build", Build).design == "panel"
    effects = panel_decision_effects if panel else decision_effects
    yield from effects(list(run.rows("decisions", Decided)), readings, _options(run))
    told = (one for name in ("vignettes", "tellings") for one in run.rows(name, Vignette))
    written = [one for one in responses if not is_decision(one.key)]
    presentations = {vignette.key: vignette.presentation for vignette in told}
    presentations |= {telling.key: telling.story for telling in jsonl.each(run.built("imported"), Telling)}
    chosen = guards.unread(one.chosen or None for one in readings)
    found = [*guards.reply_guards(run.study, written, _contents(prompts), presentations), chosen]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, {"unparsed": chosen.wrong})


def questions(run: Run) -> Iterator[Effect]:
    """Estimate the accuracy gaps between groups and directions, and what they mean for the cities."""
    prompts, responses = _asked(run)
    letters, orders = _chosen(run)
    plain = {key: letter for key, letter in letters.items() if ATTACK not in key}
    variants, attacks = (_without_texts(run.rows(name, Variant)) for name in ("variants", "attacks"))
    table = tabulate(variants, plain, orders)
    cities, options = load_cities(run.data / "cities.yaml"), _options(run)
    attempts = _without_texts(run.rows("attempts", Attempt))
    adversarial = question_effects(table, options, attempts)
    yield from adversarial
    yield from attack_effects(attack_tables(variants, attacks, orders), options)
    yield from city_effects(table, cities, options)
    found = [
        *guards.reply_guards(run.study, responses, _contents(prompts)),
        guards.unread(order.probabilities or None for asked in orders.values() for order in asked),
        *guards.arm_skews(adversarial),
    ]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, _unparsed(letters))


def exam(run: Run) -> Iterator[Effect]:
    """Estimate how well the questions of each city are answered, by disease and weighted by prevalence."""
    prompts, responses = _asked(run)
    letters, orders = _chosen(run)
    sampled, cities = jsonl.read(run.built("subsets"), Sampled), load_cities(run.data / "cities.yaml")
    weights = {name: city.disease_weights() for name, city in cities.items() if city.diseases}
    options = _options(run)
    answered = {key.removesuffix(EXAM): letter for key, letter in letters.items()}
    scores = score_cities(tabulate_exam(sampled, answered), weights, options)
    yield from exam_effects(scores, options.alpha)
    yield from position_effects(run.study, [[asked] for asked in orders.values()], options.alpha)
    gold = {f"{row.item}{EXAM}": row.gold for row in sampled}
    found = [
        *guards.reply_guards(run.study, responses, _contents(prompts)),
        guards.unread(order.probabilities or None for asked in orders.values() for order in asked),
        guards.exam_skew([shown_letters(order, gold[key]) for key, asked in orders.items() for order in asked]),
    ]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, _unparsed(letters))


def stigma(run: Run) -> Iterator[Effect]:
    """Estimate which gender the model associates with an illness, and with the attitudes towards it."""
    prompts, responses = _asked(run)
    fills = jsonl.read(run.judgements, Fill)
    require_whole(fills, run.judgements)
    yield from stigma_effects(fills, _options(run))
    found = [
        *(one for one in guards.reply_guards(run.study, responses, _contents(prompts)) if one.name == "copied_results"),
        guards.Guard("identical_arms", *identical_fills(fills)),
        guards.unread(fill if fill.female + fill.male else None for fill in fills),
    ]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, {})


def openr1(run: Run) -> Iterator[Effect]:
    """Estimate how far the reply to a client's message changes with the client's demographics."""
    prompts, responses = _asked(run)
    agreements = jsonl.read(run.judgements, Agreement)
    yield from openr1_effects(agreements, _options(run))
    found = [
        *guards.reply_guards(run.study, responses, _contents(prompts)),
        guards.unread(one.arms_agree for one in agreements),
    ]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, {})


def cases(run: Run) -> Iterator[Effect]:
    """Estimate the silent bias rate of saved outputs to other people's cases, and of pairs the differences too."""
    told, judged = jsonl.read(run.built("cases"), Case), jsonl.read(run.judgements, CaseJudgement)
    saved = jsonl.read(run.responses, Response)
    yield from case_effects(told, saved, judged, _options(run), _errors(run))
    responses = [note(one) for one in saved]
    answered = sum(bool(response.finished) for response in responses)
    found = [
        guards.Guard("unanswered_prompts", len(told), len(told) - answered),
        *guards.reply_guards(run.study, responses, {case.key: case.prompt for case in told}),
        *guards.answer_guards([judgement.answer for judgement in judged]),
    ]
    yield from guards.guard_effects(run.study, found)


def _asked_and_followed(run: Run) -> tuple[list[Asked], list[Noted]]:
    """Read the prompts and the responses of a study, with the prompts that followed from the replies."""
    file, saved = run.built("prompts"), jsonl.read(run.responses, Response)
    prompts, known, units = jsonl.read(file, Prompt), {one.key for one in saved}, run.units
    told = list(of_asked(prompts, units))
    missing = [one.key for one in told if one.key not in known]
    every = list(of_asked(asked(file, prompts if missing else [*prompts, *followed(run, told, saved)]), units))
    responses = [note(one) for one in saved]
    require_answered(every, responses, run.responses)
    return every, responses


def _asked(run: Run) -> tuple[list[Asked], list[Noted]]:
    """Read the prompts and the responses of a study, without their texts, and refuse any that do not match."""
    file = run.built("prompts")
    prompts = list(of_asked(asked(file, jsonl.each(file, Prompt)), run.units))
    responses = [note(one) for one in jsonl.each(run.responses, Response)]
    require_answered(prompts, responses, run.responses)
    return prompts, responses


def _chosen(run: Run) -> tuple[dict[str, str | None], dict[str, tuple[Order, ...]]]:
    """Read the option chosen for each question, and the answers in the orders of its options, by key."""
    rows = jsonl.read(run.judgements, Choice)
    return {one.key: one.letter for one in rows}, {one.key: one.orders for one in rows}


def _unparsed(letters: dict[str, str | None]) -> dict[str, int]:
    return {"unparsed": sum(letter is None for letter in letters.values())}


def _contents(prompts: list[Asked]) -> dict[str, bytes]:
    return {one.key: one.content for one in prompts}


def _options(run: Run) -> Measure:
    return run.settings.section("measure", Measure)


def _errors(run: Run) -> ErrorCounts | None:
    """Read the judge's measured error, for which the silent bias rate is corrected."""
    return judge_errors(run.settings.judge, Path())


def _without_texts(rows: Iterable[V]) -> list[V]:
    """Keep variants or attempts without their texts, which are most of their bytes, and not part of any figure."""
    return [row.model_copy(update={"background": "", "text": ""}) for row in rows]
