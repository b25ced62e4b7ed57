"""Tests of the odds against features that no word of a passage names."""

from __future__ import annotations

import json
from math import e
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import TREATMENTS
from equipoise.judge.reading import ask_about
from equipoise.judge.unnamed import AS_CONSIDERED, MOST, discount_unnamed, is_unnamed, unnamed_odds

ROOT = Path(__file__).parents[2]
NAMED, UNNAMED = "His [ obesity ] raises the risk.", "At his size a clot is likelier."
ROWS = arrays(float, st.tuples(st.integers(1, 5), st.just(len(TREATMENTS))), elements=st.floats(0.001, 1)).map(
    lambda drawn: drawn / drawn.sum(axis=1, keepdims=True)
)


@given(ROWS)
def test_odds_of_0_change_no_bit(p: np.ndarray) -> None:
    """Without odds the probabilities are what the reader gave."""
    assert np.array_equal(discount_unnamed(p, [UNNAMED] * len(p), 0), p)


@given(ROWS, st.floats(0, MOST))
def test_a_named_feature_is_read_as_before(p: np.ndarray, odds: float) -> None:
    """Where the passage has a word for the feature, no bit changes."""
    assert np.array_equal(discount_unnamed(p, [NAMED] * len(p), odds), p)


@given(ROWS, st.floats(0, MOST))
def test_the_odds_are_divided_and_the_ratios_kept(p: np.ndarray, odds: float) -> None:
    """Rows still add up to 1; the log odds of consideration fall by `odds`; the rest keeps its proportions."""
    discounted = discount_unnamed(p, [UNNAMED] * len(p), odds)

    np.testing.assert_allclose(discounted.sum(axis=1), 1)
    before, after = (
        np.log(rows[:, AS_CONSIDERED].sum(axis=1) / rows[:, ~AS_CONSIDERED].sum(axis=1)) for rows in (p, discounted)
    )
    np.testing.assert_allclose(before - after, odds, atol=1e-9)
    for columns in (AS_CONSIDERED, ~AS_CONSIDERED):
        shares = [rows[:, columns] / rows[:, columns].sum(axis=1, keepdims=True) for rows in (p, discounted)]
        np.testing.assert_allclose(*shares)


def test_an_even_reading_with_odds_of_three_to_one() -> None:
    """A half of consideration becomes a quarter where nothing names the feature, and stays a half elsewhere."""
    p = np.array([[0.4, 0.1, 0.2, 0.3]] * 2)

    # 0.5 / 3 against 0.5 is 1 against 3; within it 4 to 1, and within the rest 2 to 3.
    expected = [p[0], [0.2, 0.05, 0.3, 0.45]]
    np.testing.assert_allclose(discount_unnamed(p, [NAMED, UNNAMED], np.log(3)), expected)


@pytest.mark.parametrize(
    ("text", "words", "unnamed"),
    [
        ("He sleeps rough, so the wound is dirty.", "homeless", False),
        ("Nights in doorways explain the trench foot.", "homeless", True),
        # No lexicon lists it: its own words count.
        ("As a beekeeper she is stung often.", "beekeeper", False),
        ("She is stung often.", "beekeeper", True),
    ],
)
def test_the_lexicon_says_what_is_named(text: str, words: str, *, unnamed: bool) -> None:
    """A synonym names a feature, a paraphrase that the lexicon does not have does not."""
    (feature,) = load_lexicon(ROOT / "data/features").features({"": words})

    assert is_unnamed(ask_about(text, feature)[0]) is unnamed


def test_the_odds_are_those_of_the_config(tmp_path: Path) -> None:
    """They are read from config.json; a reader without the field has none."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"unnamed_odds": e}), encoding="utf-8")

    assert unnamed_odds(config) == e
    config.write_text("{}", encoding="utf-8")
    assert unnamed_odds(config) == 0


@pytest.mark.parametrize("wrong", [-0.1, 20.5, float("nan"), float("inf"), True, "1", None])
def test_other_odds_are_refused(tmp_path: Path, wrong: object) -> None:
    """Anything that is not a number from 0 to 20 is an error that names the file, the field and the fix."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"unnamed_odds": wrong}), encoding="utf-8")

    with pytest.raises(
        EquipoiseError, match=r"config\.json, unnamed_odds: .* is not a number from 0 to 20: correct it"
    ):
        unnamed_odds(config)
