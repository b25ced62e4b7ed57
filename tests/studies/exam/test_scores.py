"""Tests of accuracy and macro averages over four classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.errors import EquipoiseError
from equipoise.figures.options import Measure
from equipoise.studies.exam.effects import MACRO, Marked, confusions, macro_averages, macro_of_cells, score

FEW = Measure(alpha=0.05, seed=0, n_bootstrap=500)
letters = st.sampled_from("ABCD")
answers = st.lists(st.tuples(letters, letters), min_size=1, max_size=40)


def answered(*pairs: str) -> list[Marked]:
    """Build answers from two letters each, right then given; `-` stands for no letter."""
    return [Marked(pair[0], None if pair[1] == "-" else pair[1]) for pair in pairs]


@settings(deadline=None, max_examples=100)
@given(answers, st.floats(0.01, 10))
def test_the_hand_formula_is_scikit_learns(pairs: list[tuple[str, str]], scale: float) -> None:
    """The figures computed from the confusion table, as counts or as shares, are scikit-learn's."""
    cells = confusions(pairs).sum(axis=0, keepdims=True)

    assert macro_averages(pairs) == pytest.approx(tuple(macro_of_cells(cells)[0]))
    assert macro_averages(pairs) == pytest.approx(tuple(macro_of_cells(scale * cells)[0]))


def test_macro_averages_are_over_all_four_classes() -> None:
    """Two answers right, both A: A has 1 and the other three classes 0."""
    # The mean of 1, 0, 0 and 0.
    assert macro_averages([("A", "A"), ("A", "A")]) == (0.25, 0.25, 0.25)


def test_macro_averages_by_hand() -> None:
    """A is right once and missed once for B; B, C and D are right once each."""
    averages = macro_averages([("A", "A"), ("A", "B"), ("B", "B"), ("C", "C"), ("D", "D")])

    # Means of precision 1, 1/2, 1, 1; of recall 1/2, 1, 1, 1; of F1 2/3, 2/3, 1, 1.
    assert averages == pytest.approx((0.875, 0.875, 10 / 12))


def test_invalid_answers_are_left_out_and_counted() -> None:
    """Of 4 answers 1 has no letter; 2 of the other 3 are right."""
    scores = score([answered("AA", "BB", "CA", "D-")], "x", FEW)
    accuracy = scores.estimates["accuracy"]

    assert (scores.n_total, scores.n_valid, scores.n_invalid, scores.n_right) == (4, 3, 1, 2)
    # D is right in no valid answer; C and D are given in none.
    assert (scores.n_absent_classes, scores.n_unpredicted_classes) == (1, 2)
    assert accuracy.value == pytest.approx(2 / 3)
    assert accuracy.interval is not None


def test_without_a_valid_answer_nothing_is_defined() -> None:
    """No letter at all leaves every figure undefined, not 0."""
    scores = score([answered("A-", "B-")], "x", FEW)

    assert (scores.n_total, scores.n_valid) == (2, 0)
    assert {(estimate.value, estimate.interval) for estimate in scores.estimates.values()} == {(None, None)}


def test_resamples_that_all_agree_give_no_interval() -> None:
    """Where every answer is right the bootstrap knows nothing of its uncertainty; Wilson's interval does."""
    scores = score([answered(*["AA"] * 8)], "x", FEW)

    assert [scores.estimates[measure].interval for measure in MACRO] == [None, None, None]
    assert scores.estimates["accuracy"].interval is not None


def test_an_interval_holds_its_estimate() -> None:
    """60 answers, two thirds right, have intervals around every macro average."""
    rng = np.random.default_rng(1)
    gold = rng.choice(list("ABCD"), 60)
    given_letters = np.where(rng.random(60) < 2 / 3, gold, rng.choice(list("ABCD"), 60))
    scores = score([[Marked(str(a), str(b)) for a, b in zip(gold, given_letters, strict=True)]], "x", FEW)

    for measure in MACRO:
        estimate = scores.estimates[measure]
        assert estimate.value is not None
        assert estimate.interval is not None
        assert estimate.interval.low < estimate.value < estimate.interval.high


def test_questions_are_drawn_within_strata() -> None:
    """Two strata in which all answers are alike have no spread, though together they would."""
    right, wrong = answered(*["AA"] * 6), answered(*["AB"] * 6)

    assert score([right, wrong], "x", FEW).estimates["recall_macro"].interval is None
    assert score([[*right, *wrong]], "x", FEW).estimates["recall_macro"].interval is not None


@pytest.mark.parametrize("pair", ["EA", "AE"])
def test_other_classes_are_refused(pair: str) -> None:
    """A letter beyond D has no place among four classes."""
    with pytest.raises(EquipoiseError, match="macro averages are over A, B, C, D alone"):
        score([answered(pair)], "x", FEW)
