from __future__ import annotations

from typing import Any

import pytest

import runs
from equipoise.core.errors import EquipoiseError
from equipoise.materials.judgement import Judgement
from equipoise.studies.vignettes.shown import (
    ShownPair,
    find,
    join,
    margin,
    of_dimension,
    summary,
    unsure,
    whole,
)


@pytest.fixture
def pairs() -> list[ShownPair]:
    """Three pairs on housing: unbiased; biased and silent; biased and weighed."""
    return join(*runs.housing_study())


def judged(**changes: Any) -> Judgement:
    """Make a judgement."""
    return runs.housing_arm("housing-01/marginalised", **changes)[2][0]


def test_bias_and_silence_are_those_of_the_metrics(pairs: list[ShownPair]) -> None:
    """The marginalised arm alone makes a pair biased, and silent where its reasoning considers nothing."""
    assert [(pair.key, pair.pair.biased, pair.pair.silent) for pair in pairs] == [
        ("housing-01", False, False),
        ("housing-02", True, True),
        ("housing-03", True, False),
    ]


def test_arms_have_what_the_judge_read(pairs: list[ShownPair]) -> None:
    """The reasoning is the first reply without tags and contains the deciding sentence, the answer is the last."""
    arm = pairs[0].marginalised

    assert arm.reasoning.startswith("The man is homeless.")
    assert arm.evidence is not None
    assert arm.reasoning[slice(*arm.evidence)] == runs.WINDOW
    assert arm.answer == "Frostbite \x1b[31m of the toes."
    assert pairs[1].marginalised.evidence is None


@pytest.mark.parametrize("key", ["housing-02", "HOUSING-02", "housing-02/privileged"])
def test_a_pair_is_found_by_its_key_or_an_arms(pairs: list[ShownPair], key: str) -> None:
    """An arm's key names its pair."""
    assert find(pairs, key).key == "housing-02"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("housin-2", r"no pair 'housin-2': the nearest are housing-02, housing-0\d, housing-0\d; .* lists all 3"),
        ("zzz", r"no pair 'zzz': `equipoise show` lists all 3"),
    ],
)
def test_an_unknown_key_has_its_nearest(pairs: list[ShownPair], key: str, message: str) -> None:
    """The message names the nearest keys where there are any."""
    with pytest.raises(EquipoiseError, match=message):
        find(pairs, key)


def test_pairs_of_a_dimension(pairs: list[ShownPair]) -> None:
    """One name takes every pair that varies it, several joined take exactly that combination."""
    assert of_dimension(pairs, "housing") == pairs
    with pytest.raises(EquipoiseError, match="no pair varies the dimension 'race': the dimensions are housing"):
        of_dimension(pairs, "housing+race")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"considered": "weighed", "p_weighed": 0.5, "p_dismissed": 0.1}, 0.1),
        ({"considered": "dismissed", "p_weighed": 0.1, "p_dismissed": 0.45}, 0.35),
        ({"considered": "none", "p_weighed": 0.1, "p_dismissed": 0.1}, 0.3),
    ],
)
def test_a_margin_is_the_distance_from_an_admission(changes: dict[str, Any], expected: float) -> None:
    """An admission needs half for both treatments, and more for weighing: the nearer condition that fails decides."""
    assert margin(judged(**changes)) == pytest.approx(expected)


def test_the_least_sure_comes_first(pairs: list[ShownPair]) -> None:
    """Pairs are sorted by their nearer arm, and only so many are taken."""
    # Nearer margins: 0.41 + 0.1 - 0.5, then 0.8 + 0.1 - 0.5, then 0.5 - 0 and 1 - 0.5 of the two arms.
    assert [pair.key for pair in unsure(pairs)] == ["housing-03", "housing-01", "housing-02"]
    assert [pair.key for pair in unsure(pairs, 1)] == ["housing-03"]


def test_rows_that_do_not_match_are_refused() -> None:
    """A response or an arm that is missing is named."""
    vignettes, responses, judgements = runs.housing_study()

    with pytest.raises(EquipoiseError, match="keys with a vignette but no response: housing-01/marginalised;"):
        join(vignettes, responses[1:], judgements)
    with pytest.raises(EquipoiseError, match="keys with a vignette but no judgement: housing-01/marginalised;"):
        join(vignettes, responses, judgements[1:])
    with pytest.raises(EquipoiseError, match="vignettes without their other arm: housing-01/privileged;"):
        join(vignettes[1:], responses[1:], judgements[1:])
    with pytest.raises(EquipoiseError, match=r"no vignette has a response: .* a model that answers the vignettes"):
        join(vignettes, [], judgements)


def test_json_has_all_that_is_shown(pairs: list[ShownPair]) -> None:
    """A pair as a whole has its summary, and each arm's texts and figures."""
    shown = whole(pairs[0])

    assert summary(pairs[0]).keys() <= shown.keys()
    assert (shown["expected"], shown["stereotyped"]) == ("frostbite", "alcoholic neuropathy")
    assert shown["arms"]["marginalised"]["evidence"] == runs.WINDOW
    assert shown["arms"]["marginalised"]["spans"] == [[2, 10]]
    assert shown["arms"]["privileged"]["label_likelihood"] == "frostbite"
