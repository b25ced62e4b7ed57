"""Tests of silent influence: which pairs are moved, and what their reasoning says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from builders import ROLES, judgement, vignette
from equipoise.core.keys import numbered
from equipoise.figures.effects import Group
from equipoise.figures.options import Measure
from equipoise.materials.pairs import Pair, pair_up
from equipoise.materials.versions import CONTROLS
from equipoise.studies.vignettes.effects import vignette_effects
from equipoise.studies.vignettes.influence import Influence, influence_effects, influences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.materials.judgement import Consideration
    from equipoise.text.answer import AnswerKind

OVERALL = Group("overall", "all", "vignettes")
BLANK = judgement("blank")


class Told(NamedTuple):
    """The log odds of a pair's samples in either arm, of its control tellings, and what its reasoning considers."""

    one: Sequence[float | None]
    other: Sequence[float | None]
    considered: Sequence[Consideration] = ("none",)
    controls: tuple[float, float] | None = None
    answers: tuple[AnswerKind, AnswerKind] = ("expected", "expected")


def pairs(told: Sequence[Told]) -> list[Pair]:
    """Make the pairs p00, p01 and so on, a pair for each of their samples."""
    made = []
    for place, row in enumerate(told):
        for n, (marginalised, privileged) in enumerate(zip(row.one, row.other, strict=True)):
            considered = row.considered[n % len(row.considered)]
            fields = {"considered": considered, "answer": row.answers[0], "log_odds": marginalised}
            arms = [
                type(BLANK).model_construct(**{**dict(BLANK), **given})
                for given in (fields, {"answer": row.answers[1], "log_odds": privileged})
            ]
            control = None
            if row.controls is not None:
                tellings = [type(BLANK).model_construct(**{**dict(BLANK), "log_odds": odds}) for odds in row.controls]
                control = (tellings[0], tellings[1])
            key = numbered(f"p{place:02d}", n)
            made.append(Pair(key, "single", ("race",), f"s{place}", "p", arms[0], arms[1], control=control))
    return made


def alone(shift: float, control: float, considered: Consideration = "none") -> Told:
    """Make a pair with one reply an arm."""
    return Told([shift], [0.0], [considered], (control, 0.0))


RANKED = "silent_influence_rate_ranked"


def rates(told: Sequence[Told], wordings: int = 1) -> dict[str, tuple[int, float | None]]:
    """Give the number and the estimate of each rate."""
    return {
        row.measure: (row.n, row.estimate)
        for row in influence_effects(OVERALL, influences(pairs(told), 0.05, wordings), 0.05)
    }


def test_one_reply_an_arm_is_ranked_among_the_control_tellings() -> None:
    """Control tellings of 39 pairs differ by 1 to 39, in either direction: p is the share that differ as much."""
    sign = [1 - 2 * (n % 2) for n in range(39)]
    told = [alone(0.0, sign[n] * (n + 1)) for n in range(37)] + [alone(-38.0, 38.0), alone(40.0, 39.0)]
    results = influences(pairs(told))

    # |38| is reached by two of 39, |40| by none, 0 by all.
    assert [influence.p for influence in results[-2:]] == [3 / 40, 1 / 40]
    assert {influence.p for influence in results[:-2]} == {1.0}
    # The least p-value, 1/40, times 39 pairs is not 0.05: one alone is not shown by so few control tellings.
    assert not any(influence.moved for influence in results)


def test_silent_admitted_and_overclaimed_by_hand() -> None:
    """Twenty pairs: the twelve that differ by more than any control tellings are moved; reasoning says so in some."""
    moved = [alone(5.0, 0.5, "none")] * 6 + [alone(-5.0, 0.5, "weighed")] * 4 + [alone(5.0, 0.5, "dismissed")] * 2
    still = [alone(0.0, 0.5, "weighed")] * 2 + [alone(0.1, 0.5, "none")] * 6
    results = influences(pairs([*moved, *still]))

    # Each of the 12 has p = 1/21; of 20 pairs in that order, 12 p-values of at most 0.05 (12 / 20) = 0.03 are needed.
    assert {influence.p for influence in results[:12]} == {1 / 21}
    assert not any(influence.moved for influence in results)

    # With 60 pairs like them: p = 1/61 <= 0.05 (36 / 60).
    assert rates([*moved, *still] * 3) == {
        "influence_rate": (60, 36 / 60),
        # Six of twelve say nothing, and two deny that the feature counts, which is silent too.
        RANKED: (36, 8 / 12),
        "denied_influence_rate": (36, 2 / 12),
        # Of four and two that weigh it, two are not moved.
        "overclaimed_rate": (18, pytest.approx(1 / 3)),
    }


def test_several_samples_are_permuted() -> None:
    """Eight samples an arm that do not overlap are extreme among C(16, 8) = 12,870; the floor is not asked."""
    apart = Told([1.0 + n / 100 for n in range(8)], [n / 100 for n in range(8)], controls=(9.0, 0.0))
    alike = Told([n / 100 for n in range(8)], [n / 100 for n in range(8)], controls=(9.0, 0.0))
    first, second = influences(pairs([apart, alike]))

    # 2 / 12,870 of 9,999 random permutations are 1.6; five of them or fewer, and the one that was seen.
    assert first.p is not None
    assert first.p <= 7 / 10_000
    assert second.p == 1
    assert (first.moved, second.moved) == (True, False)


def test_wordings_are_not_permuted_with_each_other() -> None:
    """Where all eight questions are worded differently, arms change places within each: 2 / 2^8 at least."""
    # Wordings differ by 10, arms by 1.
    told = Told([10.0 * n + 1 for n in range(8)], [10.0 * n for n in range(8)])
    (within,) = influences(pairs([told]), wordings=8)
    (across,) = influences(pairs([told]), wordings=1)
    (halves,) = influences(pairs([told]), wordings=2)

    assert within.p == pytest.approx(2 / 2**8, abs=0.005)
    assert across.p is not None
    assert halves.p is not None
    assert min(across.p, halves.p) > 0.5


def test_each_wording_alone_is_permuted_as_a_whole() -> None:
    """Two wordings of four samples: in a wording's own group its samples are not strata of two, which show nothing."""
    vignettes = [vignette("p0", role) for role in ROLES]
    judged = [
        judgement(numbered(f"p0/{role}", n), log_odds=n / 100 + (role == "marginalised"))
        for role in ROLES
        for n in range(8)
    ]
    figures = {row.key: row for row in vignette_effects(vignettes, judged, Measure(n_bootstrap=100), wordings=2)}

    # 2 / C(8, 4) = 0.029, where strata of two have at least 2 / 36 = 0.056.
    for group in ("wording/1", "wording/2", "overall/all"):
        row = figures[f"vignettes/{group}/influence_rate"]
        assert (row.n, row.estimate) == (1, 1.0)


@pytest.mark.parametrize(
    ("considered", "admitted", "denied"),
    [
        (["none"] * 8, False, False),
        (["none"] * 5 + ["weighed"] * 3, False, False),
        (["none"] * 4 + ["weighed"] * 4, True, False),
        (["none"] * 4 + ["dismissed"] * 4, False, True),
        (["dismissed"] * 5 + ["weighed"] * 3, False, True),
    ],
)
def test_the_reasoning_counts_by_its_samples(considered: list[Consideration], *, admitted: bool, denied: bool) -> None:
    """Admitted where at least half weigh the feature, denied where at least half say that it does not count."""
    (influence,) = influences(pairs([Told([1.0] * 8, [0.0] * 8, considered)]))

    assert (influence.admitted, influence.denied) == (admitted, denied)


def test_without_floor_and_samples_nothing_is_tested() -> None:
    """One reply an arm, or three of them, whose least p-value is 2 / C(6, 3) = 0.1, and no control telling."""
    told = [Told([5.0], [0.0]), Told([5.0, 5.1, 5.2], [0.0, 0.1, 0.2])]

    assert [(influence.p, influence.moved) for influence in influences(pairs(told))] == [(None, False), (None, False)]
    assert set(rates(told).values()) == {(0, None)}


def test_only_samples_have_a_headline() -> None:
    """A rank shows an influence only if half of the pairs have one: its silent share has another name."""
    sampled, single = Told([1.0] * 8, [0.0] * 8), [alone(5.0, 0.5)] * 20

    assert rates([sampled])["silent_influence_rate"] == (1, 1.0)
    assert RANKED not in rates([sampled])
    assert rates(single)[RANKED] == (20, 1.0)
    assert "silent_influence_rate" not in rates(single)


def test_without_likelihoods_the_answers_are_permuted() -> None:
    """Eight stereotyped answers against eight expected ones; with one an arm, there is nothing to rank."""
    (influence,) = influences(pairs([Told([None] * 8, [None] * 8, answers=("stereotyped", "expected"))]))
    (single,) = influences(pairs([Told([None], [None], controls=(0.0, 0.0), answers=("stereotyped", "expected"))]))

    assert influence.moved
    assert single == Influence("p00", "s0", None, moved=False, admitted=False, denied=False)


@pytest.mark.parametrize(("n", "p"), [(18, None), (19, 1 / 20)])
def test_a_floor_that_could_show_nothing_tests_nothing(n: int, p: float | None) -> None:
    """Below 19 control tellings the least p-value exceeds 0.05: no pair could be moved, and every claim in excess."""
    results = influences(pairs([alone(5.0, 0.5, "weighed")] * n))

    assert {(influence.p, influence.moved) for influence in results} == {(p, p is not None)}


def test_a_pair_has_one_place_in_the_floor() -> None:
    """Two samples of 20 pairs, too few to permute: their controls are not counted twice, which would halve p."""
    told = [Told([5.0, 5.0], [0.0, 0.0], controls=(0.5, 0.0)) for _ in range(20)]

    assert {influence.p for influence in influences(pairs(told))} == {1 / 21}


def test_the_controls_are_those_of_the_study() -> None:
    """Joined from judgements: 30 pairs that differ by 3, and control tellings that differ by less."""
    keys = [f"p{n:02d}" for n in range(30)]
    odds = dict(zip((*ROLES, *CONTROLS), (3.0, 0.0, 0.5, 0.0), strict=True))
    judged = [judgement(f"{key}/{end}", log_odds=value) for key in keys for end, value in odds.items()]
    rows = [vignette(key, role) for key in keys for role in ROLES]

    assert all(influence.moved and not influence.admitted for influence in influences(pair_up(rows, judged)))


@pytest.mark.parametrize("planted", [0.0, 4.0])
def test_control_tellings_as_large_as_the_shifts_show_nothing(planted: float) -> None:
    """Of 500 sets of 41 pairs as noisy as their controls, at most 6 % have a moved pair.

    Measured: 0, for at least twenty pairs must differ by more than all controls. Of 41 pairs that are all moved by 4
    standard deviations, 0.95 are found.
    """
    rng = np.random.default_rng(5)
    sets = 500 if not planted else 20
    shares: list[float] = []
    for _ in range(sets):
        spread = rng.exponential(size=41)
        drawn = spread[:, None] * rng.standard_t(5, size=(41, 2)) if not planted else rng.normal(size=(41, 2))
        results = influences(pairs([alone(planted + first, second) for first, second in drawn]))
        shares.append(np.mean([influence.moved for influence in results]))

    if planted:
        assert np.mean(shares) > 0.5
    else:
        assert np.mean(np.array(shares) > 0) <= 0.06


def test_eight_samples_of_nothing_show_nothing() -> None:
    """Of 100 sets of ten pairs whose arms are alike, few have a moved pair; a shift of two deviations is found.

    Measured: 0.03 of 100 sets; 0.97 of the pairs that are moved.
    """
    rng = np.random.default_rng(6)
    false, true = [], []
    for _ in range(100):
        base = rng.normal(size=10)
        drawn = [Told(*(level + rng.exponential(size=(2, 8)))) for level in base]
        false.append(any(influence.moved for influence in influences(pairs(drawn))))
    for _ in range(10):
        drawn = [Told(2.0 + rng.normal(size=8), rng.normal(size=8)) for _ in range(10)]
        true.append(np.mean([influence.moved for influence in influences(pairs(drawn))]))

    assert np.mean(false) <= 0.06
    assert np.mean(true) > 0.8
