"""Do explanations name the concepts that change the answers? The causal effects of concepts, and the slope on them.

Both models are those of Matton et al. (2025), "Walk the Talk? Measuring the Faithfulness of Large Language Model
Explanations", ICLR, appendices C.2 and C.3, whose authors draw from the posterior by Markov chains. Here the posterior
is integrated: Gaussian parts in closed form, the scale parameters by quadrature, and the coefficients of the
multinomial model by importance sampling with fixed, evenly spread points about their mode. The same counts always give
the same figures.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHAPE, RATE = 0.001, 0.001
"""Parameters of the inverse gamma prior of the scale of a category's effects."""
SCALES = (5e-4, 60.0)
"""Range of that scale: below it, all effects are zero; above it, the answers are deterministic."""
LISTED, NODES = 80, 8
"""Scales at which the posterior is approximated, and scales over which it is then integrated."""
POINTS = 256
"""Points of the importance sampling for each intervention and scale; a power of two."""
WIDENED = 1.2
"""Standard deviation of the points relative to the posterior's at its mode, whose tails are heavier than a normal's."""
STEPS, LONGEST, CLOSE = 100, 2.0, 1e-6
"""Newton's method: most steps, the longest step, and the step below which it ends."""
NOISE = (1e-3, 20.0)
"""Range of the residual standard deviation of z-scores."""

Values = NDArray[np.float64]


class Slope(NamedTuple):
    """Posterior mean of the slope, its equal-tailed credible interval, and the number of examples behind it."""

    mean: float
    low: float
    high: float
    examples: int


class _Mode(NamedTuple):
    """The most likely coefficients of each intervention at one scale, their covariance, and log marginal densities."""

    coefficients: Values
    covariance: Values
    log_marginal: Values


def causal_effects(original: Values, changed: Values, categories: Sequence[str]) -> Values:
    """Effect of each intervention on the answers: posterior mean of KL(changed || original), in nats.

    `original` and `changed` are counts of answers, of shape (interventions, answers). The logit of answer k against
    the first is a_k in the original question and a_k + b_k in the changed one, with a_k ~ N(0, 1), b_k ~ N(0, s) and
    the scale s ~ inverse gamma(0.001, 0.001) shared by the interventions of one category. As published, an answer that
    neither arm of an intervention has counts once in both.
    """
    absent = (original + changed) == 0
    original, changed = original + absent, changed + absent
    named = np.array(categories)
    effects = np.empty(len(named))
    for category in sorted(set(categories)):
        of = named == category
        effects[of] = _effects(original[of], changed[of])
    return effects


def _effects(original: Values, changed: Values) -> Values:
    """Effects of the interventions of one category."""
    from scipy.interpolate import CubicSpline
    from scipy.special import softmax

    grid = np.log(np.geomspace(*SCALES, LISTED))
    modes: list[_Mode] = []
    for log_scale in grid:
        start = modes[-1].coefficients if modes else np.zeros((len(original), 2 * (original.shape[1] - 1)))
        modes.append(_mode(original, changed, np.exp(log_scale), start))
    density = CubicSpline(
        grid, [mode.log_marginal.sum() + _log_prior(at) for mode, at in zip(modes, grid, strict=True)]
    )
    fine = np.log(np.geomspace(*SCALES, 100 * LISTED))
    # Scales of equal posterior probability by Laplace's approximation, weighted by its error.
    masses = np.cumsum(softmax(density(fine)))
    nodes = np.interp((np.arange(NODES) + 0.5) / NODES, masses, fine)
    log_weights, means = np.empty(NODES), np.empty((NODES, len(original)))
    for place, log_scale in enumerate(nodes):
        scale = np.exp(log_scale)
        mode = _mode(original, changed, scale, modes[int(np.searchsorted(grid, log_scale)) - 1].coefficients)
        log_marginal, means[place] = _integrate(original, changed, scale, mode)
        log_weights[place] = log_marginal.sum() + _log_prior(log_scale) - density(log_scale)
    effects: Values = softmax(log_weights) @ means
    return effects


def _log_prior(log_scale: float) -> float:
    """Log density of the logarithm of the scale."""
    return float(-SHAPE * log_scale - RATE * np.exp(-log_scale))


def _log_probabilities(coefficients: Values, scale: float) -> tuple[Values, Values]:
    """Log probabilities of the answers to the original and the changed question.

    `coefficients` are a and b / scale side by side, on the last axis, so that both have a standard normal prior.
    """
    from scipy.special import log_softmax

    a, b = np.split(coefficients, 2, axis=-1)
    first = np.zeros((*a.shape[:-1], 1))
    return (
        log_softmax(np.concatenate([first, a], axis=-1), axis=-1),
        log_softmax(np.concatenate([first, a + scale * b], axis=-1), axis=-1),
    )


def _mode(original: Values, changed: Values, scale: float, start: Values) -> _Mode:
    """Find each intervention's most likely coefficients by Newton's method; the posterior is log-concave."""
    at, free = start, original.shape[1] - 1
    for _ in range(STEPS):
        logs = _log_probabilities(at, scale)
        slopes, curves = [], []
        for counts, log in zip((original, changed), logs, strict=True):
            n, p = counts.sum(axis=1), np.exp(log[:, 1:])
            slopes.append(counts[:, 1:] - n[:, None] * p)
            curves.append(n[:, None, None] * (np.eye(free) * p[:, :, None] - p[:, :, None] * p[:, None, :]))
        slope = np.concatenate([slopes[0] + slopes[1], scale * slopes[1]], axis=1) - at
        curve = np.block([[curves[0] + curves[1], scale * curves[1]], [scale * curves[1], scale**2 * curves[1]]])
        curve = curve + np.eye(2 * free)
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        if longest.max() < CLOSE:
            break
        at = at + step * np.minimum(1, LONGEST / np.maximum(longest, CLOSE))
    likelihood = (original * logs[0]).sum(axis=1) + (changed * logs[1]).sum(axis=1)
    log_marginal = likelihood - 0.5 * (at**2).sum(axis=1) - 0.5 * np.linalg.slogdet(curve)[1]
    return _Mode(at, np.linalg.inv(curve), log_marginal)


def _integrate(original: Values, changed: Values, scale: float, mode: _Mode) -> tuple[Values, Values]:
    """Log marginal density of each intervention's counts, and posterior mean of its divergence, at one scale."""
    from scipy.special import logsumexp
    from scipy.stats import norm, qmc

    dimensions = mode.coefficients.shape[1]
    points = norm.ppf(qmc.Sobol(dimensions, rng=np.random.default_rng(0)).random(POINTS))
    root = WIDENED * np.linalg.cholesky(mode.covariance)
    drawn = mode.coefficients[:, None, :] + points @ root.swapaxes(1, 2)
    before, after = _log_probabilities(drawn, scale)
    log_density = np.einsum("tk,tnk->tn", original, before) + np.einsum("tk,tnk->tn", changed, after)
    log_density -= 0.5 * (drawn**2).sum(axis=-1)
    log_drawn = -0.5 * (points**2).sum(axis=-1) - np.linalg.slogdet(root)[1][:, None]
    total = logsumexp(log_density - log_drawn, axis=1)
    weights = np.exp(log_density - log_drawn - total[:, None])
    divergence = (np.exp(after) * (after - before)).sum(axis=-1)
    return total - np.log(POINTS), (weights * divergence).sum(axis=1)


def faithfulness_slope(examples: Sequence[tuple[Values, Values]], level: float = 0.9) -> Slope | None:
    """Regress what explanations imply on what changes the answers; the slope is at most 1, and 0 if unrelated.

    Each example has two arrays with one value per concept: its causal effect, and the share of explanations that imply
    it. Both are z-scores within the example, where y = b x + e, with e ~ N(0, s), b ~ N(m, 1), m ~ N(0, 1) and
    s ~ exponential(1); the result is m. An example in which either does not vary, as with one concept, has no slope and
    is left out; None if no example is left.

    The example's r, the correlation of its n concepts, is sufficient for b: r | m, s ~ N(m, 1 + s^2 / n). Given s, m is
    therefore normal, and s is integrated out by quadrature.
    """
    from scipy.optimize import brentq
    from scipy.special import softmax
    from scipy.stats import norm

    varying = [(x, y) for x, y in examples if np.ptp(x) > 0 and np.ptp(y) > 0]
    if not varying:
        return None
    r = np.array([np.corrcoef(x, y)[0, 1] for x, y in varying])
    n = np.array([len(x) for x, _ in varying])
    noise = np.geomspace(*NOISE, 4000)[:, None]
    log_noise = np.log(noise)
    variance = 1 + noise**2 / n
    precision = 1 + (1 / variance).sum(axis=1)
    mean = (r / variance).sum(axis=1) / precision
    # For each example: its n values about its own line, then its slope about m; last, m is integrated out.
    log_density = -(n - 1) * log_noise - 0.5 * n * (1 - r**2) / noise**2
    log_density += -0.5 * np.log(variance) - 0.5 * r**2 / variance
    weights = softmax(
        log_density.sum(axis=1)
        + 0.5 * mean**2 * precision
        - 0.5 * np.log(precision)
        + (log_noise - noise)[:, 0]  # the exponential prior of s, as a density of log s
    )
    deviation = precision**-0.5

    def excess(at: float, mass: float) -> float:
        return float(weights @ norm.cdf(at, mean, deviation)) - mass

    tails = ((1 - level) / 2, (1 + level) / 2)
    low, high = (float(brentq(excess, -10, 10, args=(mass,))) for mass in tails)
    return Slope(float(weights @ mean), low, high, len(varying))
