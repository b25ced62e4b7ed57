"""The noun phrase, and the two rows of a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.vignettes.compose import Parts, genders, pair_rows, patient
from equipoise.vignettes.profiles import outside, validate
from equipoise.vignettes.schema import Contrast

if TYPE_CHECKING:
    from equipoise.vignettes.library import Library
    from equipoise.vignettes.schema import Persona


def changed(row: Persona, **fields: Any) -> Persona:
    """Give the persona with other fields."""
    return row.model_copy(update=fields)


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

    actual = patient(library.personas["p02"], contrasts, "marginalised").phrase

    assert expected == actual


@pytest.mark.parametrize(
    ("age", "gender", "expected"),
    [
        (16, "woman", "A 16-year-old girl"),
        (17, "man", "A 17-year-old boy"),
        (18, "woman", "An 18-year-old woman"),
        (40, "non-binary", "A 40-year-old person"),
    ],
)
def test_noun_follows_age_and_gender(library: Library, age: int, gender: str, expected: str) -> None:
    """A patient under 18 is a girl or a boy, and a non-binary one a person at any age."""
    actual = patient(changed(library.personas["p02"], age=age, gender=gender), [], "privileged").phrase

    assert expected == actual


def test_genders_that_a_case_must_be_sound_for(library: Library) -> None:
    """A gender contrast or a non-binary persona needs both genders; otherwise the persona's own is enough."""
    man, person = library.personas["p02"], library.personas["p37"]

    assert genders(man, []) == ("man",)
    assert genders(person, []) == ("woman", "man")
    assert genders(man, [library.contrasts["gender-0"]]) == ("woman", "man")


def test_row_of_an_arm(library: Library) -> None:
    """A row joins phrase, setting, case and background, and carries what its arm and presentation state."""
    pair = library.pairs["race-01"]  # case-0, p02 (a man of 21), s0, race-0

    marginalised, privileged = pair_rows(pair.id, pair.tier, library.parts(pair))

    assert marginalised.key == "race-01/marginalised"
    assert privileged.key == "race-01/privileged"
    assert marginalised.text.startswith("A 21-year-old Black0 man is seen in place 0 with sign 0. The patient says")
    assert marginalised.text.endswith("nine ten. The patient brought list number 1 of questions.")
    assert marginalised.spans == ((0, len("A 21-year-old Black0 man")),)
    assert marginalised.features == {"race": "Black0"}
    assert privileged.features == {"race": "white0"}
    assert marginalised.stereotyped.label == "Dismissal race"


def test_dimensions_come_in_canonical_order(library: Library) -> None:
    """However a pair lists its contrasts, its dimensions are in the order of contrasts.yaml."""
    pair = library.pairs["race-socioeconomic-01"]
    turned = pair.model_copy(update={"contrasts": pair.contrasts[::-1]})

    rows = pair_rows(turned.id, turned.tier, library.parts(turned))

    assert rows[0].combination == "race+socioeconomic"


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
        one, other = draw(st.lists(values, min_size=2, max_size=2, unique=True))
        arms = {"marginalised": {"feature": "this", kind: one}, "privileged": {"feature": "that", kind: other}}
        contrasts.append(Contrast.model_validate({"id": dimension, "dimension": dimension, **arms}))
    return contrasts


@given(contrasts=contrast_lists(), age=st.integers(18, 110), gender=st.sampled_from(["woman", "man", "non-binary"]))
def test_arms_differ_only_inside_their_spans(
    library: Library, contrasts: list[Contrast], age: int, gender: str
) -> None:
    """Whatever words the contrasts use, the texts are equal outside the spans, and the spans hold the noun phrases."""
    persona = changed(library.personas["p03"], age=age, gender=gender)
    case = library.presentations["case-3"]
    case = case.model_copy(update={"stereotypes": {contrasts[0].dimension: case.stereotypes["race"]}})
    parts = Parts(case, persona, library.settings["s1"], tuple(contrasts), contrasts[0].dimension)

    rows = pair_rows("x", "single", parts)

    validate(rows)
    assert outside(rows[0]) == outside(rows[1])
    for row in rows:
        start, end = row.spans[0]
        assert patient(persona, contrasts, row.role).phrase == row.text[start:end]
