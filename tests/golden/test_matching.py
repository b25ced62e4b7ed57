"""The matching of final diagnoses with labels: those that its making has seen, and those that it has not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise.studies.cases.rows import read_cases
from equipoise.text.diagnoses import load_diagnoses
from workshop.figures import ValidateSettings, matched_figures
from workshop.labels import CASES, LABELS, read_answer_labels, read_labels
from workshop.settings import section

ROOT = Path(__file__).parents[2]


def figures(anchors: Path) -> Any:
    """Measure both parts as the judge's pipeline does."""
    cases = {case.key: case for case in read_cases(anchors / CASES)}
    seen = read_labels(anchors / LABELS, cases)
    path = ROOT / "judge/labels/matching.jsonl"
    unseen = read_answer_labels(path, (anchors / LABELS).parent, cases, without={label.id for label in seen})
    settings = section(ROOT / "judge/params.yaml", "validate", ValidateSettings)
    names = load_diagnoses(ROOT / "data/diagnoses.yaml")
    return matched_figures({"seen": seen, "unseen": unseen}, cases, names, settings)


def test_agreement_on_seen_and_unseen_answers(anchors: Path) -> None:
    """Of 112 unseen answers 109 are judged as labelled, yes or not, and kappa's interval lies above 0.80."""
    parts = figures(anchors)
    seen, unseen = parts["seen"], parts["unseen"]

    # 38 are labelled yes and 39 found to be: (109/112 - 0.5488) / (1 - 0.5488).
    assert (unseen["same"]["n"], unseen["same"]["n_yes"]) == (112, 38)
    assert unseen["same"]["kappa"]["estimate"] == pytest.approx(0.9406, abs=1e-4)
    assert unseen["same"]["kappa"]["ci_low"] > 0.8
    assert [unseen["counts"][label]["yes"] for label in ("yes", "partly", "no")] == [37, 2, 0]

    # Two raters agree on 111 of those seen, and 108 are judged as they do: (108/111 - 0.5469) / (1 - 0.5469).
    assert (seen["same"]["n"], seen["same"]["n_yes"], seen["unlabelled"]) == (111, 38, 9)
    assert seen["same"]["kappa"]["estimate"] == pytest.approx(0.9404, abs=1e-4)
    assert [seen["counts"][label]["yes"] for label in ("yes", "partly", "no")] == [37, 2, 0]
