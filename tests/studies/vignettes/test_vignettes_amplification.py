"""Tests of the intersectionality amplification factor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.figures.options import Measure
from equipoise.studies.vignettes.effects import vignette_effects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equipoise.figures.effects import Effect
    from equipoise.materials.judgement import Judgement
    from equipoise.materials.vignette import Vignette

    Rows = tuple[list[Vignette], list[Judgement]]
    Factor = Callable[..., Effect]

SINGLES = {("race",): (1, 4), ("socioeconomic",): (1, 2)}


@pytest.fixture
def factor(study: Callable[..., Rows], case: Callable[..., Any]) -> Factor:
    """Give one effect of a study made of counts: biased pairs and pairs, for each combination of dimensions."""

    def make(place: str, *designs: dict[tuple[str, ...], tuple[int, int]]) -> Effect:
        cases: Sequence[Any] = [
            case(dimensions, "stereotyped" if number < biased else "expected", "expected")
            for design in designs
            for dimensions, (biased, n) in design.items()
            for number in range(n)
        ]
        effects = vignette_effects(*study(cases), Measure())
        return {f"{effect.group}/{effect.measure}": effect for effect in effects}[place]

    return make


@pytest.mark.parametrize(
    ("measure", "estimate"),
    [
        ("iaf_matched", 2.0),  # 3/4 over the mean of 1/4 and 1/2
        ("iaf_pooled", 2.25),  # 3/4 over 2/6
    ],
)
@pytest.mark.parametrize("group", ["race+socioeconomic", "tier1", "all"])
def test_factor_by_hand(factor: Factor, group: str, measure: str, estimate: float) -> None:
    """The factor is the intersectional rate over the mean of its parts' rates, or over the rate of all single pairs."""
    effect = factor(f"{group}/{measure}", SINGLES, {("race", "socioeconomic"): (3, 4)})

    assert effect.n == 4
    assert estimate == pytest.approx(effect.estimate)


def test_matched_factor_weighs_combinations_by_their_pairs(factor: Factor) -> None:
    """Overall, each intersectional pair is held against its own parts."""
    crossed = {("race", "socioeconomic"): (2, 2), ("gender", "race"): (1, 4)}
    effect = factor("all/iaf_matched", {**SINGLES, ("gender",): (1, 5)}, crossed)

    # above: 3/6; below: two pairs at (0.25 + 0.5) / 2 and four at (0.2 + 0.25) / 2, mean (0.75 + 0.9) / 6
    assert pytest.approx(effect.estimate) == 0.5 / (1.65 / 6)


def test_factor_over_zero_is_undefined(factor: Factor) -> None:
    """Where no single-dimension pair is biased there is no factor and no verdict."""
    singles = {("race",): (0, 4), ("socioeconomic",): (0, 2)}

    for measure in ("iaf_matched", "iaf_pooled", "iaf_matched_compounded", "iaf_pooled_compounded"):
        effect = factor(f"all/{measure}", singles, {("race", "socioeconomic"): (3, 4)})
        assert (effect.n, effect.estimate, effect.ci_low) == (4, None, None)


def test_part_without_single_pairs_has_no_match(factor: Factor) -> None:
    """Mental health is varied only beside something else: its combinations have a pooled factor and no matched one."""
    crossed = {("mental_health", "race"): (2, 4), ("race", "socioeconomic"): (3, 4)}

    assert factor("mental_health+race/iaf_matched", SINGLES, crossed).estimate is None
    assert pytest.approx(factor("mental_health+race/iaf_pooled", SINGLES, crossed).estimate) == 1.5
    # the other combination alone: 3/4 over 3/8, four pairs
    overall = factor("all/iaf_matched", SINGLES, crossed)
    assert overall.n == 4
    assert pytest.approx(overall.estimate) == 2.0


def test_clear_amplification_is_compounded(factor: Factor) -> None:
    """36 of 40 against 8 of 80 lies above 1 beyond doubt."""
    singles = {("race",): (4, 40), ("socioeconomic",): (4, 40)}
    interval = factor("all/iaf_matched", singles, {("race", "socioeconomic"): (36, 40)})

    assert interval.ci_low is not None
    assert interval.ci_low > 1
    assert factor("all/iaf_matched_compounded", singles, {("race", "socioeconomic"): (36, 40)}).estimate == 1.0


def test_doubtful_amplification_is_not_compounded(factor: Factor) -> None:
    """Three of four against three of eight is a factor of 2 whose interval holds 1."""
    singles = {("race",): (2, 4), ("socioeconomic",): (1, 4)}
    crossed = {("race", "socioeconomic"): (3, 4)}
    interval = factor("all/iaf_matched", singles, crossed)

    assert interval.ci_low is not None
    assert interval.ci_low < 1 < (interval.ci_high or math.inf)
    assert factor("all/iaf_matched_compounded", singles, crossed).estimate == 0


def test_a_factor_always_has_its_interval(factor: Factor) -> None:
    """Two of two biased pairs have a factor whose interval holds 1, and are not called compounded."""
    crossed = {("race", "socioeconomic"): (2, 2)}
    effect = factor("all/iaf_matched", SINGLES, crossed)

    assert pytest.approx(effect.estimate) == 1 / 0.375
    assert effect.ci_low is not None
    assert effect.ci_high is not None
    assert effect.ci_low < 1 < effect.ci_high
    assert factor("all/iaf_matched_compounded", SINGLES, crossed).estimate == 0.0


def test_pooled_factor_has_the_published_interval_of_two_proportions(factor: Factor) -> None:
    """7 of 34 against 1 of 34 is a factor of 7 with the interval that the literature gives for a ratio."""
    # Perondi et al. (2004), in Fagerland, Lydersen & Laake (2017), Statistical Analysis of Contingency Tables, chapter
    # 4: MOVER-R Wilson 7.0000 (1.1537 to 41.9763).
    effect = factor("all/iaf_pooled", {("race",): (1, 34)}, {("race", "socioeconomic"): (7, 34)})

    assert effect.estimate == pytest.approx(7)
    assert (effect.ci_low, effect.ci_high) == pytest.approx((1.1537, 41.9763), abs=5e-5)


def test_a_study_of_single_dimensions_has_no_factor(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Without intersectional pairs there is no factor at all."""
    effects = vignette_effects(*study([case()]), Measure())

    assert [effect.measure for effect in effects if effect.measure.startswith("iaf")] == []


def test_another_combination_changes_no_interval(factor: Factor) -> None:
    """A combination's interval depends on its own pairs and parts, whatever else is in the study."""
    crossed = {("race", "socioeconomic"): (3, 4)}
    alone = factor("race+socioeconomic/iaf_matched", SINGLES, crossed)
    beside = factor(
        "race+socioeconomic/iaf_matched", SINGLES, {("gender",): (1, 5)}, crossed, {("gender", "race"): (1, 4)}
    )

    assert alone == beside
