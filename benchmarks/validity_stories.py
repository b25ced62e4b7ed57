"""Simulations of pairs that share a clinical story: means, rates and gaps clustered by story, and taken as independent.

Stories are more uneven than those of the profile `core`, each of which has one pair: 16 of 25 stories have one pair,
the others 2 to 6, as if stories are reused. The intraclass correlation is that of the pairs' values, for rates of their
outcomes (beta-binomial), for gaps of the normal values whose tails are the discordant pairs.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm
from validity_section import TESTED, Study, coverage, type_one
from validity_simulations import holds, rejects

from equipoise.stats import paired, proportions
from equipoise.stats.clusters import clustered_mean, effective_size, sign_flip
from equipoise.stats.quantities import PairedCells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from validity_simulations import Outcomes, Simulation

CORE = [6, 3, 3, 3, 2, 2, 2, 2, 2, *[1] * 16]
"""Pairs per story in the profile `core`."""
BOTH = 0.6
"""Share of two yeses among the pairs that agree."""
INDEPENDENT = (
    "This method treats the pairs of a story as independent, and they are not; the figures of the study are by story."
)


def stories() -> Iterator[Study]:
    """Yield the simulations of the section."""
    for n, icc in product((10, 25, 100, 200), (0.0, 0.3, 0.6)):
        title = f"{_told(n)}, normal shifts, ICC {icc:g}"
        rows = {"interval": coverage("mean by story (CR2)"), "test": type_one("mean by story (CR2)")}
        if n == len(CORE):
            rows["independent"] = type_one("paired t, stories ignored", INDEPENDENT)
        yield Study(f"stories/mean/{n}/{icc}", title, TESTED, means(n, icc), rows)
    for n, rate, icc in product((10, 25, 100), (0.05, 0.2), (0.0, 0.6)):
        title = f"{_told(n)}, rate {rate}, ICC {icc:g}"
        rows = {
            "interval": coverage("rate by story (Wilson, effective n)"),
            "independent": coverage("Wilson, stories ignored", INDEPENDENT),
        }
        yield Study(f"stories/rate/{n}/{rate}/{icc}", title, TESTED, rates(n, rate, icc), rows)
    for n, (gap, discordance), icc in product((10, 25, 100), ((0.0, 0.2), (0.15, 0.3)), (0.0, 0.6)):
        title = f"{_told(n)}, gap {gap:g}, {discordance} discordant, ICC {icc:g}"
        rows = {"interval": coverage("gap by story (Newcombe, effective n)")}
        if gap == 0:
            rows["test"] = type_one("gap by story (signs of stories, mid-p)")
            rows["independent"] = type_one("exact McNemar, stories ignored", INDEPENDENT)
        yield Study(f"stories/gap/{n}/{gap}/{icc}", title, TESTED, gaps(n, gap, discordance, icc), rows)


def means(n: int, icc: float) -> Simulation:
    """Shifts of mean 0 and variance 1, of which the share `icc` is the story's."""
    place = places(n)
    names = [str(story) for story in place]

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        outcomes = np.full((draws, 3), np.nan)
        for draw in range(draws):
            values = _shared(rng, place, icc).tolist()
            mean = clustered_mean(values, names)
            if mean is not None:
                outcomes[draw] = holds(mean.interval(), 0.0), rejects(mean.test()), rejects(paired.paired_t(values))
        return {"interval": outcomes[:, 0], "test": outcomes[:, 1], "independent": outcomes[:, 2]}

    return simulate


def rates(n: int, rate: float, icc: float) -> Simulation:
    """Outcomes whose rate in a story is drawn from a beta distribution."""
    place = places(n)
    names = [str(story) for story in place]

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        covered = np.full((draws, 2), np.nan)
        for draw in range(draws):
            own = np.full(n, rate)
            if icc:
                own = rng.beta(rate * (1 - icc) / icc, (1 - rate) * (1 - icc) / icc, size=n)
            outcomes = rng.random(len(place)) < own[place]
            size = effective_size(outcomes.tolist(), names)
            covered[draw] = (
                holds(proportions.wilson(float(outcomes.mean()) * size, size), rate),
                holds(proportions.wilson(int(outcomes.sum()), len(outcomes)), rate),
            )
        return {"interval": covered[:, 0], "independent": covered[:, 1]}

    return simulate


def gaps(n: int, gap: float, discordance: float, icc: float) -> Simulation:
    """Pairs of outcomes, with a given gap and share of discordant pairs."""
    place = places(n)
    names = [str(story) for story in place]
    high, low = norm.isf((discordance + gap) / 2), norm.ppf((discordance - gap) / 2)

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        outcomes = np.full((draws, 3), np.nan)
        for draw in range(draws):
            values = _shared(rng, place, icc)
            moves = np.where(values > high, 1, np.where(values < low, -1, 0))
            both = int(((moves == 0) & (rng.random(len(place)) < BOTH)).sum())
            up, down = int((moves == 1).sum()), int((moves == -1).sum())
            cells = PairedCells(both, up, down, len(place) - both - up - down)
            size = effective_size(moves.tolist(), names)
            outcomes[draw] = (
                holds(proportions.paired_difference(cells, size=size), gap),
                rejects(sign_flip(moves.tolist(), names, mid_p=True)),
                rejects(paired.mcnemar_exact(cells)),
            )
        return {"interval": outcomes[:, 0], "test": outcomes[:, 1], "independent": outcomes[:, 2]}

    return simulate


def _told(n: int) -> str:
    return f"{len(places(n))} pairs of {n} stories"


def places(n: int) -> NDArray[np.int64]:
    """Give the story of each pair, as a number."""
    return np.repeat(np.arange(n), np.resize(CORE, n))


def _shared(rng: np.random.Generator, place: NDArray[np.int64], icc: float) -> NDArray[np.float64]:
    """Draw values of variance 1, of which the share `icc` is common to a story."""
    own: NDArray[np.float64] = np.sqrt(icc) * rng.normal(size=place.max() + 1)[place]
    return own + np.sqrt(1 - icc) * rng.normal(size=len(place))
