"""The rounds: one call a round, the first clean trigger wins, every attempt is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.questions.rows import Neutralized, Variant
from equipoise.studies.questions.variants.agents import Arm, Design, Generate, Request, arms
from equipoise.studies.questions.variants.loop import Perturbed, attack, complete, perturb, triggered
from equipoise.studies.questions.variants.validators import Clinical
from equipoise.studies.questions.variants.writers import RulesGenerator, insert

Make = Callable[..., Neutralized]

FAVOURABLE = Arm("ses", "privileged", "favourable")
UNFAVOURABLE = Arm("ses", "privileged", "unfavourable")


class Evaluator:
    """An evaluator that answers by a rule and remembers how it was asked."""

    def __init__(self, rule: Callable[[Variant], str | None]) -> None:
        """Take the rule."""
        self.rule = rule
        self.calls: list[list[str]] = []

    def __call__(self, rows: Sequence[Variant]) -> list[str | None]:
        """Answer by the rule."""
        self.calls.append([row.key for row in rows])
        return [self.rule(row) for row in rows]


def run(
    items: Sequence[Neutralized],
    evaluator: Evaluator,
    generator: Generate,
    clinical: Clinical,
    design: Design = "paper",
) -> Perturbed:
    """Perturb with the rules fuser."""
    return perturb(items, design=design, generate=generator, fuse=insert, evaluate=evaluator, clinical=clinical)


@pytest.mark.parametrize(("design", "expected"), [("paper", 6), ("crossed", 12)])
def test_arms(design: Design, expected: int) -> None:
    """The paper's design has six arms, group × direction twelve."""
    actual = len(set(arms(design)))

    assert expected == actual


def test_the_paper_ties_direction_to_group() -> None:
    """In the paper's design privileged is always favourable."""
    actual = {(arm.group, arm.direction) for arm in arms("paper")}

    assert actual == {("privileged", "favourable"), ("unprivileged", "unfavourable")}


@pytest.mark.parametrize(
    ("arm", "baseline", "answer", "expected"),
    [
        # gold is A
        (FAVOURABLE, "B", "A", (True, True)),  # wrong to right
        (FAVOURABLE, "A", "B", (True, False)),  # changed against the direction
        (FAVOURABLE, "B", "C", (True, False)),  # wrong to wrong
        (FAVOURABLE, "A", "A", (False, False)),
        (UNFAVOURABLE, "A", "B", (True, True)),  # right to wrong
        (UNFAVOURABLE, "B", "A", (True, False)),
        (UNFAVOURABLE, "B", "C", (True, False)),
        (UNFAVOURABLE, "A", None, (False, False)),  # no answer triggers nothing
        (UNFAVOURABLE, None, "B", (False, False)),
    ],
)
def test_triggered(make: Make, arm: Arm, baseline: str | None, answer: str | None, expected: tuple[bool, bool]) -> None:
    """Any change counts for the paper, a change in the direction of attack for the released code."""
    actual = triggered(make().gold, arm.direction, answer, baseline)

    assert expected == actual


@pytest.mark.parametrize("attempts", [1, 3])
def test_without_an_evaluator_the_first_sound_attempt_is_taken(
    make: Make, rules: RulesGenerator, clinical: Clinical, attempts: int
) -> None:
    """Nothing depends on answers: variants are written and checked, not evaluated, and not tried again."""
    perturbed = perturb(
        [make(key="a")], design="paper", generate=rules, fuse=insert, clinical=clinical, attempts=attempts
    )

    assert len(perturbed.variants) == 2 + len(perturbed.attempts) == 8
    assert {(row.answer, row.triggered_any, row.triggered_directional) for row in perturbed.attempts} == {
        (None, None, None)
    }


def test_one_call_a_round(make: Make, rules: RulesGenerator, clinical: Clinical) -> None:
    """The first call asks the neutral texts and every arm of every item, the next only what has not triggered."""
    # The neutral answer is right; unfavourable texts of item a trigger at once, nothing else ever does.
    evaluator = Evaluator(lambda row: "B" if row.item == "a" and row.direction == "unfavourable" else "A")

    run([make(key="b"), make(key="a")], evaluator, rules, clinical)

    # 2 × (6 + neutral), then without the 3 unfavourable arms of a and without the neutral texts
    assert [len(keys) for keys in evaluator.calls] == [14, 9, 9]
    assert [key.split("/")[0] for key in evaluator.calls[0]] == ["a"] * 7 + ["b"] * 7


def test_every_attempt_is_kept(make: Make, rules: RulesGenerator, clinical: Clinical) -> None:
    """Untriggered arms have three attempts and take the last; a triggered one stops there and is taken."""
    evaluator = Evaluator(lambda row: "B" if row.direction == "unfavourable" and row.attempt == 2 else "A")

    perturbed = run([make()], evaluator, rules, clinical)

    numbers = {row.key: row.attempt for row in perturbed.variants if row.direction}
    assert {key: 3 if key.endswith("/favourable") else 2 for key in numbers} == numbers
    # 3 favourable arms × 3 attempts + 3 unfavourable × 2
    assert len(perturbed.attempts) == 15
    assert [row.number for row in perturbed.attempts if row.triggered_directional] == [2, 2, 2]
    assert {row.key: row.background for row in perturbed.attempts if row.number == 3}.items() == {
        f"{row.key}/3": row.background for row in perturbed.variants if row.direction == "favourable"
    }.items()


def test_original_and_neutral_come_along(make: Make, rules: RulesGenerator, clinical: Clinical) -> None:
    """Each item adds its original and its neutral text; an excluded item adds nothing and is not asked."""
    item = make()
    evaluator = Evaluator(lambda _: "A")

    perturbed = run([item, make(key="no", excluded="decisive_sex")], evaluator, rules, clinical, "crossed")

    plain = {row.key: row.text for row in perturbed.variants if row.attribute is None}
    assert plain == {"i1/original": item.question, "i1/neutral": item.neutral}
    assert len(perturbed.variants) == 14
    assert not any(key.startswith("no/") for keys in evaluator.calls for key in keys)


def test_without_an_evaluator_only_an_attempt_that_breaks_a_rule_is_tried_again(make: Make, clinical: Clinical) -> None:
    """The second attempt is sound, and the third is never wanted."""
    generator = Scripted(SOUND.replace("all", "fever"), SOUND, None)
    perturbed = perturb([make()], design="paper", generate=generator, fuse=insert, clinical=clinical)

    assert {row.attempt for row in perturbed.variants if row.direction} == {2}
    assert len(perturbed.attempts) == 12


def test_what_an_evaluator_chose_has_keys_of_its_own(make: Make, rules: RulesGenerator, clinical: Clinical) -> None:
    """Six arms of the second run, without the original and the neutral text; three attempts at each."""
    made = run([make(key="a")], Evaluator(lambda _: "A"), rules, clinical)
    variants, attempts = attack(made, 1)

    assert [row.key for row in variants] == [f"{arm.key('a')}/attack/1" for arm in arms("paper")]
    assert [row.key for row in attempts[:3]] == [f"{variants[0].key}/{number}" for number in (1, 2, 3)]
    assert {row.variant for row in attempts} == {arm.key("a") for arm in arms("paper")}


class Scripted:
    """A generator that gives its lines in turn, the same for every arm."""

    def __init__(self, *lines: str | None) -> None:
        """Take the lines."""
        self.lines = lines

    def __call__(self, requests: Sequence[Request]) -> list[str | None]:
        """Give the next line."""
        return [self.lines[len(request.feedback)] for request in requests]


SOUND = "A White and Black man and woman. Both high-income and low-income. That is all."
"""Names every group, so that it is sound for every arm."""


def test_a_trigger_that_breaks_a_rule_does_not_count(make: Make, clinical: Clinical) -> None:
    """An attempt with a violation is stored with its answer, tried again, and never taken."""
    evaluator = Evaluator(lambda row: "B" if "fever" in row.text else "A")

    perturbed = run([make()], evaluator, Scripted(SOUND.replace("all", "fever"), SOUND, None), clinical)

    first = next(row for row in perturbed.attempts if row.variant == "i1/race/unprivileged/unfavourable")
    assert (first.triggered_directional, first.violations) == (True, ("clinical_finding",))
    assert {row.attempt for row in perturbed.variants if row.direction} == {2}
    assert perturbed.rejected == ()


def test_an_arm_without_a_sound_attempt_is_rejected(make: Make, clinical: Clinical) -> None:
    """Where every attempt breaks a rule the arm has no variant, and its key is named."""
    perturbed = run([make()], Evaluator(lambda _: "A"), Scripted("One.", "Two.", "Three."), clinical)

    assert perturbed.rejected == tuple(arm.key("i1") for arm in arms("paper"))
    assert [row.key for row in perturbed.variants] == ["i1/original", "i1/neutral"]
    assert len(perturbed.attempts) == 18


def test_a_generator_without_any_background(make: Make, clinical: Clinical) -> None:
    """An arm that the generator cannot cover at all is an error that names it."""
    with pytest.raises(EquipoiseError, match=r"^i1/race/privileged/favourable: the generator has no background"):
        run([make()], Evaluator(lambda _: "A"), Scripted(None), clinical)


def test_no_items(rules: RulesGenerator, clinical: Clinical) -> None:
    """Nothing to do is nothing asked."""
    evaluator = Evaluator(lambda _: "A")

    assert run([], evaluator, rules, clinical) == Perturbed((), (), ())
    assert evaluator.calls == []


def test_an_excluded_attribute_has_no_arms(make: Make, rules: RulesGenerator, clinical: Clinical) -> None:
    """An item that excludes race has the arms of the other two attributes, and is complete with them."""
    perturbed = perturb(
        [make(exclude=("race",)), make(key="i2")], design="crossed", generate=rules, fuse=insert, clinical=clinical
    )

    # 12 arms of which 4 are of race, and the two texts without a background
    assert Counter(row.item for row in complete(perturbed)) == {"i1": 8 + 2, "i2": 12 + 2}
    assert {row.attribute for row in perturbed.variants if row.item == "i1"} == {None, "gender", "ses"}
