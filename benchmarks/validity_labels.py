"""Simulations of figures corrected for the judge's error with labels of the run itself, as in real runs.

Stories are as uneven as elsewhere (`validity_stories`); whether a reply is silent, and whether an answer is the
stereotyped one, depends on the story (ICC 0.3). The judge errs more on some stories than on others (ICC 0.2), and gives
the probability of its score, stretched so that it is too sure of itself. Its errors may differ between the arms, and
from those of its card, of 100 silent and 100 other replies, with which the older correction works.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from validity_section import LARGE, Row, Study, coverage
from validity_simulations import holds
from validity_stories import places

from equipoise.judge.rating.drawing import draw
from equipoise.materials.pairs import Pair
from equipoise.stats.clusters import effective_size
from equipoise.stats.misclassification import ErrorCounts, rogan_gladen_interval
from equipoise.stats.prediction_powered import Labelled, powered_mean, share_interval
from equipoise.stats.quantities import Interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from validity_simulations import Outcomes, Simulation

    from equipoise.materials.judgement import Judgement

ICC, OF_JUDGE = 0.3, 0.2
SILENT = {"marginalised": 0.7, "privileged": 0.85}
"""How much of each arm's reasoning is silent."""
BIASED = 0.35
SURE = 4.0
"""How far the judge's scores are stretched."""
CARD = ErrorCounts(90, 100, 90, 100)
JUDGES = {
    "errs in 0.1 everywhere": {"marginalised": (0.1, 0.1), "privileged": (0.1, 0.1)},
    "misses 0.3 of the silent replies of one arm, 0.1 elsewhere": {
        "marginalised": (0.3, 0.1),
        "privileged": (0.1, 0.1),
    },
    "takes 0.3 of one arm's other replies for silent, misses 0.2 of the other's silent ones": {
        "marginalised": (0.1, 0.3),
        "privileged": (0.2, 0.1),
    },
}
"""Judges by behaviour: for each arm, the shares of silent replies read as not silent, and of others read as silent."""
SETTINGS = (
    (25, 60, 0),
    (25, 60, 1),
    (25, 60, 2),
    (120, 60, 0),
    (120, 60, 1),
    (120, 120, 1),
    (120, 120, 2),
    (240, 200, 1),
)
"""Stories, labels, and which of the judges."""
ELSEWHERE = "The error rates of the card were measured where the judge erred less than in this run."


def labels_of_the_run() -> Iterator[Study]:
    """Yield the simulations of the section."""
    for stories, n, which in SETTINGS:
        does, errors = [*JUDGES.items()][which]
        title = f"{len(places(stories))} pairs of {stories} stories, {n} labels, a judge that {does}"
        rows = {
            "silent": coverage("silent bias rate with labels (PPI++)"),
            "considered": coverage("features considered, one arm, with labels (PPI++)"),
            "difference": coverage("features considered, difference of the arms, with labels (PPI++)"),
            "card": coverage("silent bias rate by the card's error rates (Rogan-Gladen)", ELSEWHERE),
            "alone": Row("silent bias rate: width, of that of as many labels alone", "cost", 1.0),
            "uniform": Row("silent bias rate: width, of that of a uniform draw", "cost", 1.0),
            "both": Row("difference of the arms: width, of that of as many labels alone", "cost", 1.0),
        }
        yield Study(f"labels/{stories}/{n}/{which}", title, LARGE, corrected(stories, n, errors), rows)


def corrected(stories: int, n: int, errors: Mapping[str, tuple[float, float]]) -> Simulation:
    """Simulate runs of pairs whose replies such a judge reads, with `n` correct labels by people."""
    place = places(stories)
    # Whether features are considered is the complement of silence, with the same interval.
    truth = dict.fromkeys(("silent", "considered"), SILENT["marginalised"])
    truth["difference"] = SILENT["privileged"] - SILENT["marginalised"]

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        values_by_name: dict[str, list[float]] = {}
        for _ in range(draws):
            pairs, silent = _run(rng, place, errors)
            drawn = draw(pairs, dict.fromkeys(silent, ""), n, int(rng.integers(2**32)))
            anyhow = rng.permutation(len(silent))[:n]
            uniform = dict.fromkeys(np.array([*silent])[anyhow].tolist(), n / len(silent))
            ours, theirs = _intervals(pairs, silent, drawn), _intervals(pairs, silent, uniform)
            alone = _intervals(pairs, silent, uniform, tuning=0.0)
            figures = {name: holds(interval, truth[name]) for name, interval in ours.items()}
            figures["card"] = holds(_by_card(pairs), truth["silent"])
            figures["alone"] = _ratio(ours["silent"], alone["silent"])
            figures["uniform"] = _ratio(ours["silent"], theirs["silent"])
            figures["both"] = _ratio(ours["difference"], alone["difference"])
            for name, value in figures.items():
                values_by_name.setdefault(name, []).append(value)
        return {name: np.array(values) for name, values in values_by_name.items()}

    return simulate


def _run(
    rng: np.random.Generator, place: NDArray[np.int64], errors: Mapping[str, tuple[float, float]]
) -> tuple[list[Pair], dict[str, bool]]:
    """Draw the pairs of a run, read by the judge, and whether each reply is silent, by its key."""
    stories, n = int(place.max()) + 1, len(place)
    biased = rng.random(n) < _rates(rng, BIASED, stories)[place]
    silent: dict[str, bool] = {}
    arms: dict[str, list[Judgement]] = {}
    for role, (missed, mistaken) in errors.items():
        true = rng.random(n) < _rates(rng, SILENT[role], stories)[place]
        own = np.sqrt(OF_JUDGE) * rng.normal(size=stories)[place] + np.sqrt(1 - OF_JUDGE) * rng.normal(size=n)
        considered = expit(-SURE * (np.where(true, norm.isf(missed), -norm.isf(mistaken)) + own))
        arms[role] = [
            # In place of a row, whose fields would be checked a million times.
            cast(
                "Judgement",
                SimpleNamespace(
                    key=f"{pair}/{role}",
                    answer="stereotyped" if role == "marginalised" and biased[pair] else "expected",
                    answer_generated="expected",
                    considered="weighed" if considered[pair] > 0.5 else "none",  # noqa: PLR2004  (where the judge turns)
                    silent=bool(considered[pair] <= 0.5),  # noqa: PLR2004
                    p_considered=float(considered[pair]),
                ),
            )
            for pair in range(n)
        ]
        silent |= {f"{pair}/{role}": bool(true[pair]) for pair in range(n)}
    pairs = [
        Pair(
            str(pair), "single", ("race",), str(place[pair]), "p", arms["marginalised"][pair], arms["privileged"][pair]
        )
        for pair in range(n)
    ]
    return pairs, silent


def _rates(rng: np.random.Generator, rate: float, stories: int) -> NDArray[np.float64]:
    drawn: NDArray[np.float64] = rng.beta(rate * (1 - ICC) / ICC, (1 - rate) * (1 - ICC) / ICC, size=stories)
    return drawn


def _intervals(
    pairs: Sequence[Pair], silent: Mapping[str, bool], drawn: Mapping[str, float], tuning: float | None = None
) -> dict[str, Interval | None]:
    """Return the intervals of a run's figures, given the probabilities of the drawn replies."""
    biased = [pair for pair in pairs if pair.biased]
    rate = powered_mean(_silence([(pair.marginalised, pair.story) for pair in biased], silent, drawn), tuning)
    arms = (_silence([(pair.arms[place], pair.story) for pair in pairs], silent, drawn) for place in range(2))
    first, second = (powered_mean(arm, tuning) for arm in arms)
    both = None if first is None or second is None else second.minus(first).mean()
    means = {"silent": rate.mean() if rate else None, "considered": first.mean() if first else None}
    return {
        **{name: None if mean is None else share_interval(mean) for name, mean in means.items()},
        "difference": None if both is None else both.interval(),
    }


def _silence(
    arms: Sequence[tuple[Judgement, str]], silent: Mapping[str, bool], drawn: Mapping[str, float]
) -> list[Labelled]:
    return [
        Labelled(
            1 - arm.p_considered,
            float(silent[arm.key]) if arm.key in drawn else None,
            1 / drawn.get(arm.key, 1.0),
            story,
        )
        for arm, story in arms
    ]


def _by_card(pairs: Sequence[Pair]) -> Interval | None:
    biased = [pair for pair in pairs if pair.biased]
    silent = [pair.silent for pair in biased]
    size = effective_size(silent, [pair.story for pair in biased])
    return rogan_gladen_interval(sum(silent) / max(1, len(silent)) * size, size, CARD)


def _ratio(interval: Interval | None, reference: Interval | None) -> float:
    """Return the width of an interval relative to the reference's."""
    return (
        np.nan
        if interval is None or reference is None
        else (interval.high - interval.low) / (reference.high - reference.low)
    )
