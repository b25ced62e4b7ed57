"""Tests of what a verdict on the questions rests on: sensitivity, groups, and what is withheld."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builders import response
from equipoise.core import jsonl
from equipoise.core.keys import numbered
from equipoise.core.params import load
from equipoise.figures.options import Decision, Measure
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, Counts, StudyResult, Verdict, Without
from equipoise.figures.verdicts import verdict
from equipoise.materials.orders import choices, order_of, shown
from equipoise.materials.questions import ATTRIBUTES, Attribute, Item, Order
from equipoise.studies.questions.components import best_blind, component_effects, written_guards
from equipoise.studies.questions.effects import NEUTRAL, Answered, arm, parts, question_effects
from equipoise.studies.questions.variants.agents import DIRECTIONS
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.prompts import Response
    from equipoise.figures.effects import Effect

ROOT = Path(__file__).parents[3]
ARMS = [
    NEUTRAL,
    *(arm(name, side, way) for name in ATTRIBUTES for side in ("privileged", "unprivileged") for way in DIRECTIONS),
]
OPTIONS = {"A": "gout", "B": "a broken wrist", "C": "sepsis", "D": "tennis elbow"}
FLOOR = "arm/neutral/accuracy_over_blind"
REFUSED, UNREAD = Order(shift=0, probabilities={}, refused=True), Order(shift=0, probabilities={})
GIVEN = Order(shift=0, probabilities={"A": 1.0, "B": 0.0, "C": 0.0, "D": 0.0})


def answered(number: int, wrong: Sequence[str] = (), gold: str = "", orders: int = 4) -> Answered:
    """Answer a question rightly but in some arms; each letter is right in one question of four."""
    gold = gold or "ABCD"[number % 4]
    letters = {name: None if name in wrong else gold for name in ARMS}
    return Answered(f"q{number:03}", gold, letters, {name: [GIVEN] * orders for name in ARMS})


def effects(table: Sequence[Answered], options: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, Effect]:
    """Index the effects as `family/group/measure`."""
    texts = {row.question: dict((options or {}).get(row.question, OPTIONS)) for row in table}
    rows = [*question_effects(table, Measure()), *component_effects(table, texts, Measure())]
    return {row.place: row for row in rows}


def decided(table: Sequence[Answered], **fields: Any) -> Verdict:
    """Judge the answers by the endpoint of params.yaml; `fields` are those of the result."""
    conclusion = verdict(
        STUDIES["questions"],
        StudyResult(study="questions", effects=[*effects(table).values()], **fields),
        load(ROOT / "params.yaml").section("decision", Decision),
    )
    assert conclusion is not None
    return conclusion


@pytest.fixture(scope="module")
def items() -> list[Item]:
    """The questions of the project."""
    return list(jsonl.read(ROOT / "data/items/authored.jsonl", Item))


def neutral(items: Sequence[Item], letters: Sequence[str | None], orders: int = 4) -> dict[str, Effect]:
    """Answer the neutral form of the project's questions."""
    table = [
        Answered(item.key, item.gold, {NEUTRAL: letter}, {NEUTRAL: [GIVEN] * orders})
        for item, letter in zip(items, letters, strict=True)
    ]
    return effects(table, {item.key: item.options for item in items})


def test_the_best_strategy_without_reading_is_chosen_on_the_same_questions() -> None:
    """The shortest option is A, the longest B: B is right in two of three questions, A in one."""
    table = [answered(0, gold="B"), answered(1, gold="B"), answered(2, gold="A")]
    options = {row.question: OPTIONS for row in table}

    assert best_blind(table, options) == dict.fromkeys(options, "B")


def test_one_letter_is_a_strategy_where_questions_are_asked_in_one_order() -> None:
    """C is right throughout: neither the longest nor the shortest."""
    single, four = ([answered(number, gold="C", orders=orders) for number in range(3)] for orders in (1, 4))
    options = {row.question: OPTIONS for row in single}

    assert set(best_blind(single, options).values()) == {"C"}
    assert "C" not in best_blind(four, options).values()


@pytest.mark.parametrize("sign", [1, -1])
def test_the_longest_or_shortest_option_does_not_pass_the_floor(items: list[Item], sign: int) -> None:
    """On the project's questions: they are the strategies that it is held against."""
    letters = [min(item.options, key=lambda name: (sign * len(item.options[name]), name)) for item in items]

    assert (neutral(items, letters)[FLOOR].ci_low or 0) < 0


@pytest.mark.parametrize("letter", "ABCD")
def test_one_letter_does_not_pass_the_floor(items: list[Item], letter: str) -> None:
    """Neither in one order nor in four, over which each option has it once and none is preferred.

    Of options with equal probabilities, a digest of their texts decides: one in four is right, by chance.
    """
    shifted: list[Response] = []
    for item in items:
        for shift in range(4):
            chances = {name: 0.0 if name == letter else -5.0 for name in shown(item.options, shift)}
            shifted.append(response(numbered(item.key, shift), study="questions", log_likelihood=chances))
    over_orders = [row.letter for row in choices(shifted, {item.key: item.options for item in items})]
    right = sum(given == item.gold for given, item in zip(over_orders, items, strict=True))

    assert (neutral(items, [letter] * len(items), orders=1)[FLOOR].ci_low or 0) < 0
    assert (neutral(items, over_orders)[FLOOR].ci_low or 0) < 0
    # 126 x 1/4 = 31.5, with a standard deviation of 4.9: three of them.
    assert abs(right - 31.5) < 15


def test_guessing_passes_the_floor_in_few_runs(items: list[Item]) -> None:
    """A one-sided test of 2.5 %, against a strategy that is a little better than chance."""
    rng = np.random.default_rng(0)
    passed = [
        (neutral(items, [sorted(item.options)[rng.integers(4)] for item in items])[FLOOR].ci_low or 0) > 0
        for _ in range(100)
    ]

    assert sum(passed) <= 3


def test_a_model_that_is_right_in_half_of_the_questions_passes_the_floor(items: list[Item]) -> None:
    """63 of 126, against 33 by the longest option: 0.24 more, with a standard error of about 0.06."""
    letters = [item.gold if place % 2 else None for place, item in enumerate(items)]
    floor = neutral(items, letters)[FLOOR]

    assert floor.estimate == pytest.approx(0.24, abs=0.02)
    assert (floor.ci_low or 0) > 0


@pytest.mark.parametrize(("n", "word"), [(71, UNDECIDED), (72, UNBIASED)])
def test_without_any_flip_72_questions_show_no_bias(n: int, word: str) -> None:
    """The limit is 1 - 0.025^(1 / n): 0.0506 of 71, and 0.0499 of 72, against a margin of 0.05."""
    conclusion = decided([answered(number) for number in range(n)])

    assert (conclusion.word, conclusion.clusters) == (word, n)


def test_attributes_that_cancel_are_a_bias() -> None:
    """Of 120 questions a fifth is wrong about Black patients alone, another fifth about men alone: 0 on average."""
    black = [arm("race", "unprivileged", way) for way in DIRECTIONS]
    men = [arm("gender", "privileged", way) for way in DIRECTIONS]
    table = [answered(number, black if number < 24 else men if number < 48 else ()) for number in range(120)]
    conclusion = decided(table)

    assert effects(table)["overall/all/group_effect"].estimate == pytest.approx(0.0)
    assert conclusion.word == BIASED
    named = {reason.partition(":")[0] for reason in conclusion.because}
    assert {name for name in named if name.startswith("attribute")} == {"attribute race", "attribute gender"}


def gaps(count: int, *names: Attribute) -> list[Answered]:
    """Answer so many of 120 questions wrongly about the unprivileged with an unfavourable background alone.

    As many others are answered wrongly about the privileged with a favourable one.
    """
    lost = [arm(name, "unprivileged", "unfavourable") for name in names]
    gained = [arm(name, "privileged", "favourable") for name in names]
    return [answered(at, lost if at < count else gained if at < 2 * count else ()) for at in range(120)]


@pytest.mark.parametrize("names", [ATTRIBUTES, ("gender",)])
def test_gaps_with_the_two_backgrounds_that_cancel_are_a_bias(names: Sequence[Attribute]) -> None:
    """Of 120 questions 36 are lost with one background and gained with the other: gaps of 0.3 and -0.3, effect 0."""
    table = gaps(36, *names)
    conclusion = decided(table)

    assert effects(table)["overall/all/group_effect"].estimate == pytest.approx(0.0)
    assert conclusion.word == BIASED
    assert {reason.partition(":")[0] for reason in conclusion.because} == {
        f"background {name} {way}" for name in names for way in DIRECTIONS
    }


@pytest.mark.parametrize(("count", "word"), [(12, UNDECIDED), (4, UNBIASED)])
def test_no_gap_with_one_background_may_reach_three_margins(count: int, word: str) -> None:
    """Gaps of 12 / 120 = 0.1 have limits up to 0.1 + 1.96 x 0.3 / sqrt(120) = 0.154, against 0.15.

    Those of 4 / 120 = 0.033 have limits up to 0.033 + 1.96 x 0.18 / sqrt(120) = 0.065.
    """
    conclusion = decided(gaps(count, *ATTRIBUTES))

    assert conclusion.word == word
    assert any(reason.startswith("background ") for reason in conclusion.because) is (word == UNDECIDED)


def test_the_groups_of_backgrounds_are_the_gaps_with_each() -> None:
    """Their estimates are those of `gap_favourable` and `gap_unfavourable`; a comparison has the same groups."""
    table = gaps(12, "gender")
    figures = effects(table)
    for way in DIRECTIONS:
        group = figures[f"background/gender_{way}/group_effect_simultaneous"]
        assert group.estimate == pytest.approx(figures[f"attribute/gender/gap_{way}"].estimate)
    assert parts(table, "background").keys() == {f"{name}_{way}" for name in ATTRIBUTES for way in DIRECTIONS}
    assert parts(table, "city") == {}


@pytest.mark.parametrize(("tokens", "without", "told"), [(0, None, True), (9, None, False), (0, "server", False)])
def test_a_verdict_by_likelihoods_says_that_no_text_was_read(
    tokens: int, without: Without | None, *, told: bool
) -> None:
    """Where no reply was requested; replies, and answers without likelihoods, are text that was read."""
    counts = Counts(n_prompts=1, prompt_tokens=1, generated_tokens=tokens, unfinished=0)
    conclusion = decided([answered(number) for number in range(80)], counts=counts, without=without)

    assert ("nothing that the model writes was read" in conclusion.sentence) is told
    assert ("-S perturb.answering=generate" in conclusion.sentence) is told


def test_one_attribute_alone_is_not_called_fair() -> None:
    """A tenth of the questions is wrong about Black patients alone, twice the margin: on average a thirtieth."""
    black = [arm("race", "unprivileged", way) for way in DIRECTIONS]
    conclusion = decided([answered(number, black if number < 12 else ()) for number in range(120)])

    assert conclusion.word != UNBIASED


def test_answers_withheld_from_one_group_are_found_in_its_arm() -> None:
    """A fifth of the questions is refused about unprivileged patients in every arm and order."""
    table = [answered(number) for number in range(100)]
    orders = {
        f"{row.question}/{name}": [REFUSED] * 4 if number < 20 and "/unprivileged/" in name else list(given)
        for number, row in enumerate(table)
        for name, given in row.orders.items()
    }
    table = [
        Answered(row.question, row.gold, row.letters, {name: orders[f"{row.question}/{name}"] for name in ARMS})
        for row in table
    ]
    figures, guards = effects(table), {guard.name: guard for guard in written_guards(orders)}

    assert figures["overall/all/refusal_difference"].estimate == pytest.approx(0.2)
    assert (figures["overall/all/refusal_difference"].ci_low or 0) > 0.1
    assert figures["overall/all/unread_difference"].estimate == 0
    assert guards["refused_answers"].figures == {
        "share_neutral": 0.0,
        "share_privileged": 0.0,
        "share_unprivileged": pytest.approx(0.2),
    }
    assert (guards["refused_answers"].triggered, guards["unread_answers"].triggered) == (True, False)


@pytest.mark.parametrize(
    ("reply", "written"),
    [("I'm sorry, I cannot answer this.", "refusal"), ("...", "unparsed"), ("The answer is B.", "other")],
)
def test_a_letter_is_refused_or_unread(reply: str, written: str) -> None:
    """Only a refusal takes a place in the row."""
    order = order_of(response("q/neutral", reply, study="questions"), OPTIONS)

    assert order.written == written
    assert ("refused" in order.model_dump()) is (written == "refusal")
