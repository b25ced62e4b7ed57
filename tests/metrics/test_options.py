"""Tests of the section `measure` and of the judge's error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from equipoise.metrics.equity import EquityOptions
from equipoise.metrics.options import Measure, judge_errors
from equipoise.metrics.questions import AdversarialOptions
from equipoise.metrics.silent import SilentBiasOptions
from equipoise.metrics.stigma import StigmaOptions
from equipoise.models.registry import JUDGES as FOLDER
from equipoise.stats.misclassification import ErrorCounts

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = """
title: A judge
licence: Apache-2.0
source: {kind: local, path: weights}
max_tokens: 512
"""
ERROR = """
error:
  silent: {right: 41, of: 50}
  not_silent: {right: 88, of: 110}
  labels: reasoning of one model
"""


@pytest.mark.parametrize("kind", [SilentBiasOptions, AdversarialOptions, EquityOptions, StigmaOptions])
def test_every_study_takes_its_part(kind: type[SilentBiasOptions]) -> None:
    """A study's options are those of the section, as far as it knows them."""
    given = Measure(alpha=0.1, power=0.9, seed=3, n_bootstrap=500, partition="seeded", partition_seed=7, min_pairs=2)

    part = given.part(kind)

    assert isinstance(part, kind)
    assert part.model_dump().items() <= given.model_dump().items()


@pytest.mark.parametrize(("block", "errors"), [("", None), (ERROR, ErrorCounts(41, 50, 88, 110))])
def test_the_judges_error_is_that_of_its_entry(tmp_path: Path, block: str, errors: ErrorCounts | None) -> None:
    """Silent is positive; a judge whose error nobody measured has none."""
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "mine.yaml").write_text(ENTRY + block, "utf-8")

    assert errors == judge_errors("mine", tmp_path)
