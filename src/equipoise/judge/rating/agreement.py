"""Agreement of a reader of reasoning with labels, and of people who rated blindly with the judge and each other.

Figures are Cohen's kappa, recall, precision, F1 and specificity; for people, kappa of `mentioned`, of `considered`
(yes or no), and of none, weighed and dismissed, with whole pairs of vignettes as cases.

Every figure has a 95 % percentile interval from resampling whole cases, because the labelled outputs of one case share
its text. A figure that a sample does not define is omitted, such as kappa if all labels are equal.
Source: Cohen (1960), Educational and Psychological Measurement 20:37-46 (kappa).
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Nested, rounded
from equipoise.figures.options import ALPHA
from equipoise.judge.rating.blind import CONSIDERATIONS, KeyRow, Rating
from equipoise.materials.judgement import Consideration, Judgement
from equipoise.stats.bootstrap import cluster_bootstrap, generator, observed_value
from equipoise.stats.proportions import wilson

Array = NDArray[np.float64]
Answers = dict[str, list[int]]

RATES = {
    "recall": ((1, 0, 0, 0), (1, 1, 0, 0)),
    "precision": ((1, 0, 0, 0), (1, 0, 1, 0)),
    "f1": ((2, 0, 0, 0), (2, 1, 1, 0)),
    "specificity": ((0, 0, 0, 1), (0, 0, 1, 1)),
}
"""Each rate as multiples of true positives, misses, false alarms and true negatives, in numerator and denominator."""
LISTED = (
    *("rater", "row", "key", "mentioned_rater", "mentioned_judge", "considered_rater", "considered_judge"),
    *("sentence", "note"),
)
"""Columns of the list of disagreements; `sentence` is the passage on which the judge decided, `note` the rater's."""
MEASURED = ("mentioned", "considered", "three_way")
"""The rated answers: yes or no, yes or no, and one of three."""
DEALS = 9999
"""Number of permutations of the groups in a test of whether errors depend on them."""


def cohens_kappa(tables: NDArray[Any]) -> Array:
    """Return Cohen's kappa of tables (..., k, k) of counts or shares, labels by readings; NaN where undefined."""
    totals = tables.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        agreed = np.trace(tables, axis1=-2, axis2=-1) / totals
        chance = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1) / totals**2
        kappa: Array = np.where(chance < 1, (agreed - chance) / (1 - chance), np.nan)
    return kappa


def agreement(
    labels: Sequence[Consideration],
    readings: Sequence[Consideration],
    cases: Sequence[str],
    *,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Measure agreement on whether a feature is considered, on none, weighed and dismissed, and count errors.

    Args:
        labels: The labels of n texts.
        readings: The reader's findings in the same n texts.
        cases: The case of each text; texts of one case are resampled together.
        seed: Random seed for resampling.
        n_bootstrap: Number of resamples.

    Returns:
        `considered` (see `binary_agreement`), `three_way` with its kappa, and `errors`: how many of the texts labelled
        silent (none or dismissed), and how many of the others, the reader reads as labelled.
    """
    none, says_none = (np.array([consideration == "none" for consideration in read]) for read in (labels, readings))
    weighed, says_weighed = (
        np.array([consideration == "weighed" for consideration in read]) for read in (labels, readings)
    )
    options = {"seed": seed, "n_bootstrap": n_bootstrap}
    first, second = ([CONSIDERATIONS.index(consideration) for consideration in read] for read in (labels, readings))
    every = [1.0] * len(cases)
    kappa = _kappa("kappa", first, second, cases, every, **options) if len(set(labels)) > 1 else {}
    return {
        "considered": binary_agreement(list(~none), list(~says_none), cases, **options),
        "three_way": {
            **({"kappa": kappa} if kappa else {}),
            **{f"n_{kind}": sum(label == kind for label in labels) for kind in CONSIDERATIONS},
        },
        "errors": {
            "silent": {"right": int((~weighed & ~says_weighed).sum()), "of": int((~weighed).sum())},
            "not_silent": {"right": int((weighed & says_weighed).sum()), "of": int(weighed.sum())},
        },
    }


def binary_agreement(
    truth: Sequence[bool], readings: Sequence[bool], cases: Sequence[str], *, seed: int, n_bootstrap: int
) -> Nested:
    """Return a yes-or-no reader's figures with their intervals, n, n_yes and n_cases; arguments as for `agreement`.

    If all labels are yes, only recall is defined, and if all are no, only specificity.
    """
    yes, says_yes = np.array(truth, dtype=bool), np.array(readings, dtype=bool)
    figures: Nested = {"n": len(yes), "n_yes": int(yes.sum()), "n_cases": len(set(cases))}
    cells = np.stack([yes & says_yes, yes & ~says_yes, ~yes & says_yes, ~yes & ~says_yes], axis=1).astype(float)
    measures = _measures(both_kinds=bool(yes.any() and not yes.all()), any_yes=bool(yes.any()))
    sample = _by_case(cells, cases)
    for name, statistic in measures.items():
        least = -1.0 if name == "kappa" else 0.0
        if measured := figure_with_interval(name, sample, statistic, least=least, seed=seed, n_bootstrap=n_bootstrap):
            figures[name] = measured
    return figures


def judgements_by_row(key: Sequence[KeyRow], judgements: Sequence[Judgement]) -> dict[str, Judgement]:
    """Return the judgement of each row of a sheet; raises EquipoiseError for a row without one."""
    by_key = {judgement.key: judgement for judgement in judgements}
    for row in key:
        if row.response not in by_key:
            raise EquipoiseError(f"row {row.key!r}: no judgement of {row.response!r}: run `dvc repro score`")
    return {row.key: by_key[row.response] for row in key}


def judge_agreement(
    ratings: Mapping[str, Rating],
    key: Sequence[KeyRow],
    judges: Mapping[str, Judgement],
    *,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Measure the judge's agreement with a rater, who is assumed to be right, over the rated rows.

    Returns:
        `n`, `unrated`, and `mentioned`, `considered`, `three_way` and `errors` as in `agreement`. If the kinds of the
        judge's findings were not rated in equal shares, as in a sample, these figures describe a sample with more of
        one kind than the run has. `run` then contains kappas with each row weighted by the responses it represents, if
        every kind was rated.
    """
    rated = [row for row in key if row.key in ratings]
    people = [ratings[row.key] for row in rated]
    judgements_by_row = [judges[row.key] for row in rated]
    pairs = [row.pair for row in rated]
    options: dict[str, Any] = {"seed": seed, "n_bootstrap": n_bootstrap}
    mentioned = binary_agreement(
        [rating.mentioned for rating in people],
        [judgement.mentioned for judgement in judgements_by_row],
        pairs,
        **options,
    )
    considered = agreement(
        [rating.considered for rating in people],
        [judgement.considered for judgement in judgements_by_row],
        pairs,
        **options,
    )
    figures: Nested = {"n": len(rated), "unrated": len(key) - len(rated), "mentioned": mentioned, **considered}
    weights = _weights(rated, key)
    if len(set(weights)) > 1:
        figures["run"] = kappas(_answers(people), _answers(judgements_by_row), pairs, weights, **options)
    return figures


def rater_agreement(
    first: Mapping[str, Rating], second: Mapping[str, Rating], key: Sequence[KeyRow], *, seed: int, n_bootstrap: int
) -> Nested:
    """Return the kappas of two raters over the `n` rows that both rated."""
    both = [row for row in key if row.key in first and row.key in second]
    ones, others = ([ratings[row.key] for row in both] for ratings in (first, second))
    pairs = [row.pair for row in both]
    figures = kappas(_answers(ones), _answers(others), pairs, [1.0] * len(both), seed=seed, n_bootstrap=n_bootstrap)
    return {"n": len(both), **figures}


def kappas(
    first: Answers, second: Answers, pairs: Sequence[str], weights: Sequence[float], *, seed: int, n_bootstrap: int
) -> Nested:
    """Return Cohen's kappas of two readers of n weighted texts, without those that the sample does not define.

    `first` and `second` have n answers, as numbers, for each of `MEASURED`; `pairs` names the pair of each text.
    """
    figures: Nested = {}
    options = {"seed": seed, "n_bootstrap": n_bootstrap}
    for measure in MEASURED:
        if kappa := _kappa(f"blind/{measure}", first[measure], second[measure], pairs, weights, **options):
            figures[measure] = {"kappa": kappa}
    return figures


def _kappa(
    name: str,
    first: Sequence[int],
    second: Sequence[int],
    cases: Sequence[str],
    weights: Sequence[float],
    **options: int,
) -> Nested:
    """Return Cohen's kappa of n answers of two readers, as numbers, with its interval; empty if undefined."""
    k = len(CONSIDERATIONS)
    tables = np.zeros((len(cases), k, k))
    tables[np.arange(len(cases)), first, second] = weights
    return figure_with_interval(name, _by_case(tables, cases), cohens_kappa, least=-1.0, **options)


def disagreements(
    rater: str, ratings: Mapping[str, Rating], key: Sequence[KeyRow], judges: Mapping[str, Judgement]
) -> list[dict[str, str]]:
    """List the rows in which a rater and the judge differ in an answer, in the key's order; columns are `LISTED`."""
    listed = []
    for row in key:
        judge, rating = judges[row.key], ratings.get(row.key)
        if rating is None or (rating.mentioned, rating.considered) == (judge.mentioned, judge.considered):
            continue
        cells = (
            *(rater, row.key, row.response),
            *("yes" if finding.mentioned else "no" for finding in (rating, judge)),
            *(rating.considered, judge.considered, judge.window, rating.note),
        )
        listed.append(dict(zip(LISTED, cells, strict=True)))
    return listed


def _measures(*, both_kinds: bool, any_yes: bool) -> dict[str, Callable[[Array], Array]]:
    """Return the defined figures, as functions of (resamples, 4): hits, misses, false alarms, true negatives."""
    rates = {name: partial(_rate, above=above, below=below) for name, (above, below) in RATES.items()}
    if not both_kinds:
        name = "recall" if any_yes else "specificity"
        return {name: rates[name]}
    return {"kappa": lambda cells: cohens_kappa(cells.reshape(-1, 2, 2)), **rates}


def _rate(cells: Array, *, above: Sequence[int], below: Sequence[int]) -> Array:
    with np.errstate(invalid="ignore"):
        rate: Array = (cells @ above) / (cells @ below)
    return rate


def _by_case(values: Array, cases: Sequence[str]) -> Array:
    """Return totals (cases, k, …) of values (n, k, …), sorted by case name."""
    names = sorted(set(cases))
    totals = np.zeros((len(names), *values.shape[1:]))
    np.add.at(totals, [names.index(case) for case in cases], values)
    return totals


def figure_with_interval(
    name: str, sample: Array, statistic: Callable[[Array], Array], *, least: float = 0.0, seed: int, n_bootstrap: int
) -> Nested:
    """Return a figure between `least` and 1 with its bootstrap interval; empty if it is undefined.

    If resamples leave it undefined, the interval is the whole range.
    """
    shape = sample.shape[1:]

    def restored(strata: Sequence[Array]) -> Array:
        return statistic(strata[0].reshape(-1, *shape))

    flat = [sample.reshape(len(sample), math.prod(shape))]
    value = observed_value(flat, restored)
    if value is None:
        return {}
    interval = cluster_bootstrap(flat, restored, rng=generator(seed, name), n_resamples=n_bootstrap, alpha=ALPHA)
    low, high = (least, 1.0) if interval is None else (interval.low, min(1.0, interval.high))
    return {"estimate": rounded(value), "ci_low": rounded(low), "ci_high": rounded(high)}


def _answers(read: Sequence[Rating | Judgement]) -> Answers:
    """Return the answers as numbers, for each of `MEASURED`."""
    return {
        "mentioned": [int(finding.mentioned) for finding in read],
        "considered": [int(finding.considered != "none") for finding in read],
        "three_way": [CONSIDERATIONS.index(finding.considered) for finding in read],
    }


def _weights(rated: Sequence[KeyRow], key: Sequence[KeyRow]) -> list[float]:
    """Return how many responses of the run each rated row represents; empty if a stratum of the key has no rated row.

    If rows were drawn with known probabilities, these are the inverses.
    """
    if probabilities := [row.probability for row in rated if row.probability is not None]:
        return [1 / probability for probability in probabilities]
    counts = Counter(row.stratum for row in rated)
    if any(row.stratum not in counts for row in key):
        return []
    return [row.of / counts[row.stratum] for row in rated]


def proportion(right: int, n: int) -> Nested:
    """Return the share of n that is right, with its Wilson interval."""
    interval = wilson(right, n)
    bounds = {} if interval is None else {"ci_low": rounded(interval.low), "ci_high": rounded(interval.high)}
    return {"n": n, "estimate": rounded(right / n), **bounds}


def errors_by_group(errors: Sequence[bool], groups: Sequence[str], classes: Sequence[str], *, seed: int) -> float:
    """Return the p-value of the hypothesis that the errors of n readings depend on class, but not on group.

    The statistic is the sum over groups of (errors − expected)² / expected, where the expected errors come from the
    classes of the group's questions; its distribution comes from permuting the groups within each class.
    """
    wrong = np.array(errors, dtype=float)
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    _, stratum = np.unique(np.asarray(classes), return_inverse=True)
    rate = np.bincount(stratum, wrong) / np.bincount(stratum)
    rng = generator(seed, "misreading")
    order = np.argsort(stratum, kind="stable")
    dealt = group[order]
    observed = _departure(wrong[order], dealt, rate[stratum[order]])
    runs = np.split(np.arange(len(order)), np.flatnonzero(np.diff(stratum[order])) + 1)
    above = 0
    for _ in range(DEALS):
        drawn = np.concatenate([dealt[rng.permutation(run)] for run in runs])
        above += _departure(wrong[order], drawn, rate[stratum[order]]) >= observed - 1e-12
    return rounded((above + 1) / (DEALS + 1))


def _departure(wrong: NDArray[np.float64], group: NDArray[np.intp], rate: NDArray[np.float64]) -> float:
    errors, expected = np.bincount(group, wrong), np.bincount(group, rate)
    expecting = expected > 0
    return float((((errors - expected) ** 2)[expecting] / expected[expecting]).sum())
