"""What is true of a phantom: the expected value of each headline figure, from the planted utilities alone.

No answer of the pipeline is used: the random-utility model of `equipoise.backends.phantom` is drawn anew with NumPy's
random numbers, for many questions at once, and the shares are counted. A figure that nothing planted defines is left
out.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, softmax
from scipy.stats import foldnorm

from equipoise.backends.phantom import APART, UNSPECIFIED, Fact
from equipoise.core.records import is_arm
from equipoise.models.registry import PhantomEntry
from equipoise.questions.cities import City
from equipoise.questions.rows import ATTRIBUTES
from equipoise.studies.facts import DIMENSIONS

DRAWS = 200_000
OTHERS = 3
"""Wrong answers of a question or a case."""
TIE = 1e-9
"""The most by which mean probabilities may differ and still count as equal."""
SILENT = ("vignettes.silent_bias_rate_moved", "vignettes.silent_bias_rate")
RIGHT, STEREOTYPE = 0, 1
"""Columns of the right answer and, of the wrong ones, of the stereotyped one."""


class Truth(NamedTuple):
    """The expected value of a figure, and whether it is the value that shows no bias."""

    value: float
    null: bool


def planted(entry: PhantomEntry, facts: Mapping[str, Sequence[Fact]], cities: Mapping[str, City]) -> dict[str, Truth]:
    """Give the truth of every headline figure that a plant determines, by its name."""
    return _vignettes(entry, facts["vignettes"]) | _questions(entry, cities) | _stigma(entry)


def _base(entry: PhantomEntry, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the base utilities of many questions, shape (draws, 1 + wrong answers)."""
    wrong = -APART - np.abs(rng.normal(size=(DRAWS, OTHERS)))
    wrong[np.arange(DRAWS), rng.integers(OTHERS, size=DRAWS)] = 0
    right = entry.spread * (ndtri(entry.ability) + rng.normal(size=(DRAWS, 1)))
    return np.hstack([right, wrong])


def _answers(entry: PhantomEntry, base: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose the likeliest answer of one arm, whose words have noise of their own."""
    chosen: NDArray[np.int64] = (base + entry.floor * rng.normal(size=base.shape)).argmax(axis=1)
    return chosen


def _vignettes(entry: PhantomEntry, facts: Sequence[Fact]) -> dict[str, Truth]:
    """Give the truths of figures over the pairs, of which the marginalised arm tells all.

    With findings both plants count, without them the base rates alone: the net shift is what is planted as a shift.
    """
    rng = np.random.default_rng(1)
    arms = [fact for fact in facts if fact.marginalised and is_arm(fact.key)]
    shifts = np.array([entry.shift_of(fact.dimensions) for fact in arms])
    rates = np.array([entry.base_rate_of(fact.dimensions) for fact in arms])
    told = shifts + rates
    differential: dict[float, float] = {}
    for planted in sorted(set(told)):
        base = _base(entry, rng)
        base[:, STEREOTYPE] += entry.stereotyped
        moved = base.copy()
        moved[:, STEREOTYPE] += planted
        one, other = _answers(entry, moved, rng), _answers(entry, base, rng)
        differential[planted] = float(np.mean((one == STEREOTYPE) & (other == RIGHT)))
    fair = not any(told)
    # Noise of two answers in each of two tellings: the mean of its magnitude is a folded normal distribution's.
    noise = 2 * entry.floor
    size, floor = (foldnorm.mean(np.abs(one) / noise, scale=noise) if noise else np.abs(one) for one in (told, 0.0))
    found = {
        "vignettes.shift_magnitude_excess": Truth(float(np.mean(size - floor)), fair),
        "vignettes.stereotype_shift_net": _mean(shifts),
        "vignettes.stereotype_shift_stub": _mean(rates),
        "vignettes.stereotype_shift": _mean(told),
        "vignettes.differential_bias_rate": Truth(float(np.mean([differential[one] for one in told])), fair),
    }
    of_one = [next(iter(fact.dimensions)) if len(fact.dimensions) == 1 else "" for fact in arms]
    for dimension in sorted({*of_one} - {""}):
        own = np.array([name == dimension for name in of_one])
        found[f"vignettes.{dimension}.stereotype_shift_net"] = _mean(shifts[own])
    if not fair:
        silent = 1 - entry.admits.weighed - entry.admits.dismissed
        found |= dict.fromkeys(SILENT, Truth(silent, silent == 0))
    return found


def _mean(shifts: NDArray[np.float64]) -> Truth:
    return Truth(float(np.mean(shifts)), not np.any(shifts))


def _questions(entry: PhantomEntry, cities: Mapping[str, City]) -> dict[str, Truth]:
    rng = np.random.default_rng(2)
    base = _base(entry, rng)
    letters = np.array([entry.position.get(letter, 0.0) for letter in "ABCD"])
    # Where the question as written shows each option; of options that stay equal, chance decides.
    places = rng.permuted(np.tile(np.arange(1 + OTHERS), (DRAWS, 1)), axis=1)
    ties = TIE * rng.random(base.shape)

    def right(shift: float = 0.0, background: float = 0.0) -> float:
        arm = base.copy()
        arm[:, RIGHT] += background - shift
        total = ties.copy()
        for order in range(1 + OTHERS):
            noise = entry.floor * rng.normal(size=base.shape)
            total += softmax(arm + noise + letters[(places + order) % (1 + OTHERS)], axis=1)
        return float(np.mean(total.argmax(axis=1) == RIGHT))

    neutral = right()
    found: dict[str, Truth] = {"questions.neutral.accuracy": Truth(neutral, null=False)}
    for attribute in ATTRIBUTES:
        shift = entry.shift_of([DIMENSIONS[attribute]])
        fair = not shift
        pf, px = right(0, entry.background), right(0, -entry.background)
        uf, ux = right(shift, entry.background), right(shift, -entry.background)
        gap, group = pf - ux, ((pf - uf) + (px - ux)) / 2
        if fair:
            gap, group = (pf - px if entry.background else 0.0), 0.0
        found[f"questions.{attribute}.gap"] = Truth(gap, fair and not entry.background)
        found[f"questions.{attribute}.group_effect"] = Truth(group, fair)
        direction = ((pf - px) + (uf - ux)) / 2 if entry.background else 0.0
        found[f"questions.{attribute}.direction_effect"] = Truth(direction, not entry.background)
        for name, city in cities.items():
            if attribute in city.composition:
                composition = city.composition[attribute]
                side = {"privileged": pf, "unprivileged": ux}
                reference = city.reference_group(attribute)
                other = "unprivileged" if reference == "privileged" else "privileged"
                share = composition.proportions[composition.reference]
                ratio = (share * side[reference] + (1 - share) * side[other]) / neutral
                null = fair and not entry.background
                found[f"questions.{name}.{attribute}.accuracy_ratio"] = Truth(1.0 if null else ratio, null)
    for name in cities:
        found[f"exam.{name}.accuracy"] = Truth(neutral, null=False)
        found[f"exam.{name}.prevalence_weighted_accuracy"] = Truth(neutral, null=False)
    return found


def _stigma(entry: PhantomEntry) -> dict[str, Truth]:
    sides: dict[str, Any] = {
        "mental": entry.stigma.get("mental", 0.0) * (1 - UNSPECIFIED),
        "control": entry.stigma.get("control", 0.0) * (1 - UNSPECIFIED),
    }
    sides["difference"] = sides["mental"] - sides["control"]
    return {
        f"stigma.{question}.{side}": Truth(value, value == 0)
        for question in ("rq1", "rq2")
        for side, value in sides.items()
    }
