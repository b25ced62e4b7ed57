"""Checks on composed rows: each spoils one sound pair and must be refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Answer, Vignette
from equipoise.vignettes.compose import pair_rows
from equipoise.vignettes.profiles import build, outside, require_one_source, validate

if TYPE_CHECKING:
    from equipoise.vignettes.library import Library


@pytest.fixture
def pair(library: Library) -> tuple[Vignette, Vignette]:
    """Give the two rows of race-01."""
    plan = library.pairs["race-01"]
    return pair_rows(plan.id, plan.tier, library.parts(plan))


def changed(row: Vignette, **fields: Any) -> Vignette:
    """Give the row with other fields, unchecked."""
    return row.model_copy(update=fields)


def test_a_sound_pair_passes(pair: tuple[Vignette, Vignette]) -> None:
    """The unspoilt pair is accepted, in either order."""
    validate(pair)
    validate(pair[::-1])


def test_an_empty_set_is_refused() -> None:
    """No vignettes at all is an error, not an empty study."""
    with pytest.raises(EquipoiseError, match="no rows; build at least one pair"):
        validate([])


SPOILT: list[tuple[dict[str, Any], str]] = [
    ({"source": " "}, "field source: is empty; say where"),
    ({"licence": ""}, "field licence: is empty"),
    ({"key": "race-01/other"}, "field key: should be 'race-01/privileged'"),
    ({"features": {}}, "field features: must name each of race once"),
    ({"features": {"race": "black0"}}, "field features.race: is that of race-01/marginalised"),
    ({"features": {"race": "white0", "age": "47"}}, "field features: must name each of race once"),
    ({"dimensions": ("race", "race")}, "field features: must name each of race, race once"),
    ({"spans": ((0, 0),)}, "field spans: (0, 0) is empty, out of order or outside the text"),
    ({"spans": ((5, 9), (0, 4))}, "field spans: (0, 4) is empty, out of order"),
    ({"spans": ((0, 10_000),)}, "field spans: (0, 10000) is empty, out of order or outside the text"),
    ({"spans": ((2, 24),)}, "outside the spans; make the rest the same"),
    ({"tier": "tier1"}, "field tier: differs from that of race-01/marginalised"),
    ({"dimensions": ("age",), "features": {"age": "47"}}, "field dimensions: differs"),
    ({"expected": Answer(label="Gout", synonyms=("podagra",))}, "field expected: differs"),
    ({"stereotyped": Answer(label="Gout", synonyms=("podagra",))}, "field stereotyped: differs"),
    ({"code": "X"}, "field code: differs"),
    ({"guideline": "X"}, "field guideline: differs"),
    ({"persona": "p09"}, "field persona: differs"),
    ({"setting": "s7"}, "field setting: differs"),
    ({"source": "openr1"}, "field source: differs"),
    ({"components": (Answer(label="Gout", synonyms=("podagra",)),)}, "field components: differs"),
    ({"components": (Answer(label="MALADY 0", synonyms=("podagra",)),)}, "share the wording 'MALADY 0'"),
    ({"grade": "A"}, "field grade: differs"),
    ({"reverse": True}, "field reverse: differs"),
    ({"level": "open"}, "field level: differs"),
    ({"role": "marginalised", "key": "race-01/marginalised"}, "field key: is a duplicate"),
]


@pytest.mark.parametrize(("fields", "words"), SPOILT)
def test_a_spoilt_arm_is_refused(pair: tuple[Vignette, Vignette], fields: dict[str, Any], words: str) -> None:
    """An arm that breaks a rule, or departs from its fellow, is refused with its key and field."""
    with pytest.raises(EquipoiseError) as caught:
        validate([pair[0], changed(pair[1], **fields)])

    assert words in str(caught.value)
    assert "race-01/" in str(caught.value)


def test_clinical_content_that_differs_is_refused(pair: tuple[Vignette, Vignette]) -> None:
    """One character of difference outside the demographic span refuses the pair."""
    text = pair[1].text.replace("sign 0", "sign 1")

    with pytest.raises(EquipoiseError, match="differs from that of race-01/marginalised outside the spans"):
        validate([pair[0], changed(pair[1], text=text)])


def test_an_orphan_arm_is_refused(pair: tuple[Vignette, Vignette]) -> None:
    """A pair with one arm is refused, and so is one whose third arm has a key of its own."""
    with pytest.raises(
        EquipoiseError, match="leaves the pair 'race-01' with marginalised; give it one arm of each role"
    ):
        validate(pair[:1])


def test_a_duplicate_text_is_refused(pair: tuple[Vignette, Vignette]) -> None:
    """Two pairs with the same text are refused, since they would count one case twice."""
    copies = [changed(row, pair="race-99", key=f"race-99/{row.role}") for row in pair]

    with pytest.raises(EquipoiseError, match="race-99/marginalised: field text: is that of race-01/marginalised"):
        validate([*pair, *copies])


def test_a_missing_synonym_list_is_refused(pair: tuple[Vignette, Vignette]) -> None:
    """An answer without synonyms is refused, since only its one wording would be recognised."""
    bare = Answer.model_construct(label="Gout", synonyms=())

    with pytest.raises(EquipoiseError, match=r"field stereotyped\.synonyms: is empty"):
        validate([changed(row, stereotyped=bare) for row in pair])


@pytest.mark.parametrize("field", ["stereotyped", "distractors"])
def test_answers_that_share_a_wording_are_refused(pair: tuple[Vignette, Vignette], field: str) -> None:
    """Two answers of a case may share no label or synonym, whatever its case: a reply would be both."""
    same = Answer(label="MALADY 0", synonyms=("gout",))  # malady 0 is a synonym of the expected answer
    value = same if field == "stereotyped" else (same, *pair[0].distractors)

    with pytest.raises(EquipoiseError, match="share the wording 'MALADY 0'"):
        validate([changed(row, **{field: value}) for row in pair])


@pytest.mark.parametrize("word", ["he", "She", "his", "HER", "woman", "47-years-old"])
def test_a_demographic_outside_the_span_is_refused(pair: tuple[Vignette, Vignette], word: str) -> None:
    """A gendered word or an age outside the span is refused, since it would contradict one of the arms."""
    rows = [changed(row, text=f"{row.text} Now {word} waits.") for row in pair]

    with pytest.raises(EquipoiseError, match="states a demographic outside its spans"):
        validate(rows)


def test_outside_gives_the_pieces_around_the_spans(pair: tuple[Vignette, Vignette]) -> None:
    """The text "abcdef" with the spans bc and e leaves a, d and f."""
    row = changed(pair[0], text="abcdef", spans=((1, 3), (4, 5)))

    assert outside(row) == ("a", "d", "f")


def test_tracks_are_not_pooled(library: Library) -> None:
    """Rows of two sources are refused together, each source named with a row of it."""
    rows = list(build(library, "core"))
    rows[-2:] = [changed(row, source="openr1") for row in rows[-2:]]

    with pytest.raises(EquipoiseError, match=r"tracks cannot be pooled: 'authored' \(.*\), 'openr1' \(.*\)"):
        require_one_source(rows)
    with pytest.raises(EquipoiseError, match="tracks cannot be pooled"):
        validate(rows)
