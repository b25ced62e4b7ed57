"""Each hard check, broken by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from equipoise.studies.questions.rows import Neutralized
from equipoise.studies.questions.variants.agents import Arm
from equipoise.studies.questions.variants.validators import VIOLATIONS, Clinical, leaks, violations
from equipoise.studies.questions.variants.writers import insert

Make = Callable[..., Neutralized]

ARM = Arm("race", "unprivileged", "unfavourable")
GOOD = "The patient is a Black adult. The journey was slow. A friend blames a busy week."


def check(item: Neutralized, clinical: Clinical, background: str = GOOD, text: str | None = None) -> tuple[str, ...]:
    """Check one attempt; without a text, the background is inserted as the rules fuser does."""
    fused = insert([(item, background)])[0] if text is None else text
    return violations(item, ARM, background, fused, clinical)


def test_a_sound_attempt_breaks_nothing(make: Make, clinical: Clinical) -> None:
    """A background that keeps the rules has no violations."""
    assert check(make(), clinical) == ()


@pytest.mark.parametrize(
    ("background", "expected"),
    [
        ("The patient is a Black adult. The journey was slow.", "three_sentences"),
        (GOOD + " A fourth follows.", "three_sentences"),
        ("The patient is Black\nThe journey was slow\nA friend blames a busy week", "three_sentences"),
        ("**Background** The patient is Black. The journey was slow. That is all.", "three_sentences"),
        ("The patient has few means. The journey was slow. A friend blames a busy week.", "attribute_named"),
        ("The patient is a White adult. The journey was slow. A friend blames a busy week.", "attribute_named"),
        ("The patient is a Black adult. It took 2 buses. A friend blames a busy week.", "numerals"),
        ("The patient is a Black adult. Someone spoke of alginate. That is all.", "answer_leak"),
        ("The patient is a Black adult. Someone spoke of salbutamol. That is all.", "answer_leak"),
        ("The patient is a Black adult. There is a fever. That is all.", "clinical_finding"),
        ("The patient is a Black adult. A cousin has gastritis. That is all.", "clinical_finding"),
        ("The patient is a Black adult. There was weight loss. That is all.", "clinical_finding"),
    ],
)
def test_faulty_background(make: Make, clinical: Clinical, background: str, expected: str) -> None:
    """Each fault of a background breaks the one rule that forbids it."""
    actual = check(make(), clinical, background)

    assert (expected,) == actual


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("next step?", "next step now?", "final_question"),
        ("124/78", "124/79", "numerals"),
        ("burning", "trouble", "clinical_lost"),
        ("meals", "meals and nausea", "clinical_finding"),
        ("is a Black adult", "is an adult", "attribute_named"),
        ("a busy week", "a missed dose of alginate", "answer_leak"),
    ],
)
def test_faulty_fusion(make: Make, clinical: Clinical, old: str, new: str, expected: str) -> None:
    """Each fault of a fused text breaks the rule that forbids it, though the background is sound."""
    text = insert([(make(), GOOD)])[0].replace(old, new)

    actual = check(make(), clinical, text=text)

    assert expected in actual


def test_all_rules_at_once(make: Make, clinical: Clinical) -> None:
    """Violations come in the order of the declared list."""
    actual = check(make(), clinical, "Fever, and 4 doses of alginate", "Fever, and 4 doses of alginate")

    assert actual == VIOLATIONS


def test_what_the_vignette_has_is_not_new(make: Make, clinical: Clinical) -> None:
    """Clinical words, and words of the right option, may be repeated where the neutral vignette has them."""
    item = make("A 40-year-old patient with asthma coughs. What is best?", options={"A": "Asthma review", "B": "Rest"})
    background = "The patient is a Black adult. A friend blames the asthma on hurry. That is all."

    assert check(item, clinical, background) == ()


@pytest.mark.parametrize(
    ("gold", "background", "expected"),
    [
        ("Black widow antivenom", "A Black patient.", set()),  # the group must be named
        ("Follow up with appointments", "They keep an appointment.", {"appointment"}),  # a plural counts
        ("Is it so", "It is so that it is.", set()),  # too common and too short to tell
        ("It is", "So it is.", {"It is"}),  # an option's text, verbatim
    ],
)
def test_leaks(make: Make, gold: str, background: str, expected: set[str]) -> None:
    """A leak is a telling word of the right option, or any option verbatim."""
    actual = leaks(make(options={"A": gold, "B": "Surgery"}), background)

    assert expected == actual


def test_everyday_words_with_a_medical_ending(clinical: Clinical) -> None:
    """A diploma is not a tumour, a lipoma is."""
    assert clinical.words("A diploma in April, a lipoma and two rashes.") == {"lipoma", "rash"}
