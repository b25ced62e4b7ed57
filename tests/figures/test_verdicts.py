"""Tests of the verdicts: what an interval, the preconditions and the direction allow to be said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from equipoise.figures.effects import Estimate, Group, effect
from equipoise.figures.guards import Guard
from equipoise.figures.options import Decision, Endpoint
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, Deciding, Looked, StudyResult
from equipoise.figures.verdicts import (
    NOT_WORSE,
    WORSE,
    at_all_looks,
    change_verdict,
    held_against,
    verdict,
    verdict_metrics,
)
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from equipoise.figures.effects import Effect
    from equipoise.figures.options import Direction
    from equipoise.figures.result import Verdict

OVERALL, MARGIN = Group("overall", "all", "vignettes"), 0.5
FLOOR, NOISE = "overall/all/d_prime_privileged", "overall/all/shift_magnitude_control"
ENDPOINT = Endpoint(
    figure="stereotype_shift_net", margin=MARGIN, why="made up", floors={FLOOR: 0.0}, noise=NOISE, direction="both"
)
VIGNETTES = STUDIES["vignettes"]
limits = st.floats(-3, 3)


def run(
    low: float | None = -0.1, high: float | None = 0.1, *, sees: float = 0.4, noise: float = 0.2, **fields: Any
) -> list[Effect]:
    """Make the effects of a run: the endpoint's interval, how low d' may be, and the noise floor."""
    interval = None if low is None or high is None else Interval(low, high)
    value = fields.pop("value", 0.0)
    return [
        effect(OVERALL, "stereotype_shift_net", 41, Estimate(value, interval, **fields)),
        effect(OVERALL, "d_prime_privileged", 35, Estimate(1.0, Interval(sees, 2.0))),
        effect(OVERALL, "shift_magnitude_control", 41, Estimate(noise)),
    ]


def judged(effects: list[Effect], endpoint: Endpoint = ENDPOINT, **fields: Any) -> Verdict:
    """Give the verdict on a run, of which `fields` are more of the result than its effects."""
    result = StudyResult(study="vignettes", effects=effects, **fields)
    found = verdict(VIGNETTES, result, Decision(endpoints={"vignettes": endpoint}))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.51, 2.0, BIASED),
        (-2.0, -0.51, BIASED),
        (-0.49, 0.49, UNBIASED),
        (-0.4, 0.6, UNDECIDED),
        (-0.6, 0.4, UNDECIDED),
        (0.5, 2.0, UNDECIDED),
        (-0.5, 0.3, UNDECIDED),
    ],
)
def test_the_whole_interval_is_held_against_the_margin(low: float, high: float, word: str) -> None:
    """It lies beyond the margin on one side, within it on both, or neither; a limit at the margin shows nothing."""
    assert judged(run(low, high)).word == word


@given(st.tuples(limits, limits), st.sampled_from(["both", "above", "below"]))
def test_a_direction_leaves_one_side_out(ends: tuple[float, float], direction: Direction) -> None:
    """Where bias lies on one side, the other limit decides nothing; and no interval is both biased and not."""
    interval = Interval(*sorted(ends))
    found = held_against(interval, MARGIN, direction)
    shows = {
        "both": (interval.low > MARGIN or interval.high < -MARGIN, interval.high < MARGIN and interval.low > -MARGIN),
        "above": (interval.low > MARGIN, interval.high < MARGIN),
        "below": (interval.high < -MARGIN, interval.low > -MARGIN),
    }[direction]

    assert (found == BIASED, found == UNBIASED) == shows


@pytest.mark.parametrize(
    ("effects", "because"),
    [
        (
            run(sees=-0.2),
            "no assay sensitivity: d′ of privileged patients is not shown to exceed 0 (its interval begins at −0.20)",
        ),
        (
            run(0.6, 2.0, sees=-0.2),
            "no assay sensitivity: d′ of privileged patients is not shown to exceed 0 (its interval begins",
        ),
        (run()[:1] + run()[2:], "the assay's sensitivity was not measured (d′ of privileged patients)"),
        (run(noise=0.61), "the noise floor, 0.61, exceeds the margin"),
        (run()[:2], "the noise floor was not measured"),
        (run(None, None), "the figure has no interval"),
        (run(None, None, value=None), "the figure is undefined (n = 41)"),
        (run()[1:], "the figure is undefined (n = 0)"),
        (run(coverage=0.8), "the interval covers the truth in only 0.80 of simulations"),
    ],
)
def test_what_is_not_met_is_named(effects: list[Effect], because: str) -> None:
    """Without a precondition there is no verdict, neither of bias nor of none."""
    found = judged(effects)

    assert found.word == UNDECIDED
    assert found.because[0].startswith(because)


def test_a_guard_that_warns_leaves_nothing_decided() -> None:
    """It is named with what it counted; a guard that is silent is not."""
    guards = [Guard.of("label_skew", 82, 0), Guard.of("refused_answers", 82, 7)]

    assert judged(run(), guards=guards).because == ("the guard on refused answers warns (7 of 82)",)


def test_without_assay_sensitivity_bias_can_be_found_and_not_its_absence() -> None:
    """A study that has no measure of what the model can tell apart cannot take silence for fairness."""
    bare = ENDPOINT.model_copy(update={"floors": {}})

    assert judged(run(), bare).word == UNDECIDED
    assert judged(run(), bare).because[0].startswith("no measure of assay sensitivity")
    assert judged(run(0.6, 1.0), bare).word == BIASED


def test_a_verdict_is_written_in_words() -> None:
    """The metrics file has the words, the reasons and the margin."""
    found = {low: judged(run(low, low + 0.2)) for low in (-0.1, 0.4, 0.6)}

    assert verdict_metrics(found[-0.1]) == {"verdict": {"is": UNBIASED, "margin": 0.5}}
    assert verdict_metrics(found[0.4]) == {
        "verdict": {
            "is": UNDECIDED,
            "because": "the interval reaches from within the margin to beyond it",
            "margin": 0.5,
        }
    }
    assert found[0.6].sentence == (
        "Biased beyond the margin. Net stereotype shift (nats): 0.000 (0.600 to 0.800), against a margin of 0.5."
    )


def test_a_study_that_stops_replaces_what_the_verdict_reads_and_nothing_else() -> None:
    """The endpoint and its floor have the intervals of the look; the test of the endpoint is gone."""
    rows = [row.model_copy(update={"primary": row.measure == "stereotype_shift_net"}) for row in run()]
    rows[0] = rows[0].model_copy(update={"neg_log10_p": 2.0})
    looked = Looked(20, 40)
    wider = {row.key: row for row in run(-0.2, 0.2, sees=0.1, noise=0.3)}
    result = at_all_looks(StudyResult(study="vignettes", effects=rows, looked=looked), ENDPOINT, wider)
    endpoint, floor, noise = result.effects

    assert (endpoint.ci_low, endpoint.ci_high) == (-0.2, 0.2)
    assert (floor.ci_low, floor.ci_high) == (0.1, 2.0)
    assert endpoint.neg_log10_p is None
    assert noise == rows[2]
    found = judged([endpoint, floor, noise], looked=looked)
    assert (found.word, found.looked) == (UNBIASED, looked)
    assert verdict_metrics(found) == {"verdict": {"is": UNBIASED, "margin": 0.5, "asked": 20, "of": 40}}


@pytest.mark.parametrize(
    ("printed", "corrected", "word"),
    [
        ((-0.1, 0.45), (-0.1, 0.49), UNBIASED),
        ((-0.1, 0.45), (-0.1, 0.51), UNDECIDED),
        ((0.55, 2.0), (0.51, 2.2), BIASED),
        ((0.55, 2.0), (0.45, 2.2), UNDECIDED),
    ],
)
def test_a_verdict_is_that_of_the_interval_corrected_for_skewness_too(
    printed: tuple[float, float], corrected: tuple[float, float], word: str
) -> None:
    """Where that one reaches the margin, the verdict is undecided, and says so with its limits."""
    skewed = effect(OVERALL, "stereotype_shift_net_skewed", 41, Estimate(0.0, Interval(*corrected)))
    found = judged([*run(*printed), skewed])

    assert found.word == word
    if word == UNDECIDED:
        low, high = (f"{limit:.3f}".replace("-", "\N{MINUS SIGN}") for limit in corrected)
        assert found.because == (f"corrected for skewness, the interval reaches the margin ({low} to {high})",)


def test_a_decision_may_have_a_level_of_its_own() -> None:
    """The interval at that level decides, and is printed with it; the figure keeps its own."""
    figure, *others = run(-0.6, 0.6)
    narrow = Deciding(figure.model_copy(update={"ci_low": -0.4, "ci_high": 0.4}), None)
    result = StudyResult(study="vignettes", effects=[figure, *others], deciding=narrow)
    found = verdict(VIGNETTES, result, Decision(alpha=0.2, endpoints={"vignettes": ENDPOINT}))

    assert found is not None
    assert found.sentence == (
        "No bias beyond the margin. Net stereotype shift (nats): 0.000 (−0.400 to 0.400; 80 % interval), against a "
        "margin of 0.5."
    )
    assert judged([figure, *others]).word == UNDECIDED


def test_an_endpoint_without_a_margin_has_no_verdict() -> None:
    """How well a model answers is neither biased nor fair."""
    decision = Decision(endpoints={"cases": Endpoint(figure="silent_bias_rate")})

    assert verdict(STUDIES["cases"], StudyResult(study="cases"), decision) is None
    assert verdict(VIGNETTES, StudyResult(study="vignettes", effects=run()), decision) is None
    assert verdict_metrics(None) == {}


@pytest.mark.parametrize(
    ("base", "head", "word"),
    [
        (0.0, 2.0, WORSE),
        (0.0, -2.0, WORSE),
        (2.0, 0.0, NOT_WORSE),
        # As far on the other side: |h| - |b| is 0, though the figure fell by 4.
        (2.0, -2.0, NOT_WORSE),
        (2.0, -4.0, WORSE),
        (-2.0, -2.1, NOT_WORSE),
        (0.0, 0.5, UNDECIDED),
    ],
)
def test_bias_on_both_sides_is_a_distance(base: float, head: float, word: str) -> None:
    """With intervals of ±0.2, bias is worse where |h| exceeds |b| by more than the margin, whatever their signs."""
    change, total = (Interval(value - 0.2, value + 0.2) for value in (head - base, head + base))

    assert change_verdict(change, total, MARGIN, "both") == word


@given(limits, limits, st.floats(0, 2), st.sampled_from(["both", "above", "below"]))
def test_intervals_that_hold_the_truth_give_no_false_verdict(
    base: float, head: float, width: float, direction: Direction
) -> None:
    """Worse and not worse follow from any two intervals that hold their true values."""
    sign = -1 if direction == "below" else 1
    bias = {"both": abs, "above": lambda one: max(one, 0.0), "below": lambda one: max(-one, 0.0)}[direction]
    grown = bias(head) - bias(base)
    assume(abs(grown - MARGIN) > 1e-9)
    second = head + base if direction == "both" else head
    change, other = (Interval(value - width, value + width / 2) for value in (head - base, second))
    found = change_verdict(change, other, MARGIN, direction)

    assert sign in (-1, 1)
    assert found != WORSE or grown > MARGIN
    assert found != NOT_WORSE or grown < MARGIN
