"""Simulations of studies that stop at their verdict: false verdicts at the margin, and the prompts saved.

Stories are asked in a random order, and at each look the interval of the answers so far, at the level of the look, is
compared with the margin, as in `equipoise.pipeline.sequential`. The plan is that of a study of fixed size with the same
margin and power (`equipoise plan`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from validity_release import ALPHA, SIDE, judged, outcomes, pairs
from validity_section import BOOTSTRAPPED, POWER, TESTED, Row, Study

from equipoise.figures.effects import bounded_mean, clustered_mean
from equipoise.figures.result import UNDECIDED
from equipoise.figures.verdicts import held_against
from equipoise.stats.clusters import clustered_mean as robust_mean
from equipoise.stats.clusters import simulated_coverage
from equipoise.stats.equivalence import clusters_needed
from equipoise.stats.repeated import level, looks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from validity_simulations import Outcomes, Simulation

    from equipoise.core.row import StudyName as Name
    from equipoise.figures.result import Word

    Drawn = tuple[NDArray[np.float64], NDArray[np.intp]]
    """Values in the order of asking, and where each story ends."""

SHAPES = {
    "normal": "normal values",
    "skewed": "skewed values",
    "skewed the other way": "values skewed the other way",
}
WANTED = 0.6
"""Share of the prompts of a study of fixed size that a fair model should need on average."""
SKEWED = (
    "The t statistic of few skewed values is itself skewed, at every look. The error is still below 5 %, within the "
    "error of the simulation. Here too, verdicts on values whose simulated coverage is below 0.92 are withheld."
)
COSTLY = (
    "No design asks less than 0.76 of the plan at this level and power (decision 22), because an estimate has to be "
    "within the margin on both sides. Relative to all its cases, a study saves more the more cases it has."
)
LOW = "Several looks cost power: a study that stops early needs an eighth more stories to reach that of the plan."


def sequential() -> Iterator[Study]:
    """Yield the simulations of the section."""
    unbiased, biased = "no bias, though at the margin", "biased, though at the margin"
    rows = {
        name: Row(f"early stop: {words}", "error", SIDE, SKEWED)
        for name, words in (("unbiased", unbiased), ("biased", biased))
    }
    shapes = {"independent": ([1] * 60, 0.5), "few": ([2] * 16 + [1] * 9, 0.8), "clustered": ([5] * 26 + [2] * 34, 0.5)}
    for name, (sizes, margin) in shapes.items():
        for shape in list(SHAPES)[: 2 if name == "clustered" else 3]:
            icc = 0.0 if name == "independent" else 0.6
            title = f"{sum(sizes)} pairs of {len(sizes)} stories, {SHAPES[shape]}, ICC {icc:g}, margin {margin:g} sd"
            run = stopped(drawn(sizes, icc, shape, margin), margin)
            yield Study(f"sequence/{name}/{shape.replace(' ', '-')}", title, TESTED, run, rows)
    for share in (0.125, 0.03):
        margin = min(0.05, share)
        title = f"126 questions, {share:g} of the answers differ between groups, margin {margin:g}"
        run = stopped(answers(126, share, margin), margin, "questions")
        yield Study(f"sequence/questions/{share:g}", title, BOOTSTRAPPED, run, rows)
    icc, size = 0.5, 2
    planned = clusters_needed(0.5, icc, 1 - icc, size, alpha=SIDE, power=POWER)
    for times in (1.0, 1.125, 1.5, 2.0, 3.0):
        stories = math.ceil(times * planned)
        title = f"{stories} stories of {size} pairs, ICC {icc:g}, margin 0.5 sd, planned {planned}, no bias"
        fair = {
            "unbiased": Row("early stop: no bias, of a fair model", "power", POWER, LOW),
            "of_plan": Row("early stop: share of the planned prompts, of a fair model", "cost", WANTED, COSTLY),
            "of_all": Row("early stop: share of all prompts, of a fair model", "cost", WANTED, COSTLY),
        }
        run = stopped(drawn([size] * stories, icc, "normal", 0.0), 0.5, planned=planned)
        yield Study(f"sequence/fair/{times:g}", title, BOOTSTRAPPED, run, fair)
    title = f"{3 * planned} stories of {size} pairs, ICC {icc:g}, biased by twice the margin of 0.5 sd"
    far = {
        "biased": Row("early stop: biased, of such a model", "power", POWER),
        "of_all": Row("early stop: share of all prompts, of such a model", "cost", WANTED),
    }
    run = stopped(drawn([size] * (3 * planned), icc, "normal", 1.0), 0.5, planned=planned)
    yield Study("sequence/biased", title, BOOTSTRAPPED, run, far)


def drawn(sizes: list[int], icc: float, shape: str, truth: float) -> Callable[[np.random.Generator], Drawn]:
    """Draw stories of these sizes, in any order, whose values have the mean `truth`."""
    sign = -1.0 if shape == "skewed the other way" else 1.0

    def draw(rng: np.random.Generator) -> Drawn:
        order = rng.permutation(sizes)
        return truth + sign * pairs(rng, order.tolist(), icc, shape.partition(" ")[0]), np.cumsum(order)

    return draw


def answers(n: int, share: float, truth: float) -> Callable[[np.random.Generator], Drawn]:
    """Draw questions whose group effect has the mean `truth`, where a share of the answers differs between groups."""

    def draw(rng: np.random.Generator) -> Drawn:
        # As in `validity_release.questions`: each of six arms contributes 1 towards a group, -1 away from it, or 0.
        towards = (share + truth) / 2
        steps = rng.choice([1.0, -1.0, 0.0], size=(n, 6), p=[towards, share - towards, 1 - share])
        return steps.mean(axis=1), np.arange(1, n + 1)

    return draw


def stopped(
    draw: Callable[[np.random.Generator], Drawn], margin: float, study: Name = "vignettes", planned: int = 1
) -> Simulation:
    """Verdicts at the stop, and the share of the planned and of all stories that were asked."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        words, shares = [], []
        for _ in range(draws):
            values, ends = draw(rng)
            word, n_asked = _stop(values, ends, margin, study)
            words.append(word)
            shares.append((n_asked / planned, n_asked / len(ends)))
        of_plan, of_all = np.array(shares).T
        return outcomes(words) | {"of_plan": of_plan, "of_all": of_all}

    return simulate


def _stop(values: NDArray[np.float64], ends: NDArray[np.intp], margin: float, study: Name) -> tuple[Word, int]:
    """Ask until there is a verdict; return it, and the number of stories asked."""
    names = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)).astype(str).tolist()
    word: Word = UNDECIDED
    for n_asked in looks(len(ends)):
        seen, alpha = values[: ends[n_asked - 1]].tolist(), level(n_asked, len(ends), ALPHA)
        assert alpha is not None  # noqa: S101  (at a look)
        mean = robust_mean(seen, names[: len(seen)])
        estimate = bounded_mean(seen, 1.0, alpha) if mean is None else clustered_mean(seen, mean, alpha)
        # The coverage is simulated where all else is decided: it takes most of the time.
        if estimate.interval is not None and held_against(estimate.interval, margin, "both") != UNDECIDED:
            coverage = None if mean is None else simulated_coverage(seen, names[: len(seen)], ALPHA)
            skewed = None if mean is None else mean.skewed_interval(alpha)
            word = judged(study, replace(estimate, coverage=coverage), margin, skewed)
        if word != UNDECIDED:
            break
    return word, n_asked
