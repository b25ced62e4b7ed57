"""The published silent bias rates, recomputed from the saved outputs, and the reading that replaces them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.figures.options import Measure
from equipoise.studies.cases.cli import score_silent
from equipoise.studies.cases.effects import case_effects, score_legacy
from equipoise.studies.cases.judged import read_output
from equipoise.studies.cases.rows import Case, CaseJudgement, read_cases, read_outputs, require_cases, saved_response
from equipoise.text.diagnoses import load_diagnoses

MODELS = ("gpt-oss-20b", "piaget-8b-local", "psyllm-gml-local", "qwen3-lmstudio")
DIAGNOSES = load_diagnoses(Path(__file__).parents[2] / "data/diagnoses.yaml")
CASES = "fsd/biased_vignettes_58.json"


def asked(anchors: Path) -> dict[str, Case]:
    """Read the 58 cases by id."""
    return {case.key: case for case in read_cases(anchors / CASES)}


@pytest.mark.parametrize("model", MODELS)
def test_published_figures(anchors: Path, model: str) -> None:
    """Cases, biased and silent answers, the rate and its Wilson interval are exactly the published ones."""
    expected = json.loads((anchors / "expected.json").read_text("utf-8"))["fsd_legacy_silent_bias"][model]
    cases = asked(anchors)
    outputs = read_outputs(anchors / f"fsd/{model}.jsonl")
    require_cases(model, outputs, cases)
    scored = score_legacy(model, outputs, cases, alpha=0.05)

    assert expected == {
        "n": scored["n"],
        "biased": scored["biased"],
        "silent": scored["silent"],
        "rate": scored["rate"],
        "wilson95": [scored["ci_low"], scored["ci_high"]],
    }


def test_published_figures_from_the_command(anchors: Path) -> None:
    """The command prints them, an object a file."""
    import typer

    app = typer.Typer()
    app.command()(score_silent)
    files = [str(anchors / f"fsd/{model}.jsonl") for model in MODELS]
    done = CliRunner().invoke(
        app, [*files, "--cases", str(anchors / CASES), "--mode", "legacy", "--json"], catch_exceptions=False
    )

    # The four published counts of biased and silent answers.
    assert [(row["biased"], row["silent"]) for row in map(json.loads, done.stdout.splitlines())] == [
        (12, 4),
        (11, 2),
        (12, 3),
        (11, 3),
    ]


def test_cases_are_read(anchors: Path) -> None:
    """58 cases of seven dimensions; 25 are of the reference group, whose answers the published practice counts too."""
    cases = asked(anchors).values()

    assert len(cases) == 58
    assert {"age", "gender", "housing", "obesity", "race", "socioeconomic", "substance_use"} == {
        dimension for case in cases for dimension in case.features
    }
    assert Counter(case.role for case in cases) == {"marginalised": 33, "privileged": 25}


def test_answers_are_read_as_annotated(anchors: Path) -> None:
    """Of 57 answers that the annotators read as another, none is taken for the label; of 38 that are the label, 37."""
    cases = asked(anchors)
    read = {
        (model, output.id): read_output(output.words, cases[output.id], DIAGNOSES)[0].kind == "stereotyped"
        for model in MODELS
        for output in read_outputs(anchors / f"fsd/{model}.jsonl")
    }
    labels = [json.loads(line) for line in (anchors / "fsd/labels.jsonl").read_text("utf-8").splitlines()]
    counted = Counter((label["matches_label"], read[label["model"], label["id"]]) for label in labels)

    assert (counted["no", True], counted["no", False]) == (0, 57)
    assert (counted["yes", True], counted["yes", False]) == (37, 1)


def test_published_figures_through_a_run(anchors: Path, tmp_path: Path) -> None:
    """Outputs that were imported and replayed have the published figures, to the last digit."""
    expected = json.loads((anchors / "expected.json").read_text("utf-8"))["fsd_legacy_silent_bias"]["piaget-8b-local"]
    jsonl.write(
        tmp_path / "out.jsonl",
        [saved_response(output) for output in read_outputs(anchors / "fsd/piaget-8b-local.jsonl")],
    )
    responses = jsonl.read(tmp_path / "out.jsonl", Response)
    judgements = [CaseJudgement(key=response.key, answer="other") for response in responses]
    effects = case_effects(list(asked(anchors).values()), responses, judgements, Measure())
    legacy = {row.measure: row for row in effects if row.family == "legacy"}
    rate = legacy["silent_bias_rate"]

    assert expected == {
        "n": legacy["biased"].n,
        "biased": rate.n,
        "silent": legacy["silent"].estimate,
        "rate": rate.estimate,
        "wilson95": [rate.ci_low, rate.ci_high],
    }
