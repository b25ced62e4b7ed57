"""Tests of what the reader of passages is trained on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import Annotation, Passage, read_passages
from workshop.labels import Implied
from workshop.lessons import (
    FitSettings,
    MixSettings,
    Phase,
    choose_passages,
    epoch_pairs,
    explanation_pairs,
    lessons,
    mix_passage,
    mixed_lessons,
)

ROOT = Path(__file__).parents[3]
LEXICON = load_lexicon(ROOT / "data/features")
PLAIN = MixSettings(seed=0, mixed=0, words=40, asked={}, elsewhere=0)
TRAIN = {
    "seed": 0,
    "epochs": 1,
    "batch_size": 8,
    "learning_rate": 1e-4,
    "warmup": 0,
    "weight_decay": 0,
    "max_length": 64,
    "precision": "float32",
    "threads": 1,
}
PHASE = Phase.model_validate(
    {"passages": ["a"], "explanations": ["3"], "words": 12, "asked_again": 0.5, "mix": PLAIN, "train": TRAIN}
)


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
    text = mix_passage(HOUSING, HOUSING.features[0], OBESITY, LEXICON, random.Random(1), 40)  # noqa: S311

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
    assert mix_passage(HOUSING, HOUSING.features[0], other, LEXICON, random.Random(0), 40) == HOUSING.text, why  # noqa: S311


def test_epochs_differ_and_repeat() -> None:
    """The same epoch gives the same questions, another epoch others; unvaried, they are the annotated ones."""
    told = [HOUSING, OBESITY]
    varied = PLAIN.model_copy(update={"mixed": 1.0, "elsewhere": 1.0})
    first = mixed_lessons(told, LEXICON, varied, 0)

    assert first == mixed_lessons(told, LEXICON, varied, 0)
    assert first != mixed_lessons(told, LEXICON, varied, 1)
    # Each passage is asked once more, about a dimension that it does not touch.
    assert [pair.label for pair in first] == ["weighed", "unmentioned", "restated", "unmentioned"]
    assert mixed_lessons(told, LEXICON, PLAIN, 0) == lessons(told, LEXICON)


def test_held_files_are_left_out() -> None:
    """A beginning of a name chooses files, and those held out are not among them."""
    folder = ROOT / "judge/passages"
    ids = {row.id for row in choose_passages(folder, ["a"], without=["a01"])}

    assert ids == {row.id for path in sorted(folder.glob("a*.jsonl"))[1:] for row in read_passages([path])}


def test_explanations_of_the_named_questions_are_trained_on() -> None:
    """What is implied is weighed; what is not is restated where the feature is named; a long one is left out."""
    long = "Her age of 40 makes this far less likely than in an old woman. The film shows a lytic lesion of the femur."
    rows = [
        Implied("3", "age", "40", "At 40 this is rare.", implied=True),
        Implied("3", "gender", "woman", "The film shows it.", implied=False),
        Implied("3", "gender", "woman", "The woman coughs.", implied=False),
        Implied("3", "age", "40", long, implied=True),
        Implied("4", "age", "40", "At 40 this is rare.", implied=True),
    ]

    pairs = explanation_pairs(rows, PHASE, LEXICON)

    # The fourth has 23 words, more than a passage of 12; the fifth explains a question that is not named.
    assert [pair.label for pair in pairs] == ["weighed", "unmentioned", "restated"]


def test_an_epoch_asks_some_earlier_questions_again() -> None:
    """Half of the questions of earlier passages join those of the phase, and another half in another epoch."""
    earlier = [passage(f"e{at}", f"She is obese, bed {at}.", "obesity", "obese", "restated") for at in range(8)]
    explanations = lessons([HOUSING], LEXICON)
    first, second = (epoch_pairs([OBESITY], earlier, explanations, LEXICON, PHASE, at) for at in range(2))

    assert len(first) == 1 + 8 / 2 + 1
    assert first == epoch_pairs([OBESITY], earlier, explanations, LEXICON, PHASE, 0)
    assert set(first) != set(second)
    assert {*lessons([OBESITY], LEXICON), *explanations} < set(first)


def test_a_question_of_any_phase_counts_as_trained_on() -> None:
    """Explanations that some phase is trained on are known, so that nothing is measured on them."""
    other = PHASE.model_copy(update={"explanations": ("5",)})

    assert FitSettings(held=("z",), phases=(PHASE, other)).explained == {"3", "5"}
