"""Simulations of whole figures: the amplification, the city's figures and the macro averages of an exam.

As in `validity_simulations`, but through the functions that the studies call. Their bootstraps take fewer resamples
here (RESAMPLES); the seed of a draw's bootstrap is the draw's own.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from validity_simulations import ALPHA, holds

from equipoise.figures.options import Measure
from equipoise.materials.cities import City
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair
from equipoise.stats.quantities import Interval, PairedCells
from equipoise.studies.exam.effects import MACRO, Marked, macro_of_cells, score
from equipoise.studies.questions import partition
from equipoise.studies.questions.city_effects import city_effects
from equipoise.studies.questions.effects import NEUTRAL, Answered, paper_pair
from equipoise.studies.vignettes.effects import amplification_effects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from validity_simulations import Outcomes, Simulation

    from equipoise.figures.effects import Effect
    from equipoise.materials.vignette import Tier
    from equipoise.text.answer import AnswerKind

RESAMPLES = 1_000
LETTERS = "ABCD"
SHARE = 0.8
"""The reference group's proportion in the simulated city."""


def amplification(n_crossed: int, n_single: int, crossed: float, single: tuple[float, float]) -> Simulation:
    """The matched and the pooled difference of one combination, whose two parts have n_single pairs each."""
    truth = crossed - sum(single) / 2

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        covered = np.full((draws, 2), np.nan)
        for draw in range(draws):
            told = [(("race", "ses"), biased) for biased in rng.random(n_crossed) < crossed]
            for dimension, rate in zip(("race", "ses"), single, strict=True):
                told += [((dimension,), biased) for biased in rng.random(n_single) < rate]
            pairs = [_pair(*drawn, story=str(number)) for number, drawn in enumerate(told)]
            effects = amplification_effects(pairs, ALPHA)
            # The first two are overall.
            matched, pooled = islice(effects, 2)
            covered[draw] = _open(matched, truth), _open(pooled, truth)
        return {"matched": covered[:, 0], "pooled": covered[:, 1]}

    return simulate


def city(n: int, right: float, consistency: tuple[float, float]) -> Simulation:
    """A city's figures: right at baseline; `consistency` is how often each group's answer equals that of baseline."""
    w = partition.reference_size(SHARE, n) / n
    # An answer that is not consistent is any other letter.
    accuracy = [right * keep + (1 - right) * (1 - keep) / 3 for keep in consistency]
    expected = w * accuracy[0] + (1 - w) * accuracy[1]
    truths = {
        "city_accuracy": expected,
        "accuracy_ratio": expected / right,
        "consistency_ratio": consistency[0] / consistency[1],
    }
    town = {"town": made_up_city()}

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        covered = {name: np.full(draws, np.nan) for name in truths}
        for draw in range(draws):
            for row in city_effects(answers(rng, n, right, consistency), town, Measure(alpha=ALPHA)):
                if row.family == "city" and row.measure in truths:
                    covered[row.measure][draw] = _open(row, truths[row.measure])
        return covered

    return simulate


def partitions(
    n: int, right: float, consistency: tuple[float, float]
) -> tuple[dict[str, partition.Moments], Simulation]:
    """Random partitions of fixed questions: closed-form moments, and the simulated ones."""
    baseline, reference, other = _letters(np.random.default_rng(n), n, right, consistency)
    n_reference = partition.reference_size(SHARE, n)
    steady = [(int(m == b), int(o == b)) for b, m, o in zip(baseline, reference, other, strict=True)]
    rights = (reference == 0).astype(float), (other == 0).astype(float)
    promised = {
        "city_accuracy": partition.city_accuracy(rights[0].tolist(), rights[1].tolist(), n_reference),
        "consistency_ratio": partition.consistency_ratio(
            PairedCells.count((bool(m), bool(o)) for m, o in steady), n_reference
        ),
    }
    ids = [f"{number:04}" for number in range(n)]

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        figures = {name: np.full(draws, np.nan) for name in promised}
        for draw, seed in enumerate(rng.integers(2**31, size=draws).tolist()):
            first, second = (np.array(half, dtype=int) for half in partition.seeded_split(ids, n_reference, seed))
            figures["city_accuracy"][draw] = (rights[0][first].sum() + rights[1][second].sum()) / n
            rates = (reference == baseline)[first].mean(), (other == baseline)[second].mean()
            figures["consistency_ratio"][draw] = rates[0] / rates[1] if rates[1] else np.nan
        return {f"{name}_{moment}": values for name, values in figures.items() for moment in ("mean", "sd")}

    return promised, simulate


def exam(sizes: Sequence[int], right: Sequence[float]) -> Simulation:
    """Macro averages and accuracy over strata of questions; wrong answers lean towards A, right letters are uneven."""
    gold = np.array([0.4, 0.3, 0.2, 0.1])
    lean = np.array([0.4, 0.2, 0.2, 0.2])
    table = np.zeros((len(sizes), 4, 4))
    for stratum, share in enumerate(right):
        wrong = np.where(np.eye(4, dtype=bool), 0.0, lean)
        answers = share * np.eye(4) + (1 - share) * wrong / wrong.sum(axis=1, keepdims=True)
        table[stratum] = gold[:, None] * answers
    population = np.average(table, axis=0, weights=sizes).reshape(1, 16)
    truths = dict(zip(MACRO, macro_of_cells(population)[0].tolist(), strict=True))
    truths["accuracy"] = float(np.trace(population.reshape(4, 4)))
    rows = [Marked(a, b) for a in LETTERS for b in LETTERS]

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        covered = {name: np.full(draws, np.nan) for name in truths}
        for draw in range(draws):
            strata = [
                [rows[cell] for cell in rng.choice(16, size=size, p=shares.reshape(16))]
                for size, shares in zip(sizes, table, strict=True)
            ]
            estimates = score(strata, "exam", Measure(alpha=ALPHA, seed=draw, n_bootstrap=RESAMPLES)).estimates
            for name, truth in truths.items():
                covered[name][draw] = holds(estimates[name].interval, truth)
        return covered

    return simulate


def made_up_city() -> City:
    """Make a city with a composition by race only."""
    composition = {"reference": "white", "proportions": {"white": SHARE, "black": 1 - SHARE}, "source": "made up"}
    return City.model_validate({"title": "Town", "composition": {"race": composition}})


def answers(rng: np.random.Generator, n: int, right: float, consistency: tuple[float, float]) -> list[Answered]:
    """Draw a table of answers at baseline and about both groups; the right letter is always A."""
    arms = (NEUTRAL, *paper_pair("race"))
    drawn = zip(*(letters.tolist() for letters in _letters(rng, n, right, consistency)), strict=True)
    return [
        Answered(f"{number:04}", "A", {name: LETTERS[place] for name, place in zip(arms, row, strict=True)})
        for number, row in enumerate(drawn)
    ]


def _letters(
    rng: np.random.Generator, n: int, right: float, consistency: tuple[float, float]
) -> tuple[NDArray[np.int64], ...]:
    """Draw letters as numbers, 0 being right: at baseline, about the reference group and about the other one."""
    baseline = np.where(rng.random(n) < right, 0, rng.integers(1, 4, size=n))
    changed = [(baseline + rng.integers(1, 4, size=n)) % 4 for _ in consistency]
    arms = (np.where(rng.random(n) < keep, baseline, other) for keep, other in zip(consistency, changed, strict=True))
    return baseline, *arms


def _pair(dimensions: tuple[str, ...], biased: bool, story: str) -> Pair:  # noqa: FBT001  (a draw's outcome)
    tier: Tier = "single" if len(dimensions) == 1 else "tier1"
    return Pair(
        "made up",
        tier,
        dimensions,
        story,
        "made up",
        JUDGED["stereotyped" if biased else "expected"],
        JUDGED["expected"],
    )


def _judged(answer: AnswerKind) -> Judgement:
    return Judgement(
        key="made up",
        study="vignettes",
        answer=answer,
        label="",
        answer_likelihood=None,
        answer_generated=answer,
        log_odds=None,
        mentioned=False,
        considered="none",
        window="",
        p_mentioned=0.0,
        p_weighed=0.0,
        p_dismissed=0.0,
        keyword=False,
    )


KINDS: tuple[AnswerKind, ...] = ("expected", "stereotyped")
JUDGED = {kind: _judged(kind) for kind in KINDS}


def _open(row: Effect, truth: float) -> float:
    """Whether an effect's interval covers the truth; the effect omits an infinite upper limit."""
    if row.ci_low is None:
        return np.nan
    return holds(Interval(row.ci_low, np.inf if row.ci_high is None else row.ci_high), truth)
