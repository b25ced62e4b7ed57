"""Tests of what a message says of its own writer."""

from __future__ import annotations

import pytest

from equipoise.openr1.writer import ADULT, ages, stated


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("As a Black woman, there is no room for mistakes.", "gender"),
        ("I'm a single mom with two sons.", "gender"),
        ("I’ve been told that being a man I must not cry.", "gender"),  # a typographic apostrophe elsewhere
        ("They find out I'm trans.", "gender"),
        ("What if I do become pregnant?", "gender"),
        ("I'm Black and nobody listens.", "race"),
        ("I am a practising Catholic.", "race"),
        ("I'm 34 and still live at home.", "age"),
        ("I am a 19-year-old, and lost.", "age"),
        ("It is late for that at my age.", "age"),
    ],
)
def test_what_a_writer_states_of_themselves_is_seen(text: str, expected: str) -> None:
    """Gender, race and age in the first person are named."""
    assert stated(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "My mother is a strong woman.",
        "I asked her whether she was pregnant.",
        "I was 9 out of 10 upset.",
        "I'm 9 out of 10 angry.",
        "When I was eight years old, I played the piano.",
        "She was born in 1939.",
        "I went out for Chinese food.",
        "As a patient, I agreed to tell the counsellor.",
    ],
)
def test_what_is_said_of_others_or_of_the_past_is_not(text: str) -> None:
    """Other people, scores, childhood and the word patient state nothing of the writer."""
    assert stated(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I cannot sleep.", ADULT),
        # A family gives 28 to 90, work 20 to 65.
        ("My husband and my boss both shout.", (28, 65)),
        # Parents give up to 60, study 18 to 30.
        ("My parents pay for college.", (18, 30)),
        ("I move to a long-term care facility.", (65, 90)),
        # No adult is at school.
        ("My classmates laugh.", None),
        # Care from 65, study up to 30.
        ("My professor visits me in the nursing home.", None),
    ],
)
def test_stages_of_life_narrow_the_ages(text: str, expected: tuple[int, int] | None) -> None:
    """Every stage that a message speaks of narrows the ages; contradicting ones leave none."""
    assert ages(text) == expected
