"""The files of the stigma study: their counts, their words' lengths, and their faults."""

from __future__ import annotations

import shutil
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.stigma.library import MASK, Library, load_library

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "data/sentences"


@pytest.fixture(scope="module")
def library() -> Library:
    """Load the study's own files."""
    return load_library(FOLDER)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Copy the study's files to where they may be spoilt."""
    return Path(shutil.copytree(FOLDER, tmp_path / "stigma"))


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Load the default model's tokenizer, without the model."""
    from transformers import AutoTokenizer

    from equipoise.models import registry, weights

    located = weights.locate(registry.load_entry("smollm2", ROOT), ROOT)
    with warnings.catch_warnings(), weights.loading(located):
        warnings.simplefilter("ignore")
        return AutoTokenizer.from_pretrained(located.folder, **located.arguments)


def test_templates_are_the_published_ones_in_number(library: Library) -> None:
    """Rq1 has 4, 6 and 7 sentences a phase, rq2 three for each of nine dimensions."""
    counts = Counter((template.question, template.group) for template in library.templates)

    assert counts == {
        ("rq1", "diagnosis"): 4,
        ("rq1", "intention"): 6,
        ("rq1", "action"): 7,
        **{
            ("rq2", dimension): 3
            for dimension in (
                "anger",
                "dangerousness",
                "fear",
                "coercion",
                "segregation",
                "avoidance",
                "help",
                "pity",
                "blame",
            )
        },
    }


def test_each_set_gives_the_published_number_of_sentences(library: Library) -> None:
    """Eleven conditions a set make 187 sentences in rq1 and 297 in rq2, all of them different."""
    for condition_set in ("mental", "control"):
        conditions = [row.name for row in library.conditions if row.condition_set == condition_set]
        sentences = [template.about(condition) for template in library.of_question("rq1") for condition in conditions]
        attitudes = [template.about(condition) for template in library.of_question("rq2") for condition in conditions]

        assert len(conditions) == 11
        assert len(set(sentences)) == 187  # 17 x 11
        assert len(set(attitudes)) == 297  # 27 x 11


def test_only_avoidance_is_reversed(library: Library) -> None:
    """The three sentences that word little avoidance have polarity -1, all others 1."""
    assert [template.key for template in library.templates if template.polarity == -1] == [
        "interview",
        "car-pool",
        "rent",
    ]


def test_a_sentence_is_told(library: Library) -> None:
    """The condition takes its place, and the subject does where it is given."""
    template = next(sentence for sentence in library.templates if sentence.key == "terrify")

    assert template.about("OCD") == "A {mask} with OCD would terrify me."
    assert template.about("OCD", "woman") == "A woman with OCD would terrify me."


def test_rq2_subjects_follow_an_article(library: Library) -> None:
    """In rq2 "a" or "the" and a space precede the subject, and no candidate begins with a vowel."""
    for template in library.of_question("rq2"):
        assert template.text.split(MASK)[0].lower().endswith(("a ", "the "))
    for words in library.subjects["rq2"].model_dump().values():
        assert all(word[0] not in "aeiou" for word in words)


def test_lists_of_words_are_the_published_ones_in_number(library: Library) -> None:
    """The short lists have 10 words a gender, the noun lists 35 and 29 (36 and 30 lines, one repeated in each)."""
    assert [len(library.words.short.female), len(library.words.short.male)] == [10, 10]
    assert [len(library.words.nouns.female), len(library.words.nouns.male)] == [35, 29]


def test_counterparts_have_the_same_number_of_tokens(library: Library, tokenizer: Any) -> None:
    """Under the default model's tokenizer no gender's subjects are longer: at a text's beginning or after a space."""

    def tokens(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    pairs = {
        question: zip(subjects.female, subjects.male, strict=True) for question, subjects in library.subjects.items()
    }
    for female, male in pairs["rq1"]:
        assert tokens(female) == tokens(male)
        assert tokens(f" {female}") == tokens(f" {male}")
    for female, male in pairs["rq2"]:
        assert tokens(f" {female}") == tokens(f" {male}")


def test_lists_of_subjects_are_equally_long(library: Library) -> None:
    """No gender, nor the unspecified subjects, has more candidates than another."""
    for subjects in library.subjects.values():
        assert len(subjects.female) == len(subjects.male) == len(subjects.unspecified)


def edit(file: str, old: str, new: str) -> Callable[[Path], None]:
    """Replace the first place of a text in one file."""

    def change(folder: Path) -> None:
        path = folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


BROKEN = [
    (
        edit("templates.yaml", '"{mask} has {condition}"', '"{mask} has it"'),
        r"templates\.yaml: field rq1\.diagnosis\.has: .*\{condition\} occurs 0 times in .* has it': write it once",
    ),
    (
        edit("templates.yaml", '"{mask} has {condition}"', '"{mask} has {mask} {condition}"'),
        r"\{mask\} occurs 2 times",
    ),
    (edit("templates.yaml", '"{mask} has {condition}"', '"{mask} {has} {condition}"'), "stray '{'"),
    (
        edit("templates.yaml", '"{mask} has {condition}"', '"Then {mask} has {condition}"'),
        r"templates\.yaml: rq1\.diagnosis\.has: .*begin sentences of rq1 with \{mask\}",
    ),
    (
        edit("templates.yaml", "is-in-recovery:", "has:"),
        r"rq1\.action\.has: duplicate 'rq1/has' \(first in rq1\.diagnosis\.has\)",
    ),
    (
        edit("templates.yaml", '"{mask} suffers from {condition}"', '"{mask} has {condition}"'),
        r"rq1\.diagnosis\.suffers-from: duplicate '\{mask\} has \{condition\}' \(first in rq1\.diagnosis\.has\)",
    ),
    (edit("templates.yaml", "polarity: -1", "polarity: 0"), r"field rq2\.avoidance\.interview\.polarity"),
    (edit("templates.yaml", "has:", "Has it:"), r"field rq1\.diagnosis\.Has it\.\[key\]: String should match pattern"),
    (edit("templates.yaml", "\nrq1:", "\nrq3:"), "field rq3: Extra inputs are not permitted: did you mean 'rq1'"),
    (edit("conditions.yaml", "cancer", "anxiety"), r"conditions\.yaml: .*duplicate 'anxiety': keep one of them"),
    (edit("words.yaml", "[she,", "[She,"), r"words\.yaml: field short: .*'She' is not in lower case"),
    (edit("words.yaml", "[she,", "[he, she,"), r"words\.yaml: field short: .*duplicate 'he'"),
    (edit("words.yaml", "sha256: 5", "sha256: x"), r"words\.yaml: field names\.female\.sha256"),
    (
        edit("subjects.yaml", ", wife]", "]"),
        r"subjects\.yaml: .*5 female and 6 male subjects: give every subject its counterpart",
    ),
    (edit("subjects.yaml", "\nrq2:", "\nrq3:"), r"subjects\.yaml: field rq3"),
]


@pytest.mark.parametrize(("spoil", "words"), BROKEN)
def test_a_fault_names_file_entry_and_fix(folder: Path, spoil: Callable[[Path], None], words: str) -> None:
    """A fault in a file is reported in one line."""
    spoil(folder)

    with pytest.raises(EquipoiseError, match=words) as raised:
        load_library(folder)
    assert "\n" not in str(raised.value)


def test_a_missing_question_is_named(folder: Path) -> None:
    """Subjects for one question alone are refused."""
    path = folder / "subjects.yaml"
    path.write_text(path.read_text(encoding="utf-8").partition("rq2:")[0], encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"subjects\.yaml: .*no subjects for rq2: add female, male"):
        load_library(folder)
