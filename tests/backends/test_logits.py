from __future__ import annotations

import numpy as np
import pytest

from equipoise.backends.logits import log_softmax, penalise


def test_penalty_divides_positive_and_multiplies_negative_scores() -> None:
    """A seen token's score falls, whatever its sign; an unseen one stays."""
    logits = np.array([2.0, -2.0, 1.0], np.float32)

    # 2 / 1.25 = 1.6; -2 x 1.25 = -2.5; token 2 was not seen.
    assert pytest.approx(penalise(logits, [0, 1, 1], 1.25).tolist()) == [1.6, -2.5, 1.0]


def test_log_softmax_of_equal_scores_is_the_log_of_their_share() -> None:
    """Four equal scores have probability 1/4 each."""
    assert log_softmax(np.zeros((1, 4), np.float32))[0].tolist() == pytest.approx([np.log(0.25)] * 4)
