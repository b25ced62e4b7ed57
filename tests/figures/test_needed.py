"""Tests of what *no bias* needs: the power of each part at a size, and what no size changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from equipoise.figures.effects import POOLED, Effect, Estimate, Group, effect, simultaneous_means
from equipoise.figures.guards import Guard
from equipoise.figures.needed import (
    FloorPart,
    GroupsPart,
    MeanPart,
    Needs,
    StillPart,
    margin_words,
    needs,
    scaled,
    size_of,
    smallest,
)
from equipoise.figures.options import Component, Endpoint, Measure
from equipoise.figures.plan import Spread, spread_of
from equipoise.figures.primary import component_figure
from equipoise.figures.result import StudyResult
from equipoise.figures.size import Size
from equipoise.stats.equivalence import equivalence_power
from equipoise.stats.paired import t_quantile
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES

VIGNETTES, OVERALL = STUDIES["vignettes"], Group("overall", "all", "vignettes")
TENTH = Component(margin=0.1, why="made up")
ENDPOINT = Endpoint(
    figure="error_difference",
    margin=0.1,
    why="made up",
    within_groups=2.0,
    also={"stereotype_shift_net": Component(margin=0.5, why="made up", needed=False)},
    families=("dimension",),
    floors={"overall/all/d_prime_privileged": 0.0},
    bounds={"overall/all/refusal_difference": TENTH},
)
SPREAD = Spread(40, 40, 0.02, 39, 0.016, 0.0, 0.0, 1)


def interval(low: float, high: float) -> Estimate:
    """Make an estimate in the middle of its interval."""
    return Estimate((low + high) / 2, Interval(low, high))


def groups(count: int, deviation: float = 1.0) -> list[Effect]:
    """Make the rows of three dimensions of `count` stories, half of them above and half below 0 by the deviation."""
    values = [deviation if number % 2 else -deviation for number in range(count)]
    rows = [(value, str(number)) for number, value in enumerate(values)]
    named = [(Group("dimension", name, "vignettes"), rows) for name in ("age", "gender", "race")]
    return list(simultaneous_means("error_difference", named, 0.05, alone=0.05))


def run(*, floor: float = 0.5, refusal: tuple[float, float] = (-0.05, 0.05), **fields: Any) -> StudyResult:
    """Make the result of a run of 40 stories: the component, its groups, the floor and the bound."""
    rows = [
        effect(OVERALL, "error_difference", 40, interval(-0.03, 0.05)),
        effect(OVERALL, "stereotype_shift_net", 40, interval(-2.0, 2.0)),
        effect(OVERALL, "d_prime_privileged", 40, interval(floor - 0.6, floor + 0.6)),
        effect(OVERALL, "refusal_difference", 40, interval(*refusal)),
        effect(OVERALL, "clusters", 40, Estimate(40.0)),
        *groups(10),
    ]
    return StudyResult(study="vignettes", effects=rows, **fields)


def needs_of(result: StudyResult, endpoint: Endpoint = ENDPOINT) -> Needs:
    """List what *no bias* needs from a run."""
    return needs(VIGNETTES, endpoint, result, Measure())


def test_a_run_needs_its_components_groups_bounds_and_floors() -> None:
    """One part of each; a component that *no bias* does not need is not part of the plan."""
    assert [(type(part), part.title) for part in needs_of(run()).parts] == [
        (MeanPart, "difference in the probability of the documented error"),
        (GroupsPart, "every dimension: difference in the probability of the documented error"),
        (StillPart, "refusal difference"),
        (FloorPart, "d\N{PRIME} of privileged patients"),
    ]


def test_the_power_of_a_mean_is_that_of_its_standard_error() -> None:
    """A variance of 0.016 between 64 stories is an error of sqrt(0.016 / 64); two items a story leave it as it is."""
    part = MeanPart("a", "b", SPREAD, TENTH, 0.025)
    expected = equivalence_power(0.1, math.sqrt(0.016 / 64), 63, 0.025)

    assert part.power(Size(64, 64)) == part.power(Size(64, 128)) == pytest.approx(expected)
    # A figure that half of the stories have is estimated from 64 of 128.
    assert MeanPart("a", "b", SPREAD, TENTH, 0.025, share=0.5).power(Size(128, 128)) == pytest.approx(expected)


def test_variance_within_stories_and_between_samples_is_divided() -> None:
    """0.01 within and 0.02 between samples, with two items of four samples: (0.01 + 0.02 / 4) / 2 = 0.0075."""
    spread = SPREAD._replace(between=0.0, within=0.01, sampled=0.02)
    expected = equivalence_power(0.1, math.sqrt(0.0075 / 64), 63, 0.025)

    assert MeanPart("a", "b", spread, TENTH, 0.025).power(Size(64, 128, samples=4)) == pytest.approx(expected)


def test_what_did_not_vary_is_within_its_margin_from_some_size_on() -> None:
    """±0.2 of 20 stories shrinks as 1 / n, and is below 0.1 with more than 40."""
    part = StillPart("a", "b", 0.2, 20, TENTH)

    assert [part.power(Size(n, n)) for n in (20, 40, 41)] == [0.0, 0.0, 1.0]


def test_the_deviation_within_groups_is_that_of_the_intervals() -> None:
    """Ten values of 1 and -1 about 0 have a sum of squares of 10 a group: 30 over 27 degrees, a deviation of 1.054."""
    part = next(part for part in needs_of(run()).parts if isinstance(part, GroupsPart))

    assert part.deviation == pytest.approx(math.sqrt(30 / 27))
    assert part.bound == 0.2


def test_groups_in_which_nothing_varies_are_no_part() -> None:
    """Written answers that are alike in every pair have no intervals by group: they were measured all the same."""
    overall = [row for row in run().effects if row.family == "overall"]
    needed = needs_of(StudyResult(study="vignettes", effects=[*overall, *groups(10, deviation=0.0)]))

    assert not any(part.title.startswith("every dimension") for part in needed.parts)
    assert not any(title.startswith("every dimension") for title in needed.unmeasured)


def test_groups_are_within_their_margin_as_often_as_in_simulations() -> None:
    """Of draws of three groups of 12 normal values of deviation 0.1, so many have every interval within ±0.15."""
    rng = np.random.default_rng(1)
    part = GroupsPart("a", "b", "dimension", 0.15, 0.1, 0.05)
    size = Size(36, 36, groups={"dimension": {"age": 12, "gender": 12, "race": 12}})
    names = [Group("dimension", name, "vignettes") for name in ("age", "gender", "race")]
    within = 0
    for _ in range(1000):
        drawn = [(name, [(float(value), str(n)) for n, value in enumerate(rng.normal(0, 0.1, 12))]) for name in names]
        rows = list(simultaneous_means("a", drawn, 0.05, alone=0.05))
        own = [row for row in rows if row.measure.endswith(POOLED)]
        within += all(row.ci_low > -0.15 and row.ci_high < 0.15 for row in own if row.ci_low and row.ci_high)

    # The standard error of a share of 1,000 draws is at most 0.016.
    assert part.power(size) == pytest.approx(within / 1000, abs=0.04)


def test_a_group_of_few_stories_does_not_count() -> None:
    """A new dimension of fewer than ten stories changes no plan, since the verdict claims nothing about it."""
    part = GroupsPart("a", "b", "dimension", 0.2, 0.1, 0.05, 10)
    power = part.power(Size(61, 61, groups={"dimension": {"age": 30, "gender": 30}}))

    assert power > 0.99
    assert part.power(Size(61, 61, groups={"dimension": {"age": 30, "gender": 30, "race": 1}})) == pytest.approx(power)


def test_sensitivity_is_shown_by_more_cases_where_there_is_some() -> None:
    """d′ 0.5 with an error of 0.6 / 1.96: over four times the stories 0.153, 3.27 errors, of which 1.96 are needed."""
    part = next(part for part in needs_of(run()).parts if isinstance(part, FloorPart))

    assert part.power(Size(160, 160)) == pytest.approx(norm.cdf(0.5 / (0.6 / 1.96 / 2) - 1.96), abs=1e-4)


def test_no_number_of_cases_changes_chance_guards_or_a_group_that_is_refused() -> None:
    """A model at chance, a guard that warns and a bound that is broken are named; without floors there is no plan."""
    guards = [Guard("reasoning_cut_off", 40, 20, 0.05)]
    broken = needs_of(run(floor=0.0, refusal=(0.2, 0.4), guards=guards))

    assert broken.unchanging == (
        "refusal difference lies beyond 0.1 (0.200 to 0.400)",
        "no assay sensitivity: d\N{PRIME} of privileged patients is 0.000, not above 0",
        "the guard on reasoning cut off warns (20 of 40)",
    )
    blind = needs_of(run(), ENDPOINT.model_copy(update={"floors": {}}))
    assert blind.unchanging == (
        "no measure of assay sensitivity is declared, so that a verdict of no bias is not possible",
    )
    assert needs_of(run()).unchanging == ()


def test_what_was_not_measured_is_no_part_of_the_plan() -> None:
    """A look has no mirrors, and so no d′: the plan says so, and does not call the model blind."""
    result = run()
    kept = [row for row in result.effects if row.measure != "d_prime_privileged"]
    left = needs_of(StudyResult(study="vignettes", effects=kept))

    assert left.unmeasured == ("d\N{PRIME} of privileged patients",)
    assert left.unchanging == ()


def test_the_whole_has_the_product_of_its_parts() -> None:
    """Two parts of 0.9 and 0.8: 0.72, which is enough for 0.7 and not for 0.75."""
    parts = [MeanPart("a", "b", SPREAD, TENTH, 0.025), StillPart("a", "b", 0.05, 40, TENTH)]
    size = Size(40, 40)
    whole = Needs(tuple(parts), (), ())

    assert whole.power(size) == pytest.approx(parts[0].power(size) * parts[1].power(size))
    assert whole.enough(size, whole.power(size) - 0.01)
    assert not whole.enough(size, whole.power(size) + 0.01)


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.8])
def test_correlated_components_are_within_together_at_least_as_often(correlation: float) -> None:
    """Of 2,000 draws of two means of 40 stories, both are within as often as the product says, or more often."""
    rng = np.random.default_rng(1)
    drawn = rng.multivariate_normal([0, 0], 0.2**2 * np.array([[1, correlation], [correlation, 1]]), (2000, 40))
    error = drawn.std(axis=1, ddof=1) / math.sqrt(40)
    both = (np.abs(drawn.mean(axis=1)) + float(t_quantile(0.05, 39)) * error < 0.1).all(axis=1).mean()
    part = MeanPart("a", "b", SPREAD._replace(between=0.2**2), TENTH, 0.025)

    # Two standard errors of such a share are 0.022.
    assert both > Needs((part, part), (), ()).power(Size(40, 40)) - 0.022


def test_a_bound_that_the_model_is_away_from_is_planned_there() -> None:
    """±0.05 about 0 is planned at no difference; 0.02 to 0.06 excludes none, and is planned at 0.04."""
    parts = [needs_of(run(refusal=limits)).parts[2] for limits in ((-0.05, 0.06), (0.02, 0.06))]

    assert [part.truth for part in parts if isinstance(part, MeanPart)] == [0.0, pytest.approx(0.04)]


def test_the_smallest_size_is_found_between_powers_of_two() -> None:
    """23 is the first of the numbers from 23 on; a condition that no number meets has none."""
    base = Size(40, 40, groups={"dimension": {"age": 20, "race": 10}})

    assert smallest(lambda size: size.clusters >= 23, lambda n: scaled(base, n)) == scaled(base, 23)
    assert smallest(lambda _: False, lambda n: scaled(base, n)) is None
    # Three quarters of 23 stories are of a dimension, half of these of each: 23 x 30 / 40 / 2 = 8.6.
    assert scaled(base, 23, 2.0).groups == {"dimension": {"age": 8, "race": 8}}
    assert scaled(base, 23, 2.0).items == 46


def test_the_size_of_a_run_is_that_of_its_rows() -> None:
    """Forty stories and items, ten stories in each of three dimensions."""
    assert size_of(run(), SPREAD) == Size(40, 40, 1, {"dimension": {"age": 10, "gender": 10, "race": 10}})


def test_margins_are_told_in_patients() -> None:
    """Shares are of a hundred patients, questions or sentences; nats are a factor of the odds, e^0.5 = 1.65."""
    named = {figure.name: figure for study in STUDIES.values() for figure in study.figures}
    half = Component(margin=0.5, why="made up")
    below = Component(margin=0.05, why="made up", direction="below")

    assert margin_words(named["vignettes.error_difference"], TENTH) == "±0.1 (10 of 100 patients)"
    assert margin_words(named["vignettes.stereotype_shift_net"], half) == "±0.5 (odds × 1.65)"
    assert margin_words(named["questions.group_effect"], below) == "−0.05 (5 of 100 questions)"
    # A level of five is a quarter of the scale: 0.05 of it is one level for a fifth of the patients.
    assert margin_words(named["decisions.decision_shift"], below) == "−0.05 (one level of five for 20 of 100 patients)"
    assert margin_words(None, TENTH) == "±0.1"


def test_a_rare_difference_needs_what_no_difference_would_need() -> None:
    """Where most items show none, 72 exclude 0.05 and 36 exclude 0.1: fewer are not enough, whatever their spread."""
    values = {str(number): float(number < 2) for number in range(20)}
    rare, common = spread_of(values, None), spread_of({key: value + 0.01 for key, value in values.items()}, None)
    assert rare is not None
    assert common is not None

    assert (rare.moved, common.moved) == (0.1, 1.0)
    figure = component_figure(VIGNETTES, ENDPOINT, "error_difference")
    parts = [needs(VIGNETTES, ENDPOINT, run(), Measure(), {figure.name: spread}).parts[0] for spread in (rare, common)]
    assert [part.fewest for part in parts if isinstance(part, MeanPart)] == [36, 2]
    part = MeanPart("a", "b", SPREAD._replace(between=1e-6), TENTH, 0.025, fewest=36)
    assert [round(part.power(Size(n, n)), 3) for n in (35, 36)] == [0.0, 1.0]
    grouped = GroupsPart("a", "b", "attribute", 0.1, 1e-3, 0.05, fewest=36)
    sizes = [Size(n, n, groups={"attribute": {"race": n, "gender": n}}) for n in (35, 36)]
    assert [round(grouped.power(size), 3) for size in sizes] == [0.0, 1.0]
