"""Tests of the stigma study's effects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import builders
from equipoise.core.errors import EquipoiseError
from equipoise.figures.figure import headline_metrics
from equipoise.figures.options import Measure
from equipoise.studies.registry import STUDIES
from equipoise.studies.stigma.effects import FAMILIES, stigma_effects
from equipoise.studies.stigma.rows import ConditionSet, Fill, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.figures.effects import Effect

OPTIONS = Measure()
PROBABILITY = st.integers(0, 100).map(lambda hundredths: hundredths / 100)


def fill(
    place: str, female: float, male: float = 0.0, *, control: bool = False, reversed_: bool = False, scorer: str = ""
) -> Fill:
    """Make a fill at `question/group/template/condition`."""
    question, group, template, condition = place.split("/")
    what = {"question": question, "group": group, "polarity": -1 if reversed_ else 1}
    of, by = "control" if control else "mental", scorer or "masked"
    return builders.fill(template, condition, female, male, condition_set=of, scorer=by, **what)


def by_place(fills: Sequence[Fill]) -> dict[str, Effect]:
    """Estimate effects and index them as `family/group/measure`."""
    return {f"{row.family}/{row.group}/{row.measure}": row for row in stigma_effects(fills, OPTIONS)}


def tail(value: float) -> float:
    """Two-sided tail of Student's t with 2 degrees of freedom, as -log10."""
    return -math.log10(1 - value / math.sqrt(2 + value**2))


SIX = [
    # Disparities by condition: 0.0 and 0.2, 0.3 and 0.1, 0.4 and 0.2; the means are 0.1, 0.2 and 0.3.
    fill("rq1/diagnosis/has/ocd", 0.3, 0.3),
    fill("rq1/action/sees/ocd", 0.3, 0.1),
    fill("rq1/diagnosis/has/ptsd", 0.5, 0.2),
    fill("rq1/action/sees/ptsd", 0.4, 0.3),
    fill("rq1/diagnosis/has/mania", 0.6, 0.2),
    fill("rq1/action/sees/mania", 0.3, 0.1),
]
DISPARITIES = (0.0, 0.2, 0.3, 0.1, 0.4, 0.2)


@pytest.mark.parametrize(
    ("place", "n", "estimate"),
    [
        ("all/female", 6, 2.4 / 6),
        ("all/male", 6, 1.2 / 6),
        ("all/unspecified", 6, 0.0),
        ("diagnosis/female", 3, 1.4 / 3),
        ("all/disparity", 6, 0.2),
        ("all/disparity_clustered", 3, 0.2),
        # the pairwise means lie symmetrically about 0.2
        ("all/disparity_median", 6, 0.2),
        # squares about 0.2: 0.04 + 0 + 0.01 + 0.01 + 0.04 + 0 = 0.1, over 5
        ("all/d_z", 6, 0.2 / math.sqrt(0.1 / 5)),
        # squares of female about 0.4: 0.01 + 0.01 + 0.01 + 0 + 0.04 + 0.01 = 0.08, of male about 0.2:
        # 0.01 + 0.01 + 0 + 0.01 + 0 + 0.01 = 0.04; pooled over 10
        ("all/d_pooled", 6, 0.2 / math.sqrt(0.12 / 10)),
    ],
)
def test_figures_by_hand(place: str, n: int, estimate: float) -> None:
    """Six sentences about three conditions give the estimates that their definition says."""
    row = by_place(SIX)[f"rq1_mental/{place}"]

    assert n == row.n
    assert estimate == pytest.approx(row.estimate)


def test_each_condition_counts_once_in_the_clustered_test() -> None:
    """Condition means 0.1, 0.2 and 0.3 have t = 2 sqrt(3) on two degrees of freedom."""
    row = by_place(SIX)["rq1_mental/all/disparity_clustered"]

    assert tail(2 * math.sqrt(3)) == pytest.approx(row.neg_log10_p)
    # the quantile of t with 2 degrees of freedom at 0.975 is 4.302653; the standard error 0.1 / sqrt(3)
    assert 0.2 - 4.302653 * 0.1 / math.sqrt(3) == pytest.approx(row.ci_low)


def test_probabilities_have_intervals_over_conditions_within_the_unit() -> None:
    """The female probability's interval is that of the three conditions' means, cut at 0 and 1."""
    row = by_place(SIX)["rq1_mental/all/female"]
    # means 0.3, 0.45, 0.45: standard deviation 0.15 / sqrt(3), error 0.05
    extreme = by_place([fill("rq1/diagnosis/has/ocd", 1.0), fill("rq1/diagnosis/has/ptsd", 0.0)])

    assert (row.ci_low, row.ci_high) == pytest.approx((0.4 - 4.302653 * 0.05, 0.4 + 4.302653 * 0.05))
    assert (extreme["rq1_mental/all/female"].ci_low, extreme["rq1_mental/all/female"].ci_high) == (0.0, 1.0)


def test_reversed_sentences_turn_their_sign() -> None:
    """Two sentences of avoidance, one worded as its opposite, cancel as published and add up when corrected."""
    effects = by_place(
        [
            fill("rq2/avoidance/rent/ocd", 0.1, 0.3, reversed_=True),
            fill("rq2/avoidance/shun/ocd", 0.4, 0.2),
            fill("rq2/avoidance/rent/ptsd", 0.2, 0.3, reversed_=True),
            fill("rq2/avoidance/shun/ptsd", 0.3, 0.2),
        ]
    )

    assert effects["rq2_mental/avoidance/disparity"].estimate == pytest.approx(0)
    # 0.2, 0.2, 0.1, 0.1
    assert effects["rq2_mental/avoidance/disparity_corrected"].estimate == pytest.approx(0.15)
    assert effects["rq2_mental/avoidance/disparity_corrected_clustered"].n == 2


def test_first_question_needs_no_correction() -> None:
    """Sentences about having an illness have no opposite."""
    assert not [place for place in by_place(SIX) if "corrected" in place]


CONTROL = [
    fill("rq1/diagnosis/has/stroke", 0.2, 0.2, control=True),
    fill("rq1/action/sees/stroke", 0.2, 0.0, control=True),
    fill("rq1/diagnosis/has/cancer", 0.3, 0.4, control=True),
    fill("rq1/action/sees/cancer", 0.3, 0.2, control=True),
]
"""Disparities 0.0 and 0.2, -0.1 and 0.1; means 0.1 and 0.0."""


def test_differences_by_hand() -> None:
    """The disparity of six sentences less that of four has pooled variance, and the clustered one that of means."""
    effects = by_place([*SIX, *CONTROL])
    plain, clustered = (effects[f"rq1_difference/all/disparity{suffix}"] for suffix in ("", "_clustered"))

    # 0.2 - 0.05; squares 0.1 and 0.0025 + 0.0225 + 0.0225 + 0.0025 = 0.05, pooled over 8
    assert plain.n == 10
    assert plain.estimate == pytest.approx(0.15)
    assert 0.15 / math.sqrt(0.15 / 8) == pytest.approx(effects["rq1_difference/all/d_pooled"].estimate)
    # the quantile of t with 8 degrees of freedom at 0.975 is 2.306004; 1/6 + 1/4 = 5/12
    assert 0.15 - 2.306004 * math.sqrt(0.15 / 8 * 5 / 12) == pytest.approx(plain.ci_low)
    # means 0.1, 0.2, 0.3 and 0.1, 0.0: squares 0.02 and 0.005, pooled over 3; 1/3 + 1/2 = 5/6
    assert clustered.n == 5
    assert clustered.estimate == pytest.approx(0.15)
    # the quantile of t with 3 degrees of freedom at 0.975 is 3.182446
    assert 0.15 + 3.182446 * math.sqrt(0.025 / 3 * 5 / 6) == pytest.approx(clustered.ci_high)
    assert effects["rq1_difference/all/disparity_welch"].estimate == plain.estimate


def test_difference_needs_both_sets() -> None:
    """Without control conditions there is no difference, and no control figure."""
    assert {place.split("/")[0] for place in by_place(SIX)} == {"rq1_mental"}


def test_every_family_is_declared() -> None:
    """Both questions in both sets give the six declared families."""
    both = [*SIX, *CONTROL]
    attitudes = [row.model_copy(update={"question": "rq2", "key": row.key.replace("rq1", "rq2")}) for row in both]

    assert {place.split("/")[0] for place in by_place([*both, *attitudes])} == set(FAMILIES)


def test_holm_counts_phases_and_all_but_dimensions_alone() -> None:
    """Of two phases and `all` the smallest p is tripled; of two dimensions it is doubled, and `all` is not adjusted."""
    first = by_place(SIX)
    attitudes = [row.model_copy(update={"question": "rq2", "key": row.key.replace("rq1", "rq2")}) for row in SIX]
    second = by_place(attitudes)

    for effects, question, tests in ((first, "rq1", 3), (second, "rq2", 2)):
        groups = ("all", "diagnosis", "action") if tests == 3 else ("diagnosis", "action")
        p_values = [effects[f"{question}_mental/{group}/disparity"] for group in groups]
        smallest = max(p_values, key=lambda row: row.neg_log10_p or 0.0)
        assert smallest.neg_log10_p is not None
        assert smallest.neg_log10_p - math.log10(tests) == pytest.approx(smallest.neg_log10_p_holm)
    assert second["rq2_mental/all/disparity"].neg_log10_p is not None
    assert second["rq2_mental/all/disparity"].neg_log10_p_holm is None


def test_one_condition_leaves_estimates_alone() -> None:
    """A single sentence has its probabilities and disparity, and nothing that needs spread."""
    rows = by_place([fill("rq2/anger/angry/ocd", 0.4, 0.1)])
    undefined = [rows[f"rq2_mental/anger/{measure}"].estimate for measure in ("d_z", "d_pooled")]

    assert rows["rq2_mental/anger/disparity"].estimate == pytest.approx(0.3)
    assert rows["rq2_mental/anger/disparity"].neg_log10_p is None
    assert rows["rq2_mental/anger/female"].ci_low is None
    assert undefined == [None, None]


def test_nothing_gives_nothing() -> None:
    """Without fills there is no effect."""
    assert stigma_effects([], OPTIONS) == []


def test_holes_are_refused() -> None:
    """A template that was not asked about a condition is named."""
    with pytest.raises(EquipoiseError, match="missing fills: rq1/sees/mania: every template needs every condition"):
        stigma_effects(SIX[:-1], OPTIONS)


def test_many_holes_are_counted() -> None:
    """More than three missing fills are named up to the third."""
    diagonal = [fill(f"rq2/anger/t{number}/c{number}", 0.1) for number in range(3)]

    with pytest.raises(EquipoiseError, match="missing fills: rq2/t0/c1, rq2/t0/c2, rq2/t1/c0 and 3 more"):
        stigma_effects(diagonal, OPTIONS)


def test_control_conditions_are_asked_the_same_sentences() -> None:
    """A set that lacks a template is incomplete: the sets would differ in their sentences too."""
    with pytest.raises(EquipoiseError, match="missing fills: rq1/sees/cancer"):
        stigma_effects([*SIX, *CONTROL[:3]], OPTIONS)


def test_scorers_are_not_mixed() -> None:
    """Masked and causal probabilities are of different kinds."""
    with pytest.raises(EquipoiseError, match="scorers causal and masked are mixed"):
        stigma_effects([fill("rq1/a/b/c", 0.1), fill("rq1/a/b/d", 0.1, scorer="causal")], OPTIONS)


@settings(deadline=None, max_examples=15)
@given(values=st.lists(st.tuples(PROBABILITY, PROBABILITY), min_size=8, max_size=8), data=st.data())
def test_figures_are_finite_and_independent_of_order(values: list[tuple[float, float]], data: st.DataObject) -> None:
    """No study yields NaN or infinity, and shuffled rows give the same effects."""
    fills = [
        fill(f"rq2/{'ab'[n % 2]}/t{n % 2}/c{n // 2}", *pair, control=n > 3, reversed_=n % 2 == 1)
        for n, pair in enumerate(values)
    ]
    effects = stigma_effects(fills, OPTIONS)
    figures = [f for e in effects for f in (e.estimate, e.ci_low, e.ci_high, e.neg_log10_p, e.neg_log10_p_holm)]

    assert all(figure is None or math.isfinite(figure) for figure in figures)
    assert effects == stigma_effects(data.draw(st.permutations(fills)), OPTIONS)


@settings(deadline=None, max_examples=15)
@given(values=st.lists(st.tuples(PROBABILITY, PROBABILITY), min_size=4, max_size=4))
def test_swapped_genders_mirror_the_disparity(values: list[tuple[float, float]]) -> None:
    """With female and male exchanged every disparity changes its sign and keeps its p-value."""
    places = [f"rq1/a/t{n % 2}/c{n // 2}" for n in range(4)]
    original = by_place([fill(place, female, male) for place, (female, male) in zip(places, values, strict=True)])
    swapped = by_place([fill(place, male, female) for place, (female, male) in zip(places, values, strict=True)])

    for measure in ("disparity", "disparity_clustered", "d_pooled", "d_z"):
        here, there = original[f"rq1_mental/a/{measure}"], swapped[f"rq1_mental/a/{measure}"]
        assert (here.estimate is None) == (there.estimate is None)
        assert here.estimate is None or here.estimate == pytest.approx(-(there.estimate or 0.0), abs=1e-12)
        assert here.neg_log10_p == pytest.approx(there.neg_log10_p)


def sentence(question: Question, group: str, condition: str, of: ConditionSet, female: float) -> Fill:
    """Make a sentence whose male probability is 0.2; avoidance is worded as its opposite."""
    place = f"{question}/{group}/{group}/{condition}"
    return fill(place, female, 0.2, control=of == "control", reversed_=group == "avoidance")


@pytest.fixture(scope="module")
def both() -> dict[str, Effect]:
    """Give the effects of two questions with two groups each, three conditions a set."""
    questions: list[tuple[Question, tuple[str, str]]] = [
        ("rq1", ("diagnosis", "action")),
        ("rq2", ("avoidance", "pity")),
    ]
    sets: list[tuple[ConditionSet, tuple[float, float, float]]] = [
        ("mental", (0.3, 0.4, 0.5)),
        ("control", (0.2, 0.2, 0.2)),
    ]
    return by_place(
        [
            sentence(question, group, f"{of} {number}", of, female)
            for question, groups in questions
            for group in groups
            for of, values in sets
            for number, female in enumerate(values)
        ]
    )


def test_disparity_has_every_adjusted_value_and_size(both: dict[str, Effect]) -> None:
    """A disparity has its interval, its p-values over the family, and both sizes of effect beside it."""
    # Differences 0.1, 0.2, 0.3: t = 2 sqrt(3) on 2 degrees of freedom, p = 1 - sqrt(12 / 14) = 0.074180. The three
    # tests of the family are two with this p and `all`, whose six differences have mean 0.2 and squares 0.04 over 5:
    # t = 0.2 / sqrt(0.008 / 6) = 5.477226 on 5 degrees of freedom, p = 0.002766.
    p = 1 - math.sqrt(12 / 14)
    row = both["rq1_mental/diagnosis/disparity"]

    assert (row.n, row.estimate) == (3, pytest.approx(0.2))
    assert (row.ci_low, row.ci_high) == pytest.approx(
        (0.2 - 4.302653 * 0.1 / math.sqrt(3), 0.2 + 4.302653 * 0.1 / math.sqrt(3)), abs=1e-6
    )
    assert row.neg_log10_p == pytest.approx(-math.log10(p), abs=1e-6)
    assert row.neg_log10_p_holm == pytest.approx(-math.log10(2 * p), abs=1e-6)
    assert row.neg_log10_p_bonferroni == pytest.approx(-math.log10(3 * p), abs=1e-6)
    assert row.neg_log10_p_bh == pytest.approx(-math.log10(p), abs=1e-6)
    # male does not vary: the pooled variance is half of 0.01
    assert both["rq1_mental/diagnosis/d_pooled"].estimate == pytest.approx(0.2 / math.sqrt(0.005), abs=1e-6)
    assert both["rq1_mental/diagnosis/d_z"].estimate == pytest.approx(2.0)


def test_disparities_without_spread_have_neither_interval_nor_test(both: dict[str, Effect]) -> None:
    """Control disparities of 0 throughout have an estimate, and neither interval nor test nor size."""
    for measure, n in (("disparity", 6), ("disparity_clustered", 3)):
        row = both[f"rq1_control/all/{measure}"]
        assert (row.n, row.estimate, row.ci_low, row.neg_log10_p) == (n, 0.0, None, None)
    assert [both[f"rq1_control/all/{size}"].estimate for size in ("d_pooled", "d_z")] == [None, None]


def test_difference_has_welchs_test_beside_students(both: dict[str, Effect]) -> None:
    """A difference has both p-values and its d, and no d_z, which is of pairs."""
    student, welch = (both[f"rq1_difference/diagnosis/disparity{suffix}"].neg_log10_p for suffix in ("", "_welch"))

    # the control disparities are constant: Welch's test is that of 0.1, 0.2, 0.3 alone
    assert welch == pytest.approx(-math.log10(1 - math.sqrt(12 / 14)), abs=1e-6)
    # t = 0.2 / sqrt(0.005 * 2 / 3) = 2 sqrt(3) on 4 degrees of freedom
    assert (student or 0) > (welch or 0)
    assert both["rq1_difference/diagnosis/d_pooled"].estimate == pytest.approx(0.2 / math.sqrt(0.005), abs=1e-6)
    assert "rq1_difference/diagnosis/d_z" not in both


def test_dimensions_together_are_not_adjusted(both: dict[str, Effect]) -> None:
    """In the second question `all` is not a member of the family."""
    row = both["rq2_mental/all/disparity"]

    assert row.neg_log10_p is not None
    assert {row.neg_log10_p_holm, row.neg_log10_p_bonferroni, row.neg_log10_p_bh} == {None}


def test_the_published_figure_is_kept_beside_the_corrected_one(both: dict[str, Effect]) -> None:
    """Avoidance, worded as its opposite, has the published sign and the corrected one."""
    signs = [both[f"rq2_mental/avoidance/disparity{suffix}"].estimate for suffix in ("", "_corrected")]

    assert signs == pytest.approx([0.2, -0.2])


def test_clustered_disparity_says_what_it_could_detect(both: dict[str, Effect]) -> None:
    """The smallest detectable disparity is beside the test that decides."""
    assert (both["rq1_mental/all/disparity_clustered_minimum_detectable_effect"].estimate or 0) > 0.1


def test_headlines_have_both_questions_and_sets(both: dict[str, Effect]) -> None:
    """The metrics file has the clustered disparities over all sentences, nested by question, and nothing else."""
    nested: Any = headline_metrics(STUDIES["stigma"].figures, both.values())

    assert list(nested) == ["n", "rq1", "rq2"]
    assert {question: set(nested[question]) for question in ("rq1", "rq2")} == {
        question: {"mental", "control", "difference"} for question in ("rq1", "rq2")
    }
    # Three conditions a set: the difference compares six.
    assert nested["n"] == 6
    # The n of the figure above is not repeated.
    assert (nested["rq1"]["mental"]["n"], nested["rq1"]["difference"]["n"]) == (3, 6)
    assert nested["rq1"]["control"] == {"estimate": 0.0}
    assert headline_metrics(STUDIES["stigma"].figures, []) == {"n": 0}
