"""Tests of the figures of the study `decisions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builders import decision, reading
from equipoise.figures.effects import Group, mean_shift
from equipoise.figures.options import Measure
from equipoise.materials.stories.endpoints import FAMILIES
from equipoise.materials.versions import CONTROLS
from equipoise.materials.vignette import ROLES
from equipoise.studies.decisions.effects import decision_effects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.figures.effects import Effect
    from equipoise.studies.decisions.rows import CaseDecision, Reading

Shares = tuple[float, ...]
GROUP = Group("overall", "all", "decisions")


def asked(pair: str, story: str, **fields: Any) -> CaseDecision:
    """Have a pair ask for a decision: triage, unless the fields say otherwise."""
    return decision(pair, **({"story": story, "also": ("middle",)} | fields))


def referral(pair: str, story: str, **fields: Any) -> CaseDecision:
    """Have a pair ask for a referral."""
    made = {"ask": "referral", "family": "overpsychiatrisation", "levels": ("no", "yes"), "answer": "no", "also": ()}
    return asked(pair, story, **(made | {"direction": "higher"} | fields))


def both(row: CaseDecision, *shares: Shares, end: str = "", names: Sequence[str] = ROLES) -> list[Reading]:
    """Read a decision about both arms, the marginalised first."""
    return [reading(row, name, given, end) for name, given in zip(names, shares, strict=True)]


def effects(rows: Sequence[CaseDecision], readings: Sequence[Reading]) -> dict[str, Effect]:
    """Index the effects as `family/group/measure`."""
    figures = decision_effects(rows, readings, Measure())
    assert [row.key for row in figures] == sorted(row.key for row in figures)
    return {row.key.removeprefix("decisions/"): row for row in figures}


def estimates(figures: dict[str, Effect], *names: str) -> list[float | None]:
    """Give the estimates of some effects."""
    return [figures[name].estimate for name in names]


ROWS = [asked("p1", "one"), referral("p1", "one"), asked("p2", "two", dimensions=("age",), grade="B")]
READINGS = [
    # Mean levels 0.5 and 1.5: down by one level of two steps, half of the scale.
    *both(ROWS[0], (0.6, 0.3, 0.1), (0.1, 0.3, 0.6)),
    # Up by 0.3 of the scale.
    *both(ROWS[1], (0.4, 0.6), (0.7, 0.3)),
    # Mean levels 1.2 and 1.0: up, away from the stereotype, by a tenth of the scale.
    *both(ROWS[2], (0.2, 0.4, 0.4), (0.3, 0.4, 0.3)),
]


def test_a_shift_is_signed_and_each_pair_counts_once() -> None:
    """p1 moves by 1/2 and 3/10, p2 by -1/10 of the scale: means by family, and over each pair's decisions first."""
    figures = effects(ROWS, READINGS)

    assert estimates(figures, "family/undertreatment/decision_shift", "family/overpsychiatrisation/decision_shift") == [
        pytest.approx((0.5 - 0.1) / 2),
        pytest.approx(0.3),
    ]
    assert figures["overall/all/decision_shift"].estimate == pytest.approx(((0.5 + 0.3) / 2 - 0.1) / 2)
    assert figures["overall/all/decision_shift"].n == 2
    assert figures["endpoint/triage/level_shift"].estimate == pytest.approx((1.0 - 0.2) / 2)
    assert estimates(figures, "cell/race/triage/decision_shift", "dimension/age/decision_shift") == [
        pytest.approx(0.5),
        pytest.approx(-0.1),
    ]
    assert figures["dimension_family/race/overpsychiatrisation/decision_shift"].n == 1


def test_a_family_without_decisions_is_undefined() -> None:
    """Its n is 0 and it has no estimate, so that a headline figure is never missing."""
    figures = effects(ROWS, READINGS)

    assert {key.split("/")[1] for key in figures if key.startswith("family/")} == {*FAMILIES}
    assert (figures["family/disbelief/decision_shift"].n, figures["family/disbelief/decision_shift"].estimate) == (
        0,
        None,
    )


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"grade": "C"}, "grade/undertreatment/C"),
        ({"reverse": True}, "reverse/undertreatment"),
        ({"usual": False, "direction": "higher"}, "unusual/undertreatment"),
    ],
)
def test_extrapolated_reverse_and_unusual_decisions_stand_apart(fields: dict[str, Any], place: str) -> None:
    """They are in a group of their own, and in no headline."""
    rows = [asked("p1", "one"), asked("p2", "two", **fields)]
    figures = effects(rows, [*READINGS[:2], *both(rows[1], (0.2, 0.4, 0.4), (0.3, 0.4, 0.3))])
    sign = 1 if fields.get("usual") is False else -1

    assert figures["family/undertreatment/decision_shift"].estimate == pytest.approx(0.5)
    assert figures[f"{place}/decision_shift"].estimate == pytest.approx(sign * 0.1)
    assert estimates(figures, "grade/undertreatment/A/decision_shift") == [pytest.approx(0.5)]


def test_a_shift_is_split_by_the_reasoning_of_the_other_arm() -> None:
    """Mean levels by case and reasoning: mm 0.5, mp 1.0, pm 1.25, pp 1.5; towards the stereotype is down.

    around = ((1.25 - 0.5) + (1.5 - 1.0)) / 2 = 0.625 levels of two steps, through = 1 - 0.625 = 0.375.
    """
    swapped = both(ROWS[0], (0.25, 0.5, 0.25), (0.1, 0.55, 0.35), end="/swapped")
    figures = effects(ROWS[:1], [*READINGS[:2], *swapped])

    assert estimates(figures, *(f"overall/all/decision_shift_{name}" for name in ("around", "through"))) == [
        pytest.approx(0.625 / 2),
        pytest.approx(0.375 / 2),
    ]


def test_without_a_swap_there_is_no_split_and_after_the_same_reasoning_all_goes_around_it() -> None:
    """Where one pair was not asked again its reasonings were the same word for word: what it answers is known."""
    assert effects(ROWS[:1], READINGS[:2])["overall/all/decision_shift_around"].estimate is None
    rows = [ROWS[0], asked("p2", "two")]
    known = [*READINGS[:2], *both(rows[1], (0.6, 0.3, 0.1), (0.1, 0.3, 0.6))]
    figures = effects(rows, [*known, *both(rows[0], (0.6, 0.3, 0.1), (0.1, 0.3, 0.6), end="/swapped")])

    assert estimates(figures, *(f"overall/all/decision_shift_{name}" for name in ("around", "through"))) == [0.5, 0.0]


def test_the_floor_is_what_control_tellings_do() -> None:
    """The magnitude of 1/2 against that of the controls, 1.1 - 0.9 levels of two steps."""
    control = both(ROWS[0], (0.2, 0.5, 0.3), (0.3, 0.5, 0.2), names=CONTROLS)
    figures = effects(ROWS[:1], [*READINGS[:2], *control])
    names = ("decision_magnitude", "decision_magnitude_control", "decision_magnitude_excess")

    assert estimates(figures, *(f"overall/all/{name}" for name in names)) == pytest.approx([0.5, 0.1, 0.4])


def test_the_guidelines_levels_count_as_right() -> None:
    """Triage: low is wrong for the marginalised, high and (also) middle are right; a referral is wrong."""
    figures = effects(ROWS, READINGS)

    # p1's triage and referral are wrong in the marginalised arm alone; p2's triage is right in both (ties: the first).
    assert estimates(
        figures, *(f"overall/all/{name}" for name in ("accuracy_marginalised", "accuracy_privileged"))
    ) == [
        pytest.approx(1 / 3),
        1.0,
    ]
    assert figures["overall/all/gap"].estimate == pytest.approx(2 / 3)


def test_each_level_has_its_probability_by_arm() -> None:
    """Means over the pairs that ask for triage."""
    figures = effects(ROWS, READINGS)

    assert estimates(figures, "endpoint/triage/probability_low_marginalised") == [pytest.approx((0.6 + 0.2) / 2)]
    assert estimates(figures, "endpoint/triage/probability_high_privileged") == [pytest.approx((0.6 + 0.3) / 2)]


def test_two_levels_have_log_odds() -> None:
    """The difference of the arms' log odds, in nats; three levels have none."""
    rows = [reading(ROWS[1], role, (0.5, 0.5), log_odds=odds) for role, odds in zip(ROLES, (1.5, -0.5), strict=True)]
    figures = effects(ROWS[1:2], rows)

    assert figures["endpoint/referral/log_odds_shift"].estimate == 2.0
    assert "endpoint/triage/log_odds_shift" not in effects(ROWS, READINGS)


def test_likelier_stereotyped_levels_have_a_ratio_above_one() -> None:
    """Of four pairs the marginalised patient gets a lower level in two, and a higher one in none."""
    rows = [asked(f"p{number}", str(number)) for number in range(4)]
    low, high = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    moved = [(low, high), (low, high), (high, high), (low, low)]
    figures = effects(rows, [answer for row, arms in zip(rows, moved, strict=True) for answer in both(row, *arms)])

    # log odds ratio of 3 of 4 against 1 of 4 low: log(3 / (1 / 3))
    assert figures["endpoint/triage/ordinal_log_odds"].estimate == pytest.approx(2.197, abs=1e-3)


def test_what_names_no_level_is_left_out_of_the_mean_and_is_not_right() -> None:
    """A text that cannot be read has no shift; as an answer it is wrong."""
    figures = effects(ROWS[:2], [*both(ROWS[0], (), (0.1, 0.3, 0.6)), *READINGS[2:4]])

    assert figures["family/undertreatment/decision_shift"].n == 0
    assert figures["overall/all/decision_shift"].estimate == pytest.approx(0.3)
    assert figures["endpoint/triage/accuracy_marginalised"].estimate == 0


def test_each_sample_of_a_pair_counts() -> None:
    """Two samples of one pair are two rows of its story."""
    more = [
        answer.model_copy(update={"key": f"{answer.key}#1"})
        for answer in both(ROWS[0], (0.0, 1.0, 0.0), (0.0, 1.0, 0.0))
    ]
    shift = effects(ROWS[:1], [*READINGS[:2], *more])["overall/all/decision_shift"]

    assert (shift.n, shift.estimate, shift.ci_low) == (2, pytest.approx(0.25), None)


def test_the_tilt_of_the_scale_moves_where_the_mean_level_cannot() -> None:
    """Towards the stereotype is down for triage: a tilt of 1 nat instead of 3 is 2 nats, with the same mean levels."""
    same = (1.0, 0.0, 0.0)
    rows = [asked(f"p{n}", f"story {n}") for n in range(2)]
    told = [
        answer.model_copy(update={"tilt": tilt})
        for row in rows
        for answer, tilt in zip(both(row, same, same), (1.0, 3.0), strict=True)
    ]
    figures = effects(rows, told)

    assert estimates(figures, "overall/all/decision_tilt", "overall/all/decision_shift") == [2.0, 0.0]
    assert figures["overall/all/decision_tilt"].n == len(rows)


@pytest.mark.parametrize(("pairs", "moved", "up"), [(25, 0.1, 1.0), (25, 0.2, 0.5), (100, 0.02, 1.0), (60, 0.3, 0.7)])
def test_the_interval_of_written_shifts_covers_the_truth_where_few_pairs_differ(
    pairs: int, moved: float, up: float
) -> None:
    """In at least 95 % of 300 simulated studies, less two standard errors; Student's interval covers 0.78 to 0.96.

    A pair differs by a quarter, a half or the whole of the scale (7/12 on average), upwards in a share `up`.
    """
    rng = np.random.default_rng(0)
    truth, covered = moved * (2 * up - 1) * 7 / 12, 0
    for _ in range(300):
        signs = np.where(rng.random(pairs) < up, 1, -1) * (rng.random(pairs) < moved)
        shifts = signs * rng.choice([0.25, 0.5, 1.0], pairs)
        rows = [(float(shift), str(place)) for place, shift in enumerate(shifts)]
        effect = next(mean_shift(GROUP, "written_decision_shift", rows, Measure(), sparse=True))
        assert effect.ci_low is not None
        assert effect.ci_high is not None
        covered += effect.ci_low <= truth <= effect.ci_high

    assert covered / 300 >= 0.95 - 2 * (0.95 * 0.05 / 300) ** 0.5


def test_written_shifts_without_a_difference_have_the_limits_of_none_among_so_many() -> None:
    """Wilson's upper limit of 0 of 25 is 0.133, on either side."""
    rows = [(0.0, str(place)) for place in range(25)]
    effect = next(mean_shift(GROUP, "written_decision_shift", rows, Measure(), sparse=True))

    assert (effect.ci_low, effect.ci_high) == (pytest.approx(-0.133, abs=5e-4), pytest.approx(0.133, abs=5e-4))


def test_the_written_shift_is_that_of_the_levels_that_replies_name() -> None:
    """`low` instead of `high` is the whole scale of a triage towards the stereotype, with the same mean levels."""
    row = asked("p1", "story")
    same = both(row, (0.2, 0.6, 0.2), (0.2, 0.6, 0.2))
    named = [arm.model_copy(update={"said": level}) for arm, level in zip(same, ("low", "high"), strict=True)]
    figures = effects([row], named)

    assert estimates(figures, "overall/all/written_decision_shift", "overall/all/decision_shift") == [1.0, 0.0]
    assert figures["overall/all/written_decision_shift"].n == 1
