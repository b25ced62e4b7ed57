"""Tests of the diagnosis that JSON, a table or a ranked list puts first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.text.layouts import lay_out


@pytest.mark.parametrize(
    ("text", "first"),
    [
        # The most final key, wherever it is nested; cut off, or with single quotes; the likeliest item of a list.
        ('{"differential": ["flu"], "final_diagnosis": "gout"}', "gout"),
        ('{"a": {"primaryDiagnosis": {"name": "gout"}}, "secondary_diagnosis": "flu"}', "gout"),
        ("{'diagnosis': 'gout', 'why': 'the patient's toe'}", "gout"),
        ('```json\n{"diagnosis": "gout", "why": "the', "gout"),
        ('[{"rank": 2, "diagnosis": "flu"}, {"rank": 1, "diagnosis": "gout"}]', "gout"),
        ('{"differential": [{"name": "flu", "probability": 0.2}, {"name": "gout", "probability": 0.8}]}', "gout"),
        ("diagnosis: gout\nconfidence: high", "gout"),
        ("answer: flu\nrevised answer: gout", "gout"),
        ('{"diagnosis (ICD-10)": "gout", "differential": ["flu"]}', "gout"),
        ('{"2": "flu", "1": "gout"}', "gout"),
        ('{"differential": {"1st": "gout", "2nd": "flu"}}', "gout"),
        # The first rank, the largest share in numbers, words or stars.
        ("| Rank | Diagnosis |\n|-|-|\n| 2 | flu |\n| 1 | gout |", "gout"),
        ("| Diagnosis | Share |\n|-|-|\n| flu | 9 % |\n| gout | 10 % |", "gout"),
        ("| Diagnosis | Likelihood |\n|-|-|\n| flu | unlikely |\n| gout | high |", "gout"),
        ("| Diagnosis | Score |\n|-|-|\n| flu | ★ |\n| gout | ★★ |", "gout"),
        ("- flu: 20%\n- gout: 80%", "gout"),
        ("1. gout\n2. flu", "gout"),
        ("Differential:\n- gout\n- flu", "gout"),
        ("1. flu: unlikely\n2. gout", "gout"),
        ("Least to most likely:\n1. flu\n2. gout", "gout"),
        ("Top: gout > flu", "gout"),
        ("<ol><li>gout</li><li>flu</li></ol>", "gout"),
        ("<answer>gout</answer>", "gout"),
    ],
)
def test_the_first_diagnosis_becomes_a_heading(text: str, first: str) -> None:
    """The layout gives way to one line."""
    assert lay_out(text).strip().rstrip(".") == f"Diagnosis: {first}"


@pytest.mark.parametrize(
    "text",
    [
        # A statement outside a list, findings in a list, and no list at all.
        *("1. flu\n2. gout\n\nFinal diagnosis: gout", "1. The toe is red.\n2. It hurts.", "Gout.", ""),
        *("- flu\n- gout", "SpO2 88 %, pulse 90 %"),
    ],
)
def test_other_texts_stay(text: str) -> None:
    """Nothing that is not a ranking is taken for one."""
    assert lay_out(text) == text


def test_a_table_beside_a_statement_is_removed() -> None:
    """The head of its column is not a heading of a diagnosis."""
    text = "| Diagnosis | Share |\n|-|-|\n| flu | 90 % |\n| mumps | 10 % |\n\nFinal answer: gout"

    assert lay_out(text).strip() == "Final answer: gout"


def test_null_is_no_diagnosis() -> None:
    """A reply whose answer is empty states nothing."""
    assert lay_out('{"diagnosis": null, "note": "gout?"}') == ""


def test_deeply_nested_json_is_read_as_far_as_it_goes() -> None:
    """No reply exhausts the stack."""
    assert lay_out('{"diagnosis": "gout", "more": ' + "[" * 5_000) == "Diagnosis: gout"


@given(st.text(alphabet='{}[]":,|\n1.a ', max_size=60))
def test_any_text_is_laid_out(text: str) -> None:
    """Broken JSON and tables are not an error."""
    assert isinstance(lay_out(text), str)
