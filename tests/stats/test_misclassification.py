"""Tests of the proportion corrected for misclassification."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from equipoise.core.errors import EquipoiseError
from equipoise.stats.misclassification import ErrorCounts, rogan_gladen, rogan_gladen_interval

if TYPE_CHECKING:
    from equipoise.stats.quantities import Interval

PERFECT = ErrorCounts(10**6, 10**6, 10**6, 10**6)


@st.composite
def readings(draw: st.DrawFn) -> tuple[int, int, ErrorCounts]:
    """Draw positive classifications, all classifications, and measured error rates."""
    n, positives, negatives = (draw(st.integers(1, 60)) for _ in range(3))
    errors = ErrorCounts(draw(st.integers(0, positives)), positives, draw(st.integers(0, negatives)), negatives)
    return draw(st.integers(0, n)), n, errors


def test_corrected_proportion_by_hand() -> None:
    """30 of 100 positive at sensitivity 0.9 and specificity 0.8 correspond to a proportion of 1/7."""
    # (0.3 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.1 / 0.7
    assert rogan_gladen(30, 100, ErrorCounts(45, 50, 40, 50)) == pytest.approx(1 / 7)


def test_interval_by_hand() -> None:
    """The interval of 30 of 100 follows the published formula step by step."""
    interval = rogan_gladen_interval(30, 100, ErrorCounts(45, 50, 40, 50))

    # z^2 = 3.841459; readings 31.920729 / 103.841459 = 0.307399; sensitivity 46/52, specificity 41/52, Youden 35/52.
    # centre (0.307399 - 11/52) / (35/52) = 0.142421; its variance, by a term for the readings, for sensitivity
    # (46/52)(6/52)/52 = 0.00196291 times 0.142421^2, for specificity (41/52)(11/52)/52 = 0.00320750 times 0.857579^2:
    # (0.00205027 + 0.00003982 + 0.00235892) / 0.453033 = 0.00982052, reach 1.959964 x 0.0990985 = 0.194230.
    # shift 2 x 3.841459 (0.142421 x 0.00196291 - 0.857579 x 0.00320750) = -0.018986
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.0, 0.142421 - 0.018986 + 0.194230), abs=1e-5)


@given(n=st.integers(1, 200), data=st.data())
def test_a_perfect_reader_gives_the_raw_proportion(n: int, data: st.DataObject) -> None:
    """Without error there is nothing to correct, and the interval is that of Agresti and Coull."""
    successes = data.draw(st.integers(0, n))
    interval = rogan_gladen_interval(successes, n, PERFECT)
    low, high = proportion_confint(successes, n, method="agresti_coull")

    assert rogan_gladen(successes, n, PERFECT) == pytest.approx(successes / n)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((max(0, low), min(1, high)), abs=1e-4)


@pytest.mark.parametrize(
    ("successes", "n", "errors"),
    [
        (0, 0, ErrorCounts(9, 10, 9, 10)),  # nothing was classified
        (5, 10, ErrorCounts(5, 10, 5, 10)),  # chance
        (5, 10, ErrorCounts(7, 10, 3, 10)),  # 0.7 + 0.3, which in floating point may differ from 1
        (5, 10, ErrorCounts(1, 10, 2, 10)),  # worse than chance
    ],
)
def test_a_reader_who_tells_nothing_leaves_it_undefined(successes: int, n: int, errors: ErrorCounts) -> None:
    """Undefined without classifications, or where sensitivity and specificity sum to 1 or less."""
    assert rogan_gladen(successes, n, errors) is None
    assert rogan_gladen_interval(successes, n, errors) is None


def test_readings_rarer_than_errors_alone_have_no_interval() -> None:
    """No positive classification of 200 at a false positive rate of 1/2 is consistent with no proportion."""
    errors = ErrorCounts(95, 100, 50, 100)

    # (0 + 0.5 - 1) / 0.45 is below 0, and far below for 200 readings.
    assert rogan_gladen(0, 200, errors) == 0.0
    assert rogan_gladen_interval(0, 200, errors) is None


def test_too_few_labels_have_no_interval() -> None:
    """One label of a kind, shrunk towards 1/2, cannot outweigh many of the other kind."""
    # 1 + 0.1 - 1 > 0, and 2/3 + 101/1002 - 1 < 0
    errors = ErrorCounts(1, 1, 100, 1000)

    assert rogan_gladen(95, 100, errors) == pytest.approx(0.5)
    assert rogan_gladen_interval(95, 100, errors) is None


@pytest.mark.parametrize("counts", [(11, 10, 9, 10), (-1, 10, 9, 10), (9, 10, 0, 0)])
def test_impossible_error_is_refused(counts: tuple[int, int, int, int]) -> None:
    """More correct than labelled, fewer than 0, or no labels are rejected."""
    with pytest.raises(EquipoiseError, match=r"correct of .* labels: give 0 to n correct"):
        ErrorCounts(*counts)


@pytest.mark.parametrize("successes", [-1, 3])
def test_impossible_readings_are_refused(successes: int) -> None:
    """A count of positive classifications above n or below 0 is an error."""
    with pytest.raises(EquipoiseError, match=f"{successes} of 2 is not a proportion"):
        rogan_gladen(successes, 2, PERFECT)


@settings(deadline=None)
@given(readings())
def test_interval_holds_the_corrected_proportion(reading: tuple[int, int, ErrorCounts]) -> None:
    """The interval lies in [0, 1] and contains its proportion; without a proportion there is no interval."""
    estimate, interval = rogan_gladen(*reading), rogan_gladen_interval(*reading)

    assert interval is None or (estimate is not None and 0 <= interval.low <= estimate <= interval.high <= 1)


@settings(deadline=None)
@given(readings())
def test_the_other_kind_mirrors_it(reading: tuple[int, int, ErrorCounts]) -> None:
    """Counting the negatives, with sensitivity and specificity exchanged, gives 1 − the proportion."""
    successes, n, errors = reading
    other = ErrorCounts(errors.true_negatives, errors.negatives, errors.true_positives, errors.positives)
    interval, mirrored = rogan_gladen_interval(*reading), rogan_gladen_interval(n - successes, n, other)
    assume(interval is not None and mirrored is not None)

    assert interval is not None
    assert mirrored is not None
    assert (1 - interval.high, 1 - interval.low) == pytest.approx((mirrored.low, mirrored.high))


@pytest.mark.parametrize(
    ("sensitivity", "specificity", "labels", "n", "truth"),
    [
        (0.9, 0.9, (60, 60), 50, 0.5),
        (0.8, 0.9, (50, 110), 20, 0.7),
        (0.7, 0.8, (60, 200), 200, 0.1),
        (0.7, 0.7, (15, 15), 200, 0.02),
        (0.98, 0.8, (200, 60), 20, 0.98),
    ],
)
def test_interval_covers_the_truth(
    sensitivity: float, specificity: float, labels: tuple[int, int], n: int, truth: float
) -> None:
    """Over 4,000 studies a 95 % interval covers the truth in at least 93 %, an undefined one counted as a miss."""
    rng = np.random.default_rng(7)
    detected = rng.binomial(labels[0], sensitivity, 4000)
    cleared = rng.binomial(labels[1], specificity, 4000)
    read = rng.binomial(n, truth * sensitivity + (1 - truth) * (1 - specificity), 4000)

    @cache
    def interval(positive: int, true_positives: int, true_negatives: int) -> Interval | None:
        return rogan_gladen_interval(positive, n, ErrorCounts(true_positives, labels[0], true_negatives, labels[1]))

    intervals = [interval(*map(int, study)) for study in zip(read, detected, cleared, strict=True)]
    covered = [limits is not None and limits.low <= truth <= limits.high for limits in intervals]

    assert np.mean(covered) >= 0.93
