from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import FOLDER, load_lexicon
from workshop.corpus import RELATIONS, Bank, Kind, fill, load_banks, slot_values

ROOT = Path(__file__).parents[3]
BANKS, AROUND = load_banks(ROOT / "judge/corpus")
LEXICON = load_lexicon(ROOT / FOLDER)
UNTRAINED = {"language_migration", "lgbtq", "pregnancy"}
"""Dimensions that the shipped judge was not trained on: it generalises to them from the others."""
FEATURES = [(name, feature) for name, bank in BANKS.items() for feature in bank.features]
SENTENCES: dict[Kind, Any] = {kind: [f"One {kind}.", f"{{a person}}, {kind}."] for kind in RELATIONS}
BANK: dict[str, Any] = {
    "dimension": "race",
    "features": {"black": {"person": ["Black man"], "group": ["Black men"], "trait": ["ancestry"]}},
    "sentences": SENTENCES,
}
UNRELATED = {"sentences": ["All well.", "No change."], "conditions": ["gout"], "findings": ["pain"]}


def test_articles_of_ages() -> None:
    """Among ages from 1 to 120 only 8, 11, 18 and the eighties begin with a vowel."""
    for age in range(1, 121):
        expected = "An" if age in {8, 11, 18} or 80 <= age < 90 else "A"

        assert fill("A {age}-year-old came.", {"age": str(age)}) == f"{expected} {age}-year-old came."
        assert fill("This is an {age}-year-old.", {"age": str(age)}) == f"This is {expected.lower()} {age}-year-old."


VALUES = {
    "a person": "a Black man",
    "person": "black man",
    "trait": "ancestry",
    "adjective": "insured",
    "condition": "gout",
    "finding": "a swollen knee",
    "group": "people",
    "age": "83",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a person} has {finding}.", "A Black man has a swollen knee."),
        ("{trait} counts.", "Ancestry counts."),
        ("- {trait}: noted", "- Ancestry: noted"),
        ("- **{trait}**: noted", "- **Ancestry**: noted"),
        ("**{condition}** fits.", "**Gout** fits."),
        ("- a note", "- A note"),
        ('"{group} differ," he said.', '"People differ," he said.'),
        # A sentence may begin in the middle, behind a list number or on a line of its own.
        ("Hmm. {group} differ.", "Hmm. People differ."),
        ("**Likely.** {condition} fits.", "**Likely.** Gout fits."),
        ("So? {trait}!", "So? Ancestry!"),
        ("1. {a person}. 2. {finding}", "1. A Black man. 2. A swollen knee"),
        ("- Age: {age}\n- {trait}", "- Age: 83\n- Ancestry"),
        # After a colon, a comma or a decimal it does not.
        ("History: {trait}, {finding}.", "History: ancestry, a swollen knee."),
        ("At 36.9 {condition} is unlikely.", "At 36.9 gout is unlikely."),
        # The sentence's own article follows what fills the slot.
        ("A {adjective} man.", "An insured man."),
        ("a {age}-year-old, an {condition} attack", "An 83-year-old, a gout attack"),
        ("72 hours ago", "72 hours ago"),
    ],
)
def test_filling(text: str, expected: str) -> None:
    """Slots are filled with the article that each needs; the first word of a sentence has a capital."""
    assert fill(text, VALUES) == expected


def test_every_shipped_sentence_can_be_filled() -> None:
    """Whatever is drawn, no brace, no double space and no wrong article before a vowel is left."""
    rng = random.Random(0)  # noqa: S311  (a choice, not a secret)
    wrong = re.compile(r"[{}]|  |\ba (?:[aeio](?!ne)|8\d\b)|\ban? an? ")
    filled = [
        fill(sentence.text, slot_values(AROUND, words, rng))
        for bank in BANKS.values()
        for sentences in bank.sentences.values()
        for sentence in sentences
        for name, words in bank.features.items()
        if sentence.fits(name, words)
    ]
    filled += [fill(text, slot_values(AROUND, None, rng)) for text in AROUND.sentences]

    assert [text for text in filled if wrong.search(text)] == []
    assert [text for text in filled if not re.match(r"[\W_]*[A-Z0-9]", text)] == []


def test_banks_and_lexicon_are_of_the_same_features() -> None:
    """Each dimension of the lexicon has a bank, but for those added since training; it knows every feature of banks."""
    assert set(LEXICON.subjects) - set(BANKS) == UNTRAINED
    assert set(BANKS) <= set(LEXICON.subjects)
    assert [(name, feature) for name, feature in FEATURES if LEXICON.dimension(feature) != name] == []


def test_sentences_about_the_patient_name_the_feature() -> None:
    """Where a sentence does something with a feature, the lexicon finds it; in sentences about nothing it does not."""
    unnamed, named = [], []
    for dimension, feature in FEATURES:
        rng = random.Random(0)  # noqa: S311
        bank = BANKS[dimension]
        words = bank.features[feature]
        (known,) = LEXICON.features({dimension: feature})
        told = [
            fill(sentence.text, slot_values(AROUND, words, rng))
            for kind, sentences in bank.sentences.items()
            for sentence in sentences
            if kind != "other_person" and sentence.fits(feature, words)
        ]
        around = [fill(text, slot_values(AROUND, None, rng)) for text in AROUND.sentences]
        unnamed += [(dimension, feature, text) for text in told if not known.is_named(text)]
        named += [(dimension, feature, text) for text in around if known.is_named(text)]

    assert unnamed == []
    assert named == []


def write(folder: Path, bank: Any, unrelated: Any = UNRELATED) -> Path:
    """Write one bank and the surroundings."""
    for name, value in (("race", bank), ("unrelated", unrelated)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(value), encoding="utf-8")
    return folder


def with_sentence(sentence: Any) -> dict[str, Any]:
    """The bank with one more sentence."""
    return BANK | {"sentences": SENTENCES | {"weighed": [*SENTENCES["weighed"], sentence]}}


@pytest.mark.parametrize(
    ("bank", "message"),
    [
        (BANK | {"dimension": "age"}, "dimension is 'age': name the file after it"),
        (with_sentence("{Person} came."), r"'{Person} came.' has the slot 'Person'; known are a person, adjective"),
        (with_sentence("{person came."), "has a brace that opens or closes no slot"),
        (with_sentence({"text": "x", "features": ["white"]}), "names the feature 'white', which the bank does not"),
        (with_sentence("The {adjective} man."), "fits no feature: give one an adjective"),
        (BANK | {"sentences": {"weighed": ["a", "b"]}}, "no sentences of the kind weighed_indirect"),
        (BANK | {"sentences": SENTENCES | {"beside": ["a"]}}, "field sentences.beside: .*at least 2 items"),
        (BANK | {"sentences": SENTENCES | {"more": ["a", "b"]}}, "field sentences.more"),
        (
            BANK | {"features": {"black": BANK["features"]["black"] | {"ages": [40, 20]}}},
            r"field features\.black: .*ages \[40, 20\] must rise",
        ),
    ],
)
def test_a_faulty_bank_is_refused(tmp_path: Path, bank: Any, message: str) -> None:
    """A fault is reported in one line with the file and the entry."""
    with pytest.raises(EquipoiseError, match=message) as caught:
        load_banks(write(tmp_path, bank))

    assert str(caught.value).startswith(str(tmp_path / "race.yaml"))
    assert "\n" not in str(caught.value)


def test_surroundings_tell_of_nobody(tmp_path: Path) -> None:
    """A sentence that is set around others may have clinical slots alone."""
    with pytest.raises(EquipoiseError, match=r"unrelated\.yaml: .*has the slot 'person'"):
        load_banks(write(tmp_path, BANK, UNRELATED | {"sentences": ["The {person} came.", "All well."]}))


def test_a_sentence_may_be_for_some_features() -> None:
    """A sentence in mapping form is for the features that it lists, one with an adjective for those that have one."""
    words = BANK["features"]["black"]
    features = {"black": words, "white": words | {"adjective": ["White"]}}
    sentences = SENTENCES | {"weighed": [{"text": "x", "features": ["black"]}, "{adjective}", "{group}"]}
    bank = Bank.model_validate(BANK | {"features": features, "sentences": sentences})

    assert [
        [name for name, feature in bank.features.items() if sentence.fits(name, feature)]
        for sentence in bank.sentences["weighed"]
    ] == [["black"], ["white"], ["black", "white"]]
