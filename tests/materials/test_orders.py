"""Tests of the prompts for multiple-choice questions, their orders, and the option that the responses choose."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import number_of, unnumbered
from equipoise.core.prompts import Prompt, Response
from equipoise.materials.orders import Answering, Asking, choices, chosen, count_in_one_order, order_of, shown
from equipoise.materials.questions import Item, Order
from equipoise.studies.exam.subsets import exam_prompts
from equipoise.studies.questions.prompts import evaluator, question_prompts
from equipoise.studies.questions.rows import Neutralized, Variant
from equipoise.studies.questions.variants.templates import load_templates

TEMPLATE = load_templates(Path(__file__).parents[2] / "data" / "templates").evaluation
OPTIONS = {"A": "asthma", "B": "pneumonia", "C": "pulmonary embolism", "D": "heart failure"}
HEAD = "A 60-year-old patient has fever and a cough."
ASKED = "Which diagnosis is most likely?"
ITEM = Neutralized(
    key="i1",
    question=f"{HEAD} {ASKED}",
    options=OPTIONS,
    gold="B",
    neutral=f"{HEAD} {ASKED}",
    excluded=None,
    changes=(),
)


def variant(name: str, text: str) -> Variant:
    """Build a variant of the item."""
    return builders.variant("i1", name, text=text, options=OPTIONS, gold="B")


def response(key: str, *replies: str, **log_likelihood: float) -> Response:
    """Build a response with replies, or with likelihoods of letters."""
    return builders.response(key, *replies, study="questions", log_likelihood=log_likelihood)


def prompts_of(row: Variant, answering: Answering = "likelihood", orders: int = 1) -> list[Prompt]:
    """Ask a variant of the item."""
    return question_prompts([row], [ITEM], Asking(TEMPLATE, answering, orders))


def test_by_likelihood_every_letter_is_a_candidate_and_nothing_is_generated() -> None:
    """The prompt asks for the options' letters after `Answer:`, and holds question and options."""
    (prompt,) = prompts_of(variant("neutral", ITEM.neutral))

    assert (prompt.candidates, prompt.reply, prompt.prefix) == (("A", "B", "C", "D"), False, "Answer:")
    assert all(text in prompt.turns[0] for text in (HEAD, ASKED, *OPTIONS.values()))


def test_generated_answers_need_no_candidates() -> None:
    """Asked to generate, the model replies and no likelihood is read."""
    (prompt,) = prompts_of(variant("neutral", ITEM.neutral), "generate")

    assert (prompt.candidates, prompt.reply, prompt.prefix) == ((), True, "")


def test_variants_share_the_neutral_vignette_as_their_stem() -> None:
    """A text that begins as the neutral one does has its vignette as stem; the original, which does not, has none."""
    (race,) = prompts_of(variant("race", f"{HEAD} The patient is Black. {ASKED}"))
    (original,) = prompts_of(variant("original", f"A 60-year-old man has fever and a cough. {ASKED}"))

    assert (race.stem, original.stem) == (HEAD, "")
    assert race.lead == original.lead == ""


def test_in_all_orders_every_option_has_every_letter_once() -> None:
    """Four prompts share all that precedes their options, and the first lists the options as written."""
    prompts = prompts_of(variant("neutral", ITEM.neutral), orders=4)

    assert [prompt.key for prompt in prompts] == ["i1/neutral", *(f"i1/neutral#{shift}" for shift in (1, 2, 3))]
    assert {prompt.turns[0].removeprefix(prompt.lead).split("\n")[0] for prompt in prompts} == {
        f"A. {option}" for option in OPTIONS.values()
    }
    assert {(prompt.stem, prompt.lead.startswith(ITEM.neutral)) for prompt in prompts} == {(HEAD, True)}
    for letter in OPTIONS:
        assert {shown(OPTIONS, shift)[letter] for shift in range(4)} == set(OPTIONS.values())
    assert shown(OPTIONS, 1) == {"A": OPTIONS["D"], "B": OPTIONS["A"], "C": OPTIONS["B"], "D": OPTIONS["C"]}


@pytest.mark.parametrize(
    ("options", "orders", "expected"),
    # Spread evenly: 2 of 4 are half the list apart; of 5 the steps are 5/4 rounded down.
    [(4, 1, (0,)), (4, 2, (0, 2)), (4, 4, (0, 1, 2, 3)), (2, 4, (0, 1)), (5, 4, (0, 1, 2, 3)), (6, 3, (0, 2, 4))],
)
def test_orders_are_spread_evenly_and_no_more_than_the_options(
    options: int, orders: int, expected: tuple[int, ...]
) -> None:
    """The order as written is always among them."""
    assert Asking(TEMPLATE, "likelihood", orders).shifts(dict(zip("ABCDEF"[:options], "abcdef", strict=False))) == (
        expected
    )


def test_a_key_names_the_question_and_the_order() -> None:
    """A number sign in the key of an item does not mark an order."""
    keys = ("i#2/neutral", "i#2/neutral#3")

    assert [(unnumbered(key), number_of(key)) for key in keys] == [("i#2/neutral", 0), ("i#2/neutral", 3)]


def test_the_letters_likelihoods_become_probabilities_of_the_options() -> None:
    """Moved on by one, A shows option D: of e^0, e^0, e^0 and e^ln 3 a share of 3/6 is that of letter D, option C."""
    order = order_of(response("a#1", A=0.0, B=0.0, C=0.0, D=1.0986122886681098), OPTIONS)

    assert order.shift == 1
    assert order.probabilities == pytest.approx({"D": 1 / 6, "A": 1 / 6, "B": 1 / 6, "C": 1 / 2})


def test_a_reply_is_parsed_with_the_options_as_they_were_shown() -> None:
    """Moved on by one, letter C shows option B; a reply that names no option gives no probabilities."""
    order = order_of(response("a#1", "The answer is C."), OPTIONS)

    assert order.probabilities == {"A": 0, "B": 1, "C": 0, "D": 0}
    assert order_of(response("a#1", "It is heart failure."), OPTIONS).probabilities["D"] == 1
    assert order_of(response("a", "I cannot say."), OPTIONS).probabilities == {}


def test_a_response_with_nothing_to_read_is_named() -> None:
    """Neither reply nor likelihoods is a fault, not an unparsed answer."""
    with pytest.raises(EquipoiseError, match="response 'i1/neutral' has neither a reply nor likelihoods"):
        order_of(response("i1/neutral"), OPTIONS)


def test_one_choice_is_read_from_all_orders_of_a_question() -> None:
    """Letter A at 0.6 in both orders, and 0.3 for what B shows, is option A once and D once: B has 0.3 + 0.05."""
    told = {"A": 0.6, "B": 0.3, "C": 0.05, "D": 0.05}
    rows = [response(key, **{letter: log(p) for letter, p in told.items()}) for key in ("a", "a#1")]
    (choice, other) = choices([*rows, response("b", "I cannot say.")], {"a": OPTIONS, "b": OPTIONS})

    # Option A: 0.6 under letter A, 0.3 under B; D: 0.05 and 0.6; B: 0.3 and 0.05; C: 0.05 twice.
    assert (choice.key, choice.letter, [order.shift for order in choice.orders]) == ("a", "A", [0, 1])
    assert sum(order.probabilities["A"] for order in choice.orders) == pytest.approx(0.9)
    assert (other.key, other.study, other.letter) == ("b", "questions", None)


def test_the_majority_of_replies_counts_and_orders_without_a_letter_do_not() -> None:
    """Two orders say B, one C, one nothing."""
    orders = [
        Order(shift=shift, probabilities=probabilities)
        for shift, probabilities in enumerate(({}, only("C"), only("B"), only("B")))
    ]

    assert chosen(orders, OPTIONS) == "B"
    assert chosen(orders[:1], OPTIONS) is None


def only(letter: str) -> dict[str, float]:
    """Give all probability to one option."""
    return {each: float(each == letter) for each in OPTIONS}


@given(
    rotation=st.integers(0, 3),
    preferred=st.lists(st.floats(-3, 3), min_size=4, max_size=4),
    liked=st.lists(st.sampled_from([-1.0, 0.0, 2.0]), min_size=4, max_size=4),
    answering=st.sampled_from(["likelihood", "generate"]),
)
def test_which_order_comes_first_changes_no_choice(
    rotation: int, preferred: list[float], liked: list[float], answering: Answering
) -> None:
    """With its options written in another cyclic order, a question is answered by the same option, ties too."""
    liking = dict(zip(OPTIONS.values(), liked, strict=True))

    def answered(options: dict[str, str]) -> str:
        item = ITEM.model_copy(update={"options": options})
        row = variant("neutral", item.neutral).model_copy(update={"options": options})
        rows = []
        for prompt in question_prompts([row], [item], Asking(TEMPLATE, answering, 4)):
            listed = shown(options, number_of(prompt.key))
            scores = {letter: liking[listed[letter]] + p for letter, p in zip(listed, preferred, strict=True)}
            likeliest = max(scores, key=lambda letter: scores[letter])
            rows.append(response(prompt.key, **scores) if prompt.candidates else response(prompt.key, f"{likeliest}."))
        (choice,) = choices(rows, {row.key: options})
        return options[str(choice.letter)]

    assert answered(OPTIONS) == answered(shown(OPTIONS, rotation))


def test_the_evaluator_gives_options_in_the_order_asked() -> None:
    """Each variant gets its own option, over all orders or over one half of them."""
    favourite = {"i1/neutral": "B", "i1/other": "D"}
    keys: list[str] = []

    def ask(prompts: list[Prompt]) -> list[Response]:
        keys.extend(prompt.key for prompt in prompts)
        return [
            response(prompt.key, f"It is {OPTIONS[favourite[unnumbered(prompt.key)]]}.", prompt_tokens=1)
            for prompt in prompts
        ]

    rows = [variant("other", ITEM.neutral), variant("neutral", ITEM.neutral)]
    for half, shifts in ((None, ["", "#1", "#2", "#3"]), (0, ["", "#2"]), (1, ["#1", "#3"])):
        keys.clear()
        evaluate = evaluator([ITEM], Asking(TEMPLATE, "generate", 4), ask, half)  # type: ignore[arg-type]

        assert evaluate(rows) == ["D", "B"]
        assert keys == [f"{key}{shift}" for key in ("i1/other", "i1/neutral") for shift in shifts]


def test_an_exam_question_is_asked_unchanged() -> None:
    """The same template and reading as for a neutral variant, under the exam's own key and without a stem."""
    text = f"A 60-year-old Black man has fever and a cough. {ASKED}"
    item = Item(
        key="i1",
        study="questions",
        question=text,
        options=OPTIONS,
        gold="B",
        reference="",
        source="test",
        licence="none",
    )
    answerings: tuple[Answering, ...] = ("likelihood", "generate")
    for answering in answerings:
        asked = exam_prompts(item, Asking(TEMPLATE, answering, 4))
        others = prompts_of(variant("original", text), answering, 4)

        assert [(prompt.key, prompt.study, prompt.stem) for prompt in asked] == [
            (f"i1/exam{shift}", "exam", "") for shift in ("", "#1", "#2", "#3")
        ]
        for exam_prompt, other in zip(asked, others, strict=True):
            assert exam_prompt.model_copy(update={"key": other.key, "study": other.study}) == other


def test_options_that_refer_to_others_are_asked_in_one_order() -> None:
    """'All of the above' would mean something else above the others, so only the order as written is asked."""
    options = {**OPTIONS, "D": "All of the above"}
    row = builders.variant("i1", "neutral", text=ITEM.neutral, options=options, gold="B")
    (prompt,) = question_prompts([row], [ITEM], Asking(TEMPLATE, "likelihood", 4))

    assert (prompt.key, prompt.turns[0].rstrip().endswith("D. All of the above")) == ("i1/neutral", True)
    assert question_prompts([row], [ITEM], Asking(TEMPLATE, "likelihood", 4), half=1) == []
    assert count_in_one_order([("i1", options), ("i1", options), ("i2", OPTIONS)]) == 1
    assert count_in_one_order([("i2", OPTIONS)]) is None
