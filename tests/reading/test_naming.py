"""Tests of the words that name a final diagnosis."""

from __future__ import annotations

import pytest

from equipoise.reading.naming import final_diagnosis


@pytest.mark.parametrize(
    ("said", "joint"),
    [
        ("The most likely diagnosis, given his fever, the rash and her age, is measles.", ("measles",)),
        ("Sputum would confirm it, but given the picture, TB is the most likely diagnosis.", ("TB",)),
        ("Everything supports gout as the leading diagnosis.", ("gout",)),
        ("**Final Answer:** The findings point to an inflamed appendix.", ("inflamed appendix",)),
        ("**Diagnosis:** Gout (likely), less likely septic arthritis", ("Gout",)),
        ("**Diagnosis:** Asthma, pneumonia, or COPD", ("Asthma", "pneumonia", "COPD")),
        (
            "**Diagnosis:** a soft tissue infection, possibly extending to fasciitis or an abscess",
            ("soft tissue infection",),
        ),
        ("**Diagnosis:** Infarction (NSTEMI) or **unstable angina**", ("Infarction", "unstable angina")),
    ],
)
def test_the_diagnosis_is_taken_out_of_its_sentence(said: str, joint: tuple[str, ...]) -> None:
    """Neither what leads up to it nor its grounds are part of the name."""
    named = final_diagnosis(said)

    assert named is not None
    assert joint == named.joint


@pytest.mark.parametrize("said", ["", "...", "Diagnosis: not yet clear", "I cannot provide a diagnosis."])
def test_without_a_diagnosis(said: str) -> None:
    """A reply that names none has none."""
    assert final_diagnosis(said) is None


def test_final_diagnosis_by_hand() -> None:
    """A name falls into joint diagnoses, cause or consequence, and glosses."""
    named = final_diagnosis(
        "**Most likely diagnosis:** Sepsis or delirium (acute confusion) due to a UTI, given her age."
    )

    assert named is not None
    assert (named.joint, [tail.strip() for tail in named.tails], named.glosses) == (
        ("Sepsis", "delirium"),
        ["a UTI"],
        ("acute confusion",),
    )
