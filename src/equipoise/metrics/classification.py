"""Classification figures over four answer classes: accuracy and macro averages, with their intervals.

Answers without a letter are excluded from every figure and counted separately. Macro averages are over all four
classes, as in EquiLens' metrics reference: a class without correct answers, or one never given, contributes 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equipoise.core.errors import EquipoiseError
from equipoise.exam.rows import CLASSES
from equipoise.metrics.effects import Estimate
from equipoise.stats.bootstrap import cluster_bootstrap, generator
from equipoise.stats.proportions import wilson
from equipoise.stats.quantities import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.stats.bootstrap import Array
    from equipoise.stats.quantities import Interval

ACCURACY = "accuracy"
MACRO = ("precision_macro", "recall_macro", "f1_macro")
K = len(CLASSES)


@dataclass(frozen=True, slots=True)
class Answered:
    """The correct letter of a question, and the letter given; None if unparsed."""

    gold: str
    letter: str | None


@dataclass(frozen=True, slots=True)
class Resampling:
    """Settings of intervals: alpha (1 − confidence level), and seed and number of bootstrap resamples."""

    alpha: float
    seed: int
    n_bootstrap: int


@dataclass(frozen=True, slots=True)
class Scores:
    """Figures of one set of answers, by measure, and the counts behind them.

    Valid answers have a letter. An absent class is the correct answer of no valid one; an unpredicted class is never
    given.
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


def score(strata: Sequence[Sequence[Answered]], name: str, resampling: Resampling) -> Scores:
    """Score answers: accuracy with Wilson's interval, macro averages with a bootstrap over questions.

    The answers come in strata whose sizes were fixed in advance (the diseases of a sample); questions are resampled
    within each, and if all resamples agree there is no interval. `name` seeds the random numbers, so that a figure
    does not depend on the others.
    Raises EquipoiseError if a correct answer or a letter is not one of the four classes.
    """
    every = [row for stratum in strata for row in stratum]
    valid = [[(row.gold, row.letter) for row in stratum if row.letter is not None] for stratum in strata]
    pairs = [pair for stratum in valid for pair in stratum]
    right = sum(gold == letter for gold, letter in pairs)
    tables = [confusions(stratum) for stratum in valid if stratum]
    estimates = {ACCURACY: Estimate(ratio(right, len(pairs)), wilson(right, len(pairs), resampling.alpha))}
    for place, (measure, value) in enumerate(zip(MACRO, macro_averages(pairs), strict=True)):
        estimates[measure] = Estimate(value, _interval(tables, place, f"{name}/{measure}", resampling))
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


def _interval(tables: Sequence[Array], place: int, name: str, resampling: Resampling) -> Interval | None:
    """Bootstrap one macro average over questions within strata, weighted by their valid answers."""
    if not tables:
        return None

    def statistic(means: Sequence[Array]) -> Array:
        cells = sum(len(table) * mean for table, mean in zip(tables, means, strict=True))
        average: Array = macro_of_cells(np.asarray(cells))[:, place]
        return average

    interval = cluster_bootstrap(
        tables,
        statistic,
        rng=generator(resampling.seed, name),
        n_resamples=resampling.n_bootstrap,
        alpha=resampling.alpha,
    )
    # If every answer is correct, so is every resample, which does not show the uncertainty of the figure.
    return None if interval is None or interval.low == interval.high else interval
