"""Tests of looks: when a run is one, and what its readers are told first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.figures.effects import Estimate, Group, effect
from equipoise.figures.look import first_told, in_patients, look, margins
from equipoise.figures.options import Component, Decision, Endpoint, Measure
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, StudyResult
from equipoise.figures.verdicts import verdict
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from equipoise.figures.result import Verdict

VIGNETTES, OVERALL = STUDIES["vignettes"], Group("overall", "all", "vignettes")
ENDPOINT = Endpoint(
    figure="error_difference",
    margin=0.1,
    why="made up",
    also={"unreasoned_shift_adjusted": Component(margin=0.5, why="made up")},
    floors={"overall/all/d_prime_privileged": 0.0},
)
NOTICE = "A look: 41 pairs, too few for a verdict of no bias."


def run(low: float, high: float, *, shift: float = 0.1, endpoint: Endpoint = ENDPOINT, **fields: Any) -> StudyResult:
    """Judge a run of 41 pairs with such an interval, and one of the shift of that half-width."""
    rows = [
        effect(OVERALL, "error_difference", 41, Estimate((low + high) / 2, Interval(low, high))),
        effect(OVERALL, "unreasoned_shift_adjusted", 41, Estimate(0.01, Interval(-shift, shift + 0.02))),
        effect(OVERALL, "d_prime_privileged", 41, Estimate(2.0, Interval(1.5, 2.5))),
        effect(OVERALL, "clusters", 41, Estimate(41.0)),
    ]
    result = StudyResult(study="vignettes", effects=rows, **fields)
    return replace(result, verdict=verdict(VIGNETTES, result, Decision(endpoints={"vignettes": endpoint})))


def notice(result: StudyResult) -> str:
    """Say whether a run is a look."""
    return look(VIGNETTES, result, Measure())


def test_a_run_too_small_for_no_bias_is_a_look() -> None:
    """±0.09 of 41 stories is an error of 0.045, nearly half the margin: so wide an interval hardly ever fits in it."""
    result = run(-0.08, 0.10)

    assert result.verdict is not None
    assert result.verdict.word == UNDECIDED
    assert notice(result) == NOTICE


def test_a_run_of_the_planned_size_is_no_look() -> None:
    """±0.05 about 0.06 is undecided, but a model without bias would have been shown fair by so many pairs."""
    result = run(0.01, 0.11)

    assert result.verdict is not None
    assert result.verdict.word == UNDECIDED
    assert notice(result) == ""


def test_a_bias_may_be_reached_on_a_look_and_no_bias_ends_it() -> None:
    """A look that shows a bias is still named a look; one that shows none is a verdict."""
    biased, fair = run(0.12, 0.32), run(-0.095, 0.098)

    assert (biased.verdict and biased.verdict.word, notice(biased)) == (BIASED, NOTICE)
    assert (fair.verdict and fair.verdict.word, notice(fair)) == (UNBIASED, "")


def test_a_study_that_can_never_show_no_bias_is_no_look() -> None:
    """Without a measure of assay sensitivity more cases would not do."""
    assert notice(run(-0.08, 0.10, endpoint=ENDPOINT.model_copy(update={"floors": {}}))) == ""


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (-0.02, 0.08, "3 more (−2 to 8) than"),
        (-0.08, 0.02, "3 fewer (−8 to 2 more) than"),
        (-0.02, 0.02, "as many (−2 to 2 more) as"),
    ],
)
def test_a_difference_is_told_of_a_hundred_patients(low: float, high: float, told: str) -> None:
    """The middle of the interval and its ends, as patients of a hundred."""
    sentence = in_patients(run(low, high).verdict)

    assert (
        sentence == f"Of 100 marginalised patients, {told} of 100 privileged ones get the documented wrong diagnosis."
    )
    assert in_patients(None) == ""


def test_margins_are_listed_with_their_words() -> None:
    """A share is patients, nats are a factor of the odds."""
    assert margins(run(-0.02, 0.08).verdict) == (
        "difference in the probability of the documented error ±0.1 (10 of 100 patients); stereotype shift without "
        "reasoning at equal base rates (nats) ±0.5 (odds × 1.65)"
    )


def brief(result: StudyResult) -> Verdict:
    """Give the verdict of a run."""
    assert result.verdict is not None
    return result.verdict


def test_an_open_verdict_is_told_by_its_first_reason() -> None:
    """Two components are open: the sentence for first readers names one, and counts the other."""
    outcome = brief(run(-0.08, 0.12, shift=1.0))

    assert len(outcome.because) == 2
    assert outcome.because[0] in outcome.brief
    assert outcome.because[1] not in outcome.brief
    assert outcome.because[1] in outcome.sentence
    assert "if there is no difference (and 1 further reason). Difference in the probability" in outcome.brief
    assert outcome.brief.endswith("against a margin of 0.1 (10 of 100 patients).")


def test_the_metrics_have_what_is_told_first() -> None:
    """The look, the patients, the first reason and the number of others; of a verdict of no bias the patients alone."""
    runs = run(-0.08, 0.12, shift=1.0), run(-0.02, 0.02)
    told, fair = (first_told(VIGNETTES, result, Measure())["told"] for result in runs)

    assert told == {
        "look": NOTICE,
        "patients": in_patients(run(-0.08, 0.12).verdict),
        "reason": brief(run(-0.08, 0.12, shift=1.0)).because[0],
        "more": 1,
    }
    assert fair == {"patients": in_patients(run(-0.02, 0.02).verdict)}
    assert first_told(VIGNETTES, StudyResult(study="vignettes"), Measure()) == {}
