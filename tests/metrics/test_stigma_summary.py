"""Tests of the stigma study's metrics file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import builders
from equipoise.metrics.stigma import StigmaOptions, stigma_effects
from equipoise.published.lin_summary import stigma_metrics
from equipoise.stigma.rows import Fill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equipoise.stigma.rows import ConditionSet, Question


def leaves(table: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten a nested table as DVC does."""
    for name, content in table.items():
        if isinstance(content, dict):
            yield from leaves(content, f"{path}{name}.")
        else:
            yield f"{path}{name}", content


def fill(question: Question, group: str, condition: str, of: ConditionSet, female: float) -> Fill:
    """Make a fill whose male probability is 0.2."""
    what = {"question": question, "group": group, "polarity": -1 if group == "avoidance" else 1}
    return builders.fill(group, condition, female, 0.2, condition_set=of, scorer="masked", **what)


@pytest.fixture(scope="module")
def metrics() -> dict[str, Any]:
    """Give the metrics of two questions with two groups each, three conditions a set."""
    questions: list[tuple[Question, tuple[str, str]]] = [
        ("rq1", ("diagnosis", "action")),
        ("rq2", ("avoidance", "pity")),
    ]
    sets: list[tuple[ConditionSet, tuple[float, float, float]]] = [
        ("mental", (0.3, 0.4, 0.5)),
        ("control", (0.2, 0.2, 0.2)),
    ]
    fills = [
        fill(question, group, f"{of} {number}", of, female)
        for question, groups in questions
        for group in groups
        for of, values in sets
        for number, female in enumerate(values)
    ]
    return stigma_metrics(stigma_effects(fills, StigmaOptions()))


def test_families_and_groups_come_in_order(metrics: dict[str, Any]) -> None:
    """The file opens with the first question; in each family `all` comes last."""
    assert list(metrics) == [
        "rq1_mental",
        "rq1_control",
        "rq1_difference",
        "rq2_mental",
        "rq2_control",
        "rq2_difference",
    ]
    assert list(metrics["rq1_mental"]) == ["action", "diagnosis", "all"]


def test_disparity_has_every_adjusted_value_and_size(metrics: dict[str, Any]) -> None:
    """A disparity shows its interval, its p-values over the family, and both sizes of effect."""
    # Differences 0.1, 0.2, 0.3: t = 2 sqrt(3) on 2 degrees of freedom, p = 1 - sqrt(12 / 14) = 0.074180. The three
    # tests of the family are two with this p and `all`, whose six differences have mean 0.2 and squares 0.04 over 5:
    # t = 0.2 / sqrt(0.008 / 6) = 5.477226 on 5 degrees of freedom, p = 0.002766.
    p = 1 - math.sqrt(12 / 14)
    assert metrics["rq1_mental"]["diagnosis"]["disparity"] == {
        "n": 3,
        "estimate": 0.2,
        "ci_low": pytest.approx(0.2 - 4.302653 * 0.1 / math.sqrt(3), abs=1e-6),
        "ci_high": pytest.approx(0.2 + 4.302653 * 0.1 / math.sqrt(3), abs=1e-6),
        "neg_log10_p": pytest.approx(-math.log10(p), abs=1e-6),
        "neg_log10_p_holm": pytest.approx(-math.log10(2 * p), abs=1e-6),
        "neg_log10_p_bonferroni": pytest.approx(-math.log10(3 * p), abs=1e-6),
        "neg_log10_p_bh": pytest.approx(-math.log10(p), abs=1e-6),
        # male does not vary: the pooled variance is half of 0.01
        "d_pooled": pytest.approx(0.2 / math.sqrt(0.005), abs=1e-6),
        "d_z": 2.0,
    }


def test_undefined_figures_are_left_out(metrics: dict[str, Any]) -> None:
    """Control disparities of 0 throughout have an estimate, and neither interval nor test nor size."""
    assert metrics["rq1_control"]["all"]["disparity"] == {"n": 6, "estimate": 0.0}
    assert metrics["rq1_control"]["all"]["disparity_clustered"] == {"n": 3, "estimate": 0.0}


def test_difference_shows_welch_beside_student(metrics: dict[str, Any]) -> None:
    """A difference has both p-values and its d, and no d_z, which is of pairs."""
    difference = metrics["rq1_difference"]["diagnosis"]["disparity"]

    # the control disparities are constant: Welch's test is that of 0.1, 0.2, 0.3 alone
    assert difference["neg_log10_p_welch"] == pytest.approx(-math.log10(1 - math.sqrt(12 / 14)), abs=1e-6)
    # t = 0.2 / sqrt(0.005 * 2 / 3) = 2 sqrt(3) on 4 degrees of freedom
    assert difference["neg_log10_p"] > difference["neg_log10_p_welch"]
    assert difference["d_pooled"] == pytest.approx(0.2 / math.sqrt(0.005), abs=1e-6)
    assert "d_z" not in difference


def test_dimensions_together_are_not_adjusted(metrics: dict[str, Any]) -> None:
    """In the second question `all` is no member of the family."""
    assert "neg_log10_p" in metrics["rq2_mental"]["all"]["disparity"]
    assert "neg_log10_p_bonferroni" not in metrics["rq2_mental"]["all"]["disparity"]


def test_correction_stands_beside_the_published_figure(metrics: dict[str, Any]) -> None:
    """Avoidance, worded as its opposite, has the published sign and the corrected one."""
    avoidance = metrics["rq2_mental"]["avoidance"]

    assert (avoidance["disparity"]["estimate"], avoidance["disparity_corrected"]["estimate"]) == (0.2, -0.2)


def test_clustered_disparity_says_what_it_could_detect(metrics: dict[str, Any]) -> None:
    """The smallest detectable disparity stands with the test that decides."""
    assert metrics["rq1_mental"]["all"]["disparity_clustered"]["minimum_detectable_effect"] > 0.1


def test_every_leaf_is_a_finite_number(metrics: dict[str, Any]) -> None:
    """No leaf is a list, a null or NaN, and their names are those of measures and figures."""
    assert all(math.isfinite(leaf) for _, leaf in leaves(metrics))


def test_nothing_gives_an_empty_file() -> None:
    """Without effects there is nothing to nest."""
    assert stigma_metrics([]) == {}
