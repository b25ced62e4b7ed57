"""Tests of the causal effects of concepts, and of the faithfulness slope."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from equipoise.stats.faithfulness import RATE, SCALES, SHAPE, Slope, causal_effects, faithfulness_slope


def test_effect_by_brute_force() -> None:
    """With two answers the posterior has three dimensions, and its mean divergence is a sum over a fine grid."""
    original, changed = np.array([6.0, 14.0]), np.array([15.0, 5.0])
    a, z = np.meshgrid(np.linspace(-6, 6, 301), np.linspace(-6, 6, 301), indexing="ij")
    mass = divergence = 0.0
    for log_scale in np.log(np.geomspace(*SCALES, 201)):
        scale = np.exp(log_scale)
        # the second answer's probability before and after, with a ~ N(0, 1) and b = scale * z
        before, after = (1 / (1 + np.exp(-logit)) for logit in (a, a + scale * z))
        before, after = (np.clip(p, 1e-12, 1 - 1e-12) for p in (before, after))
        log_density = -(a**2 + z**2) / 2 - SHAPE * log_scale - RATE / scale
        for (first, second), p in ((original, before), (changed, after)):
            log_density = log_density + first * np.log1p(-p) + second * np.log(p)
        density = np.exp(log_density)
        kl = after * np.log(after / before) + (1 - after) * np.log((1 - after) / (1 - before))
        mass += density.sum()
        divergence += (density * kl).sum()

    assert causal_effects(original[None], changed[None], ["only"])[0] == pytest.approx(divergence / mass, rel=0.02)


def test_effects_are_ranked_as_planted() -> None:
    """The larger the change of the answers, the larger the effect; without a change it is near 0."""
    original = np.array([[50, 50, 0]] * 4)
    changed = np.array([[25, 25, 0], [20, 30, 0], [10, 40, 0], [0, 10, 40]])
    effects = causal_effects(original, changed, ["one"] * 4)

    assert list(effects) == sorted(effects)
    assert 0 <= effects[0] < 0.05
    assert effects[3] > 1


def test_slope_by_brute_force() -> None:
    """Posterior mean and interval are those of the model on a grid of slope and noise, from multivariate normals."""
    rng = np.random.default_rng(2)
    examples = [(x, 0.5 * x + rng.normal(size=n)) for n in (3, 4, 5, 4, 6) for x in [rng.normal(size=n)]]
    slopes, noises = np.linspace(-4, 4, 401), np.geomspace(0.05, 8, 120)
    log_density = np.zeros((len(noises), len(slopes)))
    for row, noise in enumerate(noises):
        log_density[row] = -(slopes**2) / 2 - noise + np.log(noise)
        for x, y in examples:
            x_score, y_score = ((values - values.mean()) / values.std() for values in (x, y))
            # the example's own slope, N(m, 1), integrated out
            known = multivariate_normal(np.zeros(len(x)), noise**2 * np.eye(len(x)) + np.outer(x_score, x_score))
            log_density[row] += known.logpdf(y_score - slopes[:, None] * x_score)
    marginal = np.exp(log_density - log_density.max()).sum(axis=0)
    marginal /= marginal.sum()
    below = np.cumsum(marginal)

    slope = faithfulness_slope(examples)
    assert slope is not None
    assert slope.mean == pytest.approx(marginal @ slopes, abs=1e-3)
    assert (slope.low, slope.high) == pytest.approx(
        (np.interp(0.05, below, slopes), np.interp(0.95, below, slopes)), abs=0.02
    )


@pytest.mark.parametrize("planted", [0.0, 0.5, 0.9])
def test_planted_slope_is_recovered(planted: float) -> None:
    """With a thousand examples of ten concepts the slope is the planted correlation."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1000, 10))
    y = planted * x + (1 - planted**2) ** 0.5 * rng.normal(size=x.shape)
    slope = faithfulness_slope([*zip(x, y, strict=True)])

    assert slope is not None
    # prior and posterior of the slope have standard deviations of 1 and 1 / sqrt(1000) = 0.03
    assert slope.mean == pytest.approx(planted, abs=0.04)
    assert slope.low < slope.mean < slope.high


def test_example_without_variation_is_left_out() -> None:
    """Explanations that imply all concepts alike, or a single concept, say nothing about the slope."""
    x, y = np.array([0.1, 0.4, 0.9]), np.array([0.2, 0.1, 1.0])
    slope = faithfulness_slope([(x, y), (x, np.ones(3)), (x[:1], y[:1])])

    assert slope is not None
    assert slope == faithfulness_slope([(x, y)])
    assert slope.examples == 1
    assert faithfulness_slope([(x, np.ones(3))]) is None
    assert isinstance(slope, Slope)
