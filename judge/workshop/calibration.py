"""Calibrate a reader's probabilities on held-out passages: a scale for all logits, and an offset for each label.

It is vector scaling with a common scale (Guo et al. 2017, arXiv:1706.04599), written into the classifier's own weights,
so that a feature is considered from a probability of a half. Odds against features that no word names are fitted with
both, and written into config.json, since they depend on the passage (`equipoise.judge.unnamed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equipoise.judge.located import torch_probabilities
from equipoise.judge.passages import TREATMENTS
from equipoise.judge.unnamed import AS_CONSIDERED, KEY, MOST, is_unnamed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workshop.snli import Pair


class Calibration(NamedTuple):
    """Calibration parameters: `scale` of the logits, `offsets` of the labels, which add up to 0, and `unnamed_odds`.

    The offsets are in nats, and so are the odds against consideration if the feature is not named.
    """

    scale: float
    offsets: NDArray[np.float64]
    unnamed_odds: float


def calibrate(checkpoint: Path, held: Sequence[Pair], out: Path) -> None:
    """Write a reader to `out` whose probabilities fit the held-out questions in `held`."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    p = torch_probabilities(checkpoint, [(pair.premise, pair.hypothesis) for pair in held])
    gold = np.array([TREATMENTS.index(pair.label) for pair in held])
    fitted = calibration(p, gold, np.array([is_unnamed(pair.premise) for pair in held]))
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    columns = [model.config.label2id[name] for name in TREATMENTS]
    with torch.no_grad():
        model.classifier.weight *= fitted.scale
        model.classifier.bias *= fitted.scale
        model.classifier.bias[columns] += torch.tensor(fitted.offsets, dtype=torch.float32)
    setattr(model.config, KEY, fitted.unnamed_odds)
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(checkpoint).save_pretrained(out)


def calibration(p: NDArray[np.float64], gold: NDArray[np.intp], unnamed: NDArray[np.bool_]) -> Calibration:
    """Fit the calibration with maximum likelihood of the labels `gold`, columns of p (n, `TREATMENTS`).

    Every label has the same total weight: how often models deny or give a reason is what is to be measured, and is not
    what our authors happened to write. `unnamed` marks passages that do not name the feature; the odds are at least 0,
    and 0 if there are none.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    logits = np.log(np.clip(p, 1e-12, 1))
    n = p.shape[1]
    doubted = unnamed[:, None] & AS_CONSIDERED
    weight = 1 / np.bincount(gold, minlength=n)[gold]

    def unpack(x: NDArray[np.float64]) -> Calibration:
        return Calibration(float(np.exp(x[0])), np.append(x[1:n], -x[1:n].sum()), float(x[n]))

    def loss(x: NDArray[np.float64]) -> float:
        fitted = unpack(x)
        likely = log_softmax(fitted.scale * logits + fitted.offsets - fitted.unnamed_odds * doubted, axis=1)
        return -float(np.average(likely[np.arange(len(gold)), gold], weights=weight))

    bounds = [*[(None, None)] * n, (0, MOST)]
    return unpack(minimize(loss, np.zeros(n + 1), method="L-BFGS-B", bounds=bounds).x)
