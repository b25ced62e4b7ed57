"""The matching of final diagnoses with the labels of two raters, on cases that it was not tuned on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from equipoise.cases import read_cases
from equipoise.metrics.matching import matching_figures
from equipoise.outputs import read_outputs
from equipoise.reading.diagnoses import load_diagnoses
from equipoise.reading.matching import match_answer
from equipoise.reading.reasoning import split

if TYPE_CHECKING:
    from collections.abc import Callable

DIAGNOSES = load_diagnoses(Path(__file__).parents[2] / "data/diagnoses.yaml")


@pytest.fixture(scope="module")
def figures() -> Callable[[Path, int], dict[str, Any]]:
    """Figures of every other case by id: 0 for the half that the method was tuned on, 1 for the other half."""

    def measured(anchors: Path, half: int) -> dict[str, Any]:
        cases = {case.key: case for case in read_cases(anchors / "fsd/biased_vignettes_58.json")}
        chosen = set(sorted(cases)[half::2])
        lines = (anchors / "fsd/labels.jsonl").read_text("utf-8").splitlines()
        labels = [label for label in map(json.loads, lines) if label["id"] in chosen]
        said = {
            (model, output.id): split(output.said).answer
            for model in {label["model"] for label in labels}
            for output in read_outputs(anchors / f"fsd/{model}.jsonl")
        }
        found = [
            match_answer(said[label["model"], label["id"]], cases[label["id"]].answer(), DIAGNOSES) for label in labels
        ]
        columns = ([label[name] for label in labels] for name in ("id", "model"))
        matches = [label["matches_label"] for label in labels]
        return cast("dict[str, Any]", matching_figures(matches, found, *columns, seed=0, n_bootstrap=2000))

    return measured


def test_agreement_on_cases_not_tuned_on(anchors: Path, figures: Callable[[Path, int], dict[str, Any]]) -> None:
    """Of 52 answers 45 are judged as labelled, yes or not: kappa 0.72; 28 of the 33 that are the label are found."""
    found = figures(anchors, 1)
    counts = found["counts"]

    # (45/52 - 0.5207) / (1 - 0.5207), with 33 labelled yes and 30 found to be.
    assert found["same"]["n"] == 52
    assert found["same"]["kappa"]["estimate"] >= 0.71
    assert (counts["yes"]["yes"], counts["partly"]["yes"], counts["no"]["yes"]) == (28, 2, 0)


def test_agreement_on_cases_tuned_on(anchors: Path, figures: Callable[[Path, int], dict[str, Any]]) -> None:
    """On the half that it was tuned on, where 5 of 59 answers are the label, none is misjudged."""
    found = figures(anchors, 0)

    assert (found["same"]["n"], found["same"]["n_yes"], found["same"]["kappa"]["estimate"]) == (59, 5, 1.0)
