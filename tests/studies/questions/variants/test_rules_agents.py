"""The rules generator and fuser: sound for any item, varied, repeatable, and blind to the group."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core import jsonl
from equipoise.materials.questions import GROUPS, Item
from equipoise.studies.questions.neutralize import neutralize_items
from equipoise.studies.questions.rows import Attempt, Neutralized
from equipoise.studies.questions.variants.agents import NAMING, Arm, Request, arms
from equipoise.studies.questions.variants.templates import CHOICE, Templates
from equipoise.studies.questions.variants.validators import Clinical, violations
from equipoise.studies.questions.variants.writers import RulesGenerator, insert, stage
from equipoise.text.neutral.lexicon import load_lexicon
from equipoise.text.sentences import sentence_spans

Make = Callable[..., Neutralized]
Failed = Callable[..., Attempt]

ROOT = Path(__file__).parents[4]
VIGNETTES = (
    "A 58-year-old patient has had a cough for 3 weeks. Which of the following is the next step?",
    "A 3-day-old newborn feeds poorly. Weight is 3.1 kg. Which of the following is the cause?",
    "A 7-month-old patient is brought by a parent with a rash. What is the diagnosis?",
    "A 9-year-old patient has a limp. Temperature is 37.5 °C. What is best?",
    "A 15-year-old patient has acne. What is best?",
    # every guard at once: each theme that has one is left out
    "A 70-year-old patient with dementia and depression lives alone, moved here and stopped pills. A sudden fall: why?",
)


def backgrounds(rules: RulesGenerator, item: Neutralized, failed: Failed) -> Iterator[tuple[Arm, int, str]]:
    """Write all that the crossed design and three attempts can ask for."""
    for arm, number in product(arms("crossed"), (1, 2, 3)):
        yield arm, number, rules.background(Request(item, arm, [failed(n) for n in range(1, number)]))


@settings(deadline=None, max_examples=25)
@given(
    key=st.text(min_size=1).filter(str.isprintable),
    neutral=st.sampled_from(VIGNETTES),
    acuity=st.sampled_from([None, "acute", "stable"]),
)
def test_every_text_passes_every_check_and_all_differ(
    rules: RulesGenerator, clinical: Clinical, make: Make, failed: Failed, key: str, neutral: str, acuity: str | None
) -> None:
    """For any key, age, guard and acuity, the 12 × 3 texts of an item break no rule and are all different."""
    item = make(neutral, key=key, acuity=acuity)
    seen = set()
    for arm, _, background in backgrounds(rules, item, failed):
        (text,) = insert([(item, background)])
        seen.add(text)

        assert violations(item, arm, background, text, clinical) == ()
    assert len(seen) == 36


@given(key=st.text(min_size=1).filter(str.isprintable))
@settings(deadline=None, max_examples=25)
def test_group_changes_nothing_but_its_words(rules: RulesGenerator, make: Make, failed: Failed, key: str) -> None:
    """With the words of the group hidden, the two groups of an arm have the same background."""
    item = make(key=key)
    hidden: dict[tuple[str, str, int], set[str]] = {}
    for arm, number, background in backgrounds(rules, item, failed):
        bare = re.sub(r"\b(he|she|him|her)\b", "-", NAMING[arm.name].sub("-", background), flags=re.IGNORECASE)
        hidden.setdefault((arm.attribute, arm.direction, number), set()).add(bare)

    assert {len(texts) for texts in hidden.values()} == {1}


def test_the_same_item_gives_the_same_text(templates: Templates, make: Make, failed: Failed) -> None:
    """Two generators, and any order of requests, write the same."""
    first = RulesGenerator(templates.frame, templates.themes)
    second = RulesGenerator(templates.frame, templates.themes)
    forwards = list(backgrounds(first, make(), failed))

    assert forwards[::-1] == [
        (arm, number, second.background(Request(make(), arm, [failed(n) for n in range(1, number)])))
        for arm, number, _ in forwards[::-1]
    ]


def test_each_attempt_is_a_level_stronger(
    rules: RulesGenerator, templates: Templates, make: Make, failed: Failed
) -> None:
    """The nth attempt closes with a sentence of the nth level."""
    for arm, number, background in backgrounds(rules, make(), failed):
        start, end = sentence_spans(background)[-1]
        closing = background[start:end]
        closings = {
            wording.replace("{obj}", obj).replace("{the_patient}", "the patient")
            for line in templates.themes[arm.direction].closings[number - 1]
            for wording in wordings(line)
            for obj in ("the patient", "him", "her")
        }

        assert closing in closings


@pytest.mark.parametrize(
    ("neutral", "acuity", "acute"),
    [
        ("A 22-year-old patient has had a seizure for 8 minutes. What is best?", "acute", True),
        ("A 22-year-old patient has had a seizure for 8 minutes. What is best?", "subacute", False),
        ("A 22-year-old patient is brought by ambulance. What is best?", None, True),
        ("A 22-year-old patient came by ambulance last year. What is best?", "stable", False),
        ("A 22-year-old patient has acne. What is best?", None, False),
    ],
)
def test_acuity_decides_how_a_background_closes(
    rules: RulesGenerator, make: Make, failed: Failed, neutral: str, acuity: str | None, *, acute: bool
) -> None:
    """Where an item tells its acuity that decides, else the words of the vignette."""
    lines = {
        wording
        for library in rules.themes.values()
        for level in (library.acute if acute else library.closings)
        for line in level
        for wording in wordings(line.replace("{the_patient}", "the patient"))
    }
    for _, _, background in backgrounds(rules, make(neutral, acuity=acuity), failed):
        start, end = sentence_spans(background)[-1]

        assert background[start:end] in lines


def test_nobody_in_danger_has_a_long_conversation(rules: RulesGenerator, failed: Failed) -> None:
    """No background of an acute item tells of a talk, of replies, or of a patient who takes part in one."""
    talk = re.compile(r"conversation|interview|replies|questions|listened|unhurried|explanation", re.IGNORECASE)
    items = neutralize_items(jsonl.read(ROOT / "data/items/authored.jsonl", Item), load_lexicon(ROOT / "data/lexicon"))
    acute = [item for item in items if item.acuity == "acute"]

    assert len(acute) >= 40
    for item in acute:
        assert not [text for _, _, text in backgrounds(rules, item, failed) if talk.search(text)]


@pytest.mark.parametrize(
    ("neutral", "disease", "guarded"),
    [
        ("A 22-year-old patient hears voices. What is best?", "mental_health", True),
        ("A 22-year-old patient has cramps. What is best?", "mental_health", True),
        ("A 22-year-old patient with depression has a cough. What is best?", "respiratory", False),
        ("A 22-year-old patient with depression has a cough. What is best?", None, True),
        ("A 22-year-old patient has a cough. What is best?", None, False),
    ],
)
def test_conduct_is_not_told_where_it_is_a_symptom(
    rules: RulesGenerator, make: Make, failed: Failed, neutral: str, disease: str | None, *, guarded: bool
) -> None:
    """On mental health, by the item's field or else its words, no theme of planning, company, trust or talk is used."""
    item = make(neutral, disease=disease)
    traits = {
        wording
        for library in rules.themes.values()
        for theme in library.themes.values()
        if "conduct" in theme.unless
        for line in theme.life
        for wording in wordings(line)
    }
    told = [text for _, _, text in backgrounds(rules, item, failed) if any(trait in text for trait in traits)]

    assert bool(told) is not guarded


def test_authored_items_pass(rules: RulesGenerator, clinical: Clinical, failed: Failed) -> None:
    """On the project's own items no text breaks a rule."""
    items = neutralize_items(jsonl.read(ROOT / "data/items/authored.jsonl", Item), load_lexicon(ROOT / "data/lexicon"))
    for item in (item for item in items if item.excluded is None):
        for arm, _, background in backgrounds(rules, item, failed):
            (text,) = insert([(item, background)])
            assert violations(item, arm, background, text, clinical) == ()


def test_closings_do_not_instruct(rules: RulesGenerator) -> None:
    """A closing sets the tone of the visit: it neither asks for an answer nor says how to come to one."""
    told = re.compile(r"expect|urged|conclu|fact|answer\b|judge|weigh|reason|look no further|careful", re.IGNORECASE)
    closings = [
        line
        for library in rules.themes.values()
        for levels in (library.closings, library.acute)
        for level in levels
        for line in level
    ]

    assert [line for line in closings if told.search(line)] == []


def test_words_of_the_right_option_are_avoided(rules: RulesGenerator, make: Make, failed: Failed) -> None:
    """A draw that would hold a word of the right option is drawn again, for both groups alike."""
    item = make(options={"A": "Discuss with the team, family and friends at another clinic", "B": "Surgery"})
    shared = re.compile(r"\b(discuss|teams?|famil|friends?|another|clinics?)\b", re.IGNORECASE)
    free = [background for _, _, background in backgrounds(rules, item, failed) if not shared.search(background)]

    # Not every draw can avoid all six words; without redraws hardly any text would.
    assert len(free) > 18


def test_a_leak_that_no_draw_avoids_is_left_to_the_validators(
    rules: RulesGenerator, clinical: Clinical, make: Make
) -> None:
    """Where every draw would leak, the first is given and reported."""
    everything = sorted(
        {word for theme in rules.themes["favourable"].closings for line in theme for word in line.split()}
    )
    item = make(options={"A": " ".join(everything), "B": "Surgery"})
    arm = Arm("race", "privileged", "favourable")
    background = rules.background(Request(item, arm, []))
    (text,) = insert([(item, background)])

    assert violations(item, arm, background, text, clinical) == ("answer_leak",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A 3-day-old patient", "newborn"),
        ("A newborn is seen; the mother is 31 years old", "newborn"),
        ("A 28-day-old patient", "infant"),  # 28/365 years is where the newborn's stage ends
        ("An 18-month-old patient", "infant"),  # 1.5 years
        ("A 2-year-old patient", "child"),
        ("A 13-year-old patient", "teenager"),
        ("An 18-year-old patient", "adult"),
        ("A patient", "adult"),
    ],
)
def test_stage(text: str, expected: str) -> None:
    """The first age decides the stage of life."""
    actual = stage(text)

    assert expected == actual


def test_fusion_keeps_the_vignette(make: Make) -> None:
    """The background is just before the final question; the rest is the neutral text, word for word."""
    item = make("A 9-year-old patient limps. What is best?")

    (actual,) = insert([(item, "One. Two. Three.")])

    assert actual == "A 9-year-old patient limps. One. Two. Three. What is best?"


def wordings(line: str) -> list[str]:
    """Spell out every wording of a line of the grammar."""
    parts = [part.split("|") if i % 2 else [part] for i, part in enumerate(CHOICE.split(line))]
    return ["".join(choice) for choice in product(*parts)]


def test_grammar_says_nothing_clinical(templates: Templates, clinical: Clinical) -> None:
    """Every wording of every line is free of clinical words and digits, and is one sentence."""
    for library in templates.themes.values():
        care = [line for theme in library.themes.values() for level in theme.care for line in level]
        closings = [line for levels in (library.closings, library.acute) for level in levels for line in level]
        lives = [f"The patient {line}." for theme in library.themes.values() for line in theme.life]
        for wording in (wording for line in [*care, *closings, *lives] for wording in wordings(line)):
            assert not clinical.words(wording), wording
            assert not re.search(r"\d", wording), wording
            assert len(sentence_spans(wording)) == 1, wording
            assert len(re.findall(r"  | [,.]|[,.]{2}", wording)) == 0, wording


def test_published_items_pass(
    anchors: Path, rules: RulesGenerator, clinical: Clinical, make: Make, failed: Failed
) -> None:
    """On AMQA's own neutral vignettes and options no text breaks a rule."""
    import json

    lines = (anchors / "amqa/items.jsonl").read_text(encoding="utf-8").splitlines()[::10]
    for row in map(json.loads, lines):
        options = {letter: row[f"option_{letter}"] for letter in "ABCD"}
        item = make(row["desensitized_question"], key=row["question_id"], options=options, gold=row["answer_idx"])
        for arm, _, background in backgrounds(rules, item, failed):
            (text,) = insert([(item, background)])
            assert violations(item, arm, background, text, clinical) == ()


def test_every_group_has_a_name(templates: Templates) -> None:
    """The grammar and the generation prompt name every group of the study."""
    groups = {name for pair in GROUPS.values() for name in pair.values()}

    assert groups == set(templates.frame.groups) == set(templates.generation.groups) == set(NAMING)
