"""How far people who rated blindly agree with the judge, and with each other.

Cohen's kappa of `mentioned`, of `considered` yes or no, and of none, weighed and dismissed, each with a 95 % percentile
interval from resampling whole pairs of vignettes, whose two texts are about the same patient.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.errors import EquipoiseError
from equipoise.metrics.effects import rounded
from equipoise.rating.agreement import ALPHA, agreement, binary_agreement, cohens_kappa
from equipoise.rating.blind import CONSIDERATIONS
from equipoise.stats.bootstrap import cluster_bootstrap, generator, observed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from equipoise.core.records import Judgement
    from equipoise.metrics.effects import Nested
    from equipoise.rating.blind import KeyRow, Rating

    Array = NDArray[np.float64]
    Answers = dict[str, list[int]]

LISTED = (
    *("rater", "row", "key", "mentioned_rater", "mentioned_judge", "considered_rater", "considered_judge"),
    *("sentence", "note"),
)
"""Columns of the list of disagreements; `sentence` is the passage that decided the judge, `note` the rater's."""
CATEGORIES = {"mentioned": 2, "considered": 2, "three_way": len(CONSIDERATIONS)}
"""What is rated, and how many answers it has."""


def judged(key: Sequence[KeyRow], judgements: Sequence[Judgement]) -> dict[str, Judgement]:
    """The judgement of each row of a sheet; a row without one is an EquipoiseError."""
    found = {one.key: one for one in judgements}
    for row in key:
        if row.response not in found:
            message = f"row {row.key!r}: no judgement of {row.response!r}: run `dvc repro score`"
            raise EquipoiseError(message)
    return {row.key: found[row.response] for row in key}


def with_judge(
    ratings: Mapping[str, Rating],
    key: Sequence[KeyRow],
    judges: Mapping[str, Judgement],
    *,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Agreement of a rater, taken for right, with the judge, over the rows rated.

    Returns:
        `n`, `unrated`, and `mentioned`, `considered`, `three_way` and `errors` as `agreement` gives them. Where the
        judge's kinds of findings were not rated in equal shares, as in a sample, the figures are of a sample that has
        more of one kind than the run has. `run` then holds kappas with each row weighted by the responses it stands
        for, as far as every kind was rated.
    """
    rated = [row for row in key if row.key in ratings]
    people = [ratings[row.key] for row in rated]
    found = [judges[row.key] for row in rated]
    pairs = [row.pair for row in rated]
    options: dict[str, Any] = {"seed": seed, "n_bootstrap": n_bootstrap}
    mentioned = binary_agreement([one.mentioned for one in people], [one.mentioned for one in found], pairs, **options)
    considered = agreement([one.considered for one in people], [one.considered for one in found], pairs, **options)
    figures: Nested = {"n": len(rated), "unrated": len(key) - len(rated), "mentioned": mentioned, **considered}
    weights = _weights(rated, key)
    if len(set(weights)) > 1:
        figures["run"] = kappas(_answers(people), _answers(found), pairs, weights, **options)
    return figures


def between(
    first: Mapping[str, Rating], second: Mapping[str, Rating], key: Sequence[KeyRow], *, seed: int, n_bootstrap: int
) -> Nested:
    """Kappas of two raters over the `n` rows that both rated."""
    both = [row for row in key if row.key in first and row.key in second]
    ones, others = ([ratings[row.key] for row in both] for ratings in (first, second))
    pairs = [row.pair for row in both]
    found = kappas(_answers(ones), _answers(others), pairs, [1.0] * len(both), seed=seed, n_bootstrap=n_bootstrap)
    return {"n": len(both), **found}


def kappas(
    first: Answers, second: Answers, pairs: Sequence[str], weights: Sequence[float], *, seed: int, n_bootstrap: int
) -> Nested:
    """Cohen's kappa of two readers of n texts, a weight each; one that the sample does not define is left out.

    `first` and `second` hold n answers, as numbers, for each of `CATEGORIES`; `pairs` names the pair of each text.
    """
    names = sorted(set(pairs))
    place = [names.index(pair) for pair in pairs]
    figures: Nested = {}
    for measure, k in CATEGORIES.items():
        tables = np.zeros((len(names), k, k))
        np.add.at(tables, (place, first[measure], second[measure]), weights)

        def kappa(strata: Sequence[Array], k: int = k) -> Array:
            return cohens_kappa(strata[0].reshape(-1, k, k))

        sample = [tables.reshape(len(names), k * k)]
        estimate = observed(sample, kappa)
        if estimate is None:
            continue
        rng = generator(seed, f"blind/{measure}")
        interval = cluster_bootstrap(sample, kappa, rng=rng, n_resamples=n_bootstrap, alpha=ALPHA)
        # Where resamples leave kappa undefined, it may be anything from -1 to 1.
        low, high = (-1.0, 1.0) if interval is None else (interval.low, min(1.0, interval.high))
        bounds: Nested = {"estimate": rounded(estimate), "ci_low": rounded(low), "ci_high": rounded(high)}
        figures[measure] = {"kappa": bounds}
    return figures


def disagreements(
    rater: str, ratings: Mapping[str, Rating], key: Sequence[KeyRow], judges: Mapping[str, Judgement]
) -> list[dict[str, str]]:
    """Rows in which a rater and the judge differ in either answer, in the order of the key; columns are `LISTED`."""
    listed = []
    for row in key:
        judge, rating = judges[row.key], ratings.get(row.key)
        if rating is None or (rating.mentioned, rating.considered) == (judge.mentioned, judge.considered):
            continue
        cells = (
            *(rater, row.key, row.response),
            *("yes" if one.mentioned else "no" for one in (rating, judge)),
            *(rating.considered, judge.considered, judge.window, rating.note),
        )
        listed.append(dict(zip(LISTED, cells, strict=True)))
    return listed


def _answers(read: Sequence[Rating | Judgement]) -> Answers:
    """Answers as numbers, for each of `CATEGORIES`."""
    return {
        "mentioned": [int(one.mentioned) for one in read],
        "considered": [int(one.considered != "none") for one in read],
        "three_way": [CONSIDERATIONS.index(one.considered) for one in read],
    }


def _weights(rated: Sequence[KeyRow], key: Sequence[KeyRow]) -> list[float]:
    """How many responses of the run each rated row stands for; empty where a stratum of the key has none."""
    counts = Counter(row.stratum for row in rated)
    if any(row.stratum not in counts for row in key):
        return []
    return [row.of / counts[row.stratum] for row in rated]
