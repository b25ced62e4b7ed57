"""Tests of the frozen plan: when it can be made, in what a run departs from it, and what its verdict says then."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from equipoise.cli.plan import make_plan
from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Estimate, Group, effect
from equipoise.figures.layout import result_of, rows_of
from equipoise.figures.options import Decision, Endpoint
from equipoise.figures.result import BIASED, UNBIASED, StudyResult
from equipoise.figures.verdicts import verdict, verdict_metrics
from equipoise.pipeline import steps
from equipoise.pipeline.frozen import FILE, departures, read_plan
from equipoise.pipeline.run import Run
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import mutations_run

if TYPE_CHECKING:
    from collections.abc import Callable

STUDY, MODEL, DATA = "exam", "phantom_fair", Path("data")
Change = dict[str, Any]


def settle(change: Callable[[Change], object]) -> Run:
    """Change params.yaml, build the study, and give its run."""
    values = yaml.safe_load(params.FILE.read_text(encoding="utf-8"))
    change(values)
    params.FILE.write_text(yaml.safe_dump(values), encoding="utf-8")
    run = Run(STUDY, DATA, params.load())
    steps.step(STUDY, "build")(run)
    return run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A project in which the plan of a phantom's exam was frozen, and the exam was built."""
    mutations_run.copy(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = settle(lambda values: values.update(model=MODEL, studies=[STUDY]))
    jsonl.write_json(DATA / "manifest.json", {"model": MODEL, "repo": "-", "revision": "-", "licence": "-"})
    make_plan(freeze=True)
    return run


def test_a_run_of_the_plan_departs_in_nothing(project: Run) -> None:
    """What was built for the plan is what the stage builds."""
    assert departures(project) == ()
    assert read_plan(DATA) is not None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda values: values["decision"]["endpoints"][STUDY].update(margin=0.2, why="?"), ("endpoint", "margins")),
        (lambda values: values["decision"]["endpoints"][STUDY].update(figure="london.accuracy"), ("endpoint",)),
        (lambda values: values["measure"].update(alpha=0.1), ("level",)),
        (lambda values: values["sample"].update(answering="generate"), ("cases",)),
        (lambda values: values["sample"].update(per_city=5), ("cases", "size")),
        (lambda values: values.update(model="phantom_silent"), ("model",)),
        (lambda values: values["infer"].update(batch_size=3), ()),
    ],
    ids=["margin", "figure", "level", "prompts", "size", "model", "speed"],
)
def test_a_departure_is_named(project: Run, change: Callable[[Change], object], expected: tuple[str, ...]) -> None:
    """The endpoint, its limits, the level, the cases, how many there are, and the model; not what changes no figure."""
    assert project.study == STUDY
    assert departures(settle(change)) == expected


def test_a_second_plan_is_refused(project: Run) -> None:
    """The first is kept, byte for byte, and the line says what to do; the same plan again changes nothing."""
    before = (DATA / FILE).read_bytes()
    make_plan(freeze=True)
    settle(lambda values: values["measure"].update(alpha=0.1))

    with pytest.raises(EquipoiseError, match=r"another plan is frozen there .*: keep it, or remove it"):
        make_plan(freeze=True)
    assert (DATA / FILE).read_bytes() == before
    assert project.study == STUDY


def test_a_plan_after_the_first_prompt_is_refused(project: Run) -> None:
    """The model has answered these prompts: what is written now is not a plan."""
    steps.step(STUDY, "infer")(project)
    (DATA / FILE).unlink()

    with pytest.raises(
        EquipoiseError, match=r"phantom_fair has answered these prompts of exam: a plan is frozen before"
    ):
        make_plan(freeze=True)
    assert not (DATA / FILE).exists()


@pytest.mark.parametrize(("limit", "word"), [(0.05, UNBIASED), (0.9, BIASED)])
def test_a_verdict_of_a_departed_run_keeps_its_word_and_says_so(limit: float, word: str) -> None:
    """In the sentence and in the metrics file, also after the result was written and read."""
    overall = Group("overall", "all", "vignettes")
    floor = "overall/all/d_prime_privileged"
    endpoint = Endpoint(figure="error_difference", margin=0.1, why="made up", floors={floor: 0.0})
    interval = Interval(limit - 0.06, limit + 0.04)
    result = StudyResult(
        study="vignettes",
        effects=[
            effect(overall, "error_difference", 40, Estimate(limit, interval)),
            effect(overall, "d_prime_privileged", 40, Estimate(1.0, Interval(0.5, 1.5))),
        ],
        departures=("margins", "size"),
    )
    decision = Decision(endpoints={"vignettes": endpoint})
    known = [result, result_of("vignettes", rows_of(result))]
    verdicts = [verdict(STUDIES["vignettes"], version, decision) for version in known]
    followed = verdict(STUDIES["vignettes"], replace(result, departures=()), decision)

    for outcome in verdicts:
        assert outcome is not None
        assert outcome.word == word
        assert "This run departs from its frozen plan: margins, size." in outcome.sentence
        assert verdict_metrics(outcome)["verdict"]["departs_from_plan"] == "margins, size"  # type: ignore[index,call-overload]
    assert followed is not None
    assert "departs" not in followed.sentence
    assert "departs_from_plan" not in verdict_metrics(followed)["verdict"]  # type: ignore[operator]
