"""What the small library covers, which floors it misses, and that the real one misses none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.materials.stories.library import Library
from equipoise.materials.stories.schema import Diagnosis
from equipoise.studies.vignettes.coverage import (
    FLOORS,
    Evidenced,
    Tally,
    by_group,
    coverage,
    misreadings,
    shortfalls,
)
from equipoise.studies.vignettes.profiles import profile_pairs
from equipoise.text.answer import Answer, AnswerKind
from equipoise.text.diagnoses import load_diagnoses
from equipoise.text.written import read_written

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.materials.stories.schema import Presentation
    from equipoise.studies.vignettes.profiles import PlannedPair

DIAGNOSES = load_diagnoses(Path(__file__).parents[3] / "data/diagnoses.yaml")


def lines(library: Library, profile: Any, pairs: list[PlannedPair] | None = None, items: int = 120) -> list[str]:
    """Give what a profile of a library misses."""
    pairs = profile_pairs(library, profile) if pairs is None else pairs
    return list(shortfalls(library, coverage(library, pairs, items), profile, pairs))


def changed(library: Library, change: Callable[[int, Presentation], Presentation]) -> Library:
    """Change each story, given its number."""
    stories = enumerate(library.presentations.items())
    return replace(library, presentations={name: change(index, story) for index, (name, story) in stories})


def test_the_library_is_counted(library: Library) -> None:
    """14 stories with a mirror each, of race, all with an opening and at three levels."""
    counts = coverage(library, profile_pairs(library, "core"), items=7)

    assert (counts.stories, counts.mirrors, counts.stubs, counts.ladder, counts.items) == (14, 14, 14, 14, 7)


def test_pairs_are_counted_by_grade_in_the_main_direction(library: Library) -> None:
    """A dimension has its single pairs, not its intersections nor the reverse direction."""
    tallies = coverage(library, profile_pairs(library, "full"), items=0).dimensions

    # race-01 to race-08 tell case-0 to case-7, whose grades are CCBBBBBA
    assert tallies["race"] == Tally(pairs=8, stories=8, grade_a=1, grade_b=5, grade_c=2)
    # gender-01 to gender-05 of case-8 to case-12, all of grade A; gender-reverse-01 to -04 are left out
    assert tallies["gender"] == Tally(pairs=5, stories=5, grade_a=5, grade_b=0, grade_c=0)
    assert list(tallies)[-1] == "pregnancy"


def test_evidence_is_counted_by_grade_and_by_what_grade_a_needs(library: Library) -> None:
    """Of 14 stories, ten have papers with a comparison group, nine also name the error, and seven are of grade A."""
    evidence = coverage(library, profile_pairs(library, "core")[:1], items=0).evidence
    rows = 15  # documented errors of a story: of 13 dimensions, and in two reverse directions

    assert evidence["library"] == Evidenced(
        n=14 * rows,
        grade_a=7 * rows,
        grade_b=5 * rows,
        grade_c=2 * rows,
        comparison=10 * rows,
        error_named=9 * rows,
        both=9 * rows,
    )
    # race-01 tells case-0
    assert evidence["pairs"] == Evidenced(n=1, grade_a=0, grade_b=0, grade_c=1, comparison=0, error_named=0, both=0)


def test_decisions_are_counted_by_their_grade_for_the_pair(library: Library) -> None:
    """Only case-0 asks for any, two: fewer than the three that count; its pairs tell of several groups."""
    pairs = [pair for pair in profile_pairs(library, "full") if pair[2].presentation.id == "case-0"]
    counts = coverage(library, pairs, items=0)
    race = [parts for _, _, parts in pairs if any(contrast.id in {"race-0", "race-1"} for contrast in parts.contrasts)]

    assert counts.decided == 0
    assert counts.decisions["disbelief"] == Tally(pairs=0, stories=0, grade_a=0, grade_b=0, grade_c=0)
    # speed is of grade B for every group of race, and extrapolated to any other dimension
    speed = Tally(pairs=len(pairs), stories=1, grade_a=0, grade_b=len(race), grade_c=len(pairs) - len(race))
    assert counts.decisions["undertreatment"] == speed


def test_a_decision_is_counted_in_the_settings_in_which_it_is_asked(library: Library) -> None:
    """Only those pairs of case-0 that are in s0 are asked for the speed."""
    pairs = [pair for pair in profile_pairs(library, "full") if pair[2].presentation.id == "case-0"]
    speed = library.endpoints["speed"].model_copy(update={"settings": ("s0",)})
    counts = coverage(replace(library, endpoints={**library.endpoints, "speed": speed}), pairs, items=0)

    n = sum(parts.setting.id == "s0" for _, _, parts in pairs)
    assert counts.decisions["undertreatment"].pairs == n < len(pairs)


def test_a_core_profile_has_no_proposed_dimensions(library: Library) -> None:
    """What a profile does not vary is not counted as nothing: it is left out."""
    assert "pregnancy" not in coverage(library, profile_pairs(library, "core"), items=0).dimensions


def test_pairs_are_counted_by_patient_group(library: Library) -> None:
    """The group is the contrast's own, not one that contains it; a reverse direction is a group by itself."""
    groups = by_group(library, profile_pairs(library, "full"))

    # race alternates between race-0 and race-1 over 8 pairs: cases 0, 2, 4, 6 and 1, 3, 5, 7 with grades CBBB and CBBA
    assert groups[0] == ("race", "race-0", False, Tally(pairs=4, stories=4, grade_a=0, grade_b=3, grade_c=1))
    assert groups[1] == ("race", "race-1", False, Tally(pairs=4, stories=4, grade_a=1, grade_b=2, grade_c=1))
    assert [group[:3] for group in groups if group.dimension == "gender"] == [
        ("gender", "gender-0", False),
        ("gender", "gender-reverse", True),
    ]


def test_each_missed_floor_is_a_line(library: Library) -> None:
    """A library of 14 stories misses the floors of stories, mirrors, levels and items, and says what was found."""
    assert lines(library, "full", items=119) == [
        "stories: 14 found, at least 100 wanted",
        "mirrors: 14 found, at least 40 wanted",
        "ladder: 14 found, at least 60 wanted",
        "decided: 0 found, at least 60 wanted",
        "items: 119 found, at least 120 wanted",
    ]


def test_a_core_of_other_size_is_missed(library: Library) -> None:
    """Without its last pair, of an intersection, the core has 24 - 2 such cases."""
    pairs = profile_pairs(library, "core")[:-1]

    assert "intersectional cases of core: 22 found, exactly 24 wanted" in lines(library, "core", pairs)
    assert not any(line.startswith("single cases") for line in lines(library, "core", pairs))


def test_the_best_grade_has_a_share(library: Library) -> None:
    """28 of 40 pairs are 70 %, which is enough; 27 are not."""
    pairs = [(pair, tier, parts) for pair, tier, parts in profile_pairs(library, "full") if tier == "single"][:40]

    def graded(n: int) -> list[PlannedPair]:
        return [
            (pair, tier, replace(parts, presentation=graded_story(parts.presentation, "A" if place < n else "B")))
            for place, (pair, tier, parts) in enumerate(pairs)
        ]

    assert not [line for line in lines(library, "core", graded(28)) if line.startswith("pairs of grade A")]
    assert "pairs of grade A in core: 27 of 40 found, at least 70% wanted" in lines(library, "core", graded(27))


def graded_story(story: Presentation, grade: str) -> Presentation:
    """Give a story all of whose evidence is of one grade."""
    rows = tuple(
        stereotype.model_copy(update={"evidence": stereotype.evidence.model_copy(update={"grade": grade})})
        for stereotype in story.stereotypes
    )
    return story.model_copy(update={"stereotypes": rows})


def test_powered_misses_pairs_stories_and_groups(library: Library) -> None:
    """A dimension with too few pairs or stories, and the groups that nothing is about, are lines of their own."""
    pairs = profile_pairs(library, "powered")
    few = [pair for pair in pairs if pair[2].combination != "race"]
    race = [pair for pair in pairs if pair[2].combination == "race"]
    missed = lines(library, "powered", pairs)

    assert "pairs of race about the patient group black: 0 found, at least 10 wanted" in missed
    assert "stories of pain about the patient group black: 0 found, at least 1 wanted" in missed
    assert "stereotyped answers of psychosis about the patient group black: 0 found, at least 1 wanted" in missed
    assert "pairs of disability about the patient group learning-disability: 0 found, at least 8 wanted" in missed
    assert "pairs of race: 14 found, at least 15 wanted" in lines(library, "powered", [*few, *race[:14]])
    assert "stories of race: 2 found, at least 12 wanted" in lines(library, "powered", [*few, *(race[:2] * 8)])


def test_pain_and_psychosis_are_found_in_the_stories_about_the_group(library: Library) -> None:
    """A story counts by the pain in its opening, and by the code of its stereotyped answer, if the group is black."""

    def told(index: int, story: Presentation) -> Presentation:
        rows = [stereotype.model_copy(update={"answer": psychosis(stereotype)}) for stereotype in story.stereotypes]
        opening = "{patient} {setting} because of pain that began a few days ago and persists."
        return story.model_copy(update={"stereotypes": tuple(rows), "opening": opening}) if index == 13 else story

    def psychosis(stereotype: Any) -> Any:
        return stereotype.answer.model_copy(update={"code": "ICD-11 6A20"})

    black = {
        name: row.model_copy(update={"groups": (*row.groups, "black")}) if row.dimension == "race" else row
        for name, row in library.contrasts.items()
    }
    missed = lines(replace(changed(library, told), contrasts=black), "powered")

    assert not [line for line in missed if "black" in line]


@pytest.mark.parametrize("profile", ["core", "full", "powered", "ladder"])
def test_the_real_library_misses_no_floor(authored: Library, profile: Any) -> None:
    """The stories and pairs of data/raw keep every floor; items are counted where they are."""
    assert not lines(authored, profile, items=FLOORS["items"])


def test_the_real_library_has_no_wording_that_is_misread(authored: Library) -> None:
    """Every wording of an answer, those of the lexicon included, is read as that answer in each of its cases."""
    assert not list(misreadings(authored, DIAGNOSES))


@pytest.mark.parametrize(
    ("reply", "is_read"),
    [
        ("that the patient has {}, which needs urgent treatment.", True),
        ("likely due to {}, given the examination.", True),
        ("{}, not {other}.", True),
        ("{other} rather than {}.", False),
        ("lactose intolerance or {}.", False),
        ("lactose intolerance, with no evidence of {}.", False),
        ("lactose intolerance; {} is unlikely.", False),
        ("a history of {}.", False),
    ],
)
def test_every_expected_answer_is_read_where_it_is_given(authored: Library, reply: str, is_read: bool) -> None:  # noqa: FBT001  (a parameter)
    """In a sentence it is read in every story, and in none where it is set aside, former or an alternative."""
    wrong = []
    for story in authored.presentations.values():
        answers: dict[AnswerKind, tuple[Answer, ...]] = {"expected": (story.expected,), "distractor": story.distractors}
        text = reply.format(story.expected.label, other=story.distractors[0].label)
        if (read_written(text, answers, DIAGNOSES).kind == "expected") != is_read:
            wrong.append(text)

    assert not wrong


def test_a_wording_of_two_answers_of_a_case_is_a_line(library: Library) -> None:
    """A distractor that the lexicon takes for the expected answer is named, with its story."""
    twice = Diagnosis(label="heart attack", synonyms=("coronary occlusion",), code="ICD-11 BA41")
    once = Diagnosis(label="myocardial infarction", synonyms=("NSTEMI", "STEMI"), code="ICD-11 BA41")
    altered = changed(library, lambda _, story: story.model_copy(update={"expected": once, "distractors": (twice,)}))

    assert (
        "story case-0: 'heart attack', of 'heart attack', is read as 'myocardial infarction': "
        "change it, or data/diagnoses.yaml"
    ) in list(misreadings(altered, DIAGNOSES))
