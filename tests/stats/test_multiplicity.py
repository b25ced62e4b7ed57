"""Tests of the adjustment over a family."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from equipoise.stats.multiplicity import Method, adjust, joint_alpha


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        # sorted 0.01, 0.03, 0.04: times 3, 2, 1, never falling: 0.03, 0.06, 0.06
        ("holm", [0.03, 0.06, 0.06]),
        ("bonferroni", [0.03, 0.12, 0.09]),
        # sorted times 3/1, 3/2, 3/3 = 0.03, 0.045, 0.04, from above never rising: 0.03, 0.04, 0.04
        ("fdr_bh", [0.03, 0.04, 0.04]),
    ],
)
def test_adjusted_values_by_hand(method: Method, expected: list[float]) -> None:
    """Three p-values are adjusted as each method's definition says, in the order given."""
    assert expected == pytest.approx(adjust([0.01, 0.04, 0.03], method))


def test_undefined_test_is_no_member() -> None:
    """A test without a p-value stays undefined and does not make the others stricter."""
    assert adjust([0.01, None, 0.04], "holm") == [0.02, None, 0.04]


@pytest.mark.parametrize("family", [[], [None, None]])
def test_family_without_tests_stays_undefined(family: list[float | None]) -> None:
    """A family of undefined tests, or of none, has nothing to adjust."""
    assert family == adjust(family, "holm")


def test_underflowed_value_is_not_zero() -> None:
    """A p-value of 0 is adjusted as the smallest representable one."""
    assert pytest.approx(adjust([0.0, 1.0], "bonferroni"), rel=1e-9, abs=0) == [2e-300, 1.0]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_raw_and_bonferroni(p_values: list[float]) -> None:
    """Holm never lowers a p-value and never exceeds Bonferroni."""
    holm, bonferroni = adjust(p_values, "holm"), adjust(p_values, "bonferroni")

    for raw, by_holm, by_bonferroni in zip(p_values, holm, bonferroni, strict=True):
        assert by_holm is not None
        assert by_bonferroni is not None
        assert raw <= by_holm * (1 + 1e-12)
        assert by_holm <= by_bonferroni * (1 + 1e-12)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(1e-300, 1) | st.sampled_from([0.01, 0.02, 0.5]), min_size=1, max_size=30))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    """Ties included, every adjusted value is the same to the last bit."""
    assert adjust(p_values, "holm") == multipletests(p_values, method="holm")[1].tolist()


def test_holm_keeps_the_family_wise_error() -> None:
    """Over 2,000 families of eight uniform p-values one or more is rejected in about 1 - (1 - 0.05/8)^8 of them."""
    families = np.random.default_rng(3).uniform(size=(2000, 8))
    rejected = [any(p is not None and p <= 0.05 for p in adjust(family.tolist(), "holm")) for family in families]

    # the standard error of a share of 2,000 is 0.0049
    assert pytest.approx(np.mean(rejected), abs=0.015) == 1 - (1 - 0.05 / 8) ** 8


def test_a_figure_without_values_leaves_the_joint_level_defined() -> None:
    """A model without likelihoods has no figure in nats: it counts as one that does not vary.

    It is independent of the others: the level is at least alpha / 3, and at most that of the other two.
    """
    values = np.random.default_rng(0).normal(size=(40, 2))
    without = np.column_stack([values, np.full(40, np.nan)])

    assert 0.05 / 3 <= joint_alpha(without, 0.05) <= joint_alpha(values, 0.05)


def test_without_any_cluster_the_joint_level_is_bonferronis() -> None:
    """Two figures get half of alpha each."""
    assert joint_alpha(np.empty((0, 2)), 0.05) == 0.025
