"""How far a reader of reasoning agrees with labels: Cohen's kappa, recall, precision, F1, specificity, AUC.

Every figure has a 95 % percentile interval from resampling whole cases, because the labelled outputs of one case share
its text. A figure that a sample does not define is left out, such as kappa where all labels are alike.
Sources: Cohen (1960), Educational and Psychological Measurement 20:37-46 (kappa); Hanley & McNeil (1982), Radiology
143:29-36 (AUC as the chance that a positive scores above a negative, a tie counting half).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from equipoise.core.records import Consideration
from equipoise.metrics.effects import Nested, rounded
from equipoise.stats.bootstrap import cluster_bootstrap, generator, observed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CONSIDERATIONS: tuple[Consideration, ...] = get_args(Consideration)
ALPHA = 0.05
LIMITS = {"kappa": (-1.0, 1.0)}
"""Range of a figure, where it is not 0 to 1; an interval reaches to its end where resamples leave it undefined."""


def cohens_kappa(tables: NDArray[Any]) -> Array:
    """Agreement beyond chance of tables (..., k, k) of counts or shares, labels by findings; NaN where undefined."""
    totals = tables.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        agreed = np.trace(tables, axis1=-2, axis2=-1) / totals
        chance = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1) / totals**2
        kappa: Array = np.where(chance < 1, (agreed - chance) / (1 - chance), np.nan)
    return kappa


def agreement(
    labels: Sequence[Consideration],
    found: Sequence[Consideration],
    cases: Sequence[str],
    *,
    scores: Sequence[float] | None = None,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Agreement on whether a feature is considered at all, on none, weighed and dismissed, and both counts of errors.

    Args:
        labels: n labels.
        found: what the reader finds in the same n texts.
        cases: the case of each text; texts of one case are resampled together.
        scores: how far the reader takes each text to consider the feature, in any unit; without them no AUC.
        seed: of the resampling.
        n_bootstrap: number of resamples.

    Returns:
        `considered` (see `binary_agreement`), `three_way` with its kappa, and `errors`: of the texts labelled silent
        (none), and of those that are not, how many the reader found to be so.
    """
    silent = np.array([label == "none" for label in labels])
    says_silent = np.array([one == "none" for one in found])
    options = {"seed": seed, "n_bootstrap": n_bootstrap}
    three_way: Nested = {}
    if len(set(labels)) > 1:
        tables = np.zeros((len(labels), len(CONSIDERATIONS), len(CONSIDERATIONS)))
        for row, pair in enumerate(zip(labels, found, strict=True)):
            tables[row][tuple(map(CONSIDERATIONS.index, pair))] = 1
        three_way = _with_interval("kappa", _by_case(tables, cases), cohens_kappa, **options)
    return {
        "considered": binary_agreement(list(~silent), list(~says_silent), cases, scores=scores, **options),
        "three_way": {
            **({"kappa": three_way} if three_way else {}),
            **{f"n_{kind}": sum(label == kind for label in labels) for kind in CONSIDERATIONS},
        },
        "errors": {
            "silent": {"right": int((silent & says_silent).sum()), "of": int(silent.sum())},
            "not_silent": {"right": int((~silent & ~says_silent).sum()), "of": int((~silent).sum())},
        },
    }


def binary_agreement(
    truth: Sequence[bool],
    found: Sequence[bool],
    cases: Sequence[str],
    *,
    scores: Sequence[float] | None = None,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Figures of a reader that says yes or no, each with its interval, and n, n_yes (labelled yes) and n_cases.

    Where all labels are yes only recall is defined, and where all are no only specificity. Arguments as for
    `agreement`.
    """
    yes, says_yes = np.array(truth, dtype=bool), np.array(found, dtype=bool)
    figures: Nested = {"n": len(yes), "n_yes": int(yes.sum()), "n_cases": len(set(cases))}
    cells = np.stack([yes & says_yes, yes & ~says_yes, ~yes & says_yes, ~yes & ~says_yes], axis=1).astype(float)
    measures = _measures(both_kinds=bool(yes.any() and not yes.all()), any_yes=bool(yes.any()))
    samples = dict.fromkeys(measures, _by_case(cells, cases))
    if scores is not None and "kappa" in measures:
        # A case is drawn so many times; how its scores stand to another case's is a matter of the pair.
        measures["auc"] = _auc(np.array(scores, dtype=float), yes, cases)
        samples["auc"] = np.eye(len(set(cases)))
    for name, statistic in measures.items():
        measured = _with_interval(name, samples[name], statistic, seed=seed, n_bootstrap=n_bootstrap)
        if measured:
            figures[name] = measured
    return figures


def _measures(*, both_kinds: bool, any_yes: bool) -> dict[str, Callable[[Array], Array]]:
    """What the labels define, as functions of (resamples, 4): true positives, misses, false alarms, true negatives."""

    def share(*, of: slice, right: int) -> Callable[[Array], Array]:
        def statistic(cells: Array) -> Array:
            with np.errstate(invalid="ignore"):
                found: Array = cells[:, right] / cells[:, of].sum(axis=1)
            return found

        return statistic

    def f1(cells: Array) -> Array:
        with np.errstate(invalid="ignore"):
            found: Array = 2 * cells[:, 0] / (2 * cells[:, 0] + cells[:, 1] + cells[:, 2])
        return found

    recall = share(of=slice(0, 2), right=0)
    specificity = share(of=slice(2, 4), right=3)
    if not both_kinds:
        return {"recall": recall} if any_yes else {"specificity": specificity}
    return {
        "kappa": lambda cells: cohens_kappa(cells.reshape(-1, 2, 2)),
        "recall": recall,
        "precision": share(of=slice(0, 3, 2), right=0),
        "f1": f1,
        "specificity": specificity,
    }


def _auc(scores: Array, yes: NDArray[np.bool_], cases: Sequence[str]) -> Callable[[Array], Array]:
    """AUC as a function of (resamples, cases): how often each case was drawn."""
    above = (scores[:, None] > scores) + 0.5 * (scores[:, None] == scores)
    member = np.array(cases)[:, None] == sorted(set(cases))
    won = (member & yes[:, None]).T @ above @ (member & ~yes[:, None])
    n_yes, n_no = (member & yes[:, None]).sum(axis=0), (member & ~yes[:, None]).sum(axis=0)

    def statistic(drawn: Array) -> Array:
        with np.errstate(invalid="ignore"):
            found: Array = ((drawn @ won) * drawn).sum(axis=1) / ((drawn @ n_yes) * (drawn @ n_no))
        return found

    return statistic


def _by_case(values: Array, cases: Sequence[str]) -> Array:
    """Totals (cases, k, …) of values (n, k, …), cases in order of their names."""
    names = sorted(set(cases))
    totals = np.zeros((len(names), *values.shape[1:]))
    np.add.at(totals, [names.index(case) for case in cases], values)
    return totals


def _with_interval(
    name: str, sample: Array, statistic: Callable[[Array], Array], *, seed: int, n_bootstrap: int
) -> Nested:
    """A figure and the interval of its resamples; empty where it is undefined."""
    shape = sample.shape[1:]

    def restored(strata: Sequence[Array]) -> Array:
        return statistic(strata[0].reshape(-1, *shape))

    flat = [sample.reshape(len(sample), -1)]
    value = observed(flat, restored)
    if value is None:
        return {}
    interval = cluster_bootstrap(flat, restored, rng=generator(seed, name), n_resamples=n_bootstrap, alpha=ALPHA)
    least, most = LIMITS.get(name, (0.0, 1.0))
    low, high = (least, most) if interval is None else (interval.low, min(most, interval.high))
    return {"estimate": rounded(value), "ci_low": rounded(low), "ci_high": rounded(high)}
