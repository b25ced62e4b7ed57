"""Tests of what the reader of passages is trained on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import Annotation, Passage, read_passages
from workshop.lessons import MixSettings, chosen, lessons, mixed, mixed_lessons

ROOT = Path(__file__).parents[3]
LEXICON = load_lexicon(ROOT / "data/features")
PLAIN = MixSettings(seed=0, mixed=0, words=40, asked={}, elsewhere=0)


def passage(name: str, text: str, dimension: str, feature: str, kind: str) -> Passage:
    """A passage with one annotation."""
    told = {"dimension": dimension, "feature": feature, "class": kind, "mentions": 1}
    return Passage(id=name, style="short", text=text, features=(Annotation.model_validate(told),))


HOUSING = passage(
    "a", "She sleeps in a shelter, which makes tuberculosis likelier. Sputum is sent.", "housing", "homeless", "weighed"
)
OBESITY = passage("b", "She is obese, so the disc is hard to see. The scan helps.", "obesity", "obese", "restated")


def test_a_run_of_another_passage_is_set_into_one() -> None:
    """Every sentence of the passage stays, in order, and the run is beside or between them."""
    text = mixed(HOUSING, HOUSING.features[0], OBESITY, LEXICON, random.Random(1), 40)  # noqa: S311

    kept = text
    for sentence in ("She is obese, so the disc is hard to see.", "The scan helps."):
        kept = kept.replace(sentence, "")
    assert kept != text
    assert " ".join(kept.split()) == HOUSING.text


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (passage("c", "She is homeless. She coughs.", "housing", "homeless", "restated"), "tells of the dimension"),
        (passage("d", "He is obese. He coughs.", "obesity", "obese", "restated"), "has the other gender"),
        (HOUSING, "is the passage itself"),
    ],
)
def test_what_would_change_the_answer_is_not_set_in(other: Passage, why: str) -> None:
    """The passage stays as it is."""
    assert mixed(HOUSING, HOUSING.features[0], other, LEXICON, random.Random(0), 40) == HOUSING.text, why  # noqa: S311


def test_epochs_differ_and_repeat() -> None:
    """The same epoch gives the same questions, another epoch others; unvaried, they are the annotated ones."""
    told = [HOUSING, OBESITY]
    varied = PLAIN.model_copy(update={"mixed": 1.0, "elsewhere": 1.0})
    first = mixed_lessons(told, LEXICON, varied, 0)

    assert first == mixed_lessons(told, LEXICON, varied, 0)
    assert first != mixed_lessons(told, LEXICON, varied, 1)
    # Each passage is asked once more, about a dimension that it does not touch.
    assert [one.label for one in first] == ["weighed", "unmentioned", "restated", "unmentioned"]
    assert mixed_lessons(told, LEXICON, PLAIN, 0) == lessons(told, LEXICON)


def test_held_files_are_left_out() -> None:
    """A beginning of a name chooses files, and those held out are not among them."""
    folder = ROOT / "judge/passages"
    found = {one.id for one in chosen(folder, ["a"], without=["a01"])}

    assert found == {one.id for path in sorted(folder.glob("a*.jsonl"))[1:] for one in read_passages([path])}
