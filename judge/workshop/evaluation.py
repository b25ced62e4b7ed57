"""Accuracy of a judge on labelled pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.judge.model import LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def evaluate(gold: Sequence[str], probabilities: NDArray[Any]) -> dict[str, Any]:
    """Return accuracy with its 95 % Wilson interval, and per gold label recall, precision and the confusion counts.

    Args:
        gold: The label of each of n pairs.
        probabilities: (n, 3), columns entailment, neutral, contradiction.

    Returns:
        A nested dict of finite scalars, as DVC shows them. A recall or precision with denominator 0 is omitted.
    """
    import numpy as np
    from statsmodels.stats.proportion import proportion_confint

    order: list[str] = [*LABELS]
    confusion = np.zeros((len(LABELS), len(LABELS)), dtype=int)
    np.add.at(confusion, ([order.index(label) for label in gold], probabilities.argmax(axis=1)), 1)
    right, n = int(np.trace(confusion)), len(gold)
    low, high = proportion_confint(right, n, method="wilson")
    per_label: dict[str, dict[str, float]] = {}
    for index, label in enumerate(LABELS):
        hits, of_gold, of_predicted = confusion[index, index], confusion[index].sum(), confusion[:, index].sum()
        figures = {f"predicted_{other}": int(confusion[index, place]) for place, other in enumerate(LABELS)}
        ratios = {"recall": (hits, of_gold), "precision": (hits, of_predicted)}
        per_label[label] = figures | {name: float(over / under) for name, (over, under) in ratios.items() if under}
    return {"accuracy": right / n, "ci_low": float(low), "ci_high": float(high), "n": n, "labels": per_label}
