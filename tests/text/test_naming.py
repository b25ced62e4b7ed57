"""Tests of the words that name a final diagnosis."""

from __future__ import annotations

import pytest

from equipoise.text.naming import final_diagnosis


@pytest.mark.parametrize(
    ("reply", "joint"),
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
        # The verb that comes first names it, whatever its grounds hold.
        (
            "The most likely diagnosis is ADHD, combined type, given signs of inattention, along with their impact.",
            ("ADHD",),
        ),
        ("The most probable diagnosis in this patient, a 34-year-old man, is **measles**.", ("measles",)),
        ("The diagnosis is most likely to be measles.", ("measles",)),
        # What makes it likely, and what explains.
        ("No other cause fits, making bacterial meningitis the most likely diagnosis.", ("bacterial meningitis",)),
        ("This leaves gout as the best explanation.", ("gout",)),
        ("Taken together, this is a textbook case of gout.", ("gout",)),
        ("Her symptoms are caused by gout, not strain.", ("gout",)),
        ("Gout best explains the findings.", ("Gout",)),
        ("Gout is at the top of my differential.", ("Gout",)),
        ("The likely culprit is gout.", ("gout",)),
        ("I'd go with gout.", ("gout",)),
        ("Therefore, bipolar disorder, type II, is the most appropriate diagnosis.", ("bipolar disorder",)),
        (
            "Depression is possible; however, the bradycardia is more consistent with a thyroid deficit.",
            ("thyroid deficit",),
        ),
        # Letters, numbers, boxes and tags before and around it.
        ("Final answer: C. Pneumonia", ("Pneumonia",)),
        ("## Most likely diagnosis\n1. Measles\n2. Mumps", ("Measles",)),
        (r"**Final Answer**: $\boxed{\text{Measles}}$", ("Measles",)),
        ("<b>Diagnosis:</b> Measles", ("Measles",)),
        ("**Assessment:** This is a 54-year-old man with measles.", ("measles",)),
        # What it needs, and how it is coded.
        ("Suspect measles; obtain serology.", ("measles",)),
        ("**Diagnosis:** Measles [ICD-10 B05.9]", ("Measles",)),
    ],
)
def test_the_diagnosis_is_taken_out_of_its_sentence(reply: str, joint: tuple[str, ...]) -> None:
    """Neither what leads up to it nor its grounds are part of the name."""
    named = final_diagnosis(reply)

    assert named is not None
    assert joint == named.joint


def test_a_diagnosis_that_is_only_possible_is_an_alternate() -> None:
    """It is not another name of the one named, and not part of the whole."""
    named = final_diagnosis("**Diagnosis:** Pneumonia (lobar), possibly tuberculosis")

    assert named is not None
    assert (named.joint, named.glosses, named.alternates) == (("Pneumonia",), ("lobar",), ("tuberculosis",))
    assert "tuberculosis" not in named.whole


def test_a_refusal_before_a_diagnosis_is_none() -> None:
    """Who says that they cannot diagnose, and then does, has named one."""
    named = final_diagnosis("As an AI, I can't diagnose, but the most likely diagnosis is measles.")

    assert named is not None
    assert named.joint == ("measles",)


@pytest.mark.parametrize(
    "reply",
    [
        *("", "...", "Diagnosis: not yet clear", "I cannot provide a diagnosis.", "It is important to see a doctor."),
        *("The evidence points to a cardiac etiology.", "The patient should have a thyroid function test."),
    ],
)
def test_without_a_diagnosis(reply: str) -> None:
    """A reply that names none has none."""
    assert final_diagnosis(reply) is None


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
