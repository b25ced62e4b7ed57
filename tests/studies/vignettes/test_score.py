"""Tests of scoring without the judge, as a study does that stops when its verdict is in."""

from __future__ import annotations

from equipoise.judge.reading import Feature, ReadingSettings, read_reasonings
from equipoise.studies.vignettes.score import UNREAD


def test_without_the_judge_no_reasoning_considers_the_feature() -> None:
    """A text that names the feature, and would be read by passages, mentions nothing."""
    settings = ReadingSettings(words=8, unsure=0.1)

    (reading,) = read_reasonings([("A Black man.", [Feature("race", ("Black",))])], UNREAD.probabilities, settings)

    assert (reading.considered, reading.mentioned, reading.p_mentioned) == ("none", False, 0.0)
