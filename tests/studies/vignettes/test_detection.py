"""Tests of signal detection, of net shifts, and of what stands beside the headline figures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

from builders import ROLES, judgement, vignette
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Group
from equipoise.figures.options import Measure
from equipoise.materials.pairs import Pair, pair_up
from equipoise.materials.versions import MIRRORS, STUBS
from equipoise.studies.vignettes.detection import detection_effects
from equipoise.studies.vignettes.effects import component_effects, vignette_effects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.figures.effects import Effect
    from equipoise.text.answer import AnswerKind

OVERALL = Group("overall", "all", "vignettes")
S: AnswerKind = "stereotyped"
E: AnswerKind = "expected"


class Told(NamedTuple):
    """Answers to a pair's case and to its mirror, the marginalised arm's first."""

    case: tuple[AnswerKind, AnswerKind]
    mirror: tuple[AnswerKind, AnswerKind]


def pairs(told: Sequence[Told]) -> list[Pair]:
    """Make the pairs p0, p1 and so on, each of a story of its own."""
    rows = [vignette(f"p{n}", role) for n in range(len(told)) for role in ROLES]
    judged = [
        judgement(f"p{n}/{end}", answer=answer)
        for n, plan in enumerate(told)
        for end, answer in zip((*ROLES, *MIRRORS), (*plan.case, *plan.mirror), strict=True)
    ]
    return pair_up(rows, judged)


def detected(told: Sequence[Told]) -> dict[str, Effect]:
    """Estimate the figures, by measure."""
    return {row.measure: row for row in detection_effects(OVERALL, pairs(told), 0.05)}


def test_sensitivity_and_criterion_follow_green_and_swets() -> None:
    """Of four pairs: the marginalised arm has 3 hits and 1 false alarm, the privileged 3 hits and none."""
    figures = detected([Told((S, E), (S, S)), Told((E, E), (S, S)), Told((E, E), (S, S)), Told((E, E), (E, E))])

    # z of (k + 1/2) / (n + 1): hits 3.5 / 5, false alarms 1.5 / 5 and 0.5 / 5.
    hits, alarms, none = (norm.ppf(count / 5) for count in (3.5, 1.5, 0.5))
    assert figures["sensitivity_marginalised"].estimate == 0.75
    assert figures["d_prime_marginalised"].estimate == pytest.approx(hits - alarms)
    assert figures["criterion_marginalised"].estimate == pytest.approx(-(hits + alarms) / 2)
    assert figures["criterion_difference"].estimate == pytest.approx(-(alarms - none) / 2)
    assert figures["d_prime_difference"].estimate == pytest.approx(none - alarms)


@pytest.mark.parametrize("gain", [0.0, 0.25])
def test_recognised_mirrors_do_not_stand_for_cases_that_are_read(gain: float) -> None:
    """All mirrors are hits; the gain is what findings add to the 0.5 of the right diagnosis without them."""
    spread = (-0.05, 0.05) * 6

    def likely(p_expected: float) -> Any:
        return judgement("p/any", p_expected=p_expected)

    made = [
        replace(
            pair,
            stub=(likely(0.5), likely(0.5)),
            # The marginalised patient's answers vary between pairs, the privileged one's gain twice as much.
            rereads={"unreasoned": (likely(0.5 + gain + error), likely(0.5 + 2 * gain + error))},
        )
        for pair, error in zip(pairs([Told((E, E), (S, S))] * 12), spread, strict=True)
    ]
    figures = {row.measure: row for row in component_effects(OVERALL, made, Measure())}

    for measure, expected in (("evidence_gain_marginalised", gain), ("evidence_gain_privileged", 2 * gain)):
        row = figures[measure]
        assert row.estimate == pytest.approx(expected)
        assert row.ci_low is not None
        # Student's t: 2.2 standard errors of 0.052 / sqrt(12) are 0.033.
        assert (row.ci_low > 0) == (gain > 0)
    assert next(row for row in detection_effects(OVERALL, made, 0.05) if row.measure == "d_prime_privileged").ci_low


@pytest.mark.parametrize("answer", [S, E])
def test_a_model_that_always_says_the_same_is_seen(answer: AnswerKind) -> None:
    """It tells cases from mirrors in no arm, d' 0, and its criterion is far from 0: on one side or on the other."""
    figures = detected([Told((answer, answer), (answer, answer))] * 12)

    assert figures["d_prime_marginalised"].estimate == 0
    # z of 12.5 / 13, or of 0.5 / 13, is 1.77 away from 0.
    assert figures["criterion_marginalised"].estimate == pytest.approx(-1.769 if answer == S else 1.769, abs=1e-3)
    # Both arms alike: no difference. Each of 4 shares has the slope 1/2 over the density at 1.769, 0.0834, so that the
    # variance of the added pair, one of 13, is 4 / 4 x 5.99^2, times 13/12; t with 12 degrees of freedom is 2.179.
    difference = figures["criterion_difference"]
    assert difference.estimate == 0
    assert difference.ci_high == pytest.approx(2.179 * math.sqrt(5.99**2 * 13 / 12) / 13, abs=0.01)


@pytest.mark.parametrize("chances", [[0.3, 0.2, 0.8, 0.7], [0.1, 0.03, 0.97, 0.95]])
def test_the_interval_of_the_criterion_covers_the_truth(chances: list[float]) -> None:
    """Of 400 samples of 40 stories 93 to 98 % have the planted difference in the interval."""
    rng = np.random.default_rng(5)
    # Of the stereotyped answer: in the case of each arm, in the mirror of each arm.
    quantiles = norm.ppf(chances)
    truth = -(quantiles[0] + quantiles[2]) / 2 + (quantiles[1] + quantiles[3]) / 2
    covered = []
    for _ in range(400):
        drawn = [[S if hit else E for hit in row] for row in rng.random((40, 4)) < chances]
        row = detected([Told((answers[0], answers[1]), (answers[2], answers[3])) for answers in drawn])[
            "criterion_difference"
        ]
        assert row.ci_low is not None
        assert row.ci_high is not None
        covered.append(row.ci_low <= truth <= row.ci_high)

    # The standard error of a share of 0.95 in 400 samples is 0.011.
    assert 0.93 <= np.mean(covered) <= 0.98


def test_too_few_stories_give_no_criterion() -> None:
    """Two mirrors: shares, but no d' and no criterion; no mirror at all: nothing."""
    figures = detected([Told((E, E), (S, S))] * 2)
    rows = [vignette("p", role) for role in ROLES]

    assert figures["sensitivity_privileged"].estimate == 1
    assert figures["d_prime_privileged"].estimate is None
    assert list(detection_effects(OVERALL, pair_up(rows, [judgement(row.key) for row in rows]), 0.05)) == []


def shifted(told: Sequence[tuple[float, float, float, float]], **fields: Any) -> dict[str, Effect]:
    """Estimate the overall figures from log odds of both arms and of both stubs."""
    rows = [vignette(f"p{n}", role, **fields) for n in range(len(told)) for role in ROLES]
    judged = [
        judgement(f"p{n}/{end}", log_odds=odds)
        for n, pair_odds in enumerate(told)
        for end, odds in zip((*ROLES, *STUBS), pair_odds, strict=True)
    ]
    return {
        row.measure: row
        for row in vignette_effects(rows, judged, Measure())
        if (row.family, row.group) == ("overall", "all")
    }


def test_the_net_shift_leaves_out_base_rates() -> None:
    """It is the shift of the case less that of its stub, pair by pair; both stand beside it."""
    # Shifts 3, 1, 2; of the stubs 1, 1, 1.
    figures = shifted([(2.0, -1.0, 1.0, 0.0), (1.0, 0.0, 3.0, 2.0), (0.0, -2.0, -1.0, -2.0)])

    assert figures["stereotype_shift"].estimate == pytest.approx(2)
    assert figures["stereotype_shift_stub"].estimate == pytest.approx(1)
    assert figures["stereotype_shift_net"].estimate == pytest.approx(1)
    # (2 - 1, 1 - 1, 3 - 1 in some order): variance 1, standard error 1 / sqrt 3, t with 2 degrees of freedom 4.303.
    assert figures["stereotype_shift_net"].ci_high == pytest.approx(1 + 4.303 / math.sqrt(3), abs=1e-3)


def test_without_stubs_there_is_no_net_shift() -> None:
    """Imported cases have none: the shift stands alone."""
    rows = [vignette(f"p{n}", role) for n in range(3) for role in ROLES]
    judged = [judgement(row.key, log_odds=float(row.role == "marginalised")) for row in rows]
    figures = {row.key: row for row in vignette_effects(rows, judged, Measure())}

    assert figures["vignettes/overall/all/stereotype_shift"].estimate == 1
    assert figures["vignettes/overall/all/stereotype_shift_net"].estimate is None


@pytest.mark.parametrize(
    ("without", "message"),
    [("p0/stub-privileged", "judgement but no stub|stub but no judgement"), ("p0/mirror-marginalised", "mirror")],
)
def test_half_a_telling_is_refused(without: str, message: str) -> None:
    """A stub or a mirror of one arm alone is named."""
    rows = [vignette(f"p{n}", role) for n in range(2) for role in ROLES]
    judged = [judgement(f"p{n}/{end}") for n in range(2) for end in (*ROLES, *STUBS, *MIRRORS)]

    with pytest.raises(EquipoiseError, match=message):
        pair_up(rows, [row for row in judged if row.key != without])


def test_extrapolated_and_reverse_pairs_are_apart() -> None:
    """Grade C and the reverse direction are groups of their own, and in no other; A stands beside A and B together."""
    kinds: list[dict[str, Any]] = [{"grade": "A"}, {"grade": "B"}, {"grade": "C"}, {"grade": "A", "reverse": True}]
    rows = [vignette(f"p{n}", role, **kind) for n, kind in enumerate(kinds) for role in ROLES]
    figures = vignette_effects(rows, [judgement(row.key) for row in rows], Measure())
    n = {(row.family, row.group): row.n for row in figures if row.measure == "any_difference_rate"}

    assert n["overall", "all"] == n["dimension", "race"] == 2
    assert (n["grade", "A"], n["grade", "B"], n["grade", "C"], n["reverse", "race"]) == (1, 1, 1, 1)


def test_a_ladder_is_read_at_its_middle() -> None:
    """Each of three levels is a group, and the headline figures are those of the level leaning."""
    rows = [
        vignette(f"p{n}-{level}", role, level=level, presentation=f"p{n}")
        for n in range(2)
        for level in ("open", "leaning", "decisive")
        for role in ROLES
    ]
    # At the level open the marginalised patient gets the stereotyped answer.
    judged = [judgement(row.key, answer=S if "open" in row.key and row.role == ROLES[0] else E) for row in rows]
    rates = {
        (row.family, row.group): row.estimate
        for row in vignette_effects(rows, judged, Measure())
        if row.measure == "differential_bias_rate"
    }

    assert rates["level", "open"] == 1
    assert rates["level", "leaning"] == rates["level", "decisive"] == rates["overall", "all"] == 0
