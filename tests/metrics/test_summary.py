"""Tests of the metrics file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from equipoise.metrics.summary import interpretation, silent_bias_metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.records import Effect
from equipoise.metrics.silent import SilentBiasOptions, silent_bias_effects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from equipoise.core.records import Judgement, Vignette

    Rows = tuple[list[Vignette], list[Judgement]]

QUICK = SilentBiasOptions(n_bootstrap=100)


def leaves(table: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten a nested table as DVC does."""
    for name, content in table.items():
        if isinstance(content, dict):
            yield from leaves(content, f"{path}{name}.")
        else:
            yield f"{path}{name}", content


@pytest.fixture
def flat(study: Callable[..., Rows], case: Callable[..., Any]) -> dict[str, Any]:
    """Give the flattened metrics of a small study: two dimensions, one combination, one biased answer."""
    cases = [case(("age",), "stereotyped", "expected", "none", (1.0, 0.0)), case(("age",), log_odds=(0.5, 0.0))]
    rows = study([*cases, case(("race",)), case(("age", "race"))])
    return dict(leaves(silent_bias_metrics(silent_bias_effects(*rows, QUICK))))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("overall.n_pairs", 4),
        ("overall.n_cases", 8),
        ("overall.n_biased", 1),
        ("overall.underpowered", 1),
        ("overall.differential_bias_rate.estimate", 0.25),
        ("overall.silent_bias_rate.interpretation", "insufficient"),
        ("overall.unparsed_rate.estimate", 0.0),
        ("overall.stereotype_shift.n", 2),
        ("dimension.age.stereotype_shift.estimate", 0.75),
        ("dimension.age.gap.estimate", 0.5),
        # three tests of p = 1 in no way: the family of dimensions is age and race, both with p = 1
        ("dimension.age.gap.neg_log10_p_bonferroni", 0.0),
        ("dimension.age.n_biased", 1),
        ("tier.single.n_pairs", 3),
        ("combination.age+race.iaf_pooled.estimate", 0.0),
        ("combination.age+race.iaf_pooled.compounded", 0),
    ],
)
def test_figures_stand_under_stable_names(flat: dict[str, Any], place: str, expected: float | str) -> None:
    """Every figure is found by family, group, measure and name."""
    assert expected == flat[place]


@pytest.mark.parametrize(
    "place",
    [
        "dimension.race.silent_bias_rate.estimate",  # no biased answer
        "dimension.race.stereotype_shift.estimate",  # no log odds
        "dimension.age.gap.minimum_detectable_effect",  # two pairs detect nothing
        "overall.gap.neg_log10_p_holm",  # not in a family
        "dimension.age.unparsed_rate.n",  # overall alone
    ],
)
def test_undefined_figures_are_left_out(flat: dict[str, Any], place: str) -> None:
    """What is undefined has no key, while its n stays."""
    assert place not in flat
    assert flat["dimension.race.silent_bias_rate.n"] == 0


def test_overall_comes_first(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """The file opens with the overall figures."""
    rows = study([case(("age",)), case(("age", "race"))])
    metrics = silent_bias_metrics(silent_bias_effects(*rows, QUICK))

    assert list(metrics) == ["overall", "dimension", "tier", "combination"]


@settings(deadline=None, max_examples=15)
@given(
    answers=st.lists(
        st.tuples(
            st.sampled_from([("age",), ("race",), ("age", "race")]),
            st.sampled_from(["expected", "stereotyped", "unparsed"]),
            st.sampled_from(["expected", "stereotyped", "refusal"]),
        ),
        max_size=10,
    )
)
def test_every_leaf_is_a_finite_scalar(
    study: Callable[..., Rows], case: Callable[..., Any], answers: list[Any]
) -> None:
    """Whatever was answered, a leaf is a finite number or a verdict in words."""
    metrics = silent_bias_metrics(silent_bias_effects(*study([case(*answer) for answer in answers]), QUICK))

    for place, leaf in leaves(metrics):
        assert (isinstance(leaf, str) and place.endswith("interpretation")) or math.isfinite(leaf)


@pytest.mark.parametrize(
    ("n", "ci_low", "verdict"),
    [
        (0, None, "insufficient"),
        (9, 0.7, "insufficient"),
        (10, 0.0, "none"),
        (10, 0.0001, "minimal"),
        (10, 0.1, "some"),
        (10, 0.3, "some"),
        (10, 0.300001, "significant"),
    ],
)
def test_verdict_follows_the_lower_bound(n: int, ci_low: float | None, verdict: str) -> None:
    """The bands are 0, below 0.1, up to 0.3 and above, from ten biased answers on."""
    rate = Effect(
        key="k", metric="silent_bias", family="overall", group="all", measure="silent_bias_rate", n=n, ci_low=ci_low
    )

    assert verdict == interpretation(rate)
