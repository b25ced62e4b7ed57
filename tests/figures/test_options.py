"""Tests of the section `measure`, of the bounds of groups, and of the judge's error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from equipoise.figures.options import Endpoint, Measure
from equipoise.judge.errors import judge_errors
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


def test_the_section_takes_the_settings_of_every_study() -> None:
    """Every setting has a default; an unknown one, or one out of its range, is refused."""
    given = Measure(alpha=0.1, power=0.9, seed=3, n_bootstrap=500, partition="seeded", partition_seed=7)

    assert Measure().model_dump().keys() == given.model_dump().keys()
    small: list[dict[str, object]] = [{"alpha": 1}, {"power": 0}, {"seed": -1}, {"n_bootstrap": 99}]
    for wrong in (*small, {"alfa": 0.1}, {"n_bootstrap": 1_000_001}):
        with pytest.raises(ValidationError):
            Measure.model_validate(wrong)


def test_families_may_have_bounds_of_their_own() -> None:
    """A number bounds the groups of every family, a mapping those that it names, which must be declared."""
    declared = {"figure": "gap", "margin": 0.05, "why": "made up", "families": ["attribute", "background"]}
    each = Endpoint.model_validate(declared | {"within_groups": {"background": 3.0}}).components["gap"]
    every = Endpoint.model_validate(declared | {"within_groups": 2.0}).components["gap"]
    bounds = [component.for_groups(name) for component in (each, every) for name in ("attribute", "background")]

    # 3 x 0.05, and 2 x 0.05.
    assert [bound and bound.margin for bound in bounds] == [None, pytest.approx(0.15), 0.1, 0.1]
    with pytest.raises(ValidationError, match="within_groups bounds city, which families does not list"):
        Endpoint.model_validate(declared | {"within_groups": {"city": 2.0}})


@pytest.mark.parametrize(("block", "errors"), [("", None), (ERROR, ErrorCounts(41, 50, 88, 110))])
def test_the_judges_error_is_that_of_its_entry(tmp_path: Path, block: str, errors: ErrorCounts | None) -> None:
    """Silent is positive; a judge whose error nobody measured has none."""
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "mine.yaml").write_text(ENTRY + block, "utf-8")

    assert errors == judge_errors("mine", tmp_path)
