"""Tests of means of labels that a judge's readings of all replies make more precise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.errors import EquipoiseError
from equipoise.stats.clusters import Mean, clustered_mean
from equipoise.stats.prediction_powered import Labelled, powered_mean, share_interval

EIGHT = [
    Labelled(read, label, 1 / drawn, str(place))
    for place, (read, label, drawn) in enumerate(
        zip(
            (1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0),
            (1.0, 0.0, None, 0.0, 1.0, None, None, None),
            (0.5, 0.25, 0.5, 1.0, 0.8, 0.5, 0.5, 0.5),
            strict=True,
        )
    )
]
"""Eight replies, of which four have a label."""


@st.composite
def replies(draw: st.DrawFn, *, all_labelled: bool = False) -> list[Labelled]:
    """Draw replies of at least two stories, two of which have labels."""
    shares = st.floats(0, 1, allow_subnormal=False)
    made = [
        Labelled(
            draw(shares),
            draw(st.sampled_from((0.0, 1.0))) if place < 2 or all_labelled or draw(st.booleans()) else None,
            1.0 if all_labelled else draw(st.floats(1, 50)),
            str(place if place < 2 else draw(st.integers(0, 5))),
        )
        for place in range(draw(st.integers(2, 30)))
    ]
    return draw(st.permutations(made))


def estimate(some: list[Labelled], tuning: float | None = None) -> float:
    """Estimate a mean that is defined."""
    powered = powered_mean(some, tuning)
    assert powered is not None
    return powered.value


@pytest.mark.parametrize(("tuning", "expected"), [(0.0, 13 / 33), (0.4, 8 / 33), (1.0, 1 / 66)])
def test_the_estimate_is_that_of_ppi_python(tuning: float, expected: float) -> None:
    """Given lambda, weights and labels, the estimate is that of the package, by hand and by its own code."""
    # Weights 2, 4, 1, 1.25 of the labels 1, 0, 0, 1: W = 8.25; mean reading 4/8. Of Y - lambda f the weighted sum is
    # 2 (1 - lambda) - 4 lambda + 0 + 1.25 (1 - lambda) = 3.25 - 7.25 lambda: lambda / 2 + (3.25 - 7.25 lambda) / 8.25.
    # 0: 3.25 / 8.25 = 13/33. 0.4: 0.2 + 0.35 / 8.25 = 8/33. 1: 1/2 - 4 / 8.25 = 1/66.
    # ppi_python 0.2.3, ppi_mean_pointestimate(lam=tuning, w=weights): 0.39393939, 0.24242424, 0.01515152.
    assert estimate(EIGHT, tuning) == pytest.approx(expected)


def test_the_interval_is_that_of_ppi_python_where_few_of_many_are_labelled() -> None:
    """Of 20,000 replies, each a story, 400 have a label, uniformly drawn: the intervals agree to a hundredth."""
    rng = np.random.default_rng(1)
    read = rng.random(20_000)
    label = (rng.random(20_000) < np.where(read > 0.5, 0.8, 0.3)).astype(float)
    drawn = {*rng.permutation(20_000)[:400].tolist()}
    powered = powered_mean(
        [Labelled(read[at], label[at] if at in drawn else None, 50.0, str(at)) for at in range(20_000)], 0.5
    )
    assert powered is not None
    mean = powered.mean()

    # ppi_python 0.2.3, ppi_mean_ci(alpha=0.05, lam=0.5): 0.5106368 to 0.60002379, without the unseen error of 1/400.
    assert mean is not None
    error = math.sqrt(mean.standard_error**2 - 1 / 400**2)
    assert 1.959964 * error == pytest.approx((0.60002379 - 0.5106368) / 2, rel=0.01)
    assert mean.value == pytest.approx((0.60002379 + 0.5106368) / 2, abs=1e-6)


@given(replies())
def test_without_the_readings_the_labels_alone_count(some: list[Labelled]) -> None:
    """With lambda 0 the estimate is the weighted mean of the labels."""
    given_ = [reply for reply in some if reply.label is not None]
    mean = np.average([reply.label for reply in given_], weights=[reply.weight for reply in given_])

    assert estimate(some, 0.0) == pytest.approx(mean)


@given(replies(all_labelled=True), st.floats(0, 1))
def test_where_all_is_labelled_the_readings_do_not_count(some: list[Labelled], tuning: float) -> None:
    """The estimate is the plain mean of the labels, whatever lambda, and so are its values and their error."""
    labels = [reply.label or 0.0 for reply in some]
    powered, plain = powered_mean(some, tuning), clustered_mean(labels, [reply.cluster for reply in some])

    assert powered is not None
    assert powered.values == pytest.approx(labels, abs=1e-9)
    assert estimate(some) == pytest.approx(np.mean(labels))
    mean = powered.mean()
    assert mean is not None
    # One label more, that disagrees: 1 / n.
    own = 0.0 if plain is None else plain.standard_error
    assert mean.standard_error == pytest.approx(math.hypot(own, 1 / len(some)))


@given(replies(), st.floats(0, 1))
def test_silence_and_consideration_are_complements(some: list[Labelled], tuning: float) -> None:
    """To swap yes and no in readings and labels swaps them in the estimate, and leaves its error as it is."""
    other = [
        reply._replace(prediction=1 - reply.prediction, label=None if reply.label is None else 1 - reply.label)
        for reply in some
    ]
    powered, swapped = powered_mean(some, tuning), powered_mean(other, tuning)

    assert powered is not None
    assert swapped is not None
    assert swapped.values == pytest.approx(1 - powered.values, abs=1e-9)
    assert swapped.unseen == powered.unseen


@given(replies())
def test_lambda_makes_the_variance_least(some: list[Labelled]) -> None:
    """By the sums over stories no other lambda from 0 to 1 does better."""

    def spread(tuning: float | None) -> float:
        powered = powered_mean(some, tuning)
        assert powered is not None
        _, place = np.unique(powered.clusters, return_inverse=True)
        return float((np.bincount(place, powered.values - powered.value) ** 2).sum())

    assert spread(None) <= min(spread(tuning) for tuning in (0.0, 0.25, 0.5, 0.75, 1.0)) * (1 + 1e-6) + 1e-9


def test_readings_that_are_right_take_the_place_of_labels() -> None:
    """A judge that agrees with every label, of which there are enough to vary, is believed about the other replies."""
    some = [Labelled(float(at % 3 == 0), float(at % 3 == 0) if at < 20 else None, 3.0, str(at)) for at in range(60)]
    powered = powered_mean(some)

    assert powered is not None
    # Lambda is 1: the mean of the readings, 20 of 60, with their own error, sqrt(1/3 x 2/3 / 59), and the unseen 1/20.
    assert powered.value == pytest.approx(1 / 3)
    mean = powered.mean()
    assert mean is not None
    assert mean.standard_error == pytest.approx(math.hypot(math.sqrt(2 / 9 / 59), 1 / 20))


def test_labels_of_one_story_estimate_nothing() -> None:
    """Nothing is known about other stories; without labels nothing is known at all."""
    assert (
        powered_mean([Labelled(0.5, 1.0, 1.0, "a"), Labelled(0.5, 0.0, 1.0, "a"), Labelled(0.5, None, 1.0, "b")])
        is None
    )
    assert powered_mean([Labelled(0.5, None, 1.0, "a"), Labelled(0.5, None, 1.0, "b")]) is None


def test_few_labels_alone_have_few_degrees_of_freedom() -> None:
    """Two labels among many stories have one: the interval is that of two observations."""
    powered = powered_mean([Labelled(0.0, float(at) if at < 2 else None, 1.0, str(at)) for at in range(50)])

    assert powered is not None
    mean = powered.mean()
    assert mean is not None
    assert mean.df == pytest.approx(1.0)


def test_a_weight_below_one_is_refused() -> None:
    """A weight is the inverse of a probability."""
    with pytest.raises(EquipoiseError, match="weights of labels must be at least 1"):
        powered_mean([Labelled(0.0, 1.0, 0.5, "a"), Labelled(0.0, 0.0, 1.0, "b")])


def test_a_difference_is_of_clusters() -> None:
    """The difference of two arms whose labels differ alike in each story is certain except for what is unseen."""
    first = powered_mean([Labelled(0.0, float(at % 2), 1.0, str(at)) for at in range(10)])
    second = powered_mean([Labelled(0.0, 0.0, 1.0, str(at)) for at in range(10)])
    assert first is not None
    assert second is not None
    same, differ = first.minus(first).mean(), first.minus(second).mean()

    # The unseen variance of both arms: 2 / 10^2. Half of the labels are 1: 1/2, of variance 1/4 x 1/9 beside it.
    assert same is not None
    assert (same.value, same.standard_error) == (0.0, pytest.approx(math.sqrt(2 / 100)))
    assert differ is not None
    assert differ.standard_error == pytest.approx(math.sqrt(2 / 100 + 1 / 36))
    assert (differ.value, first.minus(second).labels) == (0.5, 20)


def test_the_interval_of_a_share_ends_at_its_bounds() -> None:
    """An estimate beyond 0 or 1 leaves what lies between."""
    low, high = share_interval(Mean(0.95, 0.1, 30.0)), share_interval(Mean(-0.5, 0.01, 30.0))

    assert low.high == 1.0
    assert (high.low, high.high) == (0.0, 0.0)


def test_intervals_cover_where_the_judge_errs_more_in_this_run() -> None:
    """In 400 runs of 60 stories of two replies, half of them labelled unequally, at least 0.94 hold the truth.

    The judge takes 0.3 of the silent replies for others, and 0.1 of these for silent; replies in which it finds silence
    are labelled more often.
    """
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        own = np.repeat(rng.beta(1.4, 0.6, size=60), 2)
        silent = rng.random(120) < own
        read = np.where(rng.random(120) < np.where(silent, 0.3, 0.1), ~silent, silent)
        drawn = np.where(read, 0.7, 0.3)
        labelled = rng.random(120) < drawn
        powered = powered_mean(
            [
                Labelled(float(read[at]), float(silent[at]) if labelled[at] else None, 1 / drawn[at], str(at // 2))
                for at in range(120)
            ]
        )
        mean = powered and powered.mean()
        assert mean is not None
        interval = share_interval(mean)
        # The mean of Beta(1.4, 0.6).
        held += interval.low <= 0.7 <= interval.high

    assert held >= 0.94 * 400
