from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import FOLDER, Kind, Lexicon, load_lexicon, normalize_words
from equipoise.judge.reading import Feature
from equipoise.materials.stories.library import load_library
from equipoise.studies.vignettes.profiles import build_pairs

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / FOLDER).glob("*.yaml"))
SHIPPED = load_lexicon(ROOT / FOLDER)
KINDS = {path.stem: Kind.model_validate(yaml.safe_load(path.read_text("utf-8"))) for path in FILES}
LISTED = [
    (name, word)
    for name, kind in KINDS.items()
    for key, feature in kind.features.items()
    for word in (key, *feature.also)
]
LIBRARY = load_library(ROOT / "data/raw")
OFF_TOPIC = {"substance-methadone": "no substance use"}
"""Contrasts whose privileged arm is about another matter on purpose (a vitamin instead of methadone)."""
RACE: dict[str, Any] = {
    "dimension": "race",
    "subject": "race",
    "kind": ["ethnicity"],
    "features": {
        "black": {"also": ["african"], "wordings": [{"words": "black", "not_before": [" stools?"]}]},
        "white": {"wordings": ["white"]},
    },
}
AGE: dict[str, Any] = {
    "dimension": "age",
    "subject": "age",
    "kind": ["age"],
    "number_forms": ["{number}-year-old", "aged {number}"],
    "features": {
        "senior": {"wordings": ["elderly"], "numbers": [65, 120]},
        "young": {"wordings": ["youth"], "numbers": [5, 39]},
    },
}


def small() -> Lexicon:
    """Build a lexicon of two dimensions."""
    return Lexicon({"race": Kind.model_validate(RACE), "age": Kind.model_validate(AGE)})


def named(words: dict[str, str], text: str) -> bool:
    """Whether a small lexicon finds the one feature in a text."""
    (feature,) = small().features(words)
    return feature.is_named(text)


def names_its_feature(dimension: str, word: str) -> bool:
    """Whether a plain word is of its dimension and subject, and a text that says it names the feature."""
    (feature,) = SHIPPED.features({"": word})
    return (
        SHIPPED.dimension(word) == dimension
        and feature.subject == KINDS[dimension].subject
        and feature.is_named(f"The patient: {word.upper()}.")
    )


def test_every_listed_word_is_of_its_dimension_and_names_its_feature() -> None:
    """Every plain word for a feature is known as such, and a text that says it names the feature."""
    assert len(LISTED) > 300
    assert [(dimension, word) for dimension, word in LISTED if not names_its_feature(dimension, word)] == []


def test_every_authored_dimension_has_its_words() -> None:
    """There is a file for each dimension of the vignettes, and none beside."""
    assert set(KINDS) == set(LIBRARY.dimensions)


def test_the_feature_of_every_authored_arm_is_listed() -> None:
    """The feature of each arm, marginalised and privileged, is one that the file of its dimension lists."""
    told = [(contrast.dimension, arm.feature) for contrast in LIBRARY.contrasts.values() for arm in contrast.arms]
    unlisted = [(dimension, word) for dimension, word in told if normalize_words(word) not in KINDS[dimension].by_words]

    assert {dimension for dimension, _ in told} == set(KINDS)
    assert unlisted == []


def test_every_authored_statement_names_its_feature() -> None:
    """What an arm says about its patient names the arm's feature, unless it is about another matter on purpose."""
    mentions = {}
    for name, contrast in LIBRARY.contrasts.items():
        for role in ("marginalised", "privileged"):
            arm = contrast.arm(role)
            statement = arm.adjective or arm.noun or arm.clause or f"{arm.age}-year-old"
            (feature,) = SHIPPED.features({contrast.dimension: arm.feature})
            mentions[name, role, arm.feature] = feature.is_named(f"A patient: {statement}.")

    assert len(mentions) == 2 * len(LIBRARY.contrasts)
    off_topic = {
        (name, role, feature)
        for name, role, feature in mentions
        if role == "privileged" and OFF_TOPIC.get(name) == feature
    }
    assert {arm for arm, named in mentions.items() if not named} == off_topic


def test_each_shipped_vignette_names_its_features() -> None:
    """The patients of the 82 cases are described in words that the lexicon knows."""
    rows = build_pairs(LIBRARY, "core")
    unnamed = {
        feature.words[0]
        for row in rows
        for feature in SHIPPED.features(row.features)
        if not feature.is_named(row.text[slice(*row.spans[0])])
    }

    assert len(rows) == 82
    assert unnamed <= set(OFF_TOPIC.values())


def test_no_personas_social_history_names_what_their_pair_varies() -> None:
    """Both arms share it: a feature of the varied dimension would contradict one of them."""
    told = {}
    for persona in LIBRARY.personas.values():
        contrast = LIBRARY.contrasts[persona.contrast]
        features = [SHIPPED.features({contrast.dimension: arm.feature}) for arm in contrast.arms]
        told[persona.id] = [
            feature.words for arm_features in features for feature in arm_features if feature.is_named(persona.social)
        ]

    assert {name: words for name, words in told.items() if words} == {}


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        ("black", "He passed black, tarry stools.", False),
        ("white", "A normal white cell count.", False),
        ("elderly", "A 65-year-old man.", True),
        ("normal weight", "His BMI is 31.", True),  # the kind
        ("wheelchair user", "He is able-bodied.", True),  # the kind
        ("female", "She has chest pain.", False),
        ("Irish Traveller", "Ask about travellers' diarrhoea.", False),
        ("homeless", "Social circumstances matter here.", True),
        ("low income", "The prognosis is poor.", False),
        ("hearing", "He is hearing voices.", True),  # the word itself, which no expression finds alone
        ("blind", "A double-blind trial.", False),
        ("little English", "She needs an interpreter.", True),  # the kind
        ("little English", "His English is excellent.", False),
        ("fluent English", "He cannot speak English.", False),
        ("refugee", "The pain migrated to the right iliac fossa.", False),
        ("refugee", "A displaced fracture.", False),
        ("moved within the country", "She came from another town.", True),
        ("same-sex partner", "The partner saw a seizure.", False),
        ("same-sex partner", "A gay man.", True),
        ("opposite-sex partner", "Straight leg raising is painful.", False),
        ("transgender", "She is a trans woman.", True),
        ("transgender", "Avoid trans fats.", False),
        ("transgender", "A cisgender man.", False),
        ("cisgender", "Bladder CIS.", False),
        ("pregnant", "The pregnancy test is negative.", False),
        ("pregnant", "Pregnancy should be excluded.", False),
        ("pregnant", "Ectopic pregnancy is likely.", False),
        ("pregnant", "In the third trimester.", True),
        ("pregnant", "She is not pregnant.", False),
        ("not pregnant", "A non-pregnant woman.", True),
        ("recently gave birth", "Postpartum thyroiditis.", False),
        ("recently gave birth", "She is six weeks postpartum.", True),
        ("past heroin use", "She gave up smoking.", False),
        ("debt", "He is debt-free.", False),
        ("no debt", "He is debt-free.", True),
    ],
)
def test_senses_of_shipped_words(words: str, text: str, expected: bool) -> None:  # noqa: FBT001
    """Other senses of a feature's words do not name it; its kind and its synonyms do."""
    (feature,) = SHIPPED.features({"": words})

    assert feature.is_named(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A 64-year-old.", False),
        ("A 65-year-old.", True),
        ("A woman aged 120.", True),
        ("A woman aged 121.", False),
        ("A woman aged 650.", False),
        ("A youth of 70.", False),  # no form of a number
        ("At her age.", True),  # the kind
    ],
)
def test_a_number_within_its_bounds_names_a_feature(text: str, expected: bool) -> None:  # noqa: FBT001
    """A number names a feature in the forms of its dimension, ends included, and nowhere else."""
    assert named({"age": "senior"}, text) is expected


def test_a_number_of_another_feature_does_not_name_it() -> None:
    """A single digit is a number like any other, and belongs to the feature whose bounds hold it."""
    assert named({"age": "young"}, "A 5-year-old.")
    assert not named({"age": "senior"}, "A 5-year-old.")
    assert not named({"age": "young"}, "A 65-year-old.")


def test_a_feature_is_read_with_its_subject_in_the_order_of_dimensions() -> None:
    """The words stay as they were given; the subject is the dimension's."""
    features = small().features({"race": "Black", "age": "senior"})

    assert [feature[:2] for feature in features] == [("age", ("senior",)), ("race", ("Black",))]


def test_listed_words_leave_out_other_senses() -> None:
    """The expressions of a listed feature decide, although its word is in the text; words are matched whole."""
    assert not named({"race": "Black"}, "He passed black stools.")
    assert not named({"race": "Black"}, "A blacksmith.")
    assert named({"race": "Black"}, "An ethnicity.")
    assert not named({"race": "Black"}, "A white man.")


def test_a_word_that_no_expression_finds_names_its_feature() -> None:
    """What a user calls the feature is a mention of it, if the file has no expression for it."""
    assert named({"race": "African"}, "An African man.")
    assert not named({"race": "Black"}, "An African man.")


def test_words_that_are_not_listed_have_all_of_their_dimension() -> None:
    """A feature given in other words is named by those words, its kind, and every feature of its dimension."""
    assert all(named({"race": "Sámi"}, text) for text in ("A Sámi man.", "His ethnicity.", "A white man."))
    assert not named({"race": "Sámi"}, "A man aged 70.")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("BLACK", "race"),
        ("a black person", "race"),
        ("70-year-old", "age"),
        ("70", None),
        ("a black youth", None),
        ("left-handed", None),
    ],
)
def test_the_dimension_of_words(words: str, expected: str | None) -> None:
    """Words have the dimension that lists them, else the only one whose expressions match them, else none."""
    assert small().dimension(words) == expected


def test_without_a_known_dimension_the_judge_finds_the_feature() -> None:
    """A dimension without a file is named in words; a feature without a dimension is its own subject."""
    lexicon = small()

    assert lexicon.features({"birth_order": "eldest"}) == (Feature("birth order", ("eldest",)),)
    assert lexicon.features({"": "left-handed"}) == (Feature("left-handed", ("left-handed",)),)
    assert [feature.subject for feature in lexicon.features({"": "Black"})] == ["race"]


def test_subjects() -> None:
    """Each dimension has the name that hypotheses give it."""
    assert small().subjects == {"race": "race", "age": "age"}


def write(folder: Path, **files: Any) -> Path:
    """Write files of a lexicon."""
    for name, value in files.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(value), encoding="utf-8")
    return folder


def changed(**features: Any) -> dict[str, Any]:
    """The small race file with other features."""
    return RACE | {"features": features}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (RACE | {"dimension": "age"}, "dimension is 'age': name the file after it"),
        (
            RACE | {"kind": ["ethni(city"]},
            r"field kind\.0\.words: .*'ethni\(city' is not .*\(missing \): .*wiki/Syntax",
        ),
        (RACE | {"kind": [r"(a)\1"]}, r"field kind\.0\.words: .*\(invalid escape sequence: .*RE2.*wiki/Syntax"),
        (
            changed(black={"wordings": ["black(?! stool)"]}),
            r"field features\.black\.wordings\.0\.words: .*'black\(\?! stool\)' is not .*: give .* as after, before,",
        ),
        (
            RACE | {"kind": [{"words": "race", "not_after": ["(?<!no )the "]}]},
            r"field kind\.0\.not_after\.0: .*: give .* as after, before, not_after and not_before",
        ),
        (RACE | {"kind": [{"words": "race", "not_after": []}]}, r"field kind\.0\.not_after: .*at least 1 item"),
        (RACE | {"kind": [{"not_after": ["the "]}]}, r"field kind\.0\.words: Field required"),
        (RACE | {"kind": [{"words": "race", "without": ["the "]}]}, r"field kind\.0\.without: Extra inputs"),
        (RACE | {"kind": [3]}, r"field kind\.0: "),
        (RACE | {"kind": ["(?:race)?"]}, r"field kind\.0\.words: .*every text would have it"),
        (
            RACE | {"kind": [rf"{digit}\pL{{200}}" for digit in range(10)]},
            "wordings are too long together .*: give fewer",
        ),
        (RACE | {"kind": []}, "field kind: .*at least 1 item"),
        (RACE | {"colour": "x"}, "field colour: Extra inputs"),
        (changed(), "field features: .*at least 1 item"),
        (changed(black={"wordings": []}), r"field features\.black\.wordings: .*at least 1 item"),
        (changed(black={"wordings": ["b"], "numbers": [9, 3]}), r"field features\.black: .*numbers \[9, 3\] must rise"),
        (changed(black={"wordings": ["b"], "numbers": [9, 31]}), "if and only if number_forms hold {number}"),
        (RACE | {"number_forms": ["aged {number}"]}, "if and only if number_forms hold {number}"),
        (
            changed(a={"wordings": ["b"], "also": ["B-c"]}, d={"wordings": ["b"], "also": ["b C"]}),
            "'b c' names both",
        ),
    ],
)
def test_a_fault_names_its_file_and_entry(tmp_path: Path, value: Any, message: str) -> None:
    """A faulty file is refused in one line with its path and what is wrong."""
    with pytest.raises(EquipoiseError, match=message) as caught:
        load_lexicon(write(tmp_path, race=value))

    assert str(caught.value).startswith(str(tmp_path / "race.yaml"))
    assert "\n" not in str(caught.value)


def test_a_word_of_two_dimensions_is_refused(tmp_path: Path) -> None:
    """A plain word must decide the dimension."""
    age = AGE | {"features": AGE["features"] | {"african": {"wordings": ["x"]}}}

    with pytest.raises(EquipoiseError, match=r"race\.yaml: 'african' is also in age\.yaml: keep it in one"):
        load_lexicon(write(tmp_path, race=RACE, age=age))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """A folder without files is named with the fix."""
    with pytest.raises(EquipoiseError, match=r"has no lexicon of features: run `git checkout -- data/features`"):
        load_lexicon(tmp_path)


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    """A lexicon is that of the files as they are, not as they were read before."""
    load_lexicon(write(tmp_path, race=RACE))
    lexicon = load_lexicon(write(tmp_path, race=RACE | {"subject": "ethnicity"}))

    assert lexicon.subjects == {"race": "ethnicity"}
