"""What is made of a model's logits: the next token's scores and log probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def penalise(logits: NDArray[np.float32], seen: Sequence[int], penalty: float) -> NDArray[np.float32]:
    """Apply the repetition penalty of CTRL (Keskar et al. 2019, section 4.1) to every token seen, like transformers."""
    if penalty == 1.0 or not seen:
        return logits
    where = np.unique(np.array(seen))
    scores = logits[where]
    result = logits.copy()
    result[where] = np.where(scores > 0, scores / np.float32(penalty), scores * np.float32(penalty))
    return result


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Turn logits (rows, vocabulary) into log probabilities, in nats, in double precision."""
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=-1, keepdims=True)
    return np.asarray(wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True)))
