"""Simulations of the validity study: data with known parameters, and the library's figures on them.

Each function fixes a setting and returns a simulation, which takes a random generator and a number of draws and gives,
by the name of a figure, an array (draws,): 1 if the interval contains the truth, or if the test rejects at 0.05; 0 if
not; NaN if the library gives no figure. Figures come from the library's own functions. Figures that depend only on
counts are computed once for each table that occurs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from equipoise.figures.effects import Estimate, bounded_mean
from equipoise.stats import groups, misclassification, multiplicity, paired, power, proportions
from equipoise.stats.clusters import cluster_means
from equipoise.stats.quantities import PairedCells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from equipoise.stats.quantities import Interval, PValue

    Array = NDArray[np.float64]
    Counts = NDArray[np.int64]
    Outcomes = dict[str, Array]
    Simulation = Callable[[np.random.Generator, int], Outcomes]

ALPHA = 0.05
Shape = Literal["normal", "heavy", "skewed"]


def holds(interval: Interval | None, truth: float) -> float:
    """Whether an interval covers the truth; NaN without one."""
    return np.nan if interval is None else float(interval.low <= truth <= interval.high)


def rejects(p: PValue | None) -> float:
    """Whether a test rejects; NaN if it is undefined."""
    return np.nan if p is None else float(p.value <= ALPHA)


def by_table(tables: Counts, figure: Callable[[list[int]], float]) -> Array:
    """Compute a figure of each row of counts, once for rows that are the same."""
    different, place = np.unique(tables, axis=0, return_inverse=True)
    return np.array([figure(row) for row in different.tolist()])[place.reshape(-1)]


def one_rate(n: int, p: float | None) -> Simulation:
    """Wilson's interval; without p, the rate is redrawn from the uniform distribution each time."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        truth = rng.uniform(size=draws) if p is None else np.full(draws, p)
        limits = [proportions.wilson(count, n) for count in range(n + 1)]
        counts = rng.binomial(n, truth)
        return {"interval": np.array([holds(limits[count], t) for count, t in zip(counts, truth, strict=True)])}

    return simulate


def paired_rates(n: int, gap: float, discordance: float, both: float = 0.5) -> Simulation:
    """Newcombe's interval of the gap, and both McNemar tests; `both` is the share of pairs with two yeses."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        tables = cells(rng, n, (gap, discordance, both), draws)
        return {
            "interval": by_table(tables, lambda row: holds(proportions.paired_difference(PairedCells(*row)), gap)),
            "mid_p": by_table(tables, lambda row: rejects(paired.mcnemar_mid_p(PairedCells(*row)))),
            "mcnemar": by_table(tables, lambda row: rejects(paired.mcnemar_exact(PairedCells(*row)))),
        }

    return simulate


def cells(rng: np.random.Generator, n: int, truth: tuple[float, float, float], draws: int) -> Counts:
    """Draw tables of n pairs, given their gap, the share of discordant pairs and the share with two yeses."""
    gap, discordance, both = truth
    first, second = (discordance + gap) / 2, max(0.0, (discordance - gap) / 2)
    both = min(both, 1 - first - second)
    return rng.multinomial(n, [both, first, second, max(0.0, 1 - both - first - second)], size=draws)


def contrasts(n: int, moved: float, one_way: bool = False) -> Simulation:  # noqa: FBT001, FBT002  (a setting)
    """Mean of contrasts that are 0 but in a share of questions, where they are ±0.5 or, `one_way`, 0.5."""
    truth = moved / 2 if one_way else 0.0

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        # Questions that did not move, that moved up, and that moved down.
        shares = [1 - moved, moved, 0.0] if one_way else [1 - moved, moved / 2, moved / 2]
        tables = rng.multinomial(n, shares, size=draws)

        def estimate(row: list[int]) -> Estimate:
            return bounded_mean([0.0] * row[0] + [0.5] * row[1] + [-0.5] * row[2], 1.0, ALPHA)

        outcomes = {"interval": by_table(tables, lambda row: holds(estimate(row).interval, truth))}
        return outcomes if one_way else outcomes | {"t": by_table(tables, lambda row: rejects(estimate(row).p))}

    return simulate


def weighted(parts: Sequence[tuple[float, int, float]]) -> Simulation:
    """MOVER interval of a sum of weight x rate; parts are (weight, n, rate)."""
    truth = sum(weight * rate for weight, _, rate in parts)

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        counts = np.stack([rng.binomial(n, rate, size=draws) for _, n, rate in parts], axis=1)

        def figure(row: list[int]) -> float:
            counted_parts = [(weight, count, n) for (weight, n, _), count in zip(parts, row, strict=True)]
            limited = proportions.weighted_shares(counted_parts)
            return holds(None if limited is None else limited.interval, truth)

        return {"interval": by_table(counts, figure)}

    return simulate


def corrected(n: int, truth: float, labels: int, sensitivity: float, specificity: float) -> Simulation:
    """Interval of a rate corrected for misclassification, with error rates from equally many labels of both kinds."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        apparent = truth * sensitivity + (1 - truth) * (1 - specificity)
        counted = [(n, apparent), (labels, sensitivity), (labels, specificity)]
        tables = np.stack([rng.binomial(size, share, size=draws) for size, share in counted], axis=1)

        def figure(row: list[int]) -> float:
            errors = misclassification.ErrorCounts(row[1], labels, row[2], labels)
            return holds(misclassification.rogan_gladen_interval(row[0], n, errors), truth)

        return {"interval": by_table(tables, figure)}

    return simulate


def differences(n: int, shape: Shape = "normal", shift: float = 0.0) -> Simulation:
    """Differences with mean `shift` and standard deviation 1 (heavy: t with 3 df; skewed: exponential)."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        samples = noise(rng, shape, (draws, n)) + shift
        return {
            "interval": np.array([holds(paired.mean_interval(row), shift) for row in samples]),
            "t": np.array([rejects(paired.paired_t(row)) for row in samples]),
            "wilcoxon": np.array([rejects(paired.wilcoxon(row)) for row in samples]),
        }

    return simulate


def noise(rng: np.random.Generator, shape: Shape, size: tuple[int, ...]) -> Array:
    """Draw values of mean 0 and standard deviation 1."""
    if shape == "heavy":
        values: Array = rng.standard_t(3, size) / np.sqrt(3)
        return values
    return rng.exponential(size=size) - 1 if shape == "skewed" else rng.normal(size=size)


def two_samples(sizes: tuple[int, int], spreads: tuple[float, float]) -> Simulation:
    """Student's and Welch's test and interval of two normal samples with equal means."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        (n, m), (s, t) = sizes, spreads
        pairs = [(rng.normal(0, s, n).tolist(), rng.normal(0, t, m).tolist()) for _ in range(draws)]
        return {
            "student": np.array([rejects(groups.student_t(*pair)) for pair in pairs]),
            "student_interval": np.array([holds(groups.student_interval(*pair), 0.0) for pair in pairs]),
            "welch": np.array([rejects(groups.welch_t(*pair)) for pair in pairs]),
            "welch_interval": np.array([holds(groups.welch_interval(*pair), 0.0) for pair in pairs]),
        }

    return simulate


def clustered(sizes: Sequence[int]) -> Simulation:
    """Sentences about conditions, both of spread 1, no disparity: tests by condition and, as published, by sentence.

    The two-sample figures compare them with as many other conditions.
    """
    names = [f"{number:02}" for number, size in enumerate(sizes) for _ in range(size)]
    place = np.repeat(np.arange(len(sizes)), sizes)

    def sample(rng: np.random.Generator) -> list[float]:
        values: list[float] = (rng.normal(size=len(sizes))[place] + rng.normal(size=len(names))).tolist()
        return values

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        samples = [(sample(rng), sample(rng)) for _ in range(draws)]
        means = [(cluster_means(first, names), cluster_means(second, names)) for first, second in samples]
        return {
            "interval": np.array([holds(paired.mean_interval(first), 0.0) for first, _ in means]),
            "t": np.array([rejects(paired.paired_t(first)) for first, _ in means]),
            "difference": np.array([rejects(groups.student_t(*pair)) for pair in means]),
            "by_sentence": np.array([rejects(paired.paired_t(first)) for first, _ in samples]),
        }

    return simulate


def family(true_nulls: int, planted: int, correlation: float = 0.0, n: int = 15, shift: float = 1.0) -> Simulation:
    """Paired t tests of one family: any false rejection under Holm, and the false share of rejections under BH."""
    size = true_nulls + planted

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        any_false, false_share = np.zeros(draws), np.zeros(draws)
        for draw in range(draws):
            shared = np.sqrt(correlation) * rng.normal(size=n)
            samples = shared + np.sqrt(1 - correlation) * rng.normal(size=(size, n))
            samples[true_nulls:] += shift
            tests = [paired.paired_t(row) for row in samples.tolist()]
            p_values = [None if test is None else test.value for test in tests]
            any_false[draw] = _rejected(p_values, "holm")[:true_nulls].any()
            rejected = _rejected(p_values, "fdr_bh")
            false_share[draw] = rejected[:true_nulls].sum() / max(1, rejected.sum())
        return {"holm": any_false, "bh": false_share}

    return simulate


def mcnemar_family(tests: int, n: int, discordance: float) -> Simulation:
    """McNemar's mid-p tests of one family, all null: any false rejection under Holm."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        tables = cells(rng, n, (0.0, discordance, 0.5), draws * tests)

        def figure(row: list[int]) -> float:
            p = paired.mcnemar_mid_p(PairedCells(*row))
            return np.nan if p is None else p.value

        p_values = by_table(tables, figure).reshape(draws, tests)
        return {"holm": np.array([_rejected(row, "holm").any() for row in p_values.tolist()], dtype=float)}

    return simulate


def mcnemar_power(n: int, gap: float, discordance: float) -> Simulation:
    """Both McNemar tests where the gap is real: the mid-p test, which is primary, and the exact one."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        tables = cells(rng, n, (gap, max(discordance, gap), 0.5), draws)
        return {
            "power": by_table(tables, lambda row: rejects(paired.mcnemar_mid_p(PairedCells(*row)))),
            "exact": by_table(tables, lambda row: rejects(paired.mcnemar_exact(PairedCells(*row)))),
        }

    return simulate


def mcnemar_power_observed(n: int, discordance: float) -> Simulation:
    """Power in new pairs for the minimum detectable gap given the discordance of a first sample without a gap."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        seen = rng.binomial(n, discordance, size=draws)
        reported = {count: power.minimum_detectable_gap(n, count / n) for count in np.unique(seen).tolist()}
        gaps = [reported[count] or 1.0 for count in seen.tolist()]
        tables = np.concatenate([cells(rng, n, (gap, max(discordance, gap), 0.5), 1) for gap in gaps])
        return {"power": by_table(tables, lambda row: rejects(paired.mcnemar_mid_p(PairedCells(*row))))}

    return simulate


def t_power(n: int, *, spread_known: bool = True) -> Simulation:
    """Paired t tests of the minimum detectable shift, given the true standard deviation (1) or an earlier sample's."""
    unit = power.minimum_detectable_shift(1.0, n) or np.nan

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        # The detectable shift is proportional to the standard deviation.
        first = np.ones(draws) if spread_known else rng.normal(size=(draws, n)).std(axis=1, ddof=1)
        samples = rng.normal(size=(draws, n)) + unit * first[:, None]
        return {"power": np.array([rejects(paired.paired_t(row)) for row in samples])}

    return simulate


def _rejected(p_values: Sequence[float | None], method: multiplicity.Method) -> NDArray[np.bool_]:
    return np.array([p is not None and p <= ALPHA for p in multiplicity.adjust(p_values, method)], dtype=bool)
