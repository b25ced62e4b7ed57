"""Tests of the adversarial study's effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import variant
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Group
from equipoise.figures.options import Measure
from equipoise.materials.questions import ATTRIBUTES
from equipoise.stats.power import minimum_detectable_gap
from equipoise.studies.questions.effects import (
    DIRECTIONS,
    Answered,
    arm,
    arm_skews,
    arms_of,
    crossed_effects,
    label,
    paper_pair,
    question_effects,
    question_findings,
    tabulate,
)
from equipoise.studies.questions.rows import Attempt, Variant

if TYPE_CHECKING:
    from equipoise.figures.effects import Effect

OPTIONS = Measure()
WHITE, BLACK = "race/privileged/favourable", "race/unprivileged/unfavourable"
FOUR = (WHITE, "race/unprivileged/favourable", "race/privileged/unfavourable", BLACK)
CROSSED = tuple(arm(a, g, d) for a in ATTRIBUTES for g in ("privileged", "unprivileged") for d in DIRECTIONS)
LETTERS = st.sampled_from(["A", "B", "C", None])


def rows_of(arms: Sequence[str], *letters: Sequence[str | None]) -> list[Answered]:
    """Make a table whose gold is always A, a row of letters a question."""
    return [Answered(str(n), "A", dict(zip(arms, row, strict=True))) for n, row in enumerate(letters)]


def by_place(effects: Sequence[Effect]) -> dict[str, Effect]:
    """Index effects as `group/measure`."""
    return {f"{effect.group}/{effect.measure}": effect for effect in effects}


@pytest.fixture(scope="module")
def six() -> dict[str, Effect]:
    """Give the effects of six questions, one of each sort."""
    return by_place(
        question_effects(
            rows_of(
                ("original", "neutral", WHITE, BLACK),
                ("A", "A", "A", "B"),  # right for the privileged alone
                ("A", "A", "A", "A"),  # right in both
                ("A", "B", "B", "A"),  # right for the unprivileged alone
                ("B", "B", "B", "C"),  # wrong in both, with different letters
                ("A", "A", "A", None),  # unparsed for the unprivileged
                ("C", None, None, None),  # unparsed but for the original
            ),
            OPTIONS,
        )
    )


@pytest.mark.parametrize(
    ("place", "n", "estimate"),
    [
        ("white_favourable/accuracy", 6, 3 / 6),
        ("white_favourable/accuracy_parsed", 5, 3 / 5),
        ("black_unfavourable/accuracy", 6, 2 / 6),
        ("black_unfavourable/unparsed_rate", 6, 2 / 6),
        ("race/both", 6, 1 / 6),
        ("race/only_privileged", 6, 2 / 6),  # the unparsed answer counts as wrong
        ("race/only_unprivileged", 6, 1 / 6),
        ("race/neither", 6, 2 / 6),
        ("race/gap", 6, 1 / 6),
        ("race/gap_parsed", 4, 0.0),  # the last two questions drop out: 1 alone each way
        ("race/letters_differ_rate", 6, 4 / 6),  # A and B, B and A, B and C, A and none
        ("race/lift", 6, 0.0),  # white is right where neutral is: 1st, 2nd, 5th
        ("race/penalty", 6, 1 / 6),  # neutral right in 3, black in 2
        ("white_favourable/change_from_neutral", 6, 0.0),
        ("black_unfavourable/change_from_neutral", 6, -1 / 6),
        ("original_neutral/gap", 6, 1 / 6),  # the third question
        ("original_neutral/only_original", 6, 1 / 6),
    ],
)
def test_figures_by_hand(six: dict[str, Effect], place: str, n: int, estimate: float) -> None:
    """Six questions give the counts and the estimate that their definition says."""
    assert n == six[place].n
    assert estimate == pytest.approx(six[place].estimate)


def test_gap_has_the_mid_p_test_and_the_exact_one_beside(six: dict[str, Effect]) -> None:
    """The gap's p-value is that of two discordant pairs against one."""
    # mid-p: (2 C(3,0) + C(3,1)) / 2^3 = 5 / 8; exact: min(1, 2 (C(3,0) + C(3,1)) / 2^3) = 1
    assert six["race/gap"].neg_log10_p == pytest.approx(math.log10(8 / 5))
    assert six["race/gap_exact"].neg_log10_p == 0.0


def test_control_is_not_adjusted(six: dict[str, Effect]) -> None:
    """Original against neutral is a test by itself."""
    assert six["original_neutral/gap"].neg_log10_p_holm is None


def test_holm_counts_the_attributes() -> None:
    """The attributes' gaps are one family: with three of them the smallest p is tripled."""
    arms = [name for attribute in ATTRIBUTES for name in paper_pair(attribute)]
    letters = ["B" if name == BLACK else "A" for name in arms]
    gap = by_place(question_effects(rows_of(arms, *[letters] * 8), OPTIONS))["race/gap"]

    # p = 1 / 2^8 = 1 / 256
    assert math.log10(256) == pytest.approx(gap.neg_log10_p)
    assert math.log10(256 / 3) == pytest.approx(gap.neg_log10_p_holm)


def test_crossed_contrasts_by_hand() -> None:
    """Group effect, direction effect and interaction are the means of each question's contrasts."""
    effects = by_place(
        question_effects(
            # privileged favourable, unprivileged favourable, privileged unfavourable, unprivileged unfavourable
            rows_of(FOUR, "AAAB", "ABAB", "AABB", "AAAA"),
            OPTIONS,
        )
    )

    # group:       (0 + 1) / 2, (1 + 1) / 2, (0 + 0) / 2, 0
    # direction:   (0 + 1) / 2, (0 + 0) / 2, (1 + 1) / 2, 0
    # interaction:  0 - 1,       1 - 1,       0 - 0,      0
    expected = {"group_effect": 1.5 / 4, "direction_effect": 1.5 / 4, "interaction": -1 / 4}
    assert expected == {name: effects[f"race/{name}"].estimate for name in expected}
    assert expected == {name: effects[f"all/{name}"].estimate for name in expected}


@settings(deadline=None, max_examples=20)
@given(rows=st.lists(st.tuples(*[LETTERS] * 4), min_size=1, max_size=8))
def test_paper_gap_is_group_and_direction_together(rows: list[tuple[str | None, ...]]) -> None:
    """The paper's gap is the sum of group effect and direction effect: this is its confound."""
    effects = by_place(question_effects(rows_of(FOUR, *rows), OPTIONS))
    parts = [effects[f"race/{name}"].estimate for name in ("group_effect", "direction_effect")]

    assert effects["race/gap"].estimate == pytest.approx(sum(part for part in parts if part is not None))


def test_paper_design_has_no_crossed_effects(six: dict[str, Effect]) -> None:
    """Two arms an attribute cannot tell group from direction, and no figure pretends to."""
    assert not [place for place in six if place.endswith(("group_effect", "direction_effect", "interaction"))]


def test_contrast_intervals_cover() -> None:
    """The t interval of a group effect of 0.1 covers it in about 95 of 100 studies of 80 questions."""
    rng = np.random.default_rng(3)
    covered = 0
    studies = 200
    for _ in range(studies):
        # A question's own difficulty makes its four arms depend on one another.
        ease = rng.beta(2, 2, size=(80, 1)) * 0.8
        right = rng.random((80, 4)) < ease + np.array([0.15, 0.05, 0.10, 0.0])
        rows = rows_of(FOUR, *["".join("A" if is_right else "B" for is_right in row) for row in right])
        effect = next(crossed_effects(Group("attribute", "race", "vignettes"), rows, ["race"], Measure()))
        covered += effect.ci_low is not None and effect.ci_high is not None and effect.ci_low <= 0.1 <= effect.ci_high

    # Binomial(200, 0.95): four standard errors are 0.062.
    assert covered / studies == pytest.approx(0.95, abs=0.062)


def attempt(
    variant: str, number: int, *, moved: bool | None, directional: bool | None, violations: tuple[str, ...] = ()
) -> Attempt:
    """Make an attempt of which only variant, number and outcome matter."""
    return Attempt(
        key=f"{variant}/{number}",
        variant=variant,
        number=number,
        background="",
        text="",
        answer="A",
        triggered_any=moved,
        triggered_directional=directional,
        violations=violations,
    )


def test_rounds_add_up_to_the_total() -> None:
    """A variant counts in the first round that triggered, by each definition, out of all variants of its group."""
    attempts = [
        attempt(f"q1/{WHITE}", 1, moved=True, directional=False, violations=("numerals",)),
        attempt(f"q1/{WHITE}", 2, moved=True, directional=True),
        attempt(f"q2/{BLACK}", 1, moved=True, directional=True),
        attempt(f"q/3/{BLACK}", 1, moved=False, directional=False),
    ]
    effects = by_place(question_effects([], OPTIONS, attempts))

    expected = {
        "race/any_round_1": (3, 2 / 3),
        "race/any_round_2": (3, 0.0),
        "race/any_total": (3, 2 / 3),
        "race/directional_round_1": (3, 1 / 3),
        "race/directional_round_2": (3, 1 / 3),
        "race/directional_total": (3, 2 / 3),
        "white_favourable/directional_round_2": (1, 1.0),
        "black_unfavourable/directional_total": (2, 1 / 2),
        "numerals/violation_rate": (4, 1 / 4),
        "any/violation_rate": (4, 1 / 4),
    }
    assert expected == {place: (effects[place].n, effects[place].estimate) for place in expected}


def test_attempts_that_were_not_evaluated_are_read_from_the_answers() -> None:
    """A single attempt's variant with another answer than neutral triggered; one without an answer is left out."""
    # q0: neutral right, told unfavourably wrong; the favourable variant keeps the right letter. q9 was never asked.
    table = rows_of(("neutral", WHITE, BLACK), "AAB")
    attempts = [
        attempt(f"{table[0].question}/{WHITE}", 1, moved=None, directional=None),
        attempt(f"{table[0].question}/{BLACK}", 1, moved=None, directional=None),
        attempt(f"q9/{BLACK}", 1, moved=None, directional=None, violations=("numerals",)),
    ]
    effects = by_place(question_effects(table, OPTIONS, attempts))

    expected = {
        "race/any_total": (2, 1 / 2),
        "white_favourable/any_total": (1, 0.0),
        "black_unfavourable/directional_total": (1, 1.0),
        "any/violation_rate": (3, 1 / 3),
    }
    assert expected == {place: (effects[place].n, effects[place].estimate) for place in expected}


def test_a_gap_has_its_cells_both_tests_and_its_detectable_size() -> None:
    """A pair has the shares of its four cells; its gap every p-value, and the smallest gap that could be detected."""
    rows = rows_of(("original", "neutral", *FOUR), *["AAAAAB"] * 8)
    effects = by_place(question_effects(rows, OPTIONS))
    gap = effects["race/gap"]

    assert {row.family for row in effects.values()} == {"attribute", "control", "overall", "arm"}
    cells = ("both", "only_privileged", "only_unprivileged", "neither")
    assert [(effects[f"race/{cell}"].n, effects[f"race/{cell}"].estimate) for cell in cells] == [
        (8, 0.0),
        (8, 1.0),
        (8, 0.0),
        (8, 0.0),
    ]
    assert (gap.n, gap.estimate, gap.ci_high) == (8, 1.0, 1.0)
    # Newcombe: the margins are 8 of 8 and 0 of 8, phi is 0; Wilson's limit is z^2 / (8 + z^2) = 0.324408:
    # 1 - 0.324408 sqrt(2)
    assert gap.ci_low == pytest.approx(0.541218, abs=1e-6)
    # One attribute of the family was asked about: log10(256) stays as it is.
    p_values = (gap.neg_log10_p, gap.neg_log10_p_holm, gap.neg_log10_p_bonferroni, gap.neg_log10_p_bh)
    assert p_values == pytest.approx((2.40824,) * 4, abs=1e-6)
    # chi2 = (8 - 1)^2 / 8 = 6.125, z = 2.474874
    assert effects["race/gap_chi2_cc"].neg_log10_p == pytest.approx(1.875224, abs=1e-6)
    detectable = effects["race/gap_minimum_detectable_effect"].estimate
    assert detectable == pytest.approx(minimum_detectable_gap(8, 1.0), abs=1e-6)
    assert (effects["original/label_skew"].n, effects["original/label_skew"].estimate) == (8, 0.0)
    assert {row.group.name: row.answer for row in question_findings(arm_skews(rows))}["original"] is False
    # All questions alike: no spread, so no t test; up to 1 - 0.025^(1/8) = 0.369416 of other questions may be at -1.
    overall = effects["all/group_effect"]
    assert (overall.n, overall.estimate, overall.neg_log10_p) == (8, 0.5, None)
    assert (overall.ci_low, overall.ci_high) == pytest.approx((0.5 - 1.5 * 0.369416, 0.5 + 0.5 * 0.369416), abs=1e-6)


@settings(deadline=None, max_examples=20)
@given(rows=st.lists(st.tuples(*[LETTERS] * 14), max_size=5), data=st.data())
def test_figures_are_finite_and_independent_of_order(rows: list[tuple[str | None, ...]], data: st.DataObject) -> None:
    """No study yields NaN or infinity, and shuffled rows give the same effects."""
    table = rows_of(("original", "neutral", *CROSSED), *rows)
    effects = question_effects(table, OPTIONS)
    figures = [f for e in effects for f in (e.estimate, e.ci_low, e.ci_high, e.neg_log10_p, e.neg_log10_p_holm)]

    assert all(figure is None or math.isfinite(figure) for figure in figures)
    assert effects == question_effects(data.draw(st.permutations(table)), OPTIONS)


def test_variants_become_a_table() -> None:
    """Variants and their letters become one row a question, sorted, with the arms by name."""
    variants = [variant(item, name) for item in ("q2", "q1") for name in (BLACK, "neutral", "original")]
    table = tabulate(variants, {v.key: "A" if v.item == "q1" else None for v in variants})

    assert [("q1", {"A"}), ("q2", {None})] == [(row.question, set(row.letters.values())) for row in table]
    assert arms_of(table) == ["original", "neutral", BLACK]
    assert label(BLACK) == "black_unfavourable"


@pytest.mark.parametrize(
    ("variants", "letters", "fault"),
    [
        ([variant("q1", "neutral")], {}, "keys with a variant but no answer: q1/neutral"),
        ([], {"q1/neutral": "A"}, "keys with a answer but no variant: q1/neutral"),
        (
            [variant("q1", "neutral"), variant("q2", "original")],
            {"q1/neutral": "A", "q2/original": "A"},
            "question 'q1' lacks the variants original",
        ),
        (
            [variant("q1", "neutral"), variant("q1", "original", gold="B")],
            {"q1/neutral": "A", "q1/original": "A"},
            "question 'q1': its variants differ in gold",
        ),
    ],
)
def test_holes_in_the_table_are_refused(variants: list[Variant], letters: dict[str, str | None], fault: str) -> None:
    """A variant without answer, an answer without variant and unequal questions are named."""
    with pytest.raises(EquipoiseError, match=fault):
        tabulate(variants, letters)


def test_a_question_may_lack_an_attribute_but_not_one_of_its_arms() -> None:
    """A question that excludes race is in the table without it; with a single arm of it, it has a hole."""
    whole = [variant("q1", "neutral"), variant("q1", WHITE), variant("q1", BLACK), variant("q2", "neutral")]
    letters: dict[str, str | None] = {row.key: "A" for row in whole}

    assert [sorted(row.letters) for row in tabulate(whole, letters)] == [["neutral", WHITE, BLACK], ["neutral"]]
    with pytest.raises(EquipoiseError, match=f"question 'q2' lacks the variants {BLACK}"):
        tabulate([*whole, variant("q2", WHITE)], letters | {f"q2/{WHITE}": "A"})


def test_an_attribute_is_measured_in_the_questions_that_have_it() -> None:
    """Three questions have race, one does not: race has n 3, what all have in common n 4."""
    full, other = ["neutral", *CROSSED], ["neutral", *(name for name in CROSSED if not name.startswith("race"))]
    wrong = dict.fromkeys(full, "A") | {FOUR[1]: "B", FOUR[3]: "B"}  # wrong about Black patients in both directions
    table = [Answered(str(n), "A", wrong) for n in range(3)] + [Answered("3", "A", dict.fromkeys(other, "A"))]

    figures = {(row.family, row.group, row.measure): (row.n, row.estimate) for row in question_effects(table, OPTIONS)}

    assert figures["attribute", "race", "group_effect"] == (3, 1.0)
    assert figures["attribute", "race", "gap"] == (3, 1.0)
    assert figures["attribute", "gender", "group_effect"] == (4, 0.0)
    assert figures["arm", "white_favourable", "accuracy"] == (3, 1.0)
    assert figures["arm", "neutral", "accuracy"] == (4, 1.0)
    # Means over the attributes that a question has: (1 + 0 + 0) / 3 in three questions, 0 in the fourth.
    assert figures["overall", "all", "group_effect"] == (4, pytest.approx(0.25))
