"""Tests of the closed form over partitions, and of the seeded draw."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.errors import EquipoiseError
from equipoise.stats.quantities import PairedCells
from equipoise.studies.questions.partition import (
    Moments,
    city_accuracy,
    consistency_ratio,
    reference_size,
    seeded_split,
)

QUESTIONS = st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=8)
"""Right about M, right about m, consistent about M, consistent about m."""


def over_all_partitions(
    questions: list[tuple[bool, bool, bool, bool]], n_reference: int
) -> tuple[list[float], list[float | None]]:
    """Give city accuracy and consistency ratio of every partition, by their definitions; None where undefined."""
    n = len(questions)
    accuracies: list[float] = []
    ratios: list[float | None] = []
    for drawn in combinations(range(n), n_reference):
        reference = [questions[place] for place in drawn]
        other = [questions[place] for place in range(n) if place not in drawn]
        accuracies.append((sum(q[0] for q in reference) + sum(q[1] for q in other)) / n)
        kept_reference, kept_other = sum(q[2] for q in reference), sum(q[3] for q in other)
        defined = reference and other and kept_other
        ratios.append((kept_reference / len(reference)) / (kept_other / len(other)) if defined else None)
    return accuracies, ratios


@pytest.mark.parametrize(
    ("proportion", "n", "expected"),
    [
        (0.5, 801, 400),  # 400.5: to even, so down
        (0.5, 803, 402),  # 401.5: to even, so up
        (0.8, 801, 641),  # 640.8
        (0.6, 801, 481),  # 480.6
        (0.4, 801, 320),  # 320.4
        (0.9, 801, 721),  # 720.9
        (0.5, 1, 0),
        (0.9, 10, 9),
        (0, 10, 0),
        (1, 10, 10),
    ],
)
def test_half_a_question_goes_to_the_even_number(proportion: float, n: int, expected: int) -> None:
    """The reference group's size is the rounded product, a half to the even neighbour."""
    assert expected == reference_size(proportion, n)


def test_city_accuracy_by_hand() -> None:
    """Three questions, one asked about M: the three partitions are written out."""
    # right about M 1, 1, 0; about m 0, 1, 1. M gets the first: 1 + 1 + 1 = 3; the second: 0 + 1 + 1 = 2; the third:
    # 0 + 1 + 0 = 1. So accuracies 1, 2/3, 1/3: mean 2/3, variance 2 (1/3)^2 / 3 = 2/27.
    accuracy = city_accuracy([1, 1, 0], [0, 1, 1], 1)

    assert (accuracy.mean, accuracy.sd, accuracy.undefined) == (
        pytest.approx(2 / 3),
        pytest.approx(math.sqrt(2 / 27)),
        0,
    )


def test_consistency_ratio_by_hand() -> None:
    """Three questions, one asked about M: the ratio takes three values, one of them undefined."""
    # consistent about M 1, 1, 0; about m 1, 0, 0: cells n11 = 1, n10 = 1, n00 = 1. M gets the first: C_M = 1, C_m = 0:
    # undefined. The second: 1 / (1/2) = 2. The third: 0 / (1/2) = 0. So mean 1, sd 1 where defined, undefined in 1/3.
    ratio = consistency_ratio(PairedCells(both=1, only_first=1, only_second=0, neither=1), 1)

    assert (ratio.mean, ratio.sd, ratio.undefined) == (pytest.approx(1), pytest.approx(1), pytest.approx(1 / 3))


@given(questions=QUESTIONS, data=st.data())
def test_closed_form_is_the_full_enumeration(
    questions: list[tuple[bool, bool, bool, bool]], data: st.DataObject
) -> None:
    """For up to eight questions mean, sd and the probability of no ratio are those over all partitions."""
    n_reference = data.draw(st.integers(0, len(questions)))
    accuracies, ratios = over_all_partitions(questions, n_reference)
    defined = [ratio for ratio in ratios if ratio is not None]

    accuracy = city_accuracy([q[0] for q in questions], [q[1] for q in questions], n_reference)
    consistency = consistency_ratio(PairedCells.count((q[2], q[3]) for q in questions), n_reference)

    assert (accuracy.mean, accuracy.sd) == pytest.approx((np.mean(accuracies), np.std(accuracies)), abs=1e-9)
    assert consistency.undefined == pytest.approx(1 - len(defined) / len(ratios), abs=1e-12)
    if defined:
        # The square root of a variance of rounding noise is far larger than the noise.
        assert (consistency.mean, consistency.sd) == pytest.approx((np.mean(defined), np.std(defined)), abs=1e-7)
    else:
        assert (consistency.mean, consistency.sd) == (None, None)


def test_closed_form_agrees_with_simulated_draws() -> None:
    """Mean and sd over 4,000 seeded draws of 200 questions are the closed form's, within Monte Carlo error."""
    rng = np.random.default_rng(11)
    right = rng.random((200, 2)) < (0.9, 0.7)
    kept = rng.random((200, 2)) < (0.8, 0.3)
    ids = [f"{number:03d}" for number in range(200)]
    accuracies, ratios = [], []
    for seed in range(4000):
        drawn = np.isin(ids, seeded_split(ids, 160, seed)[0])
        accuracies.append((right[drawn, 0].sum() + right[~drawn, 1].sum()) / 200)
        ratios.append(kept[drawn, 0].mean() / kept[~drawn, 1].mean())

    for draws, exact in (
        (accuracies, city_accuracy(right[:, 0].tolist(), right[:, 1].tolist(), 160)),
        (ratios, consistency_ratio(PairedCells.count(map(tuple, kept.tolist())), 160)),
    ):
        assert exact.mean is not None
        assert exact.sd is not None
        # Four standard errors of a mean; the sd of 4,000 draws has one of 1.1 % where draws are normal, and the ratio,
        # whose denominator varies, has heavier tails.
        assert exact.mean == pytest.approx(np.mean(draws), abs=4 * exact.sd / math.sqrt(4000))
        assert exact.sd == pytest.approx(np.std(draws), rel=0.1)


def test_ten_thousand_questions_agree_with_the_normal_limit() -> None:
    """With 10,000 questions the exact mean and sd are the delta method's, and no partition lacks the ratio."""
    cells = PairedCells(both=6000, only_first=2000, only_second=1000, neither=1000)
    ratio = consistency_ratio(cells, 5000)

    # ln C_M - ln C_m is linear in the sum over M of z = x / (5000 * 0.8) + y / (5000 * 0.7); its variance is
    # n_M (1 - n_M / N) S_z^2, and Var(R) is R^2 times that up to terms of order 1 / N.
    z = np.repeat([1 / 4000 + 1 / 3500, 1 / 4000, 1 / 3500, 0], [6000, 2000, 1000, 1000])
    sd = 8 / 7 * math.sqrt(2500 * np.var(z, ddof=1))
    assert (ratio.mean, ratio.sd) == (pytest.approx(8 / 7, rel=1e-3), pytest.approx(sd, rel=1e-3))
    assert ratio.undefined == pytest.approx(0, abs=1e-300)


@pytest.mark.parametrize("n_reference", [0, 4])
def test_a_group_without_questions_has_no_consistency(n_reference: int) -> None:
    """Where one group gets all the questions the ratio exists in no partition, and accuracy has no spread."""
    accuracy = city_accuracy([1, 1, 0, 0], [1, 0, 0, 0], n_reference)

    assert consistency_ratio(PairedCells(1, 1, 1, 1), n_reference) == Moments(None, None, 1)
    assert (accuracy.mean, accuracy.sd) == (pytest.approx((0.25, 0.5)[n_reference // 4]), 0)


def test_no_consistent_answer_leaves_no_ratio() -> None:
    """Where no question is consistent about m, the ratio exists in no partition."""
    cells = PairedCells(both=0, only_first=3, only_second=0, neither=1)

    assert consistency_ratio(cells, 2) == Moments(None, None, 1)


def test_division_by_baseline_accuracy() -> None:
    """Mean and sd scale alike; over 0 neither is defined."""
    assert Moments(0.6, 0.2).over(0.5) == Moments(pytest.approx(1.2), pytest.approx(0.4))
    assert Moments(0.6, 0.2).over(0) == Moments(None, None, 1)


def test_a_draw_divides_the_questions() -> None:
    """Every question is in one group, the sizes are those asked for, and neither order nor type of the ids matters."""
    ids = [str(number) for number in range(100)]
    reference, other = seeded_split(ids, 37, 5)

    assert sorted(ids) == sorted([*reference, *other])
    assert (len(reference), len(other)) == (37, 63)
    assert (reference, other) == seeded_split(reversed(ids), 37, 5)
    assert seeded_split(ids, 37, 6) != (reference, other)


def test_every_question_is_drawn_alike() -> None:
    """Over 2,000 seeds each of ten questions is in M three times in ten."""
    counts = np.zeros(10)
    for seed in range(2000):
        for question in seeded_split(map(str, range(10)), 3, seed)[0]:
            counts[int(question)] += 1

    # sd of a share: sqrt(0.3 * 0.7 / 2000) = 0.0102
    assert counts / 2000 == pytest.approx(np.full(10, 0.3), abs=0.045)


def test_more_questions_than_there_are_cannot_be_drawn() -> None:
    """The size of the reference group lies between 0 and N."""
    with pytest.raises(EquipoiseError, match="4 of 3 questions cannot be drawn"):
        seeded_split("abc", 4, 0)
