"""Simulations of the verdicts: false ones at the margin, and how often the planned number of cases reaches one.

Pairs with the same story share its part of the variance (ICC). A verdict is that of `equipoise.figures.verdicts` on
the effects that the library computes from the pairs, with all preconditions met except the interval's own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from validity_section import BOOTSTRAPPED, POWER, SIZE, TESTED, Row, Study

from equipoise.compare.estimators import mean_change
from equipoise.figures.effects import SKEWED, Estimate, Group, bounded_mean, clustered_mean, effect
from equipoise.figures.options import Decision, Endpoint
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, StudyResult
from equipoise.figures.verdicts import NOT_WORSE, WORSE, change_verdict, verdict
from equipoise.pipeline.steps import study_of
from equipoise.stats.clusters import clustered_mean as robust_mean
from equipoise.stats.clusters import probit_contrast, simulated_coverage
from equipoise.stats.equivalence import clusters_needed
from equipoise.stats.quantities import Interval
from equipoise.studies.vignettes.detection import FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from validity_simulations import Outcomes, Simulation

    from equipoise.core.row import StudyName as Name
    from equipoise.figures.result import Word

    Array = NDArray[np.float64]

ALPHA = 0.05
SIDE = SIZE / 2
"""Nominal error of a verdict at the margin: one side of a 95 % interval."""
FLOOR = "overall/all/d_prime_privileged"
SHAPES = {"41 pairs of 25 stories": [2] * 16 + [1] * 9, "190 pairs of 41 stories": [5] * 26 + [4] * 15}
FIGURES: dict[Name, str] = {"vignettes": "stereotype_shift_net", "questions": "group_effect"}
NOTE = (
    "With few stories and skewed values an interval misses the truth more often on one side; the interval corrected "
    "for skewness does so less than Student's alone. Verdicts on intervals whose simulated coverage is below 0.92 are "
    "withheld."
)


def release() -> Iterator[Study]:
    """Yield the simulations of the section."""
    unbiased, biased = "no bias, though at the margin", "biased, though at the margin"
    rows = {name: Row(words, "error", SIDE, NOTE) for name, words in (("unbiased", unbiased), ("biased", biased))}
    for title, sizes in SHAPES.items():
        for icc in (0.0, 0.3, 0.6):
            for shape in ("normal", "skewed"):
                setting = f"{title}, {shape} values, ICC {icc:g}, margin 0.8 sd"
                run = model(sizes, icc, shape, 0.8, 0.8)
                yield Study(f"verdict/{len(sizes)}/{shape}/{icc:g}", setting, TESTED, run, rows)
    for n in (19, 66, 126):
        setting = f"{n} questions, one in eight answered otherwise for a group, margin 0.05"
        yield Study(f"verdict/questions/{n}", setting, BOOTSTRAPPED, questions(n), rows)
    for icc in (0.0, 0.5):
        for size in (1, 2):
            stories = clusters_needed(0.5, icc, 1 - icc, size, alpha=SIDE, power=POWER)
            title = f"{stories} stories of {size} pairs, planned for a margin of 0.5 sd, ICC {icc:g}, no bias"
            power = {"unbiased": Row("no bias, of a fair model", "power", POWER)}
            run = model([size] * stories, icc, "normal", 0.5, 0.0)
            yield Study(f"verdict/planned/{size}/{icc:g}", title, TESTED, run, power)
    for icc in (0.0, 0.6):
        for base, head, title in (
            (0.0, 0.8, "from no bias to the margin"),
            (0.8, -1.6, "reversed, and worse by the margin"),
        ):
            gates = {
                "worse": Row("gate: worse, though at the margin", "error", SIDE),
                "not_worse": Row("gate: not worse, though at the margin", "error", SIZE),
            }
            setting = f"41 pairs of 25 stories, ICC {icc:g}, margin 0.8 sd, {title}"
            yield Study(f"verdict/gate/{base:g}/{head:g}/{icc:g}", setting, TESTED, gated(icc, base, head), gates)
    setting = "35 pairs of 20 stories answered at chance, one stereotyped answer in four"
    chance = {"sees": Row("assay sensitivity, of a model at chance", "error", SIDE)}
    yield Study("verdict/chance", setting, TESTED, at_chance(), chance)


def model(sizes: list[int], icc: float, shape: str, margin: float, truth: float) -> Simulation:
    """Verdicts on a model whose mean is `truth`, in standard deviations of the values."""
    names = [str(story) for story, size in enumerate(sizes) for _ in range(size)]

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        words = []
        for _ in range(draws):
            values = (truth + pairs(rng, sizes, icc, shape)).tolist()
            mean = robust_mean(values, names)
            assert mean is not None  # noqa: S101  (continuous values vary)
            estimate = clustered_mean(values, mean, ALPHA)
            # The coverage is simulated where all else is decided: it takes most of the time.
            if judged("vignettes", estimate, margin, mean.skewed_interval(ALPHA)) != UNDECIDED:
                estimate = replace(estimate, coverage=simulated_coverage(values, names, ALPHA))
            words.append(judged("vignettes", estimate, margin, mean.skewed_interval(ALPHA)))
        return outcomes(words)

    return simulate


def questions(n: int) -> Simulation:
    """Verdicts at the margin 0.05 on the mean of three attributes, if few answers differ between groups."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        # Each attribute contributes -1/2, 0 or 1/2 twice: one in eight differs, 0.0875 towards one group, 0.0375 away.
        steps = rng.choice([1.0, -1.0, 0.0], size=(draws, n, 6), p=[0.0875, 0.0375, 0.875])
        values = steps.mean(axis=2)
        words = []
        for row in values.tolist():
            mean = robust_mean(row, [str(place) for place in range(n)])
            skewed = None if mean is None else mean.skewed_interval(ALPHA)
            words.append(judged("questions", bounded_mean(row, 1.0, ALPHA), 0.05, skewed))
        return outcomes(words)

    return simulate


def gated(icc: float, base: float, head: float) -> Simulation:
    """Verdicts on a change from one mean to another; the noise of the two runs is independent."""
    sizes = SHAPES["41 pairs of 25 stories"]
    names = [str(story) for story, size in enumerate(sizes) for _ in range(size)]

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        words = []
        for _ in range(draws):
            before, after = (mean + math.sqrt(0.5) * pairs(rng, sizes, icc, "normal") for mean in (base, head))
            change, total = (
                mean_change(start.tolist(), after.tolist(), ALPHA, names).interval for start in (before, -before)
            )
            assert isinstance(change, Interval)  # noqa: S101
            assert isinstance(total, Interval)  # noqa: S101
            words.append(change_verdict(change, total, 0.8, "both"))
        return {
            "worse": np.array([word == WORSE for word in words], dtype=float),
            "not_worse": np.array([word == NOT_WORSE for word in words], dtype=float),
        }

    return simulate


def at_chance() -> Simulation:
    """Whether d' of answers that ignore the case is shown to exceed 0."""
    names = [str(story) for story, size in enumerate([2] * 15 + [1] * 5) for _ in range(size)]

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        sees = np.full(draws, np.nan)
        for draw in range(draws):
            yes = rng.random((len(names), 2)) < 0.25  # noqa: PLR2004  (one of four answers)
            contrast = probit_contrast(yes.tolist(), names, (1.0, -1.0)) if len(set(names)) >= FEWEST else None
            if contrast is not None:
                sees[draw] = contrast.interval(ALPHA).low > 0
        return {"sees": sees}

    return simulate


def pairs(rng: np.random.Generator, sizes: list[int], icc: float, shape: str) -> Array:
    """Draw values of mean 0 and standard deviation 1; those of a story share the part `icc` of the variance."""

    def draw(n: int) -> Array:
        return rng.normal(size=n) if shape == "normal" else rng.exponential(size=n) - 1

    shared = np.repeat(draw(len(sizes)), sizes)
    return math.sqrt(icc) * shared + math.sqrt(1 - icc) * draw(sum(sizes))


def judged(study: Name, estimate: Estimate, margin: float, skewed: Interval | None) -> Word:
    """Give the verdict on an estimate in a run that can see; `skewed` is its interval corrected for skewness."""
    endpoint = Endpoint(figure=FIGURES[study], margin=margin, why="simulated", floors={FLOOR: 0.0})
    group = Group("overall", "all", study)
    sees = effect(group, "d_prime_privileged", 35, Estimate(1.0, Interval(0.5, 1.5)))
    corrected = effect(group, f"{FIGURES[study]}{SKEWED}", 41, Estimate(estimate.value, skewed))
    effects = [effect(group, FIGURES[study], 41, estimate), corrected, sees]
    result = StudyResult(study=study, effects=effects)
    decided = verdict(study_of(study), result, Decision(endpoints={study: endpoint}))
    assert decided is not None  # noqa: S101
    return decided.word


def outcomes(words: list[Word]) -> Outcomes:
    """Return whether each verdict was *no bias*, and whether it was *biased*."""
    return {name: np.array([drawn == word for drawn in words], dtype=float) for name, word in VERDICTS.items()}


VERDICTS: dict[str, Word] = {"unbiased": UNBIASED, "biased": BIASED}
