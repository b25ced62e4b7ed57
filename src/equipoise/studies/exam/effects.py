"""Effects of the exam study: how well a model answers questions that represent a city's burden of disease.

docs/metrics/macro_f1.md and docs/metrics/prevalence_weighted_accuracy.md define the figures. An answer without a letter
is invalid: it is excluded from accuracy and macro averages, and counted in `invalid_rate`. The bootstrap keeps each
disease's number of questions, which the sample fixed. Cities with overlapping diseases share questions, so their
figures are not independent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import grouped
from equipoise.figures.effects import Effect, Estimate, Group, effect, rate
from equipoise.figures.options import Measure
from equipoise.materials.pairs import require_same_keys
from equipoise.materials.questions import Disease
from equipoise.stats.bootstrap import Array, cluster_bootstrap, generator
from equipoise.stats.proportions import weighted_shares, wilson
from equipoise.stats.quantities import Interval, ratio
from equipoise.studies.exam import NAME
from equipoise.studies.exam.subsets import CLASSES, Sampled

ACCURACY = "accuracy"
MACRO = ("precision_macro", "recall_macro", "f1_macro")
K = len(CLASSES)


@dataclass(frozen=True, slots=True)
class Marked:
    """The correct letter of a question and the letter given; None if unparsed."""

    gold: str
    letter: str | None


@dataclass(frozen=True, slots=True)
class Scores:
    """Figures of one set of answers, by measure, and the counts behind them.

    Valid answers have a letter. An absent class is not the correct answer of any valid one; an unpredicted class is
    never given.
    """

    n_total: int
    n_valid: int
    n_right: int
    n_absent_classes: int
    n_unpredicted_classes: int
    estimates: Mapping[str, Estimate]

    @property
    def n_invalid(self) -> int:
        """The number of answers without a letter."""
        return self.n_total - self.n_valid


def score(strata: Sequence[Sequence[Marked]], name: str, options: Measure) -> Scores:
    """Score answers: accuracy with Wilson's interval, macro averages with a bootstrap over questions.

    The answers come in strata whose sizes were fixed in advance (the diseases of a sample); questions are resampled
    within each stratum; if all resamples agree, there is no interval. `name` seeds the random numbers, so that a figure
    does not depend on the others.
    Raises EquipoiseError if a correct answer or a letter is not one of the four classes.
    """
    every = [row for stratum in strata for row in stratum]
    valid = [[(row.gold, row.letter) for row in stratum if row.letter is not None] for stratum in strata]
    pairs = [pair for stratum in valid for pair in stratum]
    right = sum(gold == letter for gold, letter in pairs)
    tables = [confusions(stratum) for stratum in valid if stratum]
    estimates = {ACCURACY: Estimate(ratio(right, len(pairs)), wilson(right, len(pairs), options.alpha))}
    for place, (measure, value) in enumerate(zip(MACRO, macro_averages(pairs), strict=True)):
        estimates[measure] = Estimate(value, _interval(tables, place, f"{name}/{measure}", options))
    return Scores(
        n_total=len(every),
        n_valid=len(pairs),
        n_right=right,
        n_absent_classes=K - len({gold for gold, _ in pairs}),
        n_unpredicted_classes=K - len({letter for _, letter in pairs}),
        estimates=estimates,
    )


def macro_averages(pairs: Sequence[tuple[str, str]]) -> tuple[float | None, float | None, float | None]:
    """Compute macro precision, recall and F1 over the four classes of (correct, given) letters; None without letters.

    Source: scikit-learn's `precision_recall_fscore_support`; the definitions are those of EquiLens' metrics reference.
    """
    from sklearn.metrics import precision_recall_fscore_support

    if not pairs:
        return None, None, None
    gold, given = zip(*pairs, strict=True)
    precision, recall, f1, _ = precision_recall_fscore_support(
        gold, given, labels=CLASSES, average="macro", zero_division=0
    )
    return float(precision), float(recall), float(f1)


def confusions(pairs: Sequence[tuple[str, str]]) -> Array:
    """Encode (correct, given) letters as an array (answers, 16) with a 1 in the cell correct x given of each row."""
    cells = np.zeros((len(pairs), K * K))
    for row, (gold, given) in enumerate(pairs):
        if gold not in CLASSES or given not in CLASSES:
            message = f"right answer {gold!r}, given {given!r}: macro averages are over {', '.join(CLASSES)} alone"
            raise EquipoiseError(message)
        cells[row, K * CLASSES.index(gold) + CLASSES.index(given)] = 1
    return cells


def macro_of_cells(cells: Array) -> Array:
    """Compute macro precision, recall and F1 (m, 3) of m confusion tables (m, 16), counts or proportions.

    With TP, FP and FN of a class: TP / (TP + FP), TP / (TP + FN) and 2 TP / (2 TP + FP + FN), each 0 if the denominator
    is 0, and the mean over the four classes.
    """
    tables = cells.reshape(-1, K, K)
    hits = tables.diagonal(axis1=1, axis2=2)
    given, gold = tables.sum(axis=1), tables.sum(axis=2)
    averages = [
        np.divide(above, below, out=np.zeros_like(above), where=below > 0).mean(axis=1)
        for above, below in ((hits, given), (hits, gold), (2 * hits, given + gold))
    ]
    return np.stack(averages, axis=1)


def _interval(tables: Sequence[Array], place: int, name: str, options: Measure) -> Interval | None:
    """Bootstrap one macro average over questions within strata, weighted by their valid answers."""
    if not tables:
        return None

    def statistic(means: Sequence[Array]) -> Array:
        cells = sum(len(table) * mean for table, mean in zip(tables, means, strict=True))
        average: Array = macro_of_cells(np.asarray(cells))[:, place]
        return average

    interval = cluster_bootstrap(
        tables, statistic, rng=generator(options.seed, name), n_resamples=options.n_bootstrap, alpha=options.alpha
    )
    # If every answer is correct, so is every resample: the bootstrap then does not show the figure's uncertainty.
    return None if interval is None or interval.low == interval.high else interval


WEIGHTED = "prevalence_weighted_accuracy"
MEASURES = (ACCURACY, *MACRO)


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """A question of a city's sample with the letter given; `disease` is None if it belongs to no group of diseases."""

    city: str
    item: str
    disease: Disease | None
    answered: Marked


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
    return [ExamAnswer(row.city, row.item, row.disease, Marked(row.gold, letters[row.item])) for row in sampled]


def score_cities(
    answers: Sequence[ExamAnswer], weights: Mapping[str, Mapping[Disease, float]], options: Measure
) -> dict[str, CityScores]:
    """Score every city that has answers, by name; `weights` are the normalised prevalences of each city.

    The order of the answers does not matter. Raises EquipoiseError if a city has no weights.
    """
    by_city = grouped((row.city, row) for row in sorted(answers, key=lambda row: (row.city, row.item)))
    if unknown := sorted(by_city.keys() - weights.keys()):
        known = ", ".join(weights) or "none"
        message = f"city {unknown[0]!r} has answers but no diseases; known: {known}: add it, or correct the name"
        raise EquipoiseError(message)
    return {city: _score_city(city, rows, weights[city], options) for city, rows in by_city.items()}


def exam_effects(scores: Mapping[str, CityScores], alpha: float) -> list[Effect]:
    """Lay the figures out as effects, sorted by key: family `city` (london) and family `disease` (london/cancer)."""
    rows: list[Effect] = []
    for name, city in scores.items():
        group = Group("city", name, NAME)
        rows += _effects(group, city.aggregate, alpha)
        # Its n counts the valid answers about the city's own diseases.
        n = sum(city.diseases[disease].n_valid for disease in city.weights)
        rows.append(effect(group, WEIGHTED, n, city.weighted))
        for disease, of_disease in city.diseases.items():
            group = Group("disease", f"{name}/{disease}", NAME)
            rows += _effects(group, of_disease, alpha)
            if disease in city.weights:
                rows.append(effect(group, "weight", of_disease.n_valid, Estimate(city.weights[disease])))
    return sorted(rows, key=lambda row: row.key)


def _score_city(
    city: str, answers: Sequence[ExamAnswer], weights: Mapping[Disease, float], options: Measure
) -> CityScores:
    by_disease: dict[Disease | None, list[Marked]] = {disease: [] for disease in weights}
    for row in answers:
        by_disease.setdefault(row.disease, []).append(row.answered)
    diseases = {
        disease: score([rows], f"medmcqa/{city}/{disease}", options)
        for disease, rows in by_disease.items()
        if disease is not None
    }
    aggregate = score(list(by_disease.values()), f"medmcqa/{city}", options)
    return CityScores(aggregate, diseases, weights, _weighted(diseases, weights, options.alpha))


def _weighted(diseases: Mapping[Disease, Scores], weights: Mapping[Disease, float], alpha: float) -> Estimate:
    parts = [(weight, diseases[disease].n_right, diseases[disease].n_valid) for disease, weight in weights.items()]
    mean = weighted_shares(parts, alpha)
    return Estimate(None) if mean is None else Estimate(mean.value, mean.interval)


def _effects(group: Group, scores: Scores, alpha: float) -> Iterator[Effect]:
    for measure in MEASURES:
        yield effect(group, measure, scores.n_valid, scores.estimates[measure])
    for measure in ("n_total", "n_invalid", "n_absent_classes", "n_unpredicted_classes"):
        yield effect(group, measure, scores.n_valid, Estimate(float(getattr(scores, measure))))
    yield rate(group, "invalid_rate", [True] * scores.n_invalid + [False] * scores.n_valid, alpha)
