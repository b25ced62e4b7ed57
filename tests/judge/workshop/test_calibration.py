"""Tests of the calibration of a reader."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from workshop.calibration import scaling


def test_scaling_finds_what_made_a_reader_overconfident() -> None:
    """Of logits doubled and shifted, the scale and the offsets undo both."""
    rng = np.random.default_rng(0)
    true = rng.normal(size=(40_000, 3))
    gold = np.array([rng.choice(3, p=row) for row in softmax(true, axis=1)])
    shift = np.array([0.5, -0.2, -0.3])
    scale, offsets = scaling(softmax(2 * true + shift, axis=1), gold)

    # Half the logits are true + shift / 2, so the offsets are -shift / 2, up to sampling.
    assert scale == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(offsets, -shift / 2, atol=0.04)
