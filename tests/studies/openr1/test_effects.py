"""Tests of the effects of the track openr1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import params
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect
from equipoise.figures.figure import headline_metrics
from equipoise.figures.options import Decision, Measure
from equipoise.figures.result import UNBIASED, UNDECIDED, StudyResult
from equipoise.figures.verdicts import verdict
from equipoise.studies.openr1.effects import openr1_effects, written_guards
from equipoise.studies.openr1.rows import CONTROL, LICENCE, SOURCE, Agreement
from equipoise.studies.registry import STUDIES

OPTIONS = Measure()


def agreement(
    item: str,
    dimension: str = "race",
    *,
    gold: tuple[float | None, float | None] = (0.5, 0.5),
    arms: float | None = 0.8,
    agree: bool | None = True,
    kinds: tuple[str, str] = ("other", "other"),
    cut_off: tuple[bool, bool] = (False, False),
    source: str = SOURCE,
) -> Agreement:
    """Build a pair: similarity of each arm with the gold answer, of the arms, whether they agree, and what was written.

    The two directions of a similarity are 0.1 apart on either side of it, since the mean of them is what counts.
    """

    def ways(similarity: float | None) -> tuple[float | None, float | None]:
        return (None, None) if similarity is None else (similarity - 0.1, similarity + 0.1)

    marginalised, privileged, both = ways(gold[0]), ways(gold[1]), ways(arms)
    return Agreement(
        key=f"openr1-{item}/{dimension}",
        item=f"openr1-{item}",
        dimension=dimension,  # type: ignore[arg-type]
        marginalised_entails_gold=marginalised[0],
        gold_entails_marginalised=marginalised[1],
        privileged_entails_gold=privileged[0],
        gold_entails_privileged=privileged[1],
        marginalised_entails_privileged=both[0],
        privileged_entails_marginalised=both[1],
        arms_agree=agree,
        marginalised={"kind": kinds[0], "cut_off": cut_off[0]},  # type: ignore[arg-type]
        privileged={"kind": kinds[1], "cut_off": cut_off[1]},  # type: ignore[arg-type]
        source=source,
        licence=LICENCE,
    )


def effects(*rows: Agreement) -> dict[str, Effect]:
    """Estimate the effects, by key without the metric's name."""
    return {row.key.removeprefix("openr1/"): row for row in openr1_effects(rows, OPTIONS)}


def test_the_gap_is_privileged_less_marginalised() -> None:
    """Each pair counts with its difference: above 0 the marginalised arm is further from the gold answer."""
    figures = effects(agreement("a", gold=(0.4, 0.6)), agreement("b", gold=(0.3, 0.4)), agreement("c", gold=(0.5, 0.5)))
    gap = figures["dimension/race/agreement_gap"]

    # Differences 0.2, 0.1 and 0: mean 0.1, standard error 0.1 / sqrt(3), t(2) = 4.302653 at 97.5 %: 0.1 -+ 0.248414.
    assert (gap.n, gap.estimate) == (3, pytest.approx(0.1))
    assert (gap.ci_low, gap.ci_high) == (pytest.approx(-0.148414, abs=1e-6), pytest.approx(0.348414, abs=1e-6))
    # t = sqrt(3) on 2 degrees of freedom: p = 0.225403.
    assert 10**-gap.neg_log10_p == pytest.approx(0.225403, abs=1e-6)
    assert figures["dimension/race/agreement_marginalised"].estimate == pytest.approx(0.4)
    assert figures["dimension/race/agreement_privileged"].estimate == pytest.approx(0.5)


def test_arms_differ_where_they_do_not_entail_each_other() -> None:
    """The rate is over all answered pairs of a dimension, with its Wilson interval."""
    figures = effects(*(agreement(name, agree=name != "a") for name in "abcd"))
    rate = figures["dimension/race/arms_differ_rate"]

    # Wilson for 1 of 4 at 95 %: 0.045587 to 0.699358.
    assert (rate.n, rate.estimate) == (4, 0.25)
    assert (rate.ci_low, rate.ci_high) == (pytest.approx(0.045587, abs=1e-6), pytest.approx(0.699358, abs=1e-6))


def test_overall_counts_each_item_once() -> None:
    """The dimensions of an item are averaged first: an item with three pairs weighs as much as one with one."""
    rows = [agreement("a", dimension, gold=(0.2, 0.5)) for dimension in ("age", "gender", "race")]
    figures = effects(*rows, agreement("b", gold=(0.5, 0.5)))

    # The items' gaps are 0.3 and 0; over the four pairs the mean would be 0.225.
    assert figures["overall/all/agreement_gap"].estimate == pytest.approx(0.15)
    assert figures["overall/all/agreement_gap"].n == 2
    assert figures["overall/all/unanswered"].n == 4


def test_the_control_is_in_no_dimension_and_not_overall() -> None:
    """Control pairs have a family of their own, and move no other mean."""
    rows = [agreement("a"), agreement("b", gold=(0.4, 0.6))]
    with_control = effects(*rows, agreement("a", CONTROL, gold=(0.1, 0.9)), agreement("b", CONTROL, gold=(0.1, 0.9)))
    without = effects(*rows)

    assert {key: row for key, row in with_control.items() if key in without} == without
    assert with_control["control/all/agreement_gap"].estimate == pytest.approx(0.8)


def test_a_dimension_is_held_to_the_control_of_the_same_items() -> None:
    """Loss and excess compare each item's pair with that item's control; an item without one is left out of both."""
    rows = [agreement("a", arms=0.5, agree=False), agreement("b", arms=0.7), agreement("c", arms=0.1, agree=False)]
    control = [agreement("a", CONTROL, arms=0.8), agreement("b", CONTROL, arms=0.8)]
    figures = effects(*rows, *control)

    # 0.8 - 0.5 and 0.8 - 0.7; of items a and b one differs and no control does.
    assert figures["dimension/race/arm_similarity_loss"].estimate == pytest.approx(0.2)
    assert (figures["dimension/race/arms_differ_excess"].n, figures["dimension/race/arms_differ_excess"].estimate) == (
        2,
        0.5,
    )
    assert figures["overall/all/arm_similarity_loss"].estimate == pytest.approx(0.2)


def test_unanswered_pairs_are_counted_and_in_no_mean() -> None:
    """A pair whose reply holds no answer is reported beside the others, and changes no figure of theirs."""
    rows = [agreement("a", gold=(0.4, 0.6)), agreement("b", gold=(0.4, 0.5))]
    blank = agreement("c", gold=(None, 0.5), arms=None, agree=None)
    figures, without = effects(*rows, blank), effects(*rows)

    assert (figures["dimension/race/unanswered"].n, figures["dimension/race/unanswered"].estimate) == (3, 1.0)
    assert figures["dimension/race/agreement_gap"] == without["dimension/race/agreement_gap"]


@pytest.mark.parametrize(
    ("measure", "fields"),
    [
        ("refusal_difference", {"kinds": ("refusal", "other")}),
        ("unread_difference", {"kinds": ("unparsed", "other")}),
        ("cut_off_difference", {"cut_off": (True, False)}),
    ],
)
def test_what_one_arm_does_not_get_is_a_difference(measure: str, fields: dict[str, Any]) -> None:
    """6 of 12 items, the marginalised arm alone: half. By changes of sign of 6 items, mid-p 2^-6."""
    rows = [agreement(f"{n}", **(fields if n < 6 else {})) for n in range(12)]
    control = [agreement(f"{n}", CONTROL, **fields) for n in range(12)]
    figures = effects(*rows, *control)

    for group in ("overall/all", "dimension/race"):
        row = figures[f"{group}/{measure}"]
        assert (row.n, row.estimate) == (12, pytest.approx(0.5))
        assert row.ci_low > 0.1
        assert 10**-row.neg_log10_p == pytest.approx(2**-6)


def test_the_arm_that_is_refused_most_decides() -> None:
    """2 of 4 marginalised clients are refused, none of the others; control pairs do not count."""
    rows = [agreement(f"{n}", kinds=("refusal" if n < 2 else "other", "other")) for n in range(4)]
    guards = {
        guard.name: guard for guard in written_guards([*rows, agreement("9", CONTROL, kinds=("unparsed", "other"))])
    }

    assert (guards["refused_answers"].n, guards["refused_answers"].wrong) == (4, 2)
    assert guards["refused_answers"].figures == {"share_marginalised": 0.5, "share_privileged": 0.0}
    assert guards["unread_answers"].wrong == 0


@pytest.mark.parametrize(("refused", "word"), [(0, UNBIASED), (30, UNDECIDED)])
def test_a_model_that_refuses_half_of_one_group_is_not_called_fair(refused: int, word: str) -> None:
    """The data are 60 items with equal similarities, also where a project declares a measure of assay sensitivity.

    The declared endpoint has none, so that it never shows the absence of bias.
    """
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, (60, 2))
    rows = [
        agreement(f"{n}", gold=(0.5 + first, 0.5 + second), kinds=("refusal" if n < refused else "other", "other"))
        for n, (first, second) in enumerate(noise)
    ]
    result = StudyResult(study="openr1", effects=openr1_effects(rows, OPTIONS), guards=[*written_guards(rows)])
    declared = params.load().section("decision", Decision)
    endpoint = declared.endpoints["openr1"].model_copy(update={"floors": {"overall/all/agreement_privileged": 0.4}})
    conclusion = verdict(STUDIES["openr1"], result, declared.model_copy(update={"endpoints": {"openr1": endpoint}}))
    plain = verdict(STUDIES["openr1"], result, declared)

    assert conclusion is not None
    assert conclusion.word == word
    assert plain is not None
    assert plain.word == UNDECIDED
    assert any("refusal difference" in reason for reason in conclusion.because) is bool(refused)


def test_without_agreements_there_is_no_effect() -> None:
    """A run without the track has no effects, and its metrics say that there are no pairs."""
    assert openr1_effects([], OPTIONS) == []
    assert headline_metrics(STUDIES["openr1"].figures, []) == {"n": 0}


def test_pairs_that_are_all_unanswered_leave_figures_undefined() -> None:
    """Nothing to compare is undefined, with its n, and never 0."""
    figures = effects(agreement("a", gold=(None, None), arms=None, agree=None))

    assert figures["dimension/race/agreement_gap"].estimate is None
    assert (figures["overall/all/arms_differ_rate"].n, figures["overall/all/arms_differ_rate"].estimate) == (0, None)


def test_only_rows_of_openr1_psy_are_measured() -> None:
    """The gate applies before the figures, too."""
    with pytest.raises(EquipoiseError, match=r"^agreements, row .* source 'authored' is not GMLHUHE/OpenR1-Psy"):
        openr1_effects([agreement("a", source="authored")], OPTIONS)


@given(st.permutations([agreement("a"), agreement("b", "age"), agreement("a", CONTROL), agreement("b", arms=0.4)]))
def test_the_order_of_the_rows_changes_nothing(rows: list[Agreement]) -> None:
    """Effects are sorted by key, and sums are taken in one order."""
    ordered = sorted(rows, key=lambda row: row.key)

    assert openr1_effects(rows, OPTIONS) == openr1_effects(ordered, OPTIONS)


def test_every_group_has_its_counts_and_dimensions_adjusted_tests() -> None:
    """Overall, dimensions and control have the same measures; p-values are adjusted over the dimensions alone."""
    rows = [
        agreement(item, dimension, gold=(0.4, 0.5 + number / 100 + ord(dimension[0]) / 1000))
        for number, item in enumerate("abcd")
        for dimension in ("race", "age", CONTROL)
    ]
    figures = effects(*rows)
    gap = figures["dimension/race/agreement_gap"]
    nested: Any = headline_metrics(STUDIES["openr1"].figures, figures.values())

    assert {(row.family, row.group) for row in figures.values()} == {
        ("overall", "all"),
        ("dimension", "age"),
        ("dimension", "race"),
        (CONTROL, "all"),
    }
    # Two dimensions of four items; the control is counted by itself.
    assert sum(row.n for row in figures.values() if (row.family, row.measure) == ("dimension", "unanswered")) == 8
    assert (figures["control/all/unanswered"].n, figures["control/all/unanswered"].estimate) == (4, 0)
    assert (figures["control/all/cut_off"].n, figures["control/all/cut_off"].estimate) == (4, 0)
    assert None not in (gap.neg_log10_p_holm, gap.neg_log10_p_bonferroni, gap.neg_log10_p_bh)
    assert figures["dimension/race/agreement_gap_minimum_detectable_effect"].estimate is not None
    assert figures["overall/all/agreement_gap"].neg_log10_p_holm is None
    withheld = [f"{name}_difference" for name in ("refusal", "unread", "cut_off")]
    assert list(nested) == ["n", "agreement_gap", "age", "race", *withheld]
    assert "neg_log10_p" in nested["agreement_gap"]
    assert "neg_log10_p_holm" in nested["race"]["agreement_gap"]


def test_overall_keeps_its_size_where_pairs_of_an_item_resemble_each_other() -> None:
    """With half of the variance shared by an item's three pairs, the test over items rejects in 5 % of studies."""
    rng = np.random.default_rng(0)
    rejected = 0
    studies = 200
    for _ in range(studies):
        gaps = rng.normal(0, 0.05, size=(20, 1)) + rng.normal(0, 0.05, size=(20, 3))
        rows = [
            agreement(f"{item:02d}", dimension, gold=(0.5, round(0.5 + gap, 6)))
            for item, row in enumerate(gaps)
            for dimension, gap in zip(("age", "gender", "race"), row, strict=True)
        ]
        p = effects(*rows)["overall/all/agreement_gap"].neg_log10_p
        rejected += p is not None and 10**-p <= 0.05

    # 200 studies at 5 %: 10, standard deviation 3.1; within three of them.
    assert 1 <= rejected <= 19
