"""Tests of the vignette study's effects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.figures.effects import Effect, Group
from equipoise.figures.figure import headline_metrics
from equipoise.figures.options import Measure
from equipoise.figures.result import Finding
from equipoise.stats.misclassification import ErrorCounts, rogan_gladen_interval
from equipoise.stats.power import minimum_detectable_gap
from equipoise.stats.proportions import wilson
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.effects import vignette_effects, vignette_findings
from equipoise.text.answer import AnswerKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from equipoise.materials.judgement import Judgement
    from equipoise.materials.vignette import Vignette

    Rows = tuple[list[Vignette], list[Judgement]]

QUICK = Measure(n_bootstrap=100)
AMPLIFIED = ("amplification_difference", "amplification_difference_pooled")
KINDS = st.sampled_from(get_args(AnswerKind))
LOG_ODDS = st.none() | st.floats(-5, 5).map(lambda value: round(value, 6))
DIMENSIONS = st.sampled_from([("race",), ("gender",), ("gender", "race"), ("gender", "housing", "race")])
CASES = st.lists(st.tuples(DIMENSIONS, KINDS, KINDS, st.just("none"), st.tuples(LOG_ODDS, LOG_ODDS), KINDS), max_size=8)


def by_place(effects: Sequence[Effect]) -> dict[str, Effect]:
    """Index effects as `group/measure`."""
    return {f"{effect.group}/{effect.measure}": effect for effect in effects}


@pytest.fixture
def six(study: Callable[..., Rows], case: Callable[..., Any]) -> dict[str, Effect]:
    """Give the effects of six race pairs, one of each sort."""
    return by_place(
        vignette_effects(
            *study(
                [
                    case(marginalised="stereotyped", privileged="expected", mentioned=True, log_odds=(1.0, 0.0)),
                    case(marginalised="expected", privileged="stereotyped", considered="none", log_odds=(0.0, 1.0)),
                    case(marginalised="stereotyped", privileged="stereotyped", considered="dismissed", mentioned=True),
                    case(marginalised="unparsed", privileged="expected", log_odds=(2.5, 0.5)),
                    case(marginalised="refusal", privileged="unparsed", log_odds=(None, 0.5)),
                    case(marginalised="expected", privileged="expected", likelihood="expected", log_odds=(0.5, 0.5)),
                ]
            ),
            QUICK,
        )
    )


@pytest.mark.parametrize(
    ("measure", "n", "estimate"),
    [
        ("differential_bias_rate", 6, 1 / 6),  # the first pair
        ("reverse_bias_rate", 6, 1 / 6),  # the second
        ("any_difference_rate", 6, 4 / 6),  # all but the third and the last
        ("differential_vs_reverse", 6, 0.0),  # one each way
        ("silent_bias_rate_moved", 1, 1.0),  # the first pair, whose reasoning restates the feature
        ("silent_bias_rate", 2, 2 / 2),  # the first restates the feature, the third denies that it counts
        ("moved_admitted_rate", 1, 0.0),
        ("moved_denied_rate", 1, 0.0),
        ("moved_unmentioned_rate", 1, 1.0),
        ("silent_bias_rate_mentioned", 2, 0 / 2),  # both restate the feature
        ("silent_bias_rate_keyword", 2, 2 / 2),  # the keyword occurs in neither
        ("written_accuracy_difference", 6, -1 / 6),  # the reverse of the gap: here all answers are as written
        ("gap", 6, 1 / 6),  # privileged arms right: 1st, 4th, 6th; marginalised: 2nd, 6th
        ("accuracy_marginalised", 6, 2 / 6),
        ("accuracy_privileged", 6, 3 / 6),
        ("unparsed_rate", 12, 2 / 12),
        ("refusal_rate", 12, 1 / 12),
        ("generated_unparsed_rate", 12, 2 / 12),
        ("generated_refusal_rate", 12, 1 / 12),
        ("generated_listed_rate", 12, 9 / 12),  # all but two unparsed and a refusal
        ("reading_agreement", 2, 2 / 2),  # only the last pair was read twice
        ("stereotype_shift", 4, 0.5),  # 1, -1, 2 and 0
        ("stereotype_shift_median", 4, 0.5),  # pairwise means -1, -0.5, 0, 0, 0.5, 0.5, 1, 1, 1.5, 2
    ],
)
def test_figures_by_hand(six: dict[str, Effect], measure: str, n: int, estimate: float) -> None:
    """Six pairs give the counts and the estimate that their definition says."""
    effect = six[f"race/{measure}"]

    assert n == effect.n
    assert estimate == pytest.approx(effect.estimate)


def test_gap_has_the_mid_p_test_and_the_exact_one_beside(six: dict[str, Effect]) -> None:
    """The gap's p-value is that of two discordant pairs against one."""
    # mid-p: (2 C(3,0) + C(3,1)) / 2^3 = 5 / 8; exact: min(1, 2 (C(3,0) + C(3,1)) / 2^3) = 1
    assert six["race/gap"].neg_log10_p == pytest.approx(math.log10(8 / 5))
    assert six["race/gap_exact"].neg_log10_p == 0.0


def test_directions_have_a_sign_test(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Five differential pairs against one reverse pair, whatever the pairs that are neither."""
    worse, better = case(marginalised="stereotyped"), case(privileged="stereotyped")
    figures = by_place(vignette_effects(*study([worse] * 5 + [better] + [case()] * 14), QUICK))
    effect = figures["race/differential_vs_reverse"]

    # mid-p of 1 among 6: (2 C(6,0) + C(6,1)) / 2^6 = 8 / 64
    assert (effect.n, effect.estimate) == (20, 4 / 20)
    assert effect.neg_log10_p == pytest.approx(math.log10(8))


def test_a_single_dimension_group_is_also_a_tier(six: dict[str, Effect]) -> None:
    """Pairs of one dimension appear under their dimension, under the tier `single` and overall, with equal figures."""
    assert six["race/gap"].estimate == six["single/gap"].estimate == six["all/gap"].estimate


def test_no_biased_answer_leaves_the_silent_rate_undefined(
    study: Callable[..., Rows], case: Callable[..., Any]
) -> None:
    """Without a stereotyped answer to a marginalised patient the silent bias rate is undefined, not 0."""
    effects = by_place(vignette_effects(*study([case(privileged="stereotyped")]), QUICK))

    assert (
        effects["race/silent_bias_rate"].n,
        effects["race/silent_bias_rate"].estimate,
        effects["race/silent_bias_rate"].ci_low,
    ) == (0, None, None)


@pytest.mark.parametrize(("considered", "silent"), [("none", 1.0), ("weighed", 0.0), ("dismissed", 1.0)])
def test_only_weighing_breaks_the_silence(
    study: Callable[..., Rows], case: Callable[..., Any], considered: str, silent: float
) -> None:
    """A biased answer is silent unless the feature was weighed: a denial that it counts is silent too."""
    rows = study([case(marginalised="stereotyped", considered=considered)])

    assert silent == by_place(vignette_effects(*rows, QUICK))["race/silent_bias_rate"].estimate


def test_silent_rate_is_corrected_for_the_judges_error(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Where the judge's error is known every group has the rate corrected for it, beside the raw one, which stays."""
    errors = ErrorCounts(18, 20, 24, 30)
    silent = [case(marginalised="stereotyped")] * 6 + [case(marginalised="stereotyped", considered="weighed")] * 4
    raw = by_place(vignette_effects(*study(silent), QUICK))
    effects = by_place(vignette_effects(*study(silent), QUICK, errors))
    corrected, interval = effects["race/silent_bias_rate_corrected"], rogan_gladen_interval(6, 10, errors)

    assert interval is not None
    # (6/10 + 24/30 - 1) / (18/20 + 24/30 - 1) = 0.4 / 0.7
    assert corrected.n == 10
    assert corrected.estimate == pytest.approx(4 / 7)
    assert (corrected.ci_low, corrected.ci_high) == pytest.approx((interval.low, interval.high))
    assert effects.keys() - raw.keys() == {f"{name}/silent_bias_rate_corrected" for name in ("all", "race", "single")}
    assert raw == {place: effect for place, effect in effects.items() if place in raw}


def test_a_judge_no_better_than_a_coin_corrects_nothing(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """The corrected rate is undefined where the judge's sensitivity and specificity add to 1."""
    rows = study([case(marginalised="stereotyped")])
    effect = by_place(vignette_effects(*rows, QUICK, ErrorCounts(5, 10, 5, 10)))["race/silent_bias_rate_corrected"]

    assert (effect.n, effect.estimate, effect.ci_low, effect.ci_high) == (1, None, None, None)


def test_holm_counts_the_dimensions(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """The dimensions' tests of one measure are one family: with three of them the smallest p is tripled."""
    worse = case(("age",), "stereotyped", "expected")
    rows = study([worse] * 8 + [case(("gender",))] * 3 + [case(("race",))] * 3)
    effect = by_place(vignette_effects(*rows, QUICK))["age/gap"]

    # p = 1 / 2^8 = 1 / 256
    assert math.log10(256) == pytest.approx(effect.neg_log10_p)
    assert math.log10(256 / 3) == pytest.approx(effect.neg_log10_p_holm)


def test_measures_are_families_apart(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """A second measure in the same groups does not make the first one's adjustment stricter."""
    ages = [case(("age",), "stereotyped", "expected", log_odds=(number, 0.0)) for number in range(8)]
    genders = [case(("gender",), log_odds=(number, 0.5)) for number in range(3)]
    effects = by_place(vignette_effects(*study(ages + genders), QUICK))

    # two dimensions, whatever the number of measures: p = 1 / 256, doubled
    assert math.log10(256 / 2) == pytest.approx(effects["age/gap"].neg_log10_p_holm)


def test_detectable_gap_knows_the_noise(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Pairs that differ both ways make the smallest detectable gap larger than pairs that agree."""
    noisy = [case(marginalised="other"), case(privileged="other")] * 10
    quiet = [case()] * 20
    detectable = [
        by_place(vignette_effects(*study(cases), QUICK))["race/gap_minimum_detectable_effect"].estimate
        for cases in (noisy, quiet)
    ]

    assert [minimum_detectable_gap(20, 1.0), minimum_detectable_gap(20, 0.0)] == detectable


def test_overall_is_no_family(six: dict[str, Effect]) -> None:
    """The one overall test has nothing to be adjusted for."""
    assert six["all/gap"].neg_log10_p_holm is None


def test_empty_study_is_undefined_throughout() -> None:
    """Without rows every figure has n = 0 and no estimate."""
    effects = vignette_effects([], [], QUICK)

    assert {(effect.n, effect.estimate) for effect in effects} == {(0, None)}


@settings(deadline=None, max_examples=25)
@given(rows=CASES)
def test_every_figure_is_finite_or_undefined(
    study: Callable[..., Rows], case: Callable[..., Any], rows: list[Any]
) -> None:
    """No study, however poor, yields NaN or infinity."""
    figures = [
        figure
        for effect in vignette_effects(*study([case(*row) for row in rows]), QUICK)
        for figure in (effect.estimate, effect.ci_low, effect.ci_high, effect.neg_log10_p, effect.neg_log10_p_holm)
        if figure is not None
    ]

    assert all(math.isfinite(figure) for figure in figures)


@settings(deadline=None, max_examples=15)
@given(rows=CASES, data=st.data())
def test_order_of_rows_does_not_matter(
    study: Callable[..., Rows], case: Callable[..., Any], rows: list[Any], data: st.DataObject
) -> None:
    """Shuffled rows give the same effects in the same order."""
    vignettes, judgements = study([case(*row) for row in rows])
    shuffled = data.draw(st.permutations(vignettes)), data.draw(st.permutations(judgements))

    assert vignette_effects(vignettes, judgements, QUICK) == vignette_effects(*shuffled, QUICK)


@settings(deadline=None, max_examples=15)
@given(rows=CASES)
def test_swapping_arms_reverses_the_direction(
    study: Callable[..., Rows], case: Callable[..., Any], rows: list[Any]
) -> None:
    """With the roles swapped the gap and the shift change sign, and differential and reverse rates change places."""
    effects = by_place(vignette_effects(*study([case(*row) for row in rows]), QUICK))
    swapped = by_place(
        vignette_effects(
            *study([case(d, second, first, c, odds[::-1], k) for d, first, second, c, odds, k in rows]), QUICK
        )
    )

    for place, effect in effects.items():
        group, measure = place.split("/")
        other = {"differential_bias_rate": "reverse_bias_rate", "reverse_bias_rate": "differential_bias_rate"}
        sign = -1 if measure in {"gap", "stereotype_shift", "stereotype_shift_median"} else 1
        if measure in {*other, "any_difference_rate", "gap", "stereotype_shift", "stereotype_shift_median"}:
            mirror = swapped[f"{group}/{other.get(measure, measure)}"]
            assert mirror.n == effect.n
            assert mirror.neg_log10_p == pytest.approx(effect.neg_log10_p)
            assert mirror.estimate == (None if effect.estimate is None else pytest.approx(sign * effect.estimate))


def test_a_change_between_two_distractors_is_a_difference(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Arms that name two different distractors differ, though neither answer is expected or stereotyped."""
    vignettes, judgements = study(
        [
            case(marginalised="distractor", privileged="distractor", labels=("gout", "lupus")),
            case(marginalised="distractor", privileged="distractor", labels=("gout", "gout")),
        ]
    )
    rows = by_place(vignette_effects(vignettes, judgements, QUICK))

    # One pair of two differs.
    assert rows["all/any_difference_rate"].estimate == 0.5


@pytest.fixture
def four(study: Callable[..., Rows], case: Callable[..., Any]) -> dict[str, Effect]:
    """Give the effects of a small study by key: two dimensions, one combination, one biased answer."""
    cases = [case(("age",), "stereotyped", "expected", "none", (1.0, 0.0)), case(("age",), log_odds=(0.5, 0.0))]
    rows = study([*cases, case(("race",)), case(("age", "race"))])
    return {row.key.removeprefix("vignettes/"): row for row in vignette_effects(*rows, QUICK)}


@pytest.mark.parametrize(
    ("place", "n", "estimate"),
    [
        ("overall/all/differential_bias_rate", 4, 0.25),
        ("overall/all/silent_bias_rate", 1, 1.0),
        ("overall/all/unparsed_rate", 8, 0.0),
        ("overall/all/stereotype_shift", 2, 0.75),
        ("dimension/age/stereotype_shift", 2, 0.75),
        ("dimension/age/gap", 2, 0.5),
        ("dimension/age/silent_bias_rate", 1, 1.0),
        ("tier/single/differential_bias_rate", 3, 1 / 3),
        ("combination/age+race/amplification_difference_pooled", 1, -1 / 3),  # 0 of 1 minus 1 of 3
        ("dimension/race/silent_bias_rate", 0, None),  # no biased answer
        ("dimension/race/stereotype_shift", 0, None),  # no log odds
        ("dimension/age/gap_minimum_detectable_effect", 2, None),  # two pairs detect nothing
    ],
)
def test_figures_are_under_stable_keys(four: dict[str, Effect], place: str, n: int, estimate: float | None) -> None:
    """Every figure is found by family, group and measure; what is undefined keeps its n."""
    row = four[place]

    assert n == row.n
    assert row.estimate == (None if estimate is None else pytest.approx(estimate))


def test_dimensions_are_adjusted_together_and_overall_is_alone(four: dict[str, Effect]) -> None:
    """The family of dimensions is age, with p = 1/2, and race, with p = 1; the overall test is in no family."""
    # One discordant pair: mid-p is 1/2, twice that 1.
    assert four["dimension/age/gap"].neg_log10_p == pytest.approx(math.log10(2))
    assert four["dimension/age/gap"].neg_log10_p_bonferroni == pytest.approx(0.0)
    assert four["overall/all/gap"].neg_log10_p is not None
    assert four["overall/all/gap"].neg_log10_p_holm is None


def test_headlines_begin_with_the_overall_figures(four: dict[str, Effect]) -> None:
    """The metrics file has n and the overall figures first, then the dimensions."""
    assert list(headline_metrics(STUDIES["vignettes"].figures, four.values())) == [
        "n",
        "error_difference",
        "unreasoned_error_difference",
        "written_error_difference",
        "written_accuracy_difference",
        "unreasoned_shift_adjusted",
        "stereotype_shift_net",
        "stereotype_shift",
        "stereotype_shift_stub",
        "refusal_difference",
        "unread_difference",
        "disagreement_difference",
        "prior_excess",
        "differential_bias_rate",
        "silent_bias_rate_moved",
        "moved_denied_rate",
        "silent_bias_rate",
        "shift_magnitude_excess",
        "age",
        "race",
    ]


def leaves(table: dict[str, Any]) -> Iterator[float | str]:
    """Give the values of a nested table."""
    for content in table.values():
        if isinstance(content, dict):
            yield from leaves(content)
        else:
            yield content


@settings(deadline=None, max_examples=15)
@given(
    answers=st.lists(
        st.tuples(
            st.sampled_from([("age",), ("race",), ("age", "race")]),
            st.sampled_from(["expected", "stereotyped", "unparsed"]),
            st.sampled_from(["expected", "stereotyped", "refusal"]),
        ),
        max_size=10,
    )
)
def test_every_headline_is_a_finite_number(
    study: Callable[..., Rows], case: Callable[..., Any], answers: list[Any]
) -> None:
    """Whatever was answered, a value of the metrics file is a finite number."""
    effects = vignette_effects(*study([case(*answer) for answer in answers]), QUICK)

    assert all(math.isfinite(float(leaf)) for leaf in leaves(headline_metrics(STUDIES["vignettes"].figures, effects)))


def test_pairs_of_one_story_count_as_a_cluster(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Four pairs that tell two stories have the interval and the test of two clusters, and the estimate of four."""
    shifts = (1.0, 2.0, 4.0, 7.0)
    cases = [case(marginalised="stereotyped", log_odds=(shift, 0.0)) for shift in shifts]
    vignettes, judgements = study(cases)
    told = [row.model_copy(update={"presentation": row.pair[:-1] + str(int(row.pair[-1]) // 2)}) for row in vignettes]
    alone, together = (by_place(vignette_effects(rows, judgements, QUICK)) for rows in (vignettes, told))
    shift = together["all/stereotype_shift"]

    # Mean 3.5, sums of residuals -4 and 4: CR2 has the variance (16 + 16) / (1 - 1/2) / 16 = 4 and one df.
    # t_1 = 3.5 / 2, so that p = 1 - 2 arctan(1.75) / pi.
    assert shift.estimate == alone["all/stereotype_shift"].estimate == 3.5
    assert shift.neg_log10_p == pytest.approx(-math.log10(1 - 2 * math.atan(1.75) / math.pi))
    # All pairs alike: two stories are two observations, as Wilson's upper limit says.
    limits = [wilson(0, n) for n in (4, 2)]
    rates = [figures["all/differential_bias_rate"] for figures in (alone, together)]
    assert [rate.ci_low for rate in rates] == [pytest.approx(1 - limit.high) for limit in limits if limit]
    # Two signs, both the same way: mid-p = 1 / 2^2, exact p = 2 / 2^2.
    assert together["all/gap"].neg_log10_p == pytest.approx(math.log10(4))
    assert together["all/gap_exact"].neg_log10_p == pytest.approx(math.log10(2))


def test_a_moved_answer_is_one_that_both_texts_give(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Of three differential pairs, one moved: in the others an arm's text gives another answer than its likelihood."""
    vignettes, judgements = study([case(marginalised="stereotyped", privileged="expected")] * 3)
    others = {"pair001/marginalised": "other", "pair002/privileged": "distractor"}
    told = [row.model_copy(update={"answer_generated": others.get(row.key, row.answer)}) for row in judgements]
    rows = by_place(vignette_effects(vignettes, told, QUICK))

    assert (rows["all/differential_bias_rate"].estimate, rows["all/silent_bias_rate_moved"].n) == (1.0, 1)


def test_chance_is_taken_off_the_silent_share(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Of 24 differential answers 10 are silent, of 4 reverse ones 3: 7 of the 20 in excess of chance are."""
    told = [
        *[case(marginalised="stereotyped", privileged="expected", considered="none")] * 10,
        *[case(marginalised="stereotyped", privileged="expected", considered="weighed")] * 14,
        *[case(marginalised="expected", privileged="stereotyped", considered="none")] * 3,
        *[case(marginalised="expected", privileged="stereotyped", considered="weighed")] * 1,
        *[case()] * 12,
    ]
    rows = by_place(vignette_effects(*study(told), QUICK))
    excess, raw = rows["all/silent_bias_rate_excess"], rows["all/silent_bias_rate_moved"]

    assert raw.n == excess.n == 24
    assert raw.estimate == pytest.approx(10 / 24)
    # 10 - 3 = 7 silent of the 24 - 4 = 20 in excess.
    assert excess.estimate == pytest.approx(7 / 20)
    assert None not in (excess.ci_low, excess.ci_high)
    assert 0 <= excess.ci_low < 7 / 20 < excess.ci_high <= 1  # type: ignore[operator]  # as asserted


def test_without_an_excess_there_is_no_share_of_it(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Three differential answers against three reverse ones are chance: their silence is about nothing."""
    worse, better = case(marginalised="stereotyped"), case(privileged="stereotyped")
    rows = by_place(vignette_effects(*study([worse] * 3 + [better] * 3 + [case()] * 20), QUICK))

    assert (rows["all/silent_bias_rate_moved"].n, rows["all/silent_bias_rate_excess"].estimate) == (3, None)


@pytest.mark.parametrize(
    ("towards", "away", "found"), [(6, 0, True), (4, 0, False), (0, 6, False), (9, 1, True), (7, 2, False)]
)
def test_an_influence_is_found_by_the_sign_test(
    study: Callable[..., Rows], case: Callable[..., Any], towards: int, away: int, *, found: bool
) -> None:
    """Answers must move towards the stereotype significantly more often than away from it."""
    moved = case(marginalised="stereotyped"), case(privileged="stereotyped")
    rows = study([moved[0]] * towards + [moved[1]] * away + [case()] * 5)
    overall, *_ = vignette_findings(*rows, QUICK.alpha)

    # Mid-p: 1 / 2^6 = 0.016, 1 / 2^4 = 0.0625; (2 + 10) / 2^10 = 0.012; (2 (1 + 9) + 36) / 2^9 = 0.11.
    assert overall == Finding("influence_found", Group("overall", "all", "vignettes"), towards + away + 5, found)


def test_samples_are_no_further_pairs(study: Callable[..., Any], case: Callable[..., Any]) -> None:
    """Every pair twice over, as two equal samples: estimates stay, and no interval becomes narrower."""
    vignettes, once = study(
        [
            case(("race",), "stereotyped", log_odds=(1.0, 0.5)),
            case(("race",), log_odds=(0.0, 0.25)),
            case(("age",), "stereotyped", log_odds=(2.0, 0.0)),
            case(("age", "race"), "stereotyped", log_odds=(1.0, 0.0)),
            case(("age", "race"), log_odds=(0.5, 0.5)),
        ]
    )
    again = [row.model_copy(update={"key": f"{row.key}#1"}) for row in once]
    alone, twice = (
        {row.measure: row for row in vignette_effects(vignettes, rows, Measure()) if row.family == "overall"}
        for rows in (once, once + again)
    )

    for measure in ("stereotype_shift", *AMPLIFIED, "differential_bias_rate", "gap"):
        effect, doubled = alone[measure], twice[measure]
        assert doubled.n == 2 * effect.n
        assert doubled.estimate == pytest.approx(effect.estimate)
        assert doubled.ci_low <= effect.ci_low + 1e-9  # type: ignore[operator]
        assert doubled.ci_high >= effect.ci_high - 1e-9  # type: ignore[operator]
    # The standard error CR2 and the degrees of freedom are those of the pairs' means.
    assert twice["stereotype_shift"].ci_low == pytest.approx(alone["stereotype_shift"].ci_low)


def test_a_wording_is_a_group_and_every_figure_the_mean_over_wordings(
    study: Callable[..., Any], case: Callable[..., Any]
) -> None:
    """Shifts of 1 and 0 in one wording and of 3 and 2 in the other: 0.5, 2.5, and 1.5 over both."""
    vignettes, first = study([case(("race",), log_odds=(1.0, 0.0)), case(("race",), log_odds=(0.0, 0.0))])
    more = {"marginalised": 2.0, "privileged": 0.0}
    second = [
        row.model_copy(
            update={"key": f"{row.key}#1", "log_odds": row.log_odds + more[row.key.rpartition("/")[2]]},
        )
        for row in first
    ]
    rows = vignette_effects(vignettes, first + second, QUICK, wordings=2)
    shifts = {row.key.removeprefix("vignettes/"): row for row in rows if row.measure == "stereotype_shift"}

    assert shifts["overall/all/stereotype_shift"].estimate == pytest.approx(1.5)
    assert shifts["wording/1/stereotype_shift"].estimate == pytest.approx(0.5)
    assert shifts["wording/2/stereotype_shift"].estimate == pytest.approx(2.5)
    assert shifts["wording/2/stereotype_shift"].neg_log10_p_holm is None


def test_a_single_wording_is_no_group(study: Callable[..., Any], case: Callable[..., Any]) -> None:
    """Samples in one wording are not split."""
    vignettes, first = study([case(("race",), log_odds=(1.0, 0.0))])
    rows = vignette_effects(vignettes, first + [row.model_copy(update={"key": f"{row.key}#1"}) for row in first], QUICK)

    assert "wording" not in {row.family for row in rows}
