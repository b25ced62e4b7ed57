"""Tests of primary endpoints."""

from __future__ import annotations

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect, Group
from equipoise.figures.options import Endpoint
from equipoise.figures.primary import primary_figure, with_primary
from equipoise.figures.result import Finding, StudyResult
from equipoise.studies.registry import STUDIES

SHIFT = Endpoint(figure="stereotype_shift", margin=0.5, why="made up")
VIGNETTES = STUDIES["vignettes"]


def effect(key: str, n: int, estimate: float | None) -> Effect:
    """Make an effect from its key."""
    study, family, group, measure = key.split("/")
    row = {"key": key, "study": study, "family": family, "group": group, "measure": measure, "n": n}
    return Effect.model_validate(row | {"estimate": estimate})


def test_the_endpoint_is_found_by_its_name() -> None:
    """A name without the study's is a headline figure, also one of several groups."""
    assert (
        primary_figure(STUDIES["stigma"], Endpoint(figure="rq1.difference", margin=0.1, why="made up")).measure
        == "disparity_clustered"
    )
    assert primary_figure(STUDIES["exam"], Endpoint(figure="*.accuracy")).name == "exam.*.accuracy"


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        (
            Endpoint(figure="shift"),
            r"decision\.endpoints\.vignettes: no headline figure 'shift': choose one of error_difference",
        ),
        (
            Endpoint(figure="stereotype_shift"),
            r"stereotype_shift needs a margin, .* from 0 that .*add `margin: NUMBER`",
        ),
        (Endpoint(figure="stereotype_shift", margin=0.5), r"say why differences up to 0\.5 do not matter: add `why"),
        (Endpoint(figure="silent_bias_rate", margin=0.1), r"silent_bias_rate has no null value, and so no margin"),
        (Endpoint(figure="silent_bias_rate", direction="above"), r"no null value, and so no direction: leave `dir"),
    ],
)
def test_an_endpoint_that_cannot_be_is_refused(endpoint: Endpoint, message: str) -> None:
    """A figure of no study, and a margin that is missing or has nothing to be a margin of, are named with the fix."""
    with pytest.raises(EquipoiseError, match=message):
        primary_figure(VIGNETTES, endpoint)


def test_a_margin_is_positive() -> None:
    """No difference at all cannot be a margin."""
    with pytest.raises(ValueError, match="greater than 0"):
        Endpoint(figure="stereotype_shift", margin=0)


def test_the_declared_figure_alone_is_primary() -> None:
    """The overall shift is the endpoint; those of the dimensions, and other figures, are secondary."""
    rows = [
        effect("vignettes/overall/all/stereotype_shift", 41, 0.2),
        effect("vignettes/dimension/age/stereotype_shift", 4, 0.2),
        effect("vignettes/overall/all/gap", 41, 0.2),
    ]

    result = with_primary(StudyResult(study="vignettes", effects=rows), VIGNETTES, SHIFT)

    assert [row.primary for row in result.effects] == [True, False, False]
    assert result.findings == []


@pytest.mark.parametrize(("detectable", "short"), [(0.49, False), (0.5, False), (0.51, True), (None, True)])
def test_a_group_is_underpowered_where_it_cannot_find_the_margin(detectable: float | None, *, short: bool) -> None:
    """A group whose smallest detectable shift exceeds the margin, or that can detect none, is underpowered."""
    row = effect("vignettes/dimension/age/stereotype_shift_minimum_detectable_effect", 4, detectable)
    result = with_primary(StudyResult(study="vignettes", effects=[row]), VIGNETTES, SHIFT)

    assert result.findings == [Finding("underpowered", Group("dimension", "age", "vignettes"), 4, short)]
