"""Make a reader's probabilities those of held-out passages: one scale for all logits, and an offset for each label.

It is vector scaling with a common scale (Guo et al. 2017, arXiv:1706.04599), written into the classifier's own weights:
what ships needs no further step, and a feature is considered from a probability of a half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.judge.located import torch_probabilities
from equipoise.judge.passages import TREATMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workshop.snli import Pair


def calibrate(checkpoint: Path, held: Sequence[Pair], out: Path) -> None:
    """Write a reader to `out` whose probabilities fit the questions in `held`, which it was not trained on."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    p = torch_probabilities(checkpoint, [(one.premise, one.hypothesis) for one in held])
    gold = np.array([TREATMENTS.index(one.label) for one in held])
    scale, offsets = scaling(p, gold)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    columns = [model.config.label2id[name] for name in TREATMENTS]
    with torch.no_grad():
        model.classifier.weight *= scale
        model.classifier.bias *= scale
        model.classifier.bias[columns] += torch.tensor(offsets, dtype=torch.float32)
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(checkpoint).save_pretrained(out)


def scaling(p: NDArray[np.float64], gold: NDArray[np.intp]) -> tuple[float, NDArray[np.float64]]:
    """The scale of the log probabilities (n, labels), and the offset of each label, that make `gold` likeliest.

    The offsets add up to 0.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    logits = np.log(np.clip(p, 1e-12, 1))
    n = p.shape[1]

    def told(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        return float(np.exp(x[0])), np.append(x[1:], -x[1:].sum())

    def loss(x: NDArray[np.float64]) -> float:
        scale, offsets = told(x)
        likely = log_softmax(scale * logits + offsets, axis=1)
        return -float(likely[np.arange(len(gold)), gold].mean())

    return told(minimize(loss, np.zeros(n), method="BFGS").x)
