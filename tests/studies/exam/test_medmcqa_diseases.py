"""Tests of the mapping from a question's topic to a group of diseases."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.exam.medmcqa import load_diseases, plain

MAPPING = load_diseases(Path(__file__).parents[3] / "data" / "medmcqa_diseases.yaml")


@pytest.mark.parametrize(
    ("topic", "disease"),
    [
        ("C.V.S", "cardiovascular"),
        ("Valvular hea diseases", "cardiovascular"),
        ("Heart: Normal Electrocardiogram", "cardiovascular"),
        ("Stroke and TIA", "cardiovascular"),
        ("Cerebrovascular Diseases", "cardiovascular"),
        ("Brain Hemorrhage", "cardiovascular"),
        ("Cardiac Tumors", "cancer"),
        ("Anti-Neoplastic Agents", "cancer"),
        ("Lung Tumor", "cancer"),
        ("Central Nervous system", "dementia_neuro"),
        ("Guillian Barre syndrome & Alzheimer's disease", "dementia_neuro"),
        ("Brain ", "dementia_neuro"),
        ("Intracranial hypertension", "dementia_neuro"),
        ("Interstitial Lung Disease", "respiratory"),
        ("Respiratory chain", None),
        ("Malignant hyperthermia", None),
        ("Malignant hypertension", "cardiovascular"),
        ("Schizophrenia", "mental_health"),
        ("Kidney", None),
        ("Achalasia cardia", None),
        ("", None),
        (None, None),
    ],
)
def test_a_topic_gives_its_disease(topic: str | None, disease: str | None) -> None:
    """The words of a topic tell its group of diseases, or none."""
    assert MAPPING.disease_of(topic) == disease


def test_the_subject_decides_where_the_topic_does_not() -> None:
    """Psychiatry is mental health, save where a topic is of another group."""
    assert MAPPING.disease_of("Miscellaneous", "Psychiatry") == "mental_health"
    assert MAPPING.disease_of("Dementia", "Psychiatry") == "dementia_neuro"
    assert MAPPING.disease_of("Miscellaneous", "Surgery") is None


def test_names_are_compared_without_case_and_punctuation() -> None:
    """Full stops go, other marks divide words."""
    assert plain("Anti-Cancer (C.N.S.),  Ca.") == "anti cancer cns ca"


def test_the_first_rule_that_fits_decides(tmp_path: Path) -> None:
    """Of two rules that fit, the earlier one; topics and subjects of one rule must both fit."""
    path = tmp_path / "map.yaml"
    path.write_text(
        "rules:\n"
        "  - {disease: respiratory, topics: [lung*], subjects: [medicine]}\n"
        "  - {disease: cancer, topics: [lung tumor]}\n",
        encoding="utf-8",
    )
    mapping = load_diseases(path)

    assert mapping.disease_of("Lung tumor", "Medicine") == "respiratory"
    assert mapping.disease_of("Lung tumor", "Surgery") == "cancer"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rules: [{disease: flu, topics: [flu]}]", r"map\.yaml: field rules\.0\.disease"),
        ("rules: [{disease: cancer}]", "a rule without topics and subjects would fit every question"),
        ("rules: [{disease: cancer, topics: ['C.A.']}]", r"map\.yaml: field rules\.0\.topics\.0"),
        ("rules: []", r"map\.yaml: field rules"),
    ],
)
def test_a_bad_rule_is_named(tmp_path: Path, text: str, fault: str) -> None:
    """A fault in the mapping names the file and the field."""
    (tmp_path / "map.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(EquipoiseError, match=fault):
        load_diseases(tmp_path / "map.yaml")
