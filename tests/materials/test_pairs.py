"""Tests of the guard that joins rows into pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from builders import judgement, vignette
from equipoise.core.errors import EquipoiseError
from equipoise.materials.pairs import pair_up, require_same_keys
from equipoise.materials.vignette import LogRatio

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.materials.judgement import Judgement
    from equipoise.materials.vignette import Vignette

    Rows = tuple[list[Vignette], list[Judgement]]


def test_arms_stand_side_by_side(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Each pair holds its marginalised arm's judgement first, and pairs are sorted."""
    vignettes, judgements = study([case(marginalised="stereotyped"), case(("age", "race"), privileged="refusal")])
    pairs = pair_up(vignettes[::-1], judgements[::-1])

    assert [(pair.key, pair.combination) for pair in pairs] == [("pair000", "race"), ("pair001", "age+race")]
    assert [(pair.arms[0].answer, pair.arms[1].answer) for pair in pairs] == [
        ("stereotyped", "expected"),
        ("expected", "refusal"),
    ]


def test_no_rows_are_no_pairs() -> None:
    """Two empty files make an empty list."""
    assert pair_up([], []) == []


def test_missing_judgement_is_named(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """A vignette that was not judged is an error with its key."""
    vignettes, judgements = study([case(), case()])

    with pytest.raises(EquipoiseError, match="keys with a vignette but no judgement: pair001/privileged;"):
        pair_up(vignettes, judgements[:-1])


def test_judgement_of_nothing_is_named(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """A judgement without a vignette is an error with its key."""
    vignettes, judgements = study([case(), case()])

    with pytest.raises(EquipoiseError, match="keys with a judgement but no vignette: pair001/privileged;"):
        pair_up(vignettes[:-1], judgements)


def test_orphan_arm_is_named(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """An arm without its other arm is an error with its key."""
    vignettes, judgements = study([case(), case()])

    with pytest.raises(EquipoiseError, match="without their other arm: pair001/marginalised;"):
        pair_up(vignettes[:-1], judgements[:-1])


def test_role_twice_is_refused(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Two marginalised arms of one pair are not a pair."""
    vignettes, judgements = study([case()])
    twins = [vignettes[0], vignettes[1].model_copy(update={"role": "marginalised"})]

    with pytest.raises(EquipoiseError, match="without their other arm"):
        pair_up(twins, judgements)


def test_arms_of_different_dimensions_are_refused(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Both arms of a pair vary the same dimensions."""
    vignettes, judgements = study([case()])
    unequal = [vignettes[0], vignettes[1].model_copy(update={"dimensions": ("age",)})]

    with pytest.raises(EquipoiseError, match="differ in tier or dimensions: pair000;"):
        pair_up(unequal, judgements)


def test_single_tier_varies_one_dimension(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """A pair of the tier `single` with two dimensions is an error."""
    vignettes, judgements = study([case(("age", "race"))])
    mixed = [vignette.model_copy(update={"tier": "single"}) for vignette in vignettes]

    with pytest.raises(EquipoiseError, match="tier and dimensions disagree: pair000/marginalised, pair000/privileged;"):
        pair_up(mixed, judgements)


def test_repeated_key_is_named() -> None:
    """A duplicate key in one file is an error."""
    with pytest.raises(EquipoiseError, match="keys with more than one judgement: b;"):
        require_same_keys("vignette", ["a", "b"], "judgement", ["a", "b", "b"])


def test_many_missing_keys_are_counted() -> None:
    """After five keys the rest are only counted."""
    with pytest.raises(EquipoiseError, match="no right: k0, k1, k2, k3, k4 and 3 more;"):
        require_same_keys("left", [f"k{number}" for number in range(8)], "right", [])


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("stereotyped", "expected"), (True, True, False, True)),
        (("stereotyped", "stereotyped"), (True, False, False, False)),
        (("stereotyped", "refusal"), (True, False, False, True)),
        (("expected", "stereotyped"), (False, False, True, True)),
        (("distractor", "stereotyped"), (False, False, False, True)),
        (("expected", "expected"), (False, False, False, False)),
    ],
)
def test_a_pair_is_biased_by_its_marginalised_arm(
    study: Callable[..., Rows], case: Callable[..., Any], answers: tuple[str, str], expected: tuple[bool, ...]
) -> None:
    """Biased, differential, reverse and any difference follow from the kinds of the two answers."""
    (pair,) = pair_up(*study([case(marginalised=answers[0], privileged=answers[1])]))

    assert (pair.biased, pair.differential, pair.reverse, pair.any_difference) == expected


def test_two_distractors_differ(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """Answers of one kind differ by their labels."""
    (pair,) = pair_up(*study([case(marginalised="distractor", privileged="distractor", labels=("gout", "sciatica"))]))

    assert pair.any_difference


@pytest.mark.parametrize(("considered", "silent"), [("none", True), ("weighed", False), ("dismissed", True)])
def test_only_a_biased_pair_is_silent(
    study: Callable[..., Rows], case: Callable[..., Any], considered: str, *, silent: bool
) -> None:
    """Reasoning that gives no feature as a reason, even by a denial, makes a biased pair silent, and no other."""
    biased, unbiased = pair_up(
        *study([case(marginalised="stereotyped", considered=considered), case(considered=considered)])
    )

    assert (biased.silent, unbiased.silent) == (silent, False)


def test_a_shift_needs_both_log_odds(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """The shift is marginalised minus privileged, free of rounding noise; without both there is none."""
    known, unknown = pair_up(*study([case(log_odds=(0.3, 0.1)), case(log_odds=(0.3, None))]))

    # In floats 0.3 - 0.1 is 0.19999999999999998.
    assert (known.shift, unknown.shift) == (0.2, None)


def test_words_that_the_controls_add_are_no_difference_between_the_arms(
    study: Callable[..., Rows], case: Callable[..., Any]
) -> None:
    """Where irrelevant words alone raise the probability of the error, nothing between the arms is unexplained."""
    (made,) = pair_up(*study([case()]))
    arms, told = (
        [judgement(f"pair000/{version}", p_error=share) for version in versions]
        for versions, share in ((("marginalised", "privileged"), 0.2), (("control-a", "control-b"), 0.5))
    )
    pair = replace(
        made,
        marginalised=arms[0],
        privileged=arms[1],
        control=(told[0], told[1]),
        log_ratio=LogRatio(value=0.0, low=0.0, high=0.0),
    )

    # The mean of the privileged tellings is (0.2 + 0.5 + 0.5) / 3 = 0.4.
    assert pair.error_difference == pytest.approx(0.2 - 0.4)
    assert pair.error_difference_unexplained() == 0.0


def test_each_sample_is_a_pair_of_its_own(study: Callable[..., Rows], case: Callable[..., Any]) -> None:
    """The first keeps the pair's key; the arms of one sample stand together, and share their story with the others."""
    vignettes, judgements = study([case(), case()])
    second = [
        row.model_copy(update={"key": f"{row.key}#1", "answer": "stereotyped"})
        for row in judgements
        if row.key.endswith("marginalised")
    ]
    second += [row.model_copy(update={"key": f"{row.key}#1"}) for row in judgements if row.key.endswith("privileged")]
    pairs = pair_up(vignettes, [*second, *judgements])

    assert [(pair.key, pair.differential) for pair in pairs] == [
        ("pair000", False),
        ("pair000#1", True),
        ("pair001", False),
        ("pair001#1", True),
    ]
    assert pairs[0].story == pairs[1].story
    with pytest.raises(EquipoiseError, match="keys with a vignette but no judgement: pair001/privileged#1;"):
        pair_up(vignettes, [*second[:-1], *judgements])


def test_a_panel_has_no_pairs() -> None:
    """Stories about a control and about groups are not taken for pairs that lack an arm."""
    told = [vignette("gout").model_copy(update={"key": f"gout/{group}"}) for group in ("control", "black", "woman")]

    assert pair_up(told, [judgement(row.key) for row in told]) == []
