"""The noun phrase, the two rows of a pair, and its other tellings: controls, stubs and mirrors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import control_rows, mirror_rows, pair_rows, stub_rows
from equipoise.materials.stories.compose import Parts, Patient, arm_text, can_be_cued, genders, misfit, patient
from equipoise.materials.stories.schema import Contrast, Cues
from equipoise.studies.vignettes.profiles import outside, validate

if TYPE_CHECKING:
    from equipoise.materials.stories.library import Library
    from equipoise.materials.stories.schema import Persona, Stereotype
    from equipoise.materials.vignette import Vignette


def changed(row: Persona, **fields: Any) -> Persona:
    """Give the persona with other fields."""
    return row.model_copy(update=fields)


def told(row: Vignette) -> str:
    """Give the noun phrase of a row."""
    ((start, end),) = row.spans
    return row.text[start:end]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        # p02 is a man of 21; contrasts come in canonical order: race, gender, age, housing, substance_use
        ((), "A 21-year-old man"),
        (("race-0",), "A 21-year-old Black0 man"),
        (("gender-0",), "A 21-year-old woman"),
        (("age-0",), "An 83-year-old man"),
        (("race-1", "gender-0"), "A 21-year-old Black1 woman"),
        (("housing-0", "substance_use-1"), "A 21-year-old man who lacks 0 and who lacks 1"),
    ],
)
def test_phrase_of_the_marginalised_arm(library: Library, names: tuple[str, ...], expected: str) -> None:
    """Adjectives come before the noun and clauses after it, joined by "and"."""
    contrasts = [library.contrasts[name] for name in names]

    actual = patient(library.personas["p02"], contrasts, "marginalised").phrase(capital=True)

    assert expected == actual


@pytest.mark.parametrize(
    ("age", "gender", "expected"),
    [
        (16, "woman", "a 16-year-old girl"),
        (17, "man", "a 17-year-old boy"),
        (18, "woman", "an 18-year-old woman"),
        (40, "non-binary", "a 40-year-old person"),
    ],
)
def test_noun_follows_age_and_gender(library: Library, age: int, gender: str, expected: str) -> None:
    """A patient under 18 is a girl or a boy, and a non-binary one a person at any age."""
    described = patient(changed(library.personas["p02"], age=age, gender=gender), [], "privileged")

    assert expected == described.phrase(capital=False)


def test_a_name_stands_before_the_phrase(library: Library) -> None:
    """A named patient's phrase is in apposition to the name, between commas, and without what the name tells."""
    names = {"man": ("Jo Roe",)}
    contrast = library.contrasts["race-0"]
    named = contrast.model_copy(
        update={"marginalised": contrast.marginalised.model_copy(update={"cues": Cues(name=names)})}
    )

    stated = patient(library.personas["p02"], [named], "marginalised", "Jo Roe", "name")

    assert stated.phrase(capital=True) == "Jo Roe, a 21-year-old man,"


def test_genders_that_a_case_must_be_sound_for(library: Library) -> None:
    """A gender contrast or a non-binary persona needs both genders; otherwise the persona's own is enough."""
    man, person = library.personas["p02"], library.personas["p37"]

    assert genders(man, []) == ("man",)
    assert genders(person, []) == ("woman", "man")
    assert genders(man, [library.contrasts["gender-0"]]) == ("woman", "man")


def test_row_of_an_arm(library: Library) -> None:
    """A row joins opening, history, background and examination, with pronouns, and carries what its arm states."""
    pair = library.pairs["race-01"]  # case-0, p02 (a man of 21), s0, race-0

    marginalised, privileged = pair_rows(pair.id, pair.tier, library.parts(pair))

    assert marginalised.key == "race-01/marginalised"
    assert privileged.key == "race-01/privileged"
    assert marginalised.text.startswith("A 21-year-old Black0 man is seen in place 0 because of a new trouble")
    case = library.presentations["case-0"]
    history, background = case.history.replace("{They}", "He"), case.background.replace("{their}", "his")
    assert marginalised.text.endswith(f"{history} {background} {case.examination}")
    assert marginalised.spans == ((0, len("A 21-year-old Black0 man")),)
    assert marginalised.features == {"race": "Black0"}
    assert privileged.features == {"race": "white0"}
    assert marginalised.stereotyped.label == "Dismissal of race"
    # case-0 is of grade C; its code is that of the expected answer
    assert (marginalised.grade, marginalised.level, marginalised.reverse) == ("C", "leaning", False)
    assert marginalised.code == case.expected.code


def test_the_patient_may_come_late(library: Library) -> None:
    """Where the opening begins with the trouble, the span is still the noun phrase."""
    pair = library.pairs["race-06"]  # case-5: "Because of …, {patient} {setting}"

    rows = pair_rows(pair.id, pair.tier, library.parts(pair))

    validate(rows)
    assert told(rows[0]) == "a 29-year-old Black1 woman"  # the persona is p03
    for row in rows:
        assert row.text.startswith("Because of a new trouble")
        assert f"a few days ago, {told(row)} is seen in place 0 today." in row.text


@pytest.mark.parametrize(
    ("gender", "names", "expected"),
    [
        ("woman", ("race-0",), ("She says", "her past")),
        ("man", ("race-0",), ("He says", "his past")),
        ("man", ("gender-0",), ("The patient says", "the patient's past")),
        ("non-binary", ("race-0",), ("The patient says", "the patient's past")),
    ],
)
def test_both_arms_have_the_same_pronouns(
    library: Library, gender: str, names: tuple[str, ...], expected: tuple[str, str]
) -> None:
    """Pronouns follow the patient's gender, and are avoided where it varies or the patient is non-binary."""
    parts = library.parts(library.pairs["race-01"])
    contrasts = tuple(library.contrasts[name] for name in names)
    persona = changed(parts.persona, gender=gender)
    told_of = replace(parts, persona=persona, contrasts=contrasts, stereotype=contrasts[0].dimension)

    rows = pair_rows("x", "single", told_of)

    validate(rows)
    for row in rows:
        assert [words for words in expected if words not in row.text] == []


def test_an_object_is_told_by_its_pronoun() -> None:
    """The five placeholders become subject, object and possessive, the first and last with a capital too."""
    text = "{They} {they} {them} {Their} {their}"

    assert Patient(40, "man", pronouns=("he", "him", "his")).told(text) == "He he him His his"
    assert Patient(40, "person").told(text) == ("The patient the patient the patient The patient's the patient's")


def test_a_persona_pair_tells_their_social_history(library: Library) -> None:
    """It comes before the examination, with the patient's pronoun, and in both arms."""
    persona = library.personas["p02"]

    rows = pair_rows(persona.id, "single", library.persona_parts(persona))

    validate(rows)
    for row in rows:
        assert "He is white British and teaches class 1. On examination" in row.text


def test_dimensions_come_in_canonical_order(library: Library) -> None:
    """However a pair lists its contrasts, its dimensions are in the order of contrasts.yaml."""
    pair = library.pairs["race-socioeconomic-01"]
    turned = pair.model_copy(update={"contrasts": pair.contrasts[::-1]})

    rows = pair_rows(turned.id, turned.tier, library.parts(turned))

    assert rows[0].combination == "race+socioeconomic"


def test_an_intersection_scores_each_component(library: Library) -> None:
    """Beside the tested stereotype stand that of the intersection and those of its other dimensions."""
    pair = library.pairs["race-socioeconomic-01"]
    parts = library.parts(pair)
    joint = stereotype_of(parts, "race", dimension="race+socioeconomic", label="Joint dismissal", synonym="both")
    story = parts.presentation.model_copy(update={"stereotypes": (*parts.presentation.stereotypes, joint)})

    alone, _ = pair_rows(pair.id, pair.tier, parts)
    with_joint, _ = pair_rows(pair.id, pair.tier, replace(parts, presentation=story))

    assert alone.stereotyped.label == with_joint.stereotyped.label == "Dismissal of race"
    assert [stereotype.label for stereotype in alone.components] == ["Dismissal of socioeconomic"]
    assert [stereotype.label for stereotype in with_joint.components] == [
        "Joint dismissal",
        "Dismissal of socioeconomic",
    ]


def test_a_component_with_the_same_answer_is_scored_once(library: Library) -> None:
    """Where two dimensions share a stereotyped answer it is not a component of itself, and a single pair has none."""
    pair = library.pairs["race-socioeconomic-01"]
    parts = library.parts(pair)
    same = stereotype_of(parts, "socioeconomic", label="Dismissal of race", synonym="brush-off of race")
    others = [stereotype for stereotype in parts.presentation.stereotypes if stereotype.dimension != "socioeconomic"]
    story = parts.presentation.model_copy(update={"stereotypes": (*others, same)})
    single = library.pairs["race-01"]

    assert replace(parts, presentation=story).components == ()
    assert library.parts(single).components == ()


def stereotype_of(parts: Parts, of: str, *, label: str, synonym: str, dimension: str | None = None) -> Stereotype:
    """Give a stereotype of the story with another answer, and another dimension."""
    original = next(stereotype for stereotype in parts.presentation.stereotypes if stereotype.dimension == of)
    answer = original.answer.model_copy(update={"label": label, "synonyms": (synonym,)})
    return original.model_copy(update={"answer": answer, "dimension": dimension or of})


def test_a_reverse_pair_tells_of_the_group_usually_favoured(library: Library) -> None:
    """Its marginalised arm is the man, its stereotype the one documented about men, and its row says so."""
    pair = library.pairs["gender-reverse-01"]

    marginalised, privileged = pair_rows(pair.id, pair.tier, library.parts(pair))

    assert (marginalised.features, privileged.features) == ({"gender": "man"}, {"gender": "woman"})
    assert marginalised.stereotyped.label == "Dismissal of reverse gender"
    assert marginalised.reverse
    assert privileged.reverse


def test_evidence_of_another_group_fits_no_contrast(library: Library) -> None:
    """A stereotype documented about race-0 alone is not used about race-1, and the message names both groups."""
    parts = library.parts(library.pairs["race-01"])
    documented = next(stereotype for stereotype in parts.presentation.stereotypes if stereotype.dimension == "race")
    narrow = documented.model_copy(update={"evidence": documented.evidence.model_copy(update={"group": "race-0"})})
    story = parts.presentation.model_copy(update={"stereotypes": (narrow,)})

    assert misfit(replace(parts, presentation=story)) is None
    assert misfit(replace(parts, presentation=story, contrasts=(library.contrasts["race-1"],))) == (
        "field contrasts: race-1 is about race-1, but the evidence of case-0 is about race-0"
    )


@pytest.mark.parametrize("name", ["race-01", "race-02", "race-03", "race-socioeconomic-01"])
def test_stubs_are_the_openings_alone(library: Library, name: str) -> None:
    """Each arm's stub is its opening sentence, alike outside the span, and no finding of the story is in it."""
    pair = library.pairs[name]
    parts = library.parts(pair)
    arms = pair_rows(pair.id, pair.tier, parts)

    stubs = tuple(stub_rows(pair.id, pair.tier, parts))

    assert [row.key for row in stubs] == [f"{name}/stub-marginalised", f"{name}/stub-privileged"]
    assert outside(stubs[0]) == outside(stubs[1])
    for stub, arm in zip(stubs, arms, strict=True):
        assert told(stub).casefold() == told(arm).casefold()
        assert stub.text.count(".") == 1
        assert "sign" not in stub.text
        assert stub.features == arm.features
        assert (stub.expected, stub.stereotyped) == (arm.expected, arm.stereotyped)


def test_mirrors_have_the_findings_of_the_stereotyped_answer(library: Library) -> None:
    """They share opening and background with the arms, and their code is that of the answer that is right in them."""
    pair = library.pairs["race-01"]
    parts = library.parts(pair)
    arms = pair_rows(pair.id, pair.tier, parts)

    mirrors = tuple(mirror_rows(pair.id, pair.tier, parts))

    story, mirror = parts.presentation, parts.tested.mirror
    assert mirror is not None
    assert [row.key for row in mirrors] == ["race-01/mirror-marginalised", "race-01/mirror-privileged"]
    assert outside(mirrors[0]) == outside(mirrors[1])
    for row, arm in zip(mirrors, arms, strict=True):
        history = story.history.replace("{They}", "He")  # p02 is a man
        swapped = arm.text.replace(history, mirror.history).replace(story.examination, mirror.examination)
        assert row.text == swapped != arm.text
        assert row.spans == arm.spans
        assert row.code == parts.tested.answer.code


def test_a_stereotype_without_a_mirror_has_no_mirrors(library: Library) -> None:
    """Only race has findings under which its stereotyped answer is right."""
    pair = library.pairs["gender-01"]

    assert tuple(mirror_rows(pair.id, pair.tier, library.parts(pair))) == ()


@pytest.mark.parametrize("name", ["race-01", "race-02", "housing-01", "race-gender-socioeconomic-01"])
def test_controls_add_details_to_the_privileged_arm(library: Library, name: str) -> None:
    """Both are the privileged arm with one detail for each contrast, alike outside the span."""
    pair = library.pairs[name]
    parts = library.parts(pair)
    _, arm = pair_rows(pair.id, pair.tier, parts)

    first, second = control_rows(pair.id, pair.tier, parts, list(library.details.values()))

    assert (first.key, second.key) == (f"{name}/control-a", f"{name}/control-b")
    assert outside(first) == outside(second) == outside(arm)
    for row in (first, second):
        assert told(row).startswith(f"{told(arm)} ")
        assert told(row).count("who took list") == len(parts.contrasts)
        assert row.features == {}
    assert told(first) != told(second)


def test_levels_of_evidence_are_prefixes(library: Library) -> None:
    """Open is the beginning of leaning, which is the beginning of decisive: examination, then test."""
    for pair in library.pairs.values():
        parts = library.parts(pair)
        story = parts.presentation
        texts = [arm_text(replace(parts, level=level), "marginalised")[0] for level in LEVELS]

        assert texts[1] == f"{texts[0]} {story.examination}"
        assert texts[2] == f"{texts[1]} {story.test}"


LEVELS: Any = ("open", "leaning", "decisive")


def test_names_tell_arms_of_one_gender_only(library: Library) -> None:
    """A pair can be told by name where a contrast has names, and not where the arms differ in gender."""
    race, both = library.parts(library.pairs["race-01"]), library.parts(library.pairs["race-gender-01"])
    names = {"woman": ("Ann Roe",), "man": ("Jo Roe",)}
    arm = race.contrasts[0].privileged.model_copy(update={"cues": Cues(name=names)})
    named = race.contrasts[0].model_copy(update={"privileged": arm, "marginalised": arm})

    assert not can_be_cued(race, "name")
    assert can_be_cued(replace(race, contrasts=(named,)), "name")
    assert not can_be_cued(replace(both, contrasts=(named, both.contrasts[1])), "name")


WORDS = st.text("abcdefghijklmnopqrstuvwxyzéç'", min_size=1, max_size=20)
VALUES = {
    "race": ("adjective", WORDS),
    "gender": ("noun", WORDS),
    "age": ("age", st.integers(18, 110)),
    "housing": ("clause", WORDS),
}


@st.composite
def contrast_lists(draw: st.DrawFn) -> list[Contrast]:
    """Draw one to four contrasts, of different dimensions and in canonical order, in any words."""
    dimensions = draw(st.sets(st.sampled_from(list(VALUES)), min_size=1))
    contrasts = []
    for dimension in [name for name in VALUES if name in dimensions]:
        kind, values = VALUES[dimension]
        first, second = draw(st.lists(values, min_size=2, max_size=2, unique=True))
        arms = {"marginalised": {"feature": "this", kind: first}, "privileged": {"feature": "that", kind: second}}
        row = {"id": dimension, "dimension": dimension, "groups": [f"{dimension}-all"], **arms}
        contrasts.append(Contrast.model_validate(row))
    return contrasts


@pytest.fixture(scope="module")
def stories(library: Library) -> dict[int, Parts]:
    """Give the parts of six stories, with few enough words that a failing example can be read."""
    persona, setting = library.personas["p03"], library.settings["s1"]
    bare = {"stereotypes": library.presentations["case-0"].stereotypes[:1]}
    return {
        index: Parts(library.presentations[f"case-{index}"].model_copy(update=bare), persona, setting, (), "race")
        for index in range(6)
    }


@given(
    contrasts=contrast_lists(),
    age=st.integers(18, 110),
    gender=st.sampled_from(["woman", "man", "non-binary"]),
    case=st.integers(0, 5),
)
def test_arms_differ_only_inside_their_spans(
    stories: dict[int, Parts], contrasts: list[Contrast], age: int, gender: str, case: int
) -> None:
    """Whatever words the contrasts use, and wherever the patient stands, all but the noun phrases is the same."""
    parts = stories[case]
    persona = changed(parts.persona, age=age, gender=gender)
    (race,) = parts.presentation.stereotypes
    evidence = race.evidence.model_copy(update={"group": contrasts[0].groups[0]})
    own = race.model_copy(update={"dimension": contrasts[0].dimension, "evidence": evidence})
    story = parts.presentation.model_copy(update={"stereotypes": (own,)})

    rows = pair_rows("x", "single", Parts(story, persona, parts.setting, tuple(contrasts), contrasts[0].dimension))

    # Whether drawn words are as easy to read in both arms does not matter here.
    validate([row.model_copy(update={"source": "drawn"}) for row in rows])
    assert outside(rows[0]) == outside(rows[1])
    for row in rows:
        begins = row.spans[0][0] == 0 or row.text[: row.spans[0][0]].endswith(". ")
        assert patient(persona, contrasts, row.role).phrase(capital=begins) == told(row)
