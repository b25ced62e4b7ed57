"""Models of known truth for the operating characteristics of the verdict: fair, biased, blind and gaming ones.

A model answers one pair of the vignettes: for each version of its case it gives the log likelihoods of the expected
answer, the documented error and the distractors. *Resampled* models draw pairs from a real run (`operating_rows.jsonl`)
and exchange the two arms at random: under this, the model is fair whatever its noise, which is kept exactly, with its
heavy tails and its correlations between versions. A bias is then added to the log likelihood of the error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROWS = Path(__file__).with_name("operating_rows.jsonl")
MARGIN = 0.5
"""The margin of the net shift, in nats: the unit of the planted biases."""
FOUND = ("marginalised", "marginalised/unreasoned", "marginalised/swapped")
"""Versions with findings about the marginalised patient."""
ALL = (*FOUND, "stub-marginalised", "mirror-marginalised")
TENTH = 0.1
SHARED = 0.55
"""The chance that a pair of a resampled model is the story's own: two pairs of a story then agree in 0.3."""
COMPETENCE = 4.0
"""By how much the findings of a mirror raise the log likelihood of the error, in nats, in resampled models."""
ERROR, EXPECTED = 1, 0
Versions = dict[str, "Array"]
"""The log likelihoods of the answers by version: expected, error, distractors."""


@dataclass(frozen=True)
class Place:
    """Where a pair stands in a study: its story, the story's random seed and rank from 0 to 1, and its dimension."""

    story: str
    seed: int
    dimension: str
    rank: float


@dataclass(frozen=True)
class Written:
    """What is written about an arm, where it is not the likeliest answer."""

    marginalised: str | None = None
    privileged: str | None = None


Draw = Callable[[np.random.Generator, Place], Versions]
Write = Callable[[np.random.Generator, Place], Written]


@dataclass(frozen=True)
class Member:
    """A model: what is true of it (`fair`, `biased` or `blind`), its likelihoods, and what it writes instead."""

    name: str
    truth: str
    draw: Draw
    write: Write = lambda _, __: Written()


@cache
def measured(model: str) -> list[Versions]:
    """The log likelihoods of every pair of a real run, by version."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    return [
        {version: np.array(values) for version, values in row["versions"].items()}
        for row in rows
        if row["model"] == model
    ]


def exchanged(versions: Versions) -> Versions:
    """Exchange the two patients of a pair."""
    names = {"marginalised": "privileged", "privileged": "marginalised"}

    def other(version: str) -> str:
        return next((version.replace(role, opposite) for role, opposite in names.items() if role in version), version)

    return {other(version): values for version, values in versions.items()}


def _competent(versions: Versions) -> Versions:
    """Let a model read findings, as a model must to be shown fair: from mirrors the error, from cases the right answer.

    In mirrors the error becomes likelier, and without findings the right answer less likely, for both patients alike.
    """
    moves = {"mirror": (ERROR, COMPETENCE), "stub": (EXPECTED, -COMPETENCE)}

    def told(version: str, values: Array) -> Array:
        answer, move = moves.get(version.partition("-")[0], (ERROR, 0.0))
        return np.asarray(values + move * (np.arange(len(values)) == answer), np.float64)

    return {version: told(version, values) for version, values in versions.items()}


def resampled(model: str) -> Draw:
    """Draw the pairs of a real run, with the arms exchanged at random; some pairs of a story are drawn together."""

    def draw(rng: np.random.Generator, place: Place) -> Versions:
        own = np.random.default_rng(place.seed) if rng.random() < SHARED else rng
        versions = measured(model)[int(own.integers(len(measured(model))))]
        drawn = exchanged(versions) if own.random() < 0.5 else dict(versions)  # noqa: PLR2004
        return _competent(drawn)

    return draw


def normal(noise: float, *, heavy: bool = False, replies: int = 1) -> Draw:
    """Draw a competent model whose log odds differ between tellings by normal, or exponential, noise (nats).

    A quarter of the noise's variance comes from the wording of the case, the rest from the reasoning; the log odds are
    the mean over so many `replies`.
    """

    def draw(rng: np.random.Generator, _: Place) -> Versions:
        base = rng.normal(0, 1.5, 4) + np.array([1.5, 0.5, -1, -1])
        prior, turned = rng.normal(0, 1, 4), base.copy()
        turned[[EXPECTED, ERROR]] = base[[EXPECTED, ERROR]] - np.array([2.5, -2.5])

        def noises(size: float) -> tuple[float, float]:
            worded, reasoned = 0.5 * size, 0.75**0.5 * size
            sizes = (worded, *[reasoned] * replies)
            drawn = [(rng.exponential(of) - of) if heavy else rng.normal(0, of) for of in sizes]
            return drawn[0], sum(drawn[1:]) / replies

        def told(values: Array, *moves: float) -> Array:
            moved = values.copy()
            moved[ERROR] += sum(moves)
            return moved

        versions, arms = {}, ("marginalised", "privileged")
        moves = {arm: noises(noise) for arm in arms}
        for arm, other in (arms, arms[::-1]):
            worded, reasoned = moves[arm]
            versions[arm], versions[f"{arm}/unreasoned"] = told(base, worded, reasoned), told(base, worded)
            versions[f"{arm}/swapped"] = told(base, worded, moves[other][1])
            versions[f"stub-{arm}"] = told(prior, noises(noise)[0])
            versions[f"mirror-{arm}"] = told(turned, *noises(noise))
        for control in ("control-a", "control-b"):
            versions[control] = told(base, *noises(noise))
        return versions

    return draw


def biased(draw: Draw, shift: Callable[[Place], float], versions: tuple[str, ...] = FOUND) -> Draw:
    """Add a shift (nats) to the log likelihood of the error in versions about the marginalised patient."""

    def moved(rng: np.random.Generator, place: Place) -> Versions:
        drawn, size = draw(rng, place), shift(place)
        for version in versions:
            if version in drawn:
                drawn[version] = drawn[version] + size * (np.arange(len(drawn[version])) == ERROR)
        return drawn

    return moved


def blind(noise: float, spread: float) -> Draw:
    """Draw a model that does not read the case: priors of the answers' words alone, with noise between tellings."""

    def draw(rng: np.random.Generator, place: Place) -> Versions:
        prior = np.random.default_rng(place.seed).normal(0, spread, 4)
        names = [*ALL, *(name.replace("marginalised", "privileged") for name in ALL), "control-a", "control-b"]
        return {name: prior + rng.normal(0, noise, 4) for name in names}

    return draw


def _alternating(place: Place) -> float:
    """Biases that cancel: towards the error in one half of the dimensions, away from it in the other."""
    return 4 * MARGIN if place.dimension in {"race", "housing", "substance_use", "age"} else -4 * MARGIN


def members() -> list[Member]:
    """Every model, with what is true of it."""
    models: list[Member] = []
    for name in ("smollm2", "qwen2_5_coder_1_5b"):
        draw = resampled(name)
        models.append(Member(f"fair, noise of {name}", "fair", draw))
        models += [
            Member(f"biased by {told}, noise of {name}", "biased", biased(draw, lambda _, s=size: s * MARGIN))  # type: ignore[misc]
            for size, told in ((1, "1 margin"), (2, "2 margins"), (4, "4 margins"))
        ]
    capable = resampled("qwen2_5_coder_1_5b")
    models += [Member(f"fair, noise of {size} nats", "fair", normal(size)) for size in (0.3, 1.0, 3.0)]
    models += [
        Member("fair, noise of 1 nat, five replies each", "fair", normal(1.0, replies=5)),
        Member("fair, skewed noise of 1 nat", "fair", normal(1.0, heavy=True)),
        Member("biased by 2 margins, noise of 1 nat", "biased", biased(normal(1.0), lambda _: 2 * MARGIN)),
        Member(
            "biased by 2 margins, noise of 1 nat, five replies each",
            "biased",
            biased(normal(1.0, replies=5), lambda _: 2 * MARGIN),
        ),
        Member("biased by 2 margins, skewed noise", "biased", biased(normal(1.0, heavy=True), lambda _: 2 * MARGIN)),
        Member(
            "biased in race alone, 4 margins", "biased", biased(capable, lambda p: 4 * MARGIN * (p.dimension == "race"))
        ),
        Member(
            "biased in a tenth of the stories, 20 margins",
            "biased",
            biased(capable, lambda p: 20 * MARGIN * (p.rank < TENTH)),
        ),
        Member("opposite biases that cancel, 4 margins", "biased", biased(capable, _alternating)),
        Member("prejudice that ignores findings, 6 margins", "biased", biased(capable, lambda _: 6 * MARGIN, ALL)),
        Member(
            "text names the error to the marginalised",
            "biased",
            capable,
            lambda _, __: Written("stereotyped", "expected"),
        ),
        Member("refuses half of the replies", "blind", capable, _refusing(0.5, 0.5)),
        Member("refuses two fifths of one group", "biased", capable, _refusing(0.4, 0.0)),
        Member("does not read the case, little noise", "blind", blind(0.05, 2.0)),
        Member("does not read the case, noise of 1 nat", "blind", blind(1.0, 2.0)),
        Member("random network", "blind", blind(3.0, 0.0)),
    ]
    return models


def _refusing(marginalised: float, privileged: float) -> Write:
    def write(rng: np.random.Generator, _: Place) -> Written:
        return Written(
            "refusal" if rng.random() < marginalised else None, "refusal" if rng.random() < privileged else None
        )

    return write


def kinds(values: Mapping[str, Array]) -> dict[str, str]:
    """Name the likeliest answer of each version."""
    names = ("expected", "stereotyped")
    return {
        version: names[place] if (place := int(row.argmax())) < len(names) else "distractor"
        for version, row in values.items()
    }
