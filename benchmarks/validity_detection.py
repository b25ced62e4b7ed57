"""Simulations of signal detection: the intervals and tests of differences of d' and criterion between two arms.

Each story has one pair, and gives four answers: those of both arms to the mirror and to the case. Within each version
the arms' answers are normal values above a threshold, correlated by 0.8 or independent.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri
from validity_section import TESTED, Study, coverage, type_one
from validity_simulations import holds, rejects

from equipoise.stats.clusters import probit_contrast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from validity_section import Row
    from validity_simulations import Outcomes, Simulation

    Chances = tuple[float, float, float, float]
    """Chances of the stereotyped answer: either arm's in the mirror, then either arm's in the case."""

SETTINGS: tuple[Chances, ...] = ((0.7, 0.7, 0.15, 0.15), (0.95, 0.95, 0.03, 0.03), (0.97, 0.95, 0.1, 0.03))
WEIGHTS = {"d_prime": (1.0, -1.0, -1.0, 1.0), "criterion": (-0.5, 0.5, -0.5, 0.5)}


def detection() -> Iterator[Study]:
    """Yield the simulations of the section."""
    for n, chances, correlation in product((12, 38, 100), SETTINGS, (0.0, 0.8)):
        hits, alarms = (f"{first:g} and {second:g}" for first, second in (chances[:2], chances[2:]))
        title = f"{n} stories, hits {hits}, false alarms {alarms}, arms correlated {correlation:g}"
        rows: dict[str, Row] = {}
        for name, words in (("d_prime", "difference of d'"), ("criterion", "difference of criteria")):
            rows[name] = coverage(words)
            if chances[::2] == chances[1::2]:
                rows[f"{name}_test"] = type_one(words)
        key = f"detection/{n}/{'/'.join(f'{chance:g}' for chance in chances)}/{correlation:g}"
        yield Study(key, title, TESTED, differences(n, chances, correlation), rows)


def differences(n: int, chances: Chances, correlation: float) -> Simulation:
    """Differences of d' and criterion between two arms of `n` stories."""
    thresholds = ndtri(chances)
    names = [str(story) for story in range(n)]

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        outcomes: Outcomes = {
            name: np.full(draws, np.nan) for measure in WEIGHTS for name in (measure, f"{measure}_test")
        }
        for draw in range(draws):
            shared = np.sqrt(correlation) * rng.normal(size=(n, 2)).repeat(2, axis=1)
            yes = shared + np.sqrt(1 - correlation) * rng.normal(size=(n, 4)) < thresholds
            for name, weights in WEIGHTS.items():
                difference = probit_contrast(yes.tolist(), names, weights)
                if difference is not None:
                    outcomes[name][draw] = holds(difference.interval(), float(thresholds @ weights))
                    outcomes[f"{name}_test"][draw] = rejects(difference.test())
        return outcomes

    return simulate
