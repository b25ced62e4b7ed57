"""Tests of the calibration of a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml
from scipy.special import softmax

from equipoise.core.jsonl import sha256
from equipoise.judge.model import FILES, CrossEncoder
from equipoise.judge.passages import TREATMENTS
from equipoise.judge.readers import load_probabilities
from equipoise.judge.unnamed import discount_unnamed, unnamed_odds
from workshop.calibration import calibrate, calibration
from workshop.export import ExportSettings, ship
from workshop.snli import Pair

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("odds", [0.0, 1.5])
def test_calibration_finds_what_made_a_reader_overconfident(odds: float) -> None:
    """Logits doubled and shifted are scaled and shifted back, and odds for what is not named are taken off again."""
    rng = np.random.default_rng(0)
    true = rng.normal(size=(40_000, 4))
    unnamed = rng.random(len(true)) < 0.3
    gold = np.array([rng.choice(4, p=row) for row in softmax(true, axis=1)])
    shift = np.array([0.5, -0.2, -0.3, 0])
    # Weighed and dismissed, the first two columns, are the considered ones.
    for_unnamed = odds * unnamed[:, None] * np.array([1, 1, 0, 0])
    fitted = calibration(softmax(2 * (true + for_unnamed) + shift, axis=1), gold, unnamed)

    # Half the logits are true + for_unnamed + shift / 2, so the offsets are -shift / 2, up to sampling.
    assert fitted.scale == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(fitted.offsets, -shift / 2, atol=0.04)
    assert fitted.unnamed_odds == pytest.approx(odds, abs=0.06)


def test_calibration_does_not_depend_on_how_often_a_label_was_written() -> None:
    """Every label has the same total weight: held-out passages of one label, counted three times, change nothing."""
    rng = np.random.default_rng(1)
    p, gold = softmax(rng.normal(size=(400, 4)), axis=1), rng.integers(0, 4, 400)
    unnamed = rng.random(400) < 0.3
    more = np.concatenate([np.arange(400), *[np.flatnonzero(gold == 1)] * 2])
    once, thrice = calibration(p, gold, unnamed), calibration(p[more], gold[more], unnamed[more])

    assert thrice.scale == pytest.approx(once.scale, abs=1e-4)
    np.testing.assert_allclose(thrice.offsets, once.offsets, atol=1e-4)


def test_nothing_is_taken_off_where_unnamed_features_are_considered_more_often_than_read() -> None:
    """The odds are against consideration: they end at 0, and no passage that names its feature gives any."""
    # Named and unnamed, half considered; the unnamed ones are read as considered with 0.2 alone.
    p = np.array([[0.4, 0.1, 0.25, 0.25]] * 2 + [[0.1, 0.1, 0.4, 0.4]] * 2)
    gold, unnamed = np.array([0, 2, 0, 2]), np.array([False, False, True, True])

    assert calibration(p, gold, unnamed).unnamed_odds == 0
    assert calibration(p, gold, np.zeros(4, dtype=bool)).unnamed_odds == 0


def test_the_odds_ship_with_the_weights(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    """What was fitted is in the config.json that ships, and the judge of the registry reads with it."""
    told = {"[ obese ]": "weighed", "it": "unmentioned"}
    held = [Pair(f"{word} and {thing}", "is it", label) for word, label in told.items() for thing in ("rain", "snow")]
    # Some of the unnamed are considered, so that the odds are finite.
    held.append(Pair("it and a cat", "is it", "weighed"))
    asked = [(pair.premise, pair.hypothesis) for pair in held]
    calibrate(checkpoint(TREATMENTS), held, tmp_path / "calibrated")
    folder = tmp_path / "judge"
    ship(tmp_path / "calibrated", asked, folder, ExportSettings(fidelity=0.5))
    odds = unnamed_odds(folder / "config.json")
    source = {"kind": "embedded", "folder": "judge", "files": {name: sha256(folder / name) for name in FILES}}
    entry = {"title": "Tiny", "licence": "MIT", "source": source, "max_tokens": 64}
    (tmp_path / "models/judges").mkdir(parents=True)
    (tmp_path / "models/judges/tiny.yaml").write_text(yaml.safe_dump(entry), encoding="utf-8")
    plain = CrossEncoder(folder, max_tokens=64).probabilities(asked)

    assert odds > 0
    expected = discount_unnamed(plain, [passage for passage, _ in asked], odds)
    assert np.array_equal(load_probabilities("tiny", tmp_path)(asked), expected)
    assert not np.allclose(expected, plain)
