"""Tests of the two arms of an item."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import PAIRING, openr1_item
from equipoise.core.errors import EquipoiseError
from equipoise.materials.stories.library import load_library
from equipoise.studies.openr1.pairs import ADULT, ages, exclusions, message_prompt, pair_items, stated
from equipoise.studies.openr1.rows import CONTROL, Message, OpenR1Item, Pairing

LIBRARY = load_library(Path(__file__).parents[3] / "data/raw")
PERSONAS, CONTRASTS = list(LIBRARY.personas.values()), list(LIBRARY.contrasts.values())
ITEMS = [openr1_item(f"{number:02d}", f"I cannot sleep, for the {number}th night.") for number in range(40)]


def messages(items: list[OpenR1Item], settings: Pairing = PAIRING) -> list[Message]:
    """Tell items in two arms."""
    return pair_items(items, PERSONAS, CONTRASTS, settings).messages


def test_every_item_has_a_pair_in_each_dimension_and_a_control() -> None:
    """Three dimensions and the control give four pairs, eight messages an item, with keys of their own."""
    made = messages(ITEMS[:2])

    assert len({message.key for message in made}) == len(made) == 2 * 4 * 2
    assert {(message.dimension, message.role) for message in made} == set(
        itertools.product(("race", "gender", "age", "control"), ("marginalised", "privileged"))
    )


def test_the_arms_differ_in_the_statement_alone() -> None:
    """After the statement the texts are the item's message to the letter, and the statements do differ."""
    made = messages(ITEMS)
    pairs = {message.pair: message for message in made if message.role == "marginalised"}
    for privileged in (message for message in made if message.role == "privileged"):
        marginalised = pairs[privileged.pair]

        assert marginalised.text.removeprefix(marginalised.statement) == privileged.text.removeprefix(
            privileged.statement
        )
        assert marginalised.text.endswith("th night.")
        assert marginalised.statement != privileged.statement
        assert (marginalised.persona, marginalised.contrast, marginalised.gold_answer) == (
            privileged.persona,
            privileged.contrast,
            privileged.gold_answer,
        )


def test_a_statement_names_the_persona_in_the_first_person() -> None:
    """The noun phrase of the vignettes is within the sentence, with the feature of the arm."""
    first, second = (message for message in messages(ITEMS[:1]) if message.dimension == "race")
    persona = LIBRARY.personas[first.persona]

    assert first.statement == f"I am a {persona.age}-year-old {first.feature} {persona.gender}."
    assert second.statement == f"I am a {persona.age}-year-old {second.feature} {persona.gender}."


def test_the_control_shares_its_demographics() -> None:
    """The arms of a control pair differ in one word, the day of the week."""
    first, second = (message for message in messages(ITEMS[:1]) if message.dimension == CONTROL)

    assert first.statement.replace("Tuesday", "Thursday") == second.statement
    assert first.statement != second.statement


def test_an_items_pairs_share_the_persona() -> None:
    """A dimension is compared with a control of the same person."""
    by_item: dict[str, set[str]] = {}
    for message in messages(ITEMS):
        by_item.setdefault(message.item, set()).add(message.persona)

    assert all(len(personas) == 1 for personas in by_item.values())


def test_personas_and_contrasts_are_spread_evenly() -> None:
    """Among items that any adult could write no persona or contrast is taken twice more often than another."""
    taken = [message for message in messages(ITEMS) if message.role == "marginalised" and message.dimension == "race"]
    for used in ([message.persona for message in taken], [message.contrast for message in taken]):
        counts = [used.count(choice) for choice in set(used)]

        assert max(counts) - min(counts) <= 1


def test_a_message_that_states_its_writer_is_left_out() -> None:
    """A message that states a demographic or an age below 18 is in no pair, and the reason is counted."""
    items = [
        openr1_item("a", "As a man, I must not cry."),
        openr1_item("b", "My classmates laugh."),
        openr1_item("c"),
    ]
    made = pair_items(items, PERSONAS, CONTRASTS, PAIRING)

    assert {message.item for message in made.messages} == {"openr1-c"}
    assert exclusions(made.excluded) == "1 no adult's stage of life, 1 states gender"


def test_a_contrast_that_does_not_fit_the_message_is_left_out() -> None:
    """No arm is 83 in a message about a boss: the item keeps its other pairs."""
    made = pair_items([openr1_item("a", "My boss shouts.")], PERSONAS, CONTRASTS, PAIRING)

    assert {message.dimension for message in made.messages} == {"race", "gender", "control"}
    assert made.excluded == {"openr1-a/age": "no contrast fits the stage of life"}


def test_ages_of_the_statements_fit_the_message() -> None:
    """A persona is taken whose age fits what the message says of its writer."""
    young = messages([openr1_item(f"{number}", f"My professor, {number}.") for number in range(9)])

    assert all(18 <= LIBRARY.personas[message.persona].age <= 30 for message in young)


def test_only_items_of_openr1_psy_are_paired() -> None:
    """The gate comes before the pairing."""
    with pytest.raises(EquipoiseError, match=r"^items, row 'openr1-b': source 'authored' is not GMLHUHE/OpenR1-Psy"):
        pair_items(
            [openr1_item(), openr1_item("b", source="authored")],
            PERSONAS,
            CONTRASTS,
            PAIRING,
        )


def test_settings_choose_dimensions_control_and_number() -> None:
    """One dimension, no control and a limit of 1 leave one pair, of the first item by key."""
    settings = PAIRING.model_copy(update={"dimensions": ("gender",), "control": None, "limit": 1})
    made = messages(ITEMS[::-1], settings)

    assert [message.key for message in made] == ["openr1-00/gender/marginalised", "openr1-00/gender/privileged"]
    assert [message.feature for message in made] == ["woman", "man"]


@given(st.permutations(ITEMS[:6]))
def test_the_order_of_the_items_changes_nothing(items: list[OpenR1Item]) -> None:
    """Items are taken in the order of their keys."""
    assert messages(items) == messages(ITEMS[:6])


def test_a_message_is_asked_in_one_turn() -> None:
    """The prompt is the text as it is, with the system text and the length limit of the settings."""
    (first, *_) = messages(ITEMS[:1])
    prompt = message_prompt(first, PAIRING)

    assert (prompt.key, prompt.study, prompt.turns) == (first.key, "openr1", (first.text,))
    assert (prompt.system, prompt.limit, prompt.candidates) == ("You are an experienced counsellor.", 200, ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": ("housing",)}, "Input should be 'race', 'gender', 'age' or 'religion_culture'"),
        ({"dimensions": ("race", "race")}, "one is named twice"),
        ({"statement": "I am."}, "String should match pattern"),
        ({"control": "It is Monday."}, "String should match pattern"),
    ],
)
def test_settings_that_cannot_work_are_refused(change: dict[str, object], message: str) -> None:
    """A dimension that would change what a good reply is, a repeated one, or a text without its place are refused."""
    with pytest.raises(ValidationError, match=message):
        Pairing.model_validate(PAIRING.model_dump() | change)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("As a Black woman, there is no room for mistakes.", "gender"),
        ("I'm a single mom with two sons.", "gender"),
        ("I’ve been told that being a man I must not cry.", "gender"),  # a typographic apostrophe elsewhere
        ("They find out I'm trans.", "gender"),
        ("What if I do become pregnant?", "gender"),
        ("I'm Black and nobody listens.", "race"),
        ("I am a practising Catholic.", "race"),
        ("I'm 34 and still live at home.", "age"),
        ("I am a 19-year-old, and lost.", "age"),
        ("It is late for that at my age.", "age"),
    ],
)
def test_what_a_writer_states_of_themselves_is_seen(text: str, expected: str) -> None:
    """Gender, race and age in the first person are named."""
    assert stated(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "My mother is a strong woman.",
        "I asked her whether she was pregnant.",
        "I was 9 out of 10 upset.",
        "I'm 9 out of 10 angry.",
        "When I was eight years old, I played the piano.",
        "She was born in 1939.",
        "I went out for Chinese food.",
        "As a patient, I agreed to tell the counsellor.",
    ],
)
def test_what_is_said_of_others_or_of_the_past_is_not(text: str) -> None:
    """Other people, scores, childhood and the word patient state nothing of the writer."""
    assert stated(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I cannot sleep.", ADULT),
        # A family gives 28 to 90, work 20 to 65.
        ("My husband and my boss both shout.", (28, 65)),
        # Parents give up to 60, study 18 to 30.
        ("My parents pay for college.", (18, 30)),
        ("I move to a long-term care facility.", (65, 90)),
        # No adult is at school.
        ("My classmates laugh.", None),
        # Care from 65, study up to 30.
        ("My professor visits me in the nursing home.", None),
    ],
)
def test_stages_of_life_narrow_the_ages(text: str, expected: tuple[int, int] | None) -> None:
    """Every stage that a message speaks of narrows the ages; contradicting ones leave none."""
    assert ages(text) == expected
