"""Reading the files: malformed YAML, duplicate ids, references that lead nowhere, parts that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest
import yaml

from equipoise.core.errors import EquipoiseError
from equipoise.materials.stories.library import Library, load_library
from equipoise.materials.stories.schema import HarmClass

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Check = Callable[..., Library]


def test_the_small_library_loads(library: Library) -> None:
    """A sound library keeps every row under its id, in file order."""
    assert len(library.personas) == 37
    assert list(library.dimensions)[:3] == ["race", "gender", "age"]
    # 29 core singles + 6 x 4 proposed + 2 x 4 reverse + 24 intersectional
    assert len(library.pairs) == 85


def test_every_expected_answer_has_a_class_of_harm(authored: Library) -> None:
    """Each has one, no class has an answer that no story expects, and the worst class comes first."""
    expected = {story.expected.label for story in authored.presentations.values()}
    classed = [answer for harm in authored.harms.values() for answer in harm.answers]

    assert sorted(classed) == sorted(expected)
    assert tuple(authored.harms) == get_args(HarmClass)
    assert [getattr(authored.harm_of(name), "id", None) for name in ("ischaemic stroke", "psoriasis", "gout")] == [
        "time-critical",
        "minor",
        None,
    ]


def test_an_answer_with_two_classes_of_harm_is_refused(check: Check) -> None:
    """A condition has one class, whatever the story."""

    def twice(files: dict[str, Any]) -> None:
        files["harm.yaml"]["harms"] += [{**files["harm.yaml"]["harms"][0], "id": "minor"}]

    with pytest.raises(EquipoiseError, match=r"harm\.yaml: harms: 'answer of case-0' has two classes; leave it in one"):
        check(twice)


def test_malformed_yaml_names_its_line(folder: Path) -> None:
    """The message of a YAML fault names its file and line."""
    (folder / "pairs.yaml").write_text("pairs:\n  - id: a\n    tier: [single\n  - id: b\n", encoding="utf-8")

    # the list opened on line 3 is found unclosed at line 4
    with pytest.raises(EquipoiseError, match=r"pairs\.yaml, line 4: malformed YAML"):
        load_library(folder)


def test_a_repeated_key_names_its_line(folder: Path) -> None:
    """A duplicate key in one mapping is rejected, since YAML would silently keep the last."""
    (folder / "pairs.yaml").write_text("pairs:\n  - id: a\n    id: b\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"pairs\.yaml, line 3: malformed YAML \(duplicate key 'id'"):
        load_library(folder)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "must hold exactly the keys pairs, not list"),
        ("pair: []", "must hold exactly the keys pairs, not pair;"),
        ("pairs: []", "pairs must be a list with at least one row"),
        ("pairs: [7]", r"pairs\[0\]: Input should be a valid dictionary"),
        ("pairs: \x07", "malformed YAML"),
        ("pairs:\n  - [a]: b", r"line 2: malformed YAML \(found unhashable key\)"),
    ],
)
def test_a_file_of_the_wrong_shape_is_refused(folder: Path, text: str, words: str) -> None:
    """A file whose top level is not its list of rows is refused."""
    (folder / "pairs.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(EquipoiseError, match=words):
        load_library(folder)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A folder without the files is refused with the name of the first."""
    with pytest.raises(EquipoiseError, match=r"personas\.yaml"):
        load_library(tmp_path)


STORIES = "presentations/made_up"


def spoil(file: str, name: str, row: int, **fields: Any) -> Callable[[Any], None]:
    """Change fields of one row."""
    return lambda files: files[f"{file}.yaml"][name][row].update(fields)


BROKEN = [
    (spoil("personas", "personas", 1, id="p01"), r"personas\[1\] \(p01\): field id: the id 'p01' is used twice"),
    (
        spoil(STORIES, "presentations", 0, settings=["s0", "s1", "s99"]),
        "field settings: unknown id 's99'; known: s0",
    ),
    (spoil("contrasts", "contrasts", 0, dimension="rase"), "field dimension: unknown id 'rase'; did you mean 'race'"),
    (
        spoil("pairs", "pairs", 0, presentation="xyzzy"),
        r"pairs \(race-01\): field presentation: unknown id 'xyzzy'; known",
    ),
    (spoil("pairs", "pairs", 0, persona="p99"), "field persona: unknown id 'p99'"),
    (spoil("pairs", "pairs", 0, contrasts=["race-9"]), "field contrasts: unknown id 'race-9'; did you mean 'race-"),
    (spoil("pairs", "pairs", 0, stereotype="wealth"), "field stereotype: unknown id 'wealth'"),
    (spoil("pairs", "pairs", 0, setting="s5"), "field setting: case-0 does not allow 's5'"),
    (spoil("pairs", "pairs", 0, stereotype="age"), "field stereotype: 'age' is not a dimension of its contrasts"),
    (spoil("pairs", "pairs", 0, contrasts=["race-0", "race-1"]), "two contrasts of one dimension"),
    (
        spoil(STORIES, "presentations", 0, ages=[50, 60]),
        "the marginalised patient is 21, outside the ages 50 to 60",
    ),
    (
        spoil(STORIES, "presentations", 0, genders=["woman"]),
        "the patient may be man, outside the genders of case-0",
    ),
    (spoil("contrasts", "contrasts", 0, ages=[60, 70]), "outside the ages 60 to 70 of race-0"),
    (spoil("personas", "personas", 1, source="openr1"), "source 'openr1' of p02 is not that of case-0"),
    (spoil("personas", "personas", 2, presentation="case-99"), r"personas \(p03\): field presentation: unknown id"),
    (spoil("personas", "personas", 2, contrast="race-9"), r"personas \(p03\): field contrast: unknown id 'race-9'"),
    (spoil("personas", "personas", 2, setting="s5"), r"personas \(p03\): field setting: case-2 does not allow 's5'"),
    (spoil("pairs", "pairs", 8, persona="p01"), "the marginalised patient is 16, and a contrast calls them a woman"),
]


@pytest.mark.parametrize(("change", "words"), BROKEN)
def test_a_broken_library_is_refused(check: Check, change: Callable[[Any], None], words: str) -> None:
    """A repeated id, an unknown reference or parts that do not fit are refused with their place."""
    with pytest.raises(EquipoiseError, match=words):
        check(change)


def stereotype(files: Any, row: int, dimension: str = "race") -> dict[str, Any]:
    """Give the first stereotype of a dimension in a story."""
    rows = files[f"{STORIES}.yaml"]["presentations"][row]["stereotypes"]
    first: dict[str, Any] = next(entry for entry in rows if entry["dimension"] == dimension)
    return first


def test_a_stereotype_can_be_limited_to_contrasts(check: Check) -> None:
    """A pair whose contrast the stereotype does not list is refused."""
    words = r"pairs \(race-01\): field contrasts: race-0 is about race-0, but the evidence of case-0 is about race-all"

    with pytest.raises(EquipoiseError, match=words):
        check(lambda files: stereotype(files, 0).update(contrasts=["race-2"]))


def test_a_stereotype_without_the_dimension_is_refused(check: Check) -> None:
    """A pair that tests a dimension for which its presentation has no stereotyped answer is refused."""

    def drop(files: Any) -> None:
        files[f"{STORIES}.yaml"]["presentations"][0]["stereotypes"].remove(stereotype(files, 0))

    with pytest.raises(EquipoiseError, match="field stereotype: case-0 has no stereotyped answer for 'race'"):
        check(drop)


EVIDENCE: list[tuple[Callable[[Any], object], str]] = [
    # a contrast of race-1 under evidence of race-0: named by the row itself, or by a pair
    (
        lambda files: stereotype(files, 3).update(contrasts=["race-1"], evidence=evidence("race-0")),
        r"presentations/made_up.yaml: presentations \(case-3\): field stereotypes \(race\).contrasts: race-1 is about",
    ),
    (
        lambda files: stereotype(files, 1).update(evidence=evidence("race-0")),
        (
            r"pairs.yaml: pairs \(race-02\): field contrasts: race-1 is about race-1, but the evidence of case-1 is "
            "about race-0"
        ),
    ),
    (
        lambda files: stereotype(files, 3).update(evidence=evidence("race-9")),
        r"presentations \(case-3\): field stereotypes \(race\).evidence.group: unknown id 'race-9'; did you mean",
    ),
    (
        lambda files: stereotype(files, 3).update(evidence=evidence("age-0")),
        r"field stereotypes \(race\).evidence.group: unknown id 'age-0'",
    ),
    (
        lambda files: stereotype(files, 3).update(contrasts=["age-0"]),
        r"field stereotypes \(race\).contrasts: unknown id 'age-0'",
    ),
]


def evidence(group: str) -> dict[str, Any]:
    """Give evidence about a group."""
    kept = {"grade": "A", "comparison": True, "error_named": True, "source": "Author 2020, Journal"}
    return kept | {"group": group, "error": "illness was dismissed"}


@pytest.mark.parametrize(("change", "words"), EVIDENCE)
def test_evidence_of_another_group_is_refused(check: Check, change: Callable[[Any], object], words: str) -> None:
    """A stereotype about a group that its evidence is not about is refused, with file, row and both groups."""
    with pytest.raises(EquipoiseError, match=words) as caught:
        check(change)

    assert "\n" not in str(caught.value)


def test_a_group_that_contains_the_one_told_of_is_evidence(check: Check) -> None:
    """Evidence about race-all may be used about race-0 and race-1, which it contains: contrasts may be named."""
    library = check(lambda files: stereotype(files, 3).update(contrasts=["race-0", "race-1"]))

    assert library.presentations["case-3"].stereotypes[0].contrasts == ("race-0", "race-1")


def test_an_intersection_is_documented_of_its_first_dimension(check: Check) -> None:
    """A stereotype of race+gender may list contrasts of both, its evidence being about the group of race."""

    def joint(files: Any) -> None:
        row = stereotype(files, 3) | {"dimension": "race+gender", "contrasts": ["race-0", "gender-0"]}
        files[f"{STORIES}.yaml"]["presentations"][3]["stereotypes"].append(row)

    assert check(joint).presentations["case-3"].stereotypes[-1].dimension == "race+gender"


def test_stories_may_be_in_several_files(folder: Path) -> None:
    """Presentations of every file of their folder make one library; an id of two files is refused in the second."""
    whole = yaml.safe_load((folder / f"{STORIES}.yaml").read_text(encoding="utf-8"))["presentations"]
    for name, rows in (("a", whole[:5]), ("b", whole[5:])):
        (folder / f"presentations/{name}.yaml").write_text(yaml.safe_dump({"presentations": rows}), encoding="utf-8")

    with pytest.raises(
        EquipoiseError, match=r"made_up\.yaml: presentations\[0\] \(case-0\): field id: .* is used twice"
    ):
        load_library(folder)
    (folder / f"{STORIES}.yaml").unlink()
    assert len(load_library(folder).presentations) == 14
