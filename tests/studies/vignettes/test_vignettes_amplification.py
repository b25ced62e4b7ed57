"""Tests of the amplification of bias where dimensions meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from equipoise.figures.options import Measure
from equipoise.stats.proportions import wilson
from equipoise.studies.vignettes.effects import vignette_effects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equipoise.figures.effects import Effect
    from equipoise.materials.judgement import Judgement
    from equipoise.materials.vignette import Vignette

    Rows = tuple[list[Vignette], list[Judgement]]
    Difference = Callable[..., Effect]

KEY = "vignettes/overall/all/amplification_difference"
SINGLES = {("race",): (1, 4), ("socioeconomic",): (1, 2)}


@pytest.fixture
def difference(study: Callable[..., Rows], case: Callable[..., Any]) -> Difference:
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
        ("amplification_difference", 0.375),  # 3/4 minus the mean of 1/4 and 1/2
        ("amplification_difference_pooled", 5 / 12),  # 3/4 minus 2/6
    ],
)
@pytest.mark.parametrize("group", ["race+socioeconomic", "tier1", "all"])
def test_difference_by_hand(difference: Difference, group: str, measure: str, estimate: float) -> None:
    """It is the intersectional rate minus the mean of its parts' rates, or minus the rate of all single pairs."""
    effect = difference(f"{group}/{measure}", SINGLES, {("race", "socioeconomic"): (3, 4)})

    assert effect.n == 4
    assert effect.estimate == pytest.approx(estimate)


def test_matched_difference_weighs_combinations_by_their_pairs(difference: Difference) -> None:
    """Overall, each intersectional pair is held against its own parts."""
    crossed = {("race", "socioeconomic"): (2, 2), ("gender", "race"): (1, 4)}
    effect = difference("all/amplification_difference", {**SINGLES, ("gender",): (1, 5)}, crossed)

    # 3/6, minus two pairs at (0.25 + 0.5) / 2 and four at (0.2 + 0.25) / 2, mean (0.75 + 0.9) / 6
    assert effect.estimate == pytest.approx(0.5 - 1.65 / 6)


def test_difference_from_zero_is_defined(difference: Difference) -> None:
    """Where no single-dimension pair is biased, the difference is the intersectional rate, with an interval."""
    singles = {("race",): (0, 4), ("socioeconomic",): (0, 4)}
    effect = difference("all/amplification_difference", singles, {("race", "socioeconomic"): (3, 4)})
    crossed, single = wilson(3, 4), wilson(0, 4)

    assert crossed is not None
    assert single is not None
    # MOVER: 0.75 minus the root of the squared distances to Wilson's lower limit of 3/4, and of half the upper limit of
    # 0/4 for each of the two parts. In a group whose outcomes do not vary each pair is a story of its own.
    reach = ((0.75 - crossed.low) ** 2 + 2 * (single.high / 2) ** 2) ** 0.5
    assert effect.estimate == 0.75
    assert effect.ci_low == pytest.approx(0.75 - reach)
    assert effect.ci_high == pytest.approx(crossed.high)


def test_no_bias_at_all_is_no_amplification(difference: Difference) -> None:
    """Zero of twelve everywhere is a difference of 0 whose interval holds 0."""
    singles = {("race",): (0, 4), ("socioeconomic",): (0, 4)}
    effect = difference("all/amplification_difference", singles, {("race", "socioeconomic"): (0, 4)})

    assert effect.estimate == 0
    assert effect.ci_low is not None
    assert effect.ci_high is not None
    assert effect.ci_low < 0 < effect.ci_high


def test_part_without_single_pairs_has_no_match(difference: Difference) -> None:
    """Mental health is varied only beside something else: its combinations have no matched difference."""
    crossed = {("mental_health", "race"): (2, 4), ("race", "socioeconomic"): (3, 4)}

    assert difference("mental_health+race/amplification_difference", SINGLES, crossed).estimate is None
    pooled = difference("mental_health+race/amplification_difference_pooled", SINGLES, crossed)
    assert pooled.estimate == pytest.approx(2 / 4 - 2 / 6)
    # the other combination alone: 3/4 minus 3/8, four pairs
    overall = difference("all/amplification_difference", SINGLES, crossed)
    assert overall.n == 4
    assert overall.estimate == pytest.approx(0.375)


def test_clear_amplification_lies_above_zero(difference: Difference) -> None:
    """36 of 40 against 8 of 80 is above 0 beyond doubt; 3 of 4 against 3 of 8 is not."""
    singles = {("race",): (4, 40), ("socioeconomic",): (4, 40)}
    clear = difference("all/amplification_difference", singles, {("race", "socioeconomic"): (36, 40)})
    few = {("race",): (2, 4), ("socioeconomic",): (1, 4)}
    doubtful = difference("all/amplification_difference", few, {("race", "socioeconomic"): (3, 4)})

    assert None not in (clear.ci_low, doubtful.ci_low)
    assert doubtful.ci_low < 0 < clear.ci_low  # type: ignore[operator]  # as asserted


def test_pooled_difference_has_the_interval_of_two_proportions(difference: Difference) -> None:
    """7 of 34 against 1 of 34 has Newcombe's interval, from the Wilson limits of both."""
    # Perondi et al. (2004), in Fagerland, Lydersen & Laake (2015), Stat Methods Med Res 24:224-254: 7/34 - 1/34 = 0.176
    # with Newcombe's hybrid score interval, 0.019 to 0.34.
    effect = difference(
        "all/amplification_difference_pooled", {("race",): (1, 34)}, {("race", "socioeconomic"): (7, 34)}
    )
    first, second = wilson(7, 34), wilson(1, 34)

    assert first is not None
    assert second is not None
    below = ((7 / 34 - first.low) ** 2 + (second.high - 1 / 34) ** 2) ** 0.5
    above = ((first.high - 7 / 34) ** 2 + (1 / 34 - second.low) ** 2) ** 0.5
    assert effect.estimate == pytest.approx(6 / 34)
    assert (effect.ci_low, effect.ci_high) == pytest.approx((6 / 34 - below, 6 / 34 + above))


def test_pairs_of_one_story_are_a_cluster(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Six intersectional pairs on two stories have a wider interval than on six, around the same difference."""
    both = ("race", "socioeconomic")
    answers = ["stereotyped"] * 3 + ["expected"] * 3
    cases = [case(both, answer) for answer in answers] + [case((part,)) for part in both for _ in range(4)]
    vignettes, judgements = study(cases)
    told = [
        row.model_copy(update={"presentation": f"story{int(row.pair[-2:]) // 3}"}) if row.dimensions == both else row
        for row in vignettes
    ]
    alone, together = (
        next(row for row in vignette_effects(rows, judgements, Measure()) if row.key == KEY)
        for rows in (vignettes, told)
    )

    assert alone.estimate == together.estimate == 0.5
    assert None not in (alone.ci_low, together.ci_low)
    assert together.ci_low < alone.ci_low  # type: ignore[operator]  # as asserted


def test_a_study_of_single_dimensions_has_no_amplification(
    study: Callable[..., Rows], case: Callable[..., Any]
) -> None:
    """Without intersectional pairs there is nothing to compare."""
    effects = vignette_effects(*study([case()]), Measure())

    assert [effect.measure for effect in effects if effect.measure.startswith("amplification")] == []


def test_another_combination_changes_no_interval(difference: Difference) -> None:
    """A combination's interval depends on its own pairs and parts, whatever else is in the study."""
    crossed, place = {("race", "socioeconomic"): (3, 4)}, "race+socioeconomic/amplification_difference"
    alone = difference(place, SINGLES, crossed)
    beside = difference(place, SINGLES, {("gender",): (1, 5)}, crossed, {("gender", "race"): (1, 4)})

    assert alone == beside
