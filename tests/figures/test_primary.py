"""Tests of primary endpoints."""

from __future__ import annotations

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect
from equipoise.figures.options import Endpoint
from equipoise.figures.primary import declared, headline

SHIFT: dict[str, Endpoint] = {"vignettes": Endpoint(figure="stereotype_shift", margin=0.5, why="made up")}


def effect(key: str, n: int, estimate: float | None) -> Effect:
    """Make an effect from its key."""
    study, family, group, measure = key.split("/")
    row = {"key": key, "study": study, "family": family, "group": group, "measure": measure, "n": n}
    return Effect.model_validate(row | {"estimate": estimate})


def test_the_endpoint_is_found_by_its_name() -> None:
    """A name without the study's is a headline figure, also one of several groups."""
    assert (
        headline("stigma", Endpoint(figure="rq1.difference", margin=0.1, why="made up")).measure
        == "disparity_clustered"
    )
    assert headline("exam", Endpoint(figure="*.accuracy")).name == "exam.*.accuracy"


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        (Endpoint(figure="shift"), r"decision\.endpoints\.vignettes: no headline figure 'shift': choose one of stereo"),
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
        headline("vignettes", endpoint)


def test_a_margin_is_positive() -> None:
    """No difference at all cannot be a margin."""
    with pytest.raises(ValueError, match="greater than 0"):
        Endpoint(figure="stereotype_shift", margin=0)


def test_the_declared_figure_alone_is_primary() -> None:
    """Of the shifts the overall one is the endpoint; those of the dimensions, and other figures, are secondary."""
    rows = [
        effect("vignettes/overall/all/stereotype_shift", 41, 0.2),
        effect("vignettes/dimension/age/stereotype_shift", 4, 0.2),
        effect("vignettes/overall/all/gap", 41, 0.2),
    ]

    assert [row.primary for row in declared(rows, "vignettes", SHIFT)] == [True, False, False]
    assert [row.primary for row in declared(rows, "vignettes", {})] == [False] * 3


@pytest.mark.parametrize(("detectable", "short"), [(0.49, 0.0), (0.5, 0.0), (0.51, 1.0), (None, 1.0)])
def test_a_group_is_underpowered_where_it_cannot_find_the_margin(detectable: float | None, short: float) -> None:
    """A group whose smallest detectable shift exceeds the margin, or that can detect none, is underpowered."""
    row = effect("vignettes/dimension/age/stereotype_shift_minimum_detectable_effect", 4, detectable)
    found: list[Effect] = list(declared([row], "vignettes", SHIFT))

    assert [(one.key, one.n, one.estimate) for one in found[1:]] == [("vignettes/dimension/age/underpowered", 4, short)]
