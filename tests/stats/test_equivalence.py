"""Tests of the planning of equivalence tests, against published values, a simulation and their own definition."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial, ncx2, norm
from scipy.stats import t as student

from equipoise.core.errors import EquipoiseError
from equipoise.stats.clusters import Components, variance_components
from equipoise.stats.equivalence import clusters_needed, equivalence_power, supported_margin
from equipoise.stats.proportions import paired_difference
from equipoise.stats.quantities import PairedCells

with (Path(__file__).parent / "oracle/equivalence.csv").open(encoding="utf-8") as rows:
    ORACLE = {row["call"].partition("::")[2].partition("(")[0]: [] for row in csv.DictReader(rows)}  # type: ignore[var-annotated]
    rows.seek(0)
    for row in csv.DictReader(rows):
        ORACLE[row["call"].partition("::")[2].partition("(")[0]].append(float(row["value"]))


@pytest.mark.parametrize(("place", "cv", "n"), [(0, 0.3, 40), (1, 0.2, 20)])
def test_power_is_that_of_a_crossover_study_of_bioequivalence(place: int, cv: float, n: int) -> None:
    """On the log scale the margin is log 1.25, the variance log(1 + CV^2), the error sqrt(2 / n) of it, df n - 2."""
    error = math.sqrt(math.log(1 + cv**2) * 2 / n)
    power = equivalence_power(math.log(1.25), error, n - 2, 0.05, truth=math.log(0.95))

    assert power == pytest.approx(ORACLE["power.TOST"][place], abs=1e-6)


def test_pairs_needed_are_those_of_the_normal_approximation_and_one_more() -> None:
    """(z_0.95 + z_0.9)^2 100 / 9 = 95.2, so 96 pairs; with Student's t and an unknown variance it takes 97."""
    assert ORACLE["powerTOSTpaired.raw"] == [96]
    assert clusters_needed(3, 100, 0, 1, alpha=0.05, power=0.8) == 97


def test_the_interval_of_a_paired_proportion_has_the_power_of_welleks_test() -> None:
    """Over all tables of 50 pairs, of which 0.3 differ either way, held against 0.2: Newcombe's interval, or Wellek's.

    The published test rejects where |d| sqrt(n) / s is below the root of the noncentral chi-squared quantile at
    0.024902. Both limits of a 95 % interval lie within the margin in about as many tables.
    """
    n, margin, share = 50, 0.2, 0.3
    wellek = newcombe = 0.0
    for first_only in range(n + 1):
        for second_only in range(n + 1 - first_only):
            weight = float(
                multinomial.pmf(
                    [first_only, second_only, n - first_only - second_only], n, [share, share, 1 - 2 * share]
                )
            )
            if weight < 1e-9:
                continue
            difference = (first_only - second_only) / n
            variance = (first_only + second_only) / n - difference**2
            statistic = math.sqrt(n) * abs(difference) / math.sqrt(variance)
            critical = math.sqrt(float(ncx2.ppf(0.024902, 1, n * margin**2 / variance)))
            wellek += weight * (statistic < critical)
            rest = n - first_only - second_only
            interval = paired_difference(PairedCells(rest // 2, first_only, second_only, rest - rest // 2), 0.05)
            assert interval is not None
            newcombe += weight * (-margin < interval.low and interval.high < margin)

    assert wellek == pytest.approx(ORACLE["mcnempow"][0], abs=1e-5)
    assert newcombe == pytest.approx(wellek, abs=0.12)


def test_power_is_the_share_of_intervals_within_the_margin() -> None:
    """100,000 estimates with 9 degrees of freedom: two standard errors of a share are 0.003."""
    rng = np.random.default_rng(1)
    estimates, spread = rng.normal(size=100_000), np.sqrt(rng.chisquare(9, 100_000) / 9)
    reach = student.isf(0.025, 9) * spread

    assert equivalence_power(3.2, 1, 9, 0.025) == pytest.approx(
        np.mean((estimates + reach < 3.2) & (estimates - reach > -3.2)), abs=0.005
    )
    assert equivalence_power(3.2, 1, 9, 0.025, one_sided=True) == pytest.approx(
        np.mean(estimates + reach < 3.2), abs=0.005
    )


@settings(max_examples=20)
@given(st.floats(0.01, 10), st.floats(2, 500), st.floats(0.5, 0.95))
def test_the_supported_margin_has_the_power(error: float, df: float, power: float) -> None:
    """At the margin that an error supports the power is the wanted one."""
    margin = supported_margin(error, df, 0.025, power)

    assert equivalence_power(margin, error, df, 0.025) == pytest.approx(power, abs=1e-6)


@settings(max_examples=20)
@given(st.floats(0, 2), st.floats(0.01, 2), st.integers(1, 5))
def test_one_cluster_fewer_is_too_few(between: float, within: float, size: int) -> None:
    """The number of clusters is the smallest with the power."""
    count = clusters_needed(0.6, between, within, size, alpha=0.025, power=0.8)
    powers = [
        equivalence_power(0.6, math.sqrt((between + within / size) / n), n - 1, 0.025)
        for n in (count, count - 1)
        if n > 1
    ]

    assert powers[0] >= 0.8
    assert all(power < 0.8 for power in powers[1:])


def test_a_large_sample_has_the_normal_power() -> None:
    """Without a true difference it is 2 Phi(margin / e - z) - 1."""
    assert equivalence_power(3, 1, 1e6, 0.05) == pytest.approx(2 * norm.cdf(3 - norm.isf(0.05)) - 1, abs=1e-5)


def test_what_no_cases_can_show_gets_one_line() -> None:
    """A margin that needs more than ten million clusters is refused."""
    with pytest.raises(EquipoiseError, match=r"more than 10,000,000 clusters: declare a wider one"):
        clusters_needed(1e-6, 1, 1, 1, alpha=0.025, power=0.8)
    assert clusters_needed(1, 0, 0, 1, alpha=0.025, power=0.8) == 2


def test_components_of_balanced_clusters_by_hand() -> None:
    """Clusters (0, 2), (4, 6): within 2; the means 1 and 5 have the variance 8, of which 2 / 2 is from within."""
    assert variance_components([0, 2, 4, 6], ["a", "a", "b", "b"]) == Components(7.0, 2.0, 2.0)
    assert variance_components([0, 2], ["a", "b"]) == Components(2.0, 0.0, 1.0)
    # Clusters that are as alike as their values are apart have no variance of their own.
    assert variance_components([0, 2, 0, 2], ["a", "a", "b", "b"]) == Components(0.0, 2.0, 2.0)
    assert variance_components([0, 2], ["a", "a"]) is None
