"""Checks on composed rows: each spoils one sound pair and must be refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from builders import pair_rows
from equipoise.core.errors import EquipoiseError
from equipoise.materials.vignette import Vignette
from equipoise.studies.vignettes.profiles import (
    Build,
    build_pairs,
    build_versions,
    outside,
    require_one_source,
    validate,
)
from equipoise.text.answer import Answer

if TYPE_CHECKING:
    from equipoise.materials.stories.library import Library


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


def of_words(rows: tuple[Vignette, ...], n: int) -> list[Vignette]:
    """Cut or lengthen each text to n words."""
    return [
        changed(row, text=" ".join([*row.text.split()[:n], *["more"] * (n - len(row.text.split()))])) for row in rows
    ]


@pytest.mark.parametrize(("n", "message"), [(89, "has 89 words"), (90, ""), (185, ""), (186, "has 186 words")])
def test_a_note_has_90_to_185_words(pair: tuple[Vignette, Vignette], n: int, message: str) -> None:
    """A text of fewer or more words than a case note is refused with its level; both limits are allowed."""
    if not message:
        validate(of_words(pair, n))
        return
    with pytest.raises(EquipoiseError, match=f"race-01/.*field text: {message} at the level leaning; write 90 to 185"):
        validate(of_words(pair, n))


def test_each_further_feature_may_add_ten_words(library: Library) -> None:
    """An intersection of two dimensions may have 195 words, of three 205."""
    for name, most in (("race-gender-01", 195), ("race-gender-socioeconomic-01", 205)):
        plan = library.pairs[name]
        rows = pair_rows(plan.id, plan.tier, library.parts(plan))

        validate(of_words(rows, most))
        with pytest.raises(EquipoiseError, match=f"has {most + 1} words at the level leaning; write 90 to {most}"):
            validate(of_words(rows, most + 1))


def test_a_history_alone_and_a_social_history_have_limits_of_their_own(library: Library) -> None:
    """Without examination a note may have 60 words; with a persona's social history, 45 more than others."""
    plan = library.pairs["race-01"]
    rows = pair_rows(plan.id, plan.tier, replace(library.parts(plan), level="open"))
    validate(of_words(rows, 60))
    with pytest.raises(EquipoiseError, match="has 59 words at the level open; write 60 to 185"):
        validate(of_words(rows, 59))

    own = pair_rows("p02", "single", library.persona_parts(library.personas["p02"]))
    validate(of_words(own, 230))
    with pytest.raises(EquipoiseError, match="has 231 words at the level leaning; write 90 to 230"):
        validate(of_words(own, 231))


def test_arms_are_alike_in_readability(library: Library) -> None:
    """An arm whose words have 22 syllables more than the other's is over a school year harder to read."""
    plan = library.pairs["race-01"]
    parts = library.parts(plan)
    (contrast,) = parts.contrasts
    hard = contrast.privileged.model_copy(update={"adjective": "antidisestablishmentarianism " * 2})
    worded = replace(parts, contrasts=(contrast.model_copy(update={"privileged": hard}),))

    # about 120 words: 11.8 x 22 / 120 = 2.2, and 0.39 of a word a sentence besides
    with pytest.raises(
        EquipoiseError, match=r"race-01/.*field text: is [12]\.\d school years from that of race-01/.*alike"
    ):
        validate(pair_rows(plan.id, plan.tier, worded))


def test_notes_of_others_are_taken_as_they_are(pair: tuple[Vignette, Vignette]) -> None:
    """Imported cases may be of any length: nobody here can reword them."""
    validate([changed(row, source="imported") for row in of_words(pair, 20)])


@pytest.mark.parametrize("level", ["open", "leaning", "decisive"])
@pytest.mark.parametrize("profile", ["core", "full", "powered"])
def test_the_real_stories_are_notes_at_every_level(authored: Library, profile: Any, level: Any) -> None:
    """Every pair of data/raw, in every profile, is sound with and without its findings; the ladder has all levels."""
    assert build_pairs(authored, profile, level)


TELLINGS: dict[str, Any] = {"system": "", "reason": "{case}", "answer": "?", "answer_prefix": ""}


def test_every_real_story_has_its_tellings(authored: Library) -> None:
    """The details fit every story: each pair of the ladder has two controls and two stubs, alike outside the span."""
    how = Build(profile="ladder", **TELLINGS, controls=True, stubs=True, mirrors=False)

    rows = build_versions(authored, how)

    stories = authored.presentations.values()
    alone = sum(any("+" not in stereotype.dimension for stereotype in story.stereotypes) for story in stories)

    # 3 levels, 2 controls and 2 stubs
    assert len(rows) == alone * 3 * 4


def test_tellings_that_do_not_differ_are_refused(library: Library) -> None:
    """Two controls that say the same would measure no noise."""
    same = {name: row.model_copy(update={"word": row.word[:1] * 2}) for name, row in library.details.items()}
    how = Build(profile="core", **TELLINGS, controls=True, stubs=False, mirrors=False)

    with pytest.raises(EquipoiseError, match=r"/control-b: field text: is that of .*/control-a; word"):
        build_versions(replace(library, details=same), how)


def test_tellings_that_state_a_demographic_are_refused(library: Library) -> None:
    """A mirror's findings must not name the patient's gender, which the schema refuses too."""
    story = library.presentations["case-0"]
    mirrors = [
        stereotype.mirror.model_copy(update={"test": "She is well."}) if stereotype.mirror else None
        for stereotype in story.stereotypes
    ]
    rows = [
        stereotype.model_copy(update={"mirror": mirror})
        for stereotype, mirror in zip(story.stereotypes, mirrors, strict=True)
    ]
    told = story.model_copy(update={"stereotypes": tuple(rows)})
    how = Build(profile="core", **TELLINGS, level="decisive", controls=False, stubs=False, mirrors=True)

    with pytest.raises(EquipoiseError, match=r"race-01/mirror-.*: field text: states a demographic outside its spans"):
        build_versions(replace(library, presentations={**library.presentations, "case-0": told}), how)


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


@pytest.mark.parametrize("field", ["stereotyped", "distractors"])
def test_answers_that_share_a_wording_are_refused(pair: tuple[Vignette, Vignette], field: str) -> None:
    """Two answers of a case may share no label or synonym, whatever its case: a reply would be both."""
    same = Answer(label="MALADY 0", synonyms=("gout",))  # malady 0 is a synonym of the expected answer
    value = same if field == "stereotyped" else (same, *pair[0].distractors)

    with pytest.raises(EquipoiseError, match="share the wording 'MALADY 0'"):
        validate([changed(row, **{field: value}) for row in pair])


@pytest.mark.parametrize("word", ["himself", "She", "HER", "woman", "47-years-old"])
def test_a_demographic_outside_the_span_is_refused(pair: tuple[Vignette, Vignette], word: str) -> None:
    """A gendered word or an age outside the span is refused, here about a man, since it would contradict an arm."""
    rows = [changed(row, text=f"{row.text} Now {word} waits.") for row in pair]

    with pytest.raises(EquipoiseError, match="states a demographic outside its spans"):
        validate(rows)


@pytest.mark.parametrize("name", ["gender-01", "race-gender-01"])
def test_pronouns_are_refused_where_gender_varies(library: Library, name: str) -> None:
    """With a man in both arms, "he" and "his" may be said; with a woman and a man, neither."""
    told = "Now he waits, his coat on."
    rows = []
    for plan in (library.pairs["race-01"], library.pairs[name]):
        arms = pair_rows(plan.id, plan.tier, library.parts(plan))
        rows.append([changed(row, text=f"{row.text} {told}") for row in arms])

    validate(rows[0])
    with pytest.raises(EquipoiseError, match=r"states a demographic outside its spans \('he'\)"):
        validate(rows[1])


def test_outside_gives_the_pieces_around_the_spans(pair: tuple[Vignette, Vignette]) -> None:
    """The text "abcdef" with the spans bc and e leaves a, d and f."""
    row = changed(pair[0], text="abcdef", spans=((1, 3), (4, 5)))

    assert outside(row) == ("a", "d", "f")


def test_tracks_are_not_pooled(library: Library) -> None:
    """Rows of two sources are refused together, each source named with a row of it."""
    rows = list(build_pairs(library, "core"))
    rows[-2:] = [changed(row, source="openr1") for row in rows[-2:]]

    with pytest.raises(EquipoiseError, match=r"tracks cannot be pooled: 'authored' \(.*\), 'openr1' \(.*\)"):
        require_one_source({row.key: row.source for row in rows})
    with pytest.raises(EquipoiseError, match="tracks cannot be pooled"):
        validate(rows)
