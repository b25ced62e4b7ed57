"""The figures that `equipoise score medmcqa` prints for each city, under the names of EquiLens' released scores.

They are those of `equipoise.metrics.medmcqa`, not rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.metrics.medmcqa import MEASURES, WEIGHTED

if TYPE_CHECKING:
    from equipoise.metrics.classification import Scores
    from equipoise.metrics.effects import Estimate
    from equipoise.metrics.medmcqa import CityScores


def released_form(city: str, found: CityScores) -> dict[str, Any]:
    """Lay out one city: `aggregate`, and `per_disease` with the disease's weight as `composition`.

    Shares with the limits of their interval, counts of answers and classes; what is undefined is None. Answers about
    no disease count in the aggregate alone.
    """
    aggregate = found.aggregate
    placed = sum(one.n_total for one in found.diseases.values())
    return {
        "city": city,
        "n_samples": aggregate.n_total,
        "aggregate": {
            **_scores(aggregate),
            **_estimate(WEIGHTED, found.weighted),
            "n_without_disease": aggregate.n_total - placed,
        },
        "per_disease": {
            disease: {**_scores(one), "composition": found.weights.get(disease)}
            for disease, one in found.diseases.items()
        },
    }


def _scores(scores: Scores) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for measure in MEASURES:
        figures |= _estimate(measure, scores.estimates[measure])
    return figures | {
        "n_samples": scores.n_total,
        "n_valid": scores.n_valid,
        "n_invalid": scores.n_invalid,
        "n_absent_classes": scores.n_absent_classes,
        "n_unpredicted_classes": scores.n_unpredicted_classes,
    }


def _estimate(measure: str, estimate: Estimate) -> dict[str, float | None]:
    interval = estimate.interval
    return {
        measure: estimate.value,
        f"{measure}_ci_low": None if interval is None else interval.low,
        f"{measure}_ci_high": None if interval is None else interval.high,
    }
