"""Tests of the lexicon of diagnoses."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.text.diagnoses import Diagnoses, load_diagnoses

FILE = Path(__file__).parents[2] / "data/diagnoses.yaml"
DIAGNOSES = load_diagnoses(FILE)


def small(**more: object) -> Diagnoses:
    """Build a lexicon of two groups."""
    groups = [["infarction", "heart attack"], ["deep infarction", "DI"]]
    return Diagnoses.model_validate({"version": 1, "groups": groups} | more)


def test_the_lexicon_ships_with_at_least_120_groups() -> None:
    """It reaches well beyond the diagnoses of any one set of cases."""
    assert len(DIAGNOSES.groups) >= 120


def test_a_group_with_a_shorter_diagnosis_in_its_name_holds_it() -> None:
    """A deep infarction is an infarction, however it is written; an unknown word means itself."""
    lexicon = small()

    assert lexicon.meaning("DI").concepts == lexicon.meaning("deep heart attacks").concepts
    assert lexicon.meaning("heart attack").concepts < lexicon.meaning("DI").concepts
    assert lexicon.meaning("Swollen legs").concepts == {"swollen", "leg"}


def test_an_abbreviation_is_read_as_written() -> None:
    """Small letters are words, not abbreviations."""
    lexicon = small()

    assert lexicon.meaning("di").groups == frozenset()
    assert lexicon.meaning("DIs").groups == {"deep infarction", "infarction"} - {"deep infarction"} | {
        "deep infarction"
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("alcoholic", "alcohol-related"),
        ("haemorrhagic", "hemorrhagic"),
        ("infected ulcers", "ulcer infection"),
        ("Graves\N{RIGHT SINGLE QUOTATION MARK} disease", "Graves' disease"),
        ("non-adherence", "nonadherence"),
        ("Guillain-Barr\N{LATIN SMALL LETTER E WITH ACUTE}", "Guillain-Barre"),
        ("flare of gout", "gout"),
        ("generalised foetal oedema", "generalized fetal edema"),
        ("behavioural tumours, paralysed", "behavioral tumors, paralyzed"),
    ],
)
def test_forms_of_a_word_are_one(first: str, second: str) -> None:
    """Endings, spelling and possessives do not matter."""
    assert DIAGNOSES.meaning(first).concepts == DIAGNOSES.meaning(second).concepts


def test_a_name_listed_apart_names_no_other_diagnosis() -> None:
    """It has the words of another diagnosis but is not that one; it may be below one, or begin a group."""
    lexicon = small(apart=["deep infarction", "infarction of stone"], kinds={"trouble": ["infarction of stone"]})
    infarction = lexicon.meaning("infarction")

    assert not lexicon.meaning("infarction of stone").concepts & infarction.concepts
    assert not lexicon.meaning("DI").concepts & infarction.concepts
    assert lexicon.are_related(lexicon.meaning("infarction of stone"), lexicon.meaning("trouble"))


def test_a_diagnosis_of_a_place_is_more_than_the_place() -> None:
    """Of the words of a chronic kidney disease only the kidney tells anything, and a kidney stone has it too."""
    kidney = small(groups=[["chronic kidney disease", "CKD"]], words=[["kidney", "renal"]])
    disease = kidney.meaning("CKD")

    assert not disease.concepts <= kidney.meaning("renal stone").concepts


def test_a_name_apart_that_a_group_holds_is_named() -> None:
    """A group is set apart by its first wording."""
    with pytest.raises(ValueError, match="apart, 'DI': is a wording of 'deep infarction': give that"):
        small(apart=["DI"])


def test_kinds_reach_through_levels() -> None:
    """What is below a narrower diagnosis is below the broader one too."""
    lexicon = small(kinds={"trouble": ["infarction"], "any trouble": ["trouble"]})

    assert lexicon.are_related(lexicon.meaning("any trouble"), lexicon.meaning("heart attack"))
    assert not lexicon.are_related(lexicon.meaning("heart attack"), lexicon.meaning("heart attack"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[migraine,", "[migraine, Migraine,"), "duplicate wording 'migraine', in 'migraine' and in 'migraine'"),
        (("[migraine,", "[migraine, stroke,"), "duplicate wording 'stroke', in 'stroke' and in 'migraine'"),
        (("headache: [migraine,", "headache: [migrane,"), "kinds, 'headache': 'migrane' does not begin a group"),
        (("  headache: [", "  migraine headache: ["), "kinds, 'migraine headache': is a wording of 'migraine'"),
        (("  sepsis: [", "  urosepsis: [sepsis]\n  sepsis: ["), "kinds, 'urosepsis': is below itself"),
        (("[cystic fibrosis, mucoviscidosis, CF]", "[cystic fibrosis]"), "at least 2 items"),
    ],
)
def test_a_fault_names_its_place(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    """A faulty lexicon is refused with its file, the entry and the fix."""
    text = FILE.read_text("utf-8")
    assert change[0] in text
    path = tmp_path / "diagnoses.yaml"
    path.write_text(text.replace(change[0], change[1], 1), "utf-8")

    with pytest.raises(EquipoiseError, match=message) as caught:
        load_diagnoses(path)
    assert str(path) in str(caught.value)
