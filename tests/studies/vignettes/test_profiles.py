"""The profiles, of the small library and of the real one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest
from equipoise.materials.stories.compose import patient
from equipoise.materials.stories.library import Library
from equipoise.materials.vignette import Grade
from equipoise.studies.vignettes.profiles import (
    Build,
    Profile,
    build_pairs,
    build_versions,
    counts,
    counts_table,
    profile_pairs,
    validate,
)

if TYPE_CHECKING:
    from equipoise.materials.stories.schema import Presentation, Stereotype
    from equipoise.materials.vignette import Vignette
    from equipoise.studies.vignettes.profiles import PlannedPair

ROOT = Path(__file__).parents[3]
SINGLES = {"race": 8, "gender": 5, "age": 4, "housing": 3, "substance_use": 3, "obesity": 3, "socioeconomic": 3}
PROPOSED = ["religion_culture", "disability", "mental_health", "language_migration", "lgbtq", "pregnancy"]
DIMENSIONS = [*SINGLES, *PROPOSED]
TIERS = {
    "tier1": ["race+socioeconomic", "gender+age", "housing+substance_use", "race+gender"],
    "tier2": ["age+socioeconomic", "gender+obesity", "race+age", "housing+socioeconomic"],
    "tier3": ["race+gender+socioeconomic", "gender+age+obesity"],
    "mental_health_substance": ["substance_use+mental_health"],
}


@pytest.fixture(params=["library", "authored"])
def any_library(request: pytest.FixtureRequest) -> Library:
    """Give the small library, then the real one."""
    library: Library = request.getfixturevalue(request.param)
    return library


def n_pairs(rows: tuple[Vignette, ...], family: str) -> dict[str, int]:
    """Give the pairs per group of a family, each checked to have two cases a pair."""
    groups = counts(rows)[family]
    assert all(n["n_cases"] == 2 * n["n_pairs"] for n in groups.values())
    return {name: n["n_pairs"] for name, n in groups.items()}


def test_core_has_58_single_and_24_intersectional_cases(any_library: Library) -> None:
    """Profile core is 82 cases: 58 over the seven core dimensions, 24 over the eleven combinations."""
    rows = build_pairs(any_library, "core")

    assert len(rows) == 82
    assert n_pairs(rows, "dimension") == SINGLES
    assert n_pairs(rows, "tier") == {"single": 29, "tier1": 4, "tier2": 4, "tier3": 2, "mental_health_substance": 2}
    assert n_pairs(rows, "combination") == {
        **{name: 1 for tier in ("tier1", "tier2", "tier3") for name in TIERS[tier]},
        "substance_use+mental_health": 2,
    }


def test_full_has_every_authored_pair(any_library: Library) -> None:
    """Profile full is every pair of pairs.yaml: the proposed dimensions too, and 8, 8, 4 and 4 intersectional pairs."""
    rows = build_pairs(any_library, "full")

    assert len(rows) == 2 * len(any_library.pairs)
    assert {row.pair for row in rows} == set(any_library.pairs)
    tiers = n_pairs(rows, "tier")
    assert tiers["single"] >= 61  # 29 + 6 x 4 + 2 x 4 in the reverse direction
    assert tiers == {"single": tiers["single"], "tier1": 8, "tier2": 8, "tier3": 4, "mental_health_substance": 4}
    assert n_pairs(rows, "dimension").keys() == set(DIMENSIONS)


def test_the_datasheet_states_the_real_counts(authored: Library) -> None:
    """The table of cases in the datasheet has the counts of the profiles, group by group."""
    counted = [counts(build_pairs(authored, profile)) for profile in get_args(Profile)]
    text = (ROOT / "docs" / "datasheet-vignettes.md").read_text(encoding="utf-8")

    for family in ("dimension", "combination", "overall"):
        for group in counted[2][family]:
            cells = [str(each[family].get(group, {"n_cases": 0})["n_cases"]) for each in counted]
            assert f"| {group} | {' | '.join(cells)} |" in text
    for file, n in {
        "personas.yaml": len(authored.personas),
        "presentations/": len(authored.presentations),
        "contrasts.yaml": len(authored.contrasts),
        "pairs.yaml": len(authored.pairs),
    }.items():
        assert f"| `{file}` | {n} " in text


def test_the_datasheet_states_the_real_evidence(authored: Library) -> None:
    """Its table has the documented errors by grade, by what grade A needs, by log ratio and by mirror."""
    rows = [row for story in authored.presentations.values() for row in story.stereotypes]
    groups = {name: [row for row in rows if row.dimension == name] for name in DIMENSIONS} | {"all": rows}
    text = (ROOT / "docs" / "datasheet-vignettes.md").read_text(encoding="utf-8")

    for name, own in groups.items():
        grades = [sum(row.evidence.grade == grade for row in own) for grade in get_args(Grade)]
        flags = [sum(row.evidence.comparison for row in own), sum(row.evidence.error_named for row in own)]
        ratios = [row.log_ratio.value for row in own]
        against, neutral, towards = (
            sum(map(within, ratios)) for within in (lambda r: r <= -0.5, lambda r: abs(r) < 0.3, lambda r: r >= 0.3)
        )
        mirrors = sum(row.mirror is not None for row in own)
        cells = (len(own), *grades, *flags, against, neutral, towards, mirrors)
        assert f"| of {name} | {' | '.join(map(str, cells))} |" in text
    assert f"with {len(rows)} documented errors by dimension and {mirrors} mirrors" in text


def test_powered_has_30_cases_a_dimension_and_10_a_combination(any_library: Library) -> None:
    """Profile powered is 15 pairs in each of thirteen dimensions, 5 in each combination, every text different."""
    rows = build_pairs(any_library, "powered")

    assert n_pairs(rows, "dimension") == dict.fromkeys(DIMENSIONS, 15)
    assert n_pairs(rows, "combination") == {name: 5 for names in TIERS.values() for name in names}
    assert len({row.text for row in rows}) == len(rows) == 500  # 2 x (13 x 15 + 11 x 5)


def singles(rows: tuple[Vignette, ...], dimension: str) -> list[Vignette]:
    """Give the privileged arms of a dimension's single pairs."""
    return [row for row in rows if row.role == "privileged" and row.dimensions == (dimension,)]


def test_powered_has_one_direction_and_twelve_stories(any_library: Library) -> None:
    """No pair is of the reverse direction, and the 15 pairs of each dimension tell at least 12 stories."""
    rows = build_pairs(any_library, "powered")

    assert not any(row.reverse for row in rows)
    for dimension in DIMENSIONS:
        assert len({row.presentation for row in singles(rows, dimension)}) >= 12


def test_powered_takes_the_best_evidence_first(library: Library) -> None:
    """Of 14 stories, 2 of grade C, 5 of B and 7 of A, it tells the 12 of A and B, and A's again before B's."""
    rows = build_pairs(library, "powered")

    for dimension in DIMENSIONS:
        # 15 pairs on 12 stories: each once, then three of grade A once more, so 7 + 3 = 10 of A and 5 of B.
        assert Counter(row.grade for row in singles(rows, dimension)) == {"A": 10, "B": 5}
        uses = Counter(row.presentation for row in singles(rows, dimension))
        assert sorted(uses.values()) == [1] * 9 + [2] * 3


def test_powered_draws_on_every_story_of_the_best_grade(library: Library) -> None:
    """Where all 14 stories have evidence of grade A all 14 are told, not only as many as must be."""
    best = {name: story.model_copy(update={"stereotypes": graded(story, "A")}) for name, story in stories(library)}
    rows = build_pairs(Library(**{**vars(library), "presentations": best}), "powered")

    assert {row.presentation for row in singles(rows, "race")} == set(best)


def stories(library: Library) -> list[tuple[str, Presentation]]:
    """Give the stories with their ids."""
    return list(library.presentations.items())


def graded(story: Presentation, grade: str) -> tuple[Stereotype, ...]:
    """Give the stereotypes of a story, all of one grade."""
    return tuple(
        stereotype.model_copy(update={"evidence": stereotype.evidence.model_copy(update={"grade": grade})})
        for stereotype in story.stereotypes
    )


def test_powered_is_spread(any_library: Library) -> None:
    """No persona is used more than three times in a dimension for which most fit."""
    rows = build_pairs(any_library, "powered")

    for dimension in SINGLES:
        assert max(Counter(row.persona for row in singles(rows, dimension)).values()) <= 3


def test_powered_uses_every_persona(library: Library) -> None:
    """Where every presentation fits everyone, nobody of the panel is left out."""
    assert {row.persona for row in build_pairs(library, "powered")} == library.personas.keys()


def test_the_ladder_has_every_story_at_three_levels(any_library: Library) -> None:
    """One pair of each story, of its best grade, is told open, leaning and decisive, all else being the same."""
    rows = [row for row in build_pairs(any_library, "ladder") if row.role == "marginalised"]

    assert len(rows) == 3 * sum(documented_alone(story) for story in any_library.presentations.values())
    by_story: defaultdict[str, list[Vignette]] = defaultdict(list)
    for row in rows:
        by_story[row.presentation].append(row)
    for name, told in by_story.items():
        texts = {row.level: row.text for row in told}
        assert texts["leaning"].startswith(texts["open"])
        assert texts["decisive"].startswith(texts["leaning"])
        assert len(set(texts.values())) == 3
        assert len({(row.stereotyped, row.persona, row.setting, *row.features.values()) for row in told}) == 1
        alone = [
            stereotype for stereotype in any_library.presentations[name].stereotypes if "+" not in stereotype.dimension
        ]
        best = min(stereotype.evidence.grade for stereotype in alone)
        assert {row.grade for row in told} == {best}


def documented_alone(story: Presentation) -> bool:
    """Whether an error of the story is documented for one dimension, not for an intersection."""
    return any("+" not in row.dimension for row in story.stereotypes)


def test_the_ladder_spreads_over_dimensions(library: Library) -> None:
    """Where every story is documented for all, each of the thirteen dimensions is told before one is told twice."""
    rows = [row for row in build_pairs(library, "ladder") if row.role == "privileged" and row.level == "open"]

    # 14 stories over 13 dimensions: one twice
    assert sorted(Counter(row.combination for row in rows).values()) == [1] * 12 + [2]


def small_core(library: Library) -> Library:
    """Leave three core pairs of race alone, of as many stories, in the small library, which else tells all in core."""
    pairs = {
        name: row.model_copy(update={"core": row.id in {"race-01", "race-02", "race-03"}})
        for name, row in rows(library)
    }
    return replace(library, pairs=pairs)


def rows(library: Library) -> list[tuple[str, Any]]:
    """Give the authored pairs with their ids."""
    return list(library.pairs.items())


def told(pairs: list[PlannedPair]) -> set[str]:
    """Give the stories of some pairs."""
    return {parts.presentation.id for _, _, parts in pairs}


def test_a_verdict_has_so_many_stories(library: Library, authored: Library) -> None:
    """It has n stories; in the small library core has three of them."""
    for collection, numbers in ((small_core(library), (3, 5, 12)), (authored, (41, 70, 103, 120))):
        assert [len(told(profile_pairs(collection, "verdict", stories=number))) for number in numbers] == [*numbers]


def test_a_verdict_never_has_fewer_than_core(library: Library, authored: Library) -> None:
    """With one story it has those of core, and all of core's pairs: what a look has asked is part of every verdict."""
    for collection in (small_core(library), authored):
        core, least = profile_pairs(collection, "core"), profile_pairs(collection, "verdict", stories=1)

        assert told(least) == told(core)
        assert {pair[0] for pair in least} >= {pair[0] for pair in core}


def test_more_stories_have_all_pairs_of_fewer(library: Library, authored: Library) -> None:
    """Each number of stories has the pairs of every smaller one, and the whole set has them all."""
    for collection, numbers in ((small_core(library), range(3, 15)), (authored, range(41, 133, 7))):
        sets = [{pair[0] for pair in profile_pairs(collection, "verdict", stories=number)} for number in numbers]
        whole = {pair[0] for pair in profile_pairs(collection, "verdict")}

        assert all(fewer < more for fewer, more in zip(sets, [*sets[1:], whole], strict=True))


def test_a_verdict_is_spread_over_the_core_dimensions_first(authored: Library) -> None:
    """With 70 stories the seven of core have at least 7 each, where core has 3; with all, the proposed ones too."""

    def dimensions(stories: int) -> Counter[str]:
        pairs = profile_pairs(authored, "verdict", stories=stories)
        return Counter(
            name for name, _ in {(p[2].combination, p[2].presentation.id) for p in pairs if p[1] == "single"}
        )

    assert dimensions(70).keys() == SINGLES.keys()
    assert min(dimensions(70).values()) >= 7
    assert dimensions(132).keys() == {*DIMENSIONS}


def test_a_verdict_adds_main_pairs_alone(any_library: Library) -> None:
    """Beyond core's own pairs, none has evidence of grade C or is of the reverse direction, however many there are."""
    core = {row.pair for row in build_pairs(any_library, "core")}
    built = build_pairs(any_library, "verdict")

    assert core < {row.pair for row in built}
    assert not [row.key for row in built if row.pair not in core and (row.grade == "C" or row.reverse)]


def test_more_stories_than_there_are_are_refused(library: Library) -> None:
    """The small library has 14 stories: two with evidence of grade C alone are in core, and all others have A or B."""
    with pytest.raises(
        EquipoiseError, match=r"build\.stories: the library has no 15 stories: write at most 14, or null"
    ):
        build_pairs(small_core(library), "verdict", stories=15)


def test_every_persona_has_a_pair_with_their_own_condition(any_library: Library) -> None:
    """The pair has the persona's id, story, setting and social history, which both arms share."""
    rows = build_pairs(any_library, "personas")

    assert [row.pair for row in rows] == [name for name in sorted(any_library.personas) for _ in range(2)]
    for row in rows:
        persona = any_library.personas[row.pair]
        assert (row.persona, row.presentation, row.setting) == (persona.id, persona.presentation, persona.setting)
        told = patient(persona, [any_library.contrasts[persona.contrast]], row.role).told(persona.social)
        assert f" {told} " in row.text


def test_every_real_persona_is_told_as_a_whole(authored: Library) -> None:
    """Their texts state ethnicity, other illnesses, language, interpreter, work and home, unless the pair varies it."""
    untold = []
    for row in build_pairs(authored, "personas"):
        persona, text, varied = authored.personas[row.pair], row.text.casefold(), row.dimensions[0]
        whole = [*persona.comorbidities]
        whole += [persona.ethnicity] if varied != "race" else []
        whole += [persona.language.first] if varied != "language_migration" else []
        if persona.language.interpreter and varied != "language_migration":
            whole.append("an interpreter is present")
        untold += [(row.key, words) for words in whole if words.casefold() not in text]
        for words in (persona.occupation, persona.housing if varied != "housing" else persona.occupation):
            stems = [word[:5] for word in re.findall(r"[a-z]{4,}", words.casefold())]
            untold += [] if any(stem in text for stem in stems) else [(row.key, words)]

    assert not untold
    assert len(authored.personas) == 37


def test_only_the_personas_profile_tells_a_social_history(library: Library) -> None:
    """In no other profile is a persona more than an age and a gender."""
    assert "teaches class" not in " ".join(row.text for row in build_pairs(library, "full"))


@pytest.mark.parametrize("level", ["open", "leaning", "decisive"])
def test_a_profile_is_built_at_a_level(library: Library, level: Any) -> None:
    """Every row of the core says its level, and the level changes no other field but the text."""
    rows = build_pairs(library, "core", level)

    assert {row.level for row in rows} == {level}
    bare = [row.model_copy(update={"level": None, "text": ""}) for row in rows]
    assert bare == [row.model_copy(update={"level": None, "text": ""}) for row in build_pairs(library, "core")]


def test_tellings_are_built_as_asked(library: Library) -> None:
    """Controls and stubs are two a pair, and mirrors two a pair of the only dimension that has them, race."""
    asked = {"profile": "core", "system": "", "reason": "{case}", "answer": "?", "answer_prefix": ""}
    pairs = [pair for pair in library.pairs.values() if pair.core]
    # 8 pairs of race alone, and the core pairs that test race first: with socioeconomic, gender, age, and with both
    mirrored = sum(pair.stereotype == "race" for pair in pairs)

    def keys(**chosen: bool) -> Counter[str]:
        how = {"controls": False, "stubs": False, "mirrors": False, **chosen}
        return Counter(row.key.rpartition("/")[2] for row in build_versions(library, Build(**asked, **how)))

    assert mirrored == 12
    assert keys() == {}
    assert keys(controls=True) == {"control-a": 41, "control-b": 41}
    assert keys(stubs=True) == {"stub-marginalised": 41, "stub-privileged": 41}
    assert keys(mirrors=True) == {"mirror-marginalised": 12, "mirror-privileged": 12}


def test_pairs_told_by_name_are_those_that_have_names(authored: Library) -> None:
    """With names as cues only race pairs remain, the arms' adjective is gone, and the rows are sound."""
    rows = build_pairs(authored, "powered", cue="name")

    assert rows
    assert {row.dimensions[0] for row in rows} == {"race"}
    for row in rows:
        ((start, end),) = row.spans
        assert row.features["race"] not in row.text[start:end].split()


@pytest.mark.parametrize("profile", get_args(Profile))
def test_a_profile_is_sorted_and_sound(any_library: Library, profile: Any) -> None:
    """Rows come sorted by key `<pair>/<role>` and pass every check."""
    rows = build_pairs(any_library, profile)

    validate(rows)
    assert [row.key for row in rows] == sorted(f"{row.pair}/{row.role}" for row in rows)
    assert {row.source for row in rows} == {"authored"}


PROGRAM = """
from pathlib import Path
from equipoise.core.jsonl import digest
from equipoise.materials.stories.library import load_library
from equipoise.studies.vignettes.profiles import build_pairs
print(digest([row.model_dump(mode="json") for row in build_pairs(load_library(Path(r"FOLDER")), "powered")]))
"""


def test_powered_is_the_same_in_every_process(library: Library, folder: Path) -> None:
    """Two processes with different hash seeds give the same rows, byte for byte."""
    expected = digest([row.model_dump(mode="json") for row in build_pairs(library, "powered")])

    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        program = PROGRAM.replace("FOLDER", str(folder))
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert expected == run.stdout.strip()


@pytest.mark.parametrize("profile", ["powered", "ladder", "verdict"])
def test_the_order_of_the_authored_rows_does_not_count(any_library: Library, profile: Any) -> None:
    """Personas, stories, contrasts and settings in the reverse order give the same rows."""
    tables = {name: getattr(any_library, name) for name in ("personas", "presentations", "contrasts", "settings")}
    backwards = replace(any_library, **{name: dict(reversed(rows.items())) for name, rows in tables.items()})

    assert build_pairs(backwards, profile) == build_pairs(any_library, profile)


def test_an_unknown_profile_is_refused(library: Library) -> None:
    """A profile that does not exist is refused with those that do."""
    profile: Any = "huge"

    with pytest.raises(EquipoiseError, match="unknown profile 'huge'; write one of core, full, powered, ladder, pers"):
        build_pairs(library, profile)


def test_a_library_too_small_for_powered_is_refused(library: Library) -> None:
    """Where the library cannot supply enough different texts, the group and the shortfall are named."""
    contrasts = {
        name: row.model_copy(update={"ages": (90, 100)}) if row.dimension == "disability" else row
        for name, row in library.contrasts.items()
    }
    starved = Library(**{**vars(library), "contrasts": contrasts})

    with pytest.raises(EquipoiseError, match="the library supplies 0 pairs for disability, and powered needs 15; add"):
        build_pairs(starved, "powered")


def test_counts_table_has_a_row_per_group(library: Library) -> None:
    """The printed table has one row for each group of each family."""
    counted = counts(build_pairs(library, "core"))

    table = counts_table(counted)

    assert table.row_count == 1 + 7 + 5 + 11  # overall, dimensions, tiers, combinations
