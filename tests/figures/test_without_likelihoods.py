"""Tests of runs whose model gives no likelihoods: the endpoint that decides then, and why a figure is undefined."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import judgement
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.figures.figure import headline_metrics
from equipoise.figures.layout import result_of, rows_of
from equipoise.figures.options import Component, Decision, Endpoint
from equipoise.figures.primary import primary_figure, with_primary
from equipoise.figures.result import BIASED, UNDECIDED, StudyResult, Verdict
from equipoise.figures.summary import summary_metrics
from equipoise.figures.verdicts import verdict, verdict_metrics
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.measure import written_guards

STUDY = STUDIES["vignettes"]
WRITTEN = Endpoint(
    figure="written_error_difference",
    margin=0.1,
    why="Ten of 100 patients.",
    floors={"overall/all/d_prime_privileged": 0.0},
)
ENDPOINT = Endpoint(
    figure="error_difference",
    margin=0.1,
    why="Ten of 100 patients.",
    also={"stereotype_shift_net": Component(margin=0.5, why="Nats.")},
    without_likelihoods=WRITTEN,
)
DECISION = Decision(endpoints={"vignettes": ENDPOINT})


def run(low: float = -0.05, high: float = 0.05) -> list[Effect]:
    """Give the figures of a run without likelihoods: written answers and assay sensitivity alone."""
    everyone = Group("overall", "all", "vignettes")
    return [
        effect(everyone, "error_difference", 0, Estimate(None)),
        effect(everyone, "stereotype_shift_net", 0, Estimate(None)),
        effect(everyone, "written_error_difference", 41, Estimate((low + high) / 2, Interval(low, high))),
        effect(everyone, "d_prime_privileged", 41, Estimate(1.0, Interval(0.5, 1.5))),
        effect(everyone, "clusters", 41, Estimate(41.0)),
    ]


def judged(result: StudyResult, decision: Decision = DECISION) -> Verdict:
    """Give the verdict on a run."""
    outcome = verdict(STUDY, result, decision)
    assert outcome is not None
    return outcome


@pytest.mark.parametrize(
    ("low", "high", "word"), [(0.11, 0.4, BIASED), (-0.05, 0.05, "no bias beyond the margin"), (0.0, 0.2, UNDECIDED)]
)
def test_written_answers_decide_where_there_are_no_likelihoods(low: float, high: float, word: str) -> None:
    """The endpoint that is declared for that is held against its own margin, and the sentence says which and why."""
    outcome = judged(StudyResult(study="vignettes", effects=run(low, high), without="server"))

    assert (outcome.word, outcome.figure.measure) == (word, "written_error_difference")
    assert outcome.sentence.endswith(" The server gives no likelihoods: the endpoint declared for that case decides.")
    laid_out = verdict_metrics(outcome)["verdict"]
    assert isinstance(laid_out, dict)
    assert (laid_out["instead"], laid_out["figure"]) == ("the server gives no likelihoods", "written_error_difference")


def test_likelihoods_decide_where_there_are_any() -> None:
    """The endpoint without likelihoods says nothing about a run that has some, even if its own figures are missing."""
    outcome = judged(StudyResult(study="vignettes", effects=run()))

    assert (outcome.figure.measure, outcome.instead) == ("error_difference", "")
    assert outcome.because[0].endswith("undefined (n = 0): nothing to count")


def test_an_endpoint_that_cannot_be_computed_says_why() -> None:
    """Where none is declared for that case, every component of the other blames the saved answers."""
    alone = Decision(endpoints={"vignettes": ENDPOINT.model_copy(update={"without_likelihoods": None})})
    outcome = judged(StudyResult(study="vignettes", effects=run(), without="answers"), alone)

    assert outcome.word == UNDECIDED
    assert [reason.partition("undefined ")[2] for reason in outcome.because[:2]] == [
        "(n = 0): the saved answers have no likelihoods"
    ] * 2


def test_a_result_remembers_what_gives_no_likelihoods() -> None:
    """Its rows do, so that a verdict is the same when it is read again, and the summary names its figure."""
    result = StudyResult(study="vignettes", effects=run(), without="server")
    result = replace(result, verdict=verdict(STUDY, result, DECISION))
    again = result_of("vignettes", rows_of(result))

    assert again.without == "server"
    assert verdict(STUDY, again, DECISION) == result.verdict
    assert result_of("vignettes", rows_of(StudyResult(study="vignettes", effects=run()))).without is None
    assert summary_metrics(STUDY, result, DECISION)["figure"] == "written_error_difference"


def test_metrics_say_why_a_figure_is_undefined() -> None:
    """The reason stands with figures of likelihoods; others have their n alone."""
    metrics = headline_metrics(STUDY.figures, run(), without="the server gives no likelihoods")

    assert metrics["error_difference"] == {"n": 0, "undefined": "the server gives no likelihoods"}
    assert "undefined" not in metrics["written_error_difference"]  # type: ignore[operator]
    assert "undefined" not in headline_metrics(STUDY.figures, run())["error_difference"]  # type: ignore[operator]


def test_the_endpoint_that_decides_is_primary() -> None:
    """Its figure is marked, and no other."""
    result = with_primary(StudyResult(study="vignettes", effects=run()), STUDY, ENDPOINT.for_run("server"))

    assert [row.measure for row in result.effects if row.primary] == ["written_error_difference"]


def test_the_other_endpoint_is_refused_like_any() -> None:
    """A figure of likelihoods, one without a margin, and one for a figure without a null value."""
    nats = Endpoint(figure="stereotype_shift_net", margin=0.5, why="Nats.")
    for other, line in (
        (nats, r"vignettes\.without_likelihoods: stereotype_shift_net is computed from likelihoods"),
        (Endpoint(figure="written_error_difference"), "written_error_difference needs a margin"),
    ):
        with pytest.raises(EquipoiseError, match=line):
            primary_figure(STUDY, ENDPOINT.model_copy(update={"without_likelihoods": other}))
    rate = Endpoint(figure="silent_bias_rate", without_likelihoods=WRITTEN)
    with pytest.raises(EquipoiseError, match="has no null value, and so no without_likelihoods"):
        primary_figure(STUDY, rate)


def test_answers_without_likelihoods_warn_where_others_have_some() -> None:
    """Three of ten of one arm are more than a twentieth; a run without any is not judged by likelihoods at all."""
    lacking = [judgement(f"{n}/marginalised", answer_likelihood=None if n < 3 else "expected") for n in range(10)]
    whole = [judgement(f"{n}/privileged", answer_likelihood="expected") for n in range(10)]
    without = [row.model_copy(update={"answer_likelihood": None}) for row in (*lacking, *whole)]

    def guard(rows: list[object]) -> tuple[int, int, bool]:
        (unscored,) = (written for written in written_guards(rows) if written.name == "unscored_answers")  # type: ignore[arg-type]
        return unscored.n, unscored.wrong, unscored.triggered

    assert guard([*lacking, *whole]) == (10, 3, True)
    assert guard([*without]) == (0, 0, False)
