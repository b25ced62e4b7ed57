"""Tests of the rows of a result: how they are laid out, and that they are read back as the same result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Estimate, Group, effect
from equipoise.figures.guards import Guard
from equipoise.figures.layout import INTERVAL, at_level, read_result, result_of, rows_of
from equipoise.figures.options import Decision, Endpoint
from equipoise.figures.result import UNBIASED, Counts, Finding, Looked, StudyResult
from equipoise.figures.verdicts import verdict
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES

ROOT = Path(__file__).parents[2]
ENDPOINT = Endpoint(
    figure="stereotype_shift_net", margin=0.5, why="made up", floors={"overall/all/d_prime_privileged": 0.0}
)
DECISION = Decision(endpoints={"vignettes": ENDPOINT})
OVERALL = Group("overall", "all", "vignettes")
SHIFT = effect(OVERALL, "stereotype_shift_net", 41, Estimate(0.0, Interval(-0.1, 0.1)))
RESULT = StudyResult(
    study="vignettes",
    effects=[
        SHIFT,
        effect(OVERALL, "d_prime_privileged", 35, Estimate(1.0, Interval(0.5, 1.5))),
        effect(OVERALL, "shift_magnitude_control", 41, Estimate(0.2)),
    ],
    findings=[
        Finding("influence_found", OVERALL, 41, answer=True),
        Finding("influence_found", Group("dimension", "age", "vignettes"), 0, answer=None),
        Finding("underpowered", OVERALL, 41, answer=False),
    ],
    guards=[
        Guard.of("empty_replies", 20, 0),
        Guard.of("refused_answers", 0, 0),
        Guard.of("stereotype_skew", 1, 0, {"n_wrong": 3.0}),
    ],
    counts=Counts(82, 100, 50, 1, unparsed=2),
)
WHOLE = replace(RESULT, verdict=verdict(STUDIES["vignettes"], RESULT, DECISION))


def test_what_is_no_effect_has_rows_of_its_own() -> None:
    """A yes is 1 and a no 0, a guard has its share, count, threshold and warning, and no bias is 0."""
    estimates = {row.place: (row.n, row.estimate) for row in rows_of(WHOLE) if row not in WHOLE.effects}

    assert estimates == {
        "dimension/age/influence_found": (0, None),
        "guard/all/n_guards": (3, 2.0),
        "guard/all/n_triggered": (2, 0.0),
        "guard/empty_replies/count": (20, 0.0),
        "guard/empty_replies/share": (20, 0.0),
        "guard/empty_replies/threshold": (20, 0.0),
        "guard/empty_replies/triggered": (20, 0.0),
        "guard/refused_answers/count": (0, 0.0),
        "guard/refused_answers/share": (0, None),
        "guard/refused_answers/threshold": (0, 0.05),
        "guard/refused_answers/triggered": (0, 0.0),
        "guard/stereotype_skew/count": (1, 0.0),
        "guard/stereotype_skew/n_wrong": (1, 3.0),
        "guard/stereotype_skew/share": (1, 0.0),
        "guard/stereotype_skew/threshold": (1, 0.0),
        "guard/stereotype_skew/triggered": (1, 0.0),
        "overall/all/influence_found": (41, 1.0),
        "overall/all/underpowered": (41, 0.0),
        "run/all/generated_tokens": (82, 50.0),
        "run/all/n_prompts": (82, 82.0),
        "run/all/prompt_tokens": (82, 100.0),
        "run/all/unfinished": (82, 1.0),
        "run/all/unparsed": (82, 2.0),
        "verdict/all/biased": (41, 0.0),
        "verdict/all/margin": (41, 0.5),
    }
    assert {row.study for row in rows_of(WHOLE)} == {"vignettes"}


def test_rows_are_read_back_as_the_same_result(tmp_path: Path) -> None:
    """Also how far a study was asked, and the interval that decides; rows of other studies are left out."""
    narrow = at_level("vignettes", INTERVAL, [SHIFT.model_copy(update={"ci_low": -0.05})])
    result = replace(RESULT, looked=Looked(20, 40), deciding=narrow)
    result = replace(result, verdict=verdict(STUDIES["vignettes"], result, DECISION))
    file = tmp_path / "vignettes/effects.jsonl"
    jsonl.write(file, [effect(Group("overall", "all", "exam"), "accuracy", 1, Estimate(1.0)), *rows_of(result)])
    read = read_result(tmp_path, STUDIES["vignettes"], DECISION)

    assert rows_of(read) == rows_of(result)
    assert read.verdict is not None
    assert (read.verdict.word, read.verdict.looked, read.verdict.row.ci_low) == (UNBIASED, Looked(20, 40), -0.05)
    assert (read.counts, {*read.findings}) == (result.counts, {*result.findings})
    assert read.warnings == []


@pytest.mark.parametrize("place", ["guard/empty_replies/threshold", "guard/empty_replies/count", "run/all/n_prompts"])
def test_a_row_that_is_missing_is_named(place: str) -> None:
    """A guard without its count, or a run without its prompts, was not written by this version."""
    rows = [row for row in rows_of(WHOLE) if row.place != place]
    message = f"data/vignettes/effects.jsonl: the .* has no {place.rpartition('/')[2]}: run `dvc repro --force measure@"

    with pytest.raises(EquipoiseError, match=message):
        result_of("vignettes", rows)


def test_a_study_that_was_not_run_is_named(tmp_path: Path) -> None:
    """A file that is not there, and one without a row of the study."""
    with pytest.raises(EquipoiseError, match=r"has not been run: run `dvc repro measure@exam`"):
        read_result(tmp_path, STUDIES["exam"], DECISION)
    jsonl.write(tmp_path / "exam/effects.jsonl", [SHIFT])
    with pytest.raises(EquipoiseError, match=r"no figure of the study: run `dvc repro --force measure@exam`"):
        read_result(tmp_path, STUDIES["exam"], DECISION)


def test_the_study_without_counts_has_none() -> None:
    """Saved outputs were asked elsewhere."""
    bare = StudyResult(
        study="cases", effects=[effect(Group("overall", "all", "cases"), "silent_bias_rate", 0, Estimate(None))]
    )

    assert rows_of(bare) == bare.effects
    assert result_of("cases", rows_of(bare)).counts is None
