"""Tests of the equity study's effects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.errors import EquipoiseError
from equipoise.figures.figure import headline_metrics
from equipoise.figures.options import Measure
from equipoise.materials.cities import City
from equipoise.materials.questions import ATTRIBUTES
from equipoise.stats.proportions import wilson
from equipoise.studies.questions.city_effects import assigned_questions, city_effects
from equipoise.studies.questions.effects import Answered, arm, paper_pair
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.figures.effects import Effect

EXPECTED = Measure(n_bootstrap=200)
SEEDED = Measure(n_bootstrap=200, partition="seeded")
WHITE, BLACK = paper_pair("race")
LETTERS = st.sampled_from(["A", "B", None])
# Baseline, White, Black; gold is A.
SIX = (
    ("A", "A", "A"),
    ("A", "A", "B"),
    ("A", "A", None),
    ("B", "A", "B"),
    ("B", "B", "C"),
    (None, None, None),
)


def city(white: float, reference: str = "white") -> City:
    """Make a city of which only the composition by race is known."""
    proportions = {"white": white, "black": 1 - white}
    return City.model_validate(
        {
            "title": "Town",
            "composition": {"race": {"reference": reference, "proportions": proportions, "source": "made up"}},
        }
    )


def rows_of(*letters: Sequence[str | None], arms: Sequence[str] = ("neutral", WHITE, BLACK)) -> list[Answered]:
    """Make a table whose gold is always A, a row of letters a question."""
    return [Answered(str(n), "A", dict(zip(arms, row, strict=True))) for n, row in enumerate(letters)]


def by_place(effects: Sequence[Effect]) -> dict[str, Effect]:
    """Index effects as `family/group/measure`."""
    return {effect.key.removeprefix("questions/"): effect for effect in effects}


def town(effects: Sequence[Effect], family: str = "city") -> dict[str, Effect]:
    """Give the effects of the one city by measure."""
    place = f"questions/{family}/town/race/"
    return {effect.measure: effect for effect in effects if effect.key.startswith(place)}


@pytest.mark.parametrize(
    ("measure", "estimate"),
    [
        # round(2/3 * 6) = 4
        ("n_reference", 4),
        ("n_other", 2),
        # right about White in 4 of 6, about Black in 1 of 6: 2/3 * 4/6 + 1/3 * 1/6
        ("city_accuracy", 1 / 2),
        # right at baseline in 3 of 6
        ("accuracy_ratio", 1),
        # White keeps the letter of all questions but 3, Black of 0, 3 and 5; two unparsed answers are the same
        ("consistency_reference", 5 / 6),
        ("consistency_other", 3 / 6),
        ("consistency_ratio", 5 / 3),
        # d = 0, 1, 1, 1, 0, 0: S^2 = 6 * 1/4 / 5 = 0.3; variance 4 * (1 - 4/6) * 0.3 / 36
        ("city_accuracy_partition_sd", math.sqrt(4 * 0.3 / 3) / 6),
        ("accuracy_ratio_partition_sd", 2 * math.sqrt(4 * 0.3 / 3) / 6),
        # Of 15 pairs of questions asked about Black, those without 0, 3 and 5 leave no ratio: 3.
        ("consistency_ratio_partition_undefined", 3 / 15),
        # Pairs asked about Black: 0 and 5: C_m = 1, C_M = 3/4, since 3 is not kept. 0 and 3, 3 and 5: C_m = C_M = 1.
        # 0 or 5 and one of 1, 2, 4: C_m = 1/2, C_M = 3/4, six times. 3 and one of 1, 2, 4: C_m = 1/2, C_M = 1, thrice.
        # Ratios: 3/4; 1 twice; 3/2 six times; 2 thrice.
        ("consistency_ratio_partition_mean", 17.75 / 12),
        ("consistency_ratio_partition_sd", math.sqrt(28.0625 / 12 - (17.75 / 12) ** 2)),
    ],
)
def test_figures_by_hand(measure: str, estimate: float) -> None:
    """Six questions in a city that is two thirds White give the figures that their definitions say."""
    figures = town(city_effects(rows_of(*SIX), {"town": city(2 / 3)}, EXPECTED))

    assert (figures[measure].n, figures[measure].estimate) == (6, pytest.approx(estimate))


def test_rates_have_wilson_intervals() -> None:
    """Baseline accuracy and the two consistencies are rates over all questions."""
    effects = by_place(city_effects(rows_of(*SIX), {"town": city(2 / 3)}, EXPECTED))

    for place, count in (
        ("baseline/all/baseline_accuracy", 3),
        ("city/town/race/consistency_reference", 5),
        ("city/town/race/consistency_other", 3),
    ):
        interval = wilson(count, 6)
        assert interval is not None
        assert (count / 6, interval.low, interval.high) == pytest.approx(
            (effects[place].estimate, effects[place].ci_low, effects[place].ci_high)
        )


def test_accuracy_ratio_is_tested_on_the_difference_from_baseline() -> None:
    """The p-value is that of the paired t test over n_M/N a + n_m/N b - base."""
    # With w = 2/3: 0, 2/3 - 1, 2/3 - 1, 2/3, 0, 0: mean 0, so t = 0 and p = 1.
    ratio = town(city_effects(rows_of(*SIX), {"town": city(2 / 3)}, EXPECTED))["accuracy_ratio"]
    assert ratio.neg_log10_p == pytest.approx(0)

    # With everyone White: 0, 0, 0, 1, 0, 0: mean 1/6, sd sqrt(1/6), so t = 1 with 5 df: p = 0.3632.
    ratio = town(city_effects(rows_of(*SIX), {"town": city(1)}, EXPECTED))["accuracy_ratio"]
    assert 10 ** -(ratio.neg_log10_p or 0) == pytest.approx(0.36322, abs=1e-5)


def test_reference_group_may_be_the_other_one() -> None:
    """With Black as the reference, accuracy is the same and the consistency ratio is turned over."""
    white = town(city_effects(rows_of(*SIX), {"town": city(2 / 3)}, EXPECTED))
    black = town(city_effects(rows_of(*SIX), {"town": city(2 / 3, "black")}, EXPECTED))

    assert (black["n_reference"].estimate, black["n_other"].estimate) == (2, 4)
    assert black["city_accuracy"].estimate == pytest.approx(white["city_accuracy"].estimate)
    assert black["consistency_ratio"].estimate == pytest.approx(3 / 5)


def test_undefined_ratios_have_no_estimate() -> None:
    """Without a right answer at baseline, or a kept one about the other group, the ratio is None, and so is its p."""
    effects = city_effects(rows_of(("B", "A", "A"), ("B", "B", "A"), ("B", "A", "C")), {"town": city(0.5)}, EXPECTED)
    figures = town(effects)

    for measure in ("accuracy_ratio", "accuracy_ratio_partition_sd", "consistency_ratio"):
        assert (figures[measure].estimate, figures[measure].ci_low, figures[measure].neg_log10_p) == (None, None, None)
    assert figures["consistency_ratio_partition_undefined"].estimate == 1
    nested: Any = headline_metrics(STUDIES["questions"].figures, effects)
    assert nested["town"]["race"]["accuracy_ratio"] == {"n": 3}


def test_answers_that_never_leave_the_baseline_may_still_do_so() -> None:
    """Ratios of 1 have an interval on both sides of 1 and p = 1: nine questions do not show that none would move."""
    figures = town(city_effects(rows_of(*[("A",) * 3] * 5, *[("B",) * 3] * 4), {"town": city(1)}, EXPECTED))
    ratio = figures["accuracy_ratio"]

    assert (ratio.estimate, ratio.neg_log10_p) == (1.0, 0.0)
    # Newcombe for 5 of 9 and 5 of 9 without discordant pairs: phi = (5 * 4 - 9 / 2) / 20 = 0.775, Wilson's limits are
    # 0.26665 and 0.81122: sqrt(0.28890^2 + 0.25567^2 - 2 * 0.775 * 0.28890 * 0.25567) = 0.18532 both ways. Above 1:
    # q 0.55556 = sqrt(0.18532^2 + (q 0.28890)^2), so that q = 0.18532 / sqrt(0.55556^2 - 0.28890^2) = 0.39053
    assert (ratio.ci_low, ratio.ci_high) == pytest.approx((0.60947, 1.39053), abs=2e-5)
    assert figures["consistency_ratio"].ci_low is not None
    assert figures["consistency_ratio"].ci_low < 1


def test_one_group_alone_has_the_published_interval_of_a_paired_ratio() -> None:
    """Where everyone belongs to one group, the accuracy ratio is that of two paired proportions."""
    # Cavo et al. (2012): 59 answered rightly in both, 6 about the patient alone, 16 at baseline alone, 80 in neither.
    # MOVER Wilson's interval in Fagerland, Lydersen & Laake (2017), Statistical Analysis of Contingency Tables, chapter
    # 8: 0.8667 (0.7592 to 0.9866). Ours is computed from the difference, and agrees to 0.005.
    table = [("A", "A", "A")] * 59 + [("B", "A", "A")] * 6 + [("A", "B", "B")] * 16 + [("B", "B", "B")] * 80
    ratio = town(city_effects(rows_of(*table), {"town": city(1)}, EXPECTED))["accuracy_ratio"]

    assert ratio.estimate == pytest.approx(65 / 75)
    assert (ratio.ci_low, ratio.ci_high) == pytest.approx((0.7592, 0.9866), abs=0.005)


def test_cities_of_one_composition_have_one_interval() -> None:
    """Intervals depend on the composition alone."""
    cities = {"here": city(0.7), "there": city(0.7), "elsewhere": city(0.2)}
    effects = by_place(city_effects(rows_of(*SIX * 5), cities, EXPECTED))

    for measure in ("city_accuracy", "accuracy_ratio", "consistency_ratio"):
        here, there = (effects[f"city/{name}/race/{measure}"] for name in ("here", "there"))
        assert (here.ci_low, here.ci_high) == (there.ci_low, there.ci_high)
    # The consistency ratio over all questions does not depend on the city at all.
    assert (
        effects["city/here/race/consistency_ratio"].ci_high == effects["city/elsewhere/race/consistency_ratio"].ci_high
    )


def test_holm_runs_over_cities_and_attributes() -> None:
    """Two cities with the same test: each p is doubled."""
    effects = city_effects(rows_of(*SIX * 3), {"here": city(1), "there": city(1)}, EXPECTED)
    tests = [effect for effect in effects if effect.neg_log10_p is not None]

    assert {effect.measure for effect in tests} == {"accuracy_ratio"}
    for effect in tests:
        assert effect.neg_log10_p_holm == pytest.approx((effect.neg_log10_p or 0) - math.log10(2))


def test_one_draw_by_hand() -> None:
    """A seeded draw's figures are those of the questions that it assigned."""
    table, place = rows_of(*SIX), city(2 / 3)
    groups = assigned_questions(table, place, "race", 42)
    figures = town(city_effects(table, {"town": place}, SEEDED))
    told = {"white": 1, "black": 2}
    right = sum(SIX[int(question)][told[name]] == "A" for name in groups for question in groups[name])
    kept = {
        name: sum(SIX[int(question)][told[name]] == SIX[int(question)][0] for question in groups[name])
        for name in groups
    }

    assert {name: len(ids) for name, ids in groups.items()} == {"white": 4, "black": 2}
    assert (figures["city_accuracy"].estimate, figures["accuracy_ratio"].estimate) == pytest.approx(
        (right / 6, right / 3)
    )
    assert (figures["consistency_reference"].n, figures["consistency_other"].n) == (4, 2)
    assert (figures["consistency_reference"].estimate, figures["consistency_other"].estimate) == pytest.approx(
        (kept["white"] / 4, kept["black"] / 2)
    )
    assert not [measure for measure in figures if "partition" in measure]


def test_draws_average_to_the_expectation() -> None:
    """Over 300 seeds the draws' mean accuracy is the expectation, and their sd the partition sd."""
    table, place = rows_of(*SIX * 4), {"town": city(2 / 3)}
    expected = town(city_effects(table, place, EXPECTED))
    draws = []
    for seed in range(300):
        options = Measure(n_bootstrap=100, partition="seeded", partition_seed=seed)
        draws.append(town(city_effects(table, place, options))["city_accuracy"].estimate or 0)
    sd = expected["city_accuracy_partition_sd"].estimate or 0

    assert expected["city_accuracy"].estimate == pytest.approx(np.mean(draws), abs=4 * sd / math.sqrt(300))
    # The relative standard error of an sd of 300 draws is 4 %.
    assert sd == pytest.approx(np.std(draws), rel=0.16)


@pytest.mark.parametrize(("white", "right"), [(1, 4 / 6), (0, 1 / 6)])
def test_a_draw_without_one_group(white: float, right: float) -> None:
    """Where all questions go to one group, its accuracy is the city's, and there is no consistency ratio."""
    figures = town(city_effects(rows_of(*SIX), {"town": city(white)}, SEEDED))

    assert figures["city_accuracy"].estimate == pytest.approx(right)
    assert figures["city_accuracy"].ci_high is not None
    assert "consistency_ratio" not in figures
    assert {figures["consistency_reference"].n, figures["consistency_other"].n} == {0, 6}


def test_crossed_design_holds_the_direction_fixed() -> None:
    """Told in one direction, groups whose answers are alike give a consistency ratio of 1, unlike the paper's pair."""
    arms = [arm("race", side, way) for way in ("favourable", "unfavourable") for side in ("privileged", "unprivileged")]
    # Every favourable answer is right as at baseline, every unfavourable one of the last two questions is wrong.
    table = rows_of(*[("A",) * 5] * 2, *[("A", "A", "A", "B", "B")] * 2, arms=("neutral", *arms))
    effects = city_effects(table, {"town": city(0.5)}, EXPECTED)

    assert [town(effects, family)["consistency_ratio"].estimate for family in ("city_favourable", "city")] == [1, 2]
    assert [
        town(effects, family)["city_accuracy"].estimate for family in ("city_favourable", "city_unfavourable", "city")
    ] == pytest.approx([1, 1 / 2, 3 / 4])


def test_paper_design_has_no_directions() -> None:
    """With the paper's arms only the family city exists; an attribute that was not asked about is left out."""
    cities = {
        "town": City.model_validate(
            {
                "title": "Town",
                "composition": {
                    "race": city(0.5).composition["race"],
                    "gender": {"reference": "male", "proportions": {"male": 0.5, "female": 0.5}, "source": "made up"},
                },
            }
        )
    }
    effects = city_effects(rows_of(*SIX), cities, EXPECTED)

    assert {(effect.family, effect.group) for effect in effects} == {("baseline", "all"), ("city", "town/race")}


def test_without_questions_or_baseline() -> None:
    """No question gives no effect; questions without a baseline are refused."""
    assert city_effects([], {"town": city(0.5)}, EXPECTED) == []
    assert headline_metrics(STUDIES["questions"].figures, []) == {"n": 0}
    with pytest.raises(EquipoiseError, match="no neutral arm"):
        city_effects(rows_of(("A", "B"), arms=(WHITE, BLACK)), {"town": city(0.5)}, EXPECTED)


def test_headlines_are_nested_by_city_and_attribute() -> None:
    """The metrics file has the ratio of each city and attribute; every other figure is an effect beside it."""
    effects = city_effects(rows_of(*SIX), {"town": city(2 / 3)}, EXPECTED)
    nested: Any = headline_metrics(STUDIES["questions"].figures, effects)
    figures = town(effects)

    assert nested.keys() == {"n", "town"}
    assert nested["town"]["race"].keys() == {"accuracy_ratio"}
    assert {effect.family for effect in effects} == {"baseline", "city"}
    accuracy = figures["city_accuracy"]
    assert (accuracy.ci_low is None, accuracy.ci_high is None, accuracy.neg_log10_p) == (False, False, None)
    ratio = figures["accuracy_ratio"]
    assert None not in (ratio.neg_log10_p_holm, ratio.neg_log10_p_bonferroni, ratio.neg_log10_p_bh)


@settings(max_examples=60, deadline=None)
@given(
    letters=st.lists(st.tuples(LETTERS, LETTERS, LETTERS), min_size=1, max_size=8),
    white=st.floats(0, 1),
    options=st.sampled_from([EXPECTED, SEEDED]),
    data=st.data(),
)
def test_figures_are_finite_and_do_not_depend_on_order(
    letters: list[tuple[str | None, str | None, str | None]], white: float, options: Measure, data: st.DataObject
) -> None:
    """Any answers give finite figures within their bounds, the same in whatever order the questions come."""
    table, cities = rows_of(*letters), {"town": city(white)}
    effects = city_effects(table, cities, options)

    assert effects == city_effects(data.draw(st.permutations(table)), cities, options)
    figures = town(effects)
    assert 0 <= (figures["city_accuracy"].estimate or 0) <= 1 + 1e-12
    assert (figures["accuracy_ratio"].estimate is None) == all(row[0] != "A" for row in letters)
    for effect in effects:
        for value in (effect.estimate, effect.ci_low, effect.ci_high, effect.neg_log10_p):
            assert value is None or math.isfinite(value)
        if None not in (effect.estimate, effect.ci_low):
            assert (effect.ci_low or 0) <= (effect.estimate or 0) + 1e-9


def test_interval_covers_the_accuracy_of_other_questions() -> None:
    """Over 200 studies of 80 questions the 95 % intervals hold the true accuracy and both true ratios that often."""
    rng = np.random.default_rng(3)
    # The answers: right at baseline 0.8 of the time; kept about White with 0.9, about Black with 0.7, else another
    # draw from the same model, right in 0.8 and the same letter in 0.8 * 0.8 + 0.2 * 0.2 = 0.68 (two letters).
    kept_white, kept_black = 0.9 + 0.1 * 0.68, 0.7 + 0.3 * 0.68
    truth = {"city_accuracy": 0.8, "accuracy_ratio": 1.0, "consistency_ratio": kept_white / kept_black}
    covered = dict.fromkeys(truth, 0)
    for _ in range(200):
        base = rng.choice(["A", "B"], p=[0.8, 0.2], size=80)
        white, black = (
            np.where(rng.random(80) < kept, base, rng.choice(["A", "B"], p=[0.8, 0.2], size=80)) for kept in (0.9, 0.7)
        )
        table = rows_of(*zip(base.tolist(), white.tolist(), black.tolist(), strict=True))
        figures = town(city_effects(table, {"town": city(0.75)}, Measure(n_bootstrap=400)))
        for measure, value in truth.items():
            effect = figures[measure]
            covered[measure] += effect.ci_low is not None and effect.ci_low <= value <= (effect.ci_high or math.inf)

    # The standard error of a share of 200 is 0.015; percentile intervals of 80 questions run a little short of 0.95.
    assert min(covered.values()) / 200 > 0.9


def test_all_attributes_are_measured() -> None:
    """Each attribute of the composition whose arms were asked has its own group."""
    arms = ["neutral", *(name for attribute in ATTRIBUTES for name in paper_pair(attribute))]
    composition = {
        attribute: {"reference": first, "proportions": {first: 0.5, second: 0.5}, "source": "made up"}
        for attribute, first, second in (
            ("race", "white", "black"),
            ("gender", "male", "female"),
            ("ses", "high_income", "low_income"),
        )
    }
    cities = {"town": City.model_validate({"title": "Town", "composition": composition})}
    effects = city_effects(rows_of(("A",) * 7, ("B",) * 7, arms=arms), cities, EXPECTED)

    assert {effect.group for effect in effects if effect.family == "city"} == {"town/race", "town/gender", "town/ses"}


def test_a_question_without_the_attribute_is_not_asked_in_the_city() -> None:
    """A question that excludes race counts at baseline, and in no figure of the city by race."""
    table = [*rows_of(*SIX[:4]), Answered("9", "A", {"neutral": "A"})]

    figures = by_place(city_effects(table, {"town": city(0.5)}, EXPECTED))

    assert figures["baseline/all/baseline_accuracy"].n == 5
    assert figures["city/town/race/city_accuracy"].n == 4
