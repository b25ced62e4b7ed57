"""Effects of the exam study: how well a model answers questions that represent a city's burden of disease.

Definitions:

- A response without a letter is invalid: it is excluded from accuracy and macro averages, as in EquiLens' metrics
  reference, and counted in `invalid_rate`.
- A city's figures are over its sample, stratified by disease in fixed proportions, which the bootstrap preserves.
- `prevalence_weighted_accuracy` weights each disease's accuracy by the city's normalised prevalence, whatever the
  proportions of the questions are. It is undefined if a disease has no valid answer.
- Cities share questions as far as their diseases overlap; figures of two cities are not independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.metrics.classification import ACCURACY, MACRO, Answered, Resampling, Scores, score
from equipoise.metrics.effects import Estimate, Group, effect, rate
from equipoise.metrics.pairs import require_same_keys
from equipoise.stats.proportions import weighted_sum

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from equipoise.core.records import Effect, Study
    from equipoise.exam.rows import Sampled
    from equipoise.questions.rows import Disease

STUDY: Study = "exam"
"""First part of every key here, and the stem of the metrics file."""
WEIGHTED = "prevalence_weighted_accuracy"
MEASURES = (ACCURACY, *MACRO)


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """One question of a city's sample with the letter given; `disease` is None if the question is about no group."""

    city: str
    item: str
    disease: Disease | None
    answered: Answered


@dataclass(frozen=True, slots=True)
class CityScores:
    """The figures of one city: over all its answers, by disease, and the diseases' weights, which sum to 1.

    `diseases` contains those with weights, in their order, then other diseases with questions.
    """

    aggregate: Scores
    diseases: Mapping[Disease, Scores]
    weights: Mapping[Disease, float]
    weighted: Estimate


def tabulate_exam(sampled: Sequence[Sampled], letters: Mapping[str, str | None]) -> list[ExamAnswer]:
    """Join the cities' questions with their parsed letters, by item.

    Raises EquipoiseError that names the keys if a question has no letter or a letter no question.
    """
    require_same_keys("question", {row.item for row in sampled}, "response", letters.keys())
    return [ExamAnswer(row.city, row.item, row.disease, Answered(row.gold, letters[row.item])) for row in sampled]


def score_cities(
    answers: Sequence[ExamAnswer], weights: Mapping[str, Mapping[Disease, float]], resampling: Resampling
) -> dict[str, CityScores]:
    """Score every city that has answers, by the name of the city; `weights` are its normalised prevalences.

    The order of the answers does not matter. A city without weights raises an EquipoiseError.
    """
    by_city: dict[str, list[ExamAnswer]] = {}
    for row in sorted(answers, key=lambda row: (row.city, row.item)):
        by_city.setdefault(row.city, []).append(row)
    if unknown := sorted(by_city.keys() - weights.keys()):
        known = ", ".join(weights) or "none"
        message = f"city {unknown[0]!r} has answers but no diseases; known: {known}: add it, or correct the name"
        raise EquipoiseError(message)
    return {city: _score_city(city, rows, weights[city], resampling) for city, rows in by_city.items()}


def exam_effects(scores: Mapping[str, CityScores], alpha: float) -> list[Effect]:
    """Lay the figures out as effects, sorted by key: family `city` (london) and family `disease` (london/cancer)."""
    rows: list[Effect] = []
    for city, found in scores.items():
        rows += [*_effects(_city(city), found.aggregate, alpha), _weighted_effect(city, found)]
        for disease, one in found.diseases.items():
            rows += _effects(_disease(city, disease), one, alpha)
            if disease in found.weights:
                rows.append(effect(_disease(city, disease), "weight", one.n_valid, Estimate(found.weights[disease])))
    return sorted(rows, key=lambda row: row.key)


def _score_city(
    city: str, answers: Sequence[ExamAnswer], weights: Mapping[Disease, float], resampling: Resampling
) -> CityScores:
    found: dict[Disease | None, list[Answered]] = {disease: [] for disease in weights}
    for row in answers:
        found.setdefault(row.disease, []).append(row.answered)
    diseases = {
        disease: score([rows], f"medmcqa/{city}/{disease}", resampling)
        for disease, rows in found.items()
        if disease is not None
    }
    aggregate = score(list(found.values()), f"medmcqa/{city}", resampling)
    return CityScores(aggregate, diseases, weights, _weighted(diseases, weights, resampling.alpha))


def _weighted(diseases: Mapping[Disease, Scores], weights: Mapping[Disease, float], alpha: float) -> Estimate:
    """Weight the accuracies; undefined if a disease of the city has no valid answer."""
    parts = [(weight, diseases[disease].n_right, diseases[disease].n_valid) for disease, weight in weights.items()]
    if not parts or not all(n for *_, n in parts):
        return Estimate(None)
    return Estimate(sum(weight * right / n for weight, right, n in parts), weighted_sum(parts, alpha))


def _city(city: str) -> Group:
    return Group("city", city, STUDY)


def _disease(city: str, disease: Disease) -> Group:
    return Group("disease", f"{city}/{disease}", STUDY)


def _weighted_effect(city: str, found: CityScores) -> Effect:
    """Build the effect of the weighted accuracy; its n counts the valid answers about the city's own diseases."""
    n = sum(found.diseases[disease].n_valid for disease in found.weights)
    return effect(_city(city), WEIGHTED, n, found.weighted)


def _effects(group: Group, scores: Scores, alpha: float) -> Iterator[Effect]:
    for measure in MEASURES:
        yield effect(group, measure, scores.n_valid, scores.estimates[measure])
    for measure in ("n_total", "n_invalid", "n_absent_classes", "n_unpredicted_classes"):
        yield effect(group, measure, scores.n_valid, Estimate(float(getattr(scores, measure))))
    yield rate(group, "invalid_rate", [True] * scores.n_invalid + [False] * scores.n_valid, alpha)
