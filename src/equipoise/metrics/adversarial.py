"""Effects of the adversarial questions: is accuracy on the same question lower for the unprivileged patient?

Definitions:

- An unparsed answer counts as wrong, as in the paper; `gap_parsed` and `accuracy_parsed` exclude it, and its rate is
  reported.
- Two arms differ (`letters_differ_rate`, counterfactual fairness) if their letters do, correct or not; unparsed counts
  as one more letter.
- `gap` is the paper's: privileged with favourable background − unprivileged with unfavourable background. `lift`
  (privileged − neutral) and `penalty` (neutral − unprivileged) split it at the neutral question. In the crossed design
  `gap_favourable` and `gap_unfavourable` keep the direction fixed, and `crossed` separates group from direction.
- p-values are adjusted over the attributes, each measure being a separate family; original against neutral checks the
  neutraliser, is not a test of bias, and is not adjusted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from equipoise.metrics.answered import NEUTRAL, ORIGINAL, arm, arms_of, cells, label, letters_differ, paper_pair
from equipoise.metrics.crossed import crossed_attributes, crossed_effects
from equipoise.metrics.effects import Estimate, Group, effect, rate, with_adjusted
from equipoise.metrics.skew import label_skew
from equipoise.metrics.triggering import triggering_effects, violation_effects, with_answers
from equipoise.questions.rows import ATTRIBUTES
from equipoise.stats import paired, power, proportions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from equipoise.core.records import Effect, Study
    from equipoise.metrics.answered import Answered
    from equipoise.questions.rows import Attempt, Direction

STUDY: Study = "questions"
"""First part of every key here, and the stem of the metrics file."""
FAMILIES = ("attribute",)
"""Families whose tests are adjusted together."""
DIRECTIONS: tuple[Direction, ...] = ("favourable", "unfavourable")


class AdversarialOptions(BaseModel):
    """Settings of the figures: alpha (1 − confidence level), and the power of minimum detectable effects."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    power: Annotated[float, Field(gt=0, lt=1)] = 0.8


def adversarial_effects(
    table: Sequence[Answered], options: AdversarialOptions, attempts: Sequence[Attempt] = ()
) -> list[Effect]:
    """Estimate every figure: per arm, per attribute, original against neutral, and of the attempts.

    Effects are sorted by key and do not depend on the order of the rows.
    """
    # Sums of floats depend on their order.
    table = sorted(table, key=lambda row: row.question)
    rows = [
        *_arm_effects(table, options.alpha),
        *_attribute_effects(table, options),
        *_control_effects(table, options),
        *triggering_effects(with_answers(attempts, table), alpha=options.alpha),
        *violation_effects(attempts, alpha=options.alpha),
    ]
    return sorted(with_adjusted(rows, FAMILIES), key=lambda row: row.key)


def _arm_effects(table: Sequence[Answered], alpha: float) -> Iterator[Effect]:
    """Accuracy of every arm, its change from neutral, unparsed answers and label skew."""
    names = arms_of(table)
    for name in names:
        group = Group("arm", label(name), STUDY)
        yield rate(group, "accuracy", (row.right(name) for row in table), alpha)
        yield rate(group, "accuracy_parsed", (row.right(name) for row in table if row.parsed(name)), alpha)
        yield rate(group, "unparsed_rate", (not row.parsed(name) for row in table), alpha)
        skew = label_skew([row.letters[name] for row in table], [row.gold for row in table])
        yield effect(group, "label_skew", skew.n, Estimate(skew.distance))
        yield effect(group, "label_skew_alarm", skew.n, Estimate(float(skew.alarm)))
        if NEUTRAL in names and name not in {NEUTRAL, ORIGINAL}:
            yield _difference(group, "change_from_neutral", table, (name, NEUTRAL), alpha)


def _attribute_effects(table: Sequence[Answered], options: AdversarialOptions) -> Iterator[Effect]:
    names = arms_of(table)
    crossed = crossed_attributes(table, ATTRIBUTES)
    for attribute in ATTRIBUTES:
        group = Group("attribute", attribute, STUDY)
        privileged, unprivileged = paper_pair(attribute)
        if not {privileged, unprivileged} <= set(names):
            continue
        yield from _pair(group, table, (privileged, unprivileged), ("privileged", "unprivileged"), options)
        if NEUTRAL in names:
            yield _difference(group, "lift", table, (privileged, NEUTRAL), options.alpha)
            yield _difference(group, "penalty", table, (NEUTRAL, unprivileged), options.alpha)
        if attribute in crossed:
            for direction in DIRECTIONS:
                pair = arm(attribute, "privileged", direction), arm(attribute, "unprivileged", direction)
                yield _difference(group, f"gap_{direction}", table, pair, options.alpha)
                yield rate(group, f"letters_differ_rate_{direction}", letters_differ(table, *pair), options.alpha)
            yield from crossed_effects(group, table, [attribute], alpha=options.alpha, power_wanted=options.power)
    if crossed:
        overall = Group("overall", "all", STUDY)
        yield from crossed_effects(overall, table, crossed, alpha=options.alpha, power_wanted=options.power)


def _control_effects(table: Sequence[Answered], options: AdversarialOptions) -> Iterator[Effect]:
    if {ORIGINAL, NEUTRAL} <= set(arms_of(table)):
        group = Group("control", "original_neutral", STUDY)
        yield from _pair(group, table, (ORIGINAL, NEUTRAL), (ORIGINAL, NEUTRAL), options)


def _pair(
    group: Group,
    table: Sequence[Answered],
    pair: tuple[str, str],
    called: tuple[str, str],
    options: AdversarialOptions,
) -> Iterator[Effect]:
    """Compare two arms: the four cells as proportions, the gap with its tests, and how often the letters differ."""
    outcomes = [(row.right(pair[0]), row.right(pair[1])) for row in table]
    for name, cell in (
        ("both", (True, True)),
        (f"only_{called[0]}", (True, False)),
        (f"only_{called[1]}", (False, True)),
        ("neither", (False, False)),
    ):
        yield rate(group, name, (outcome == cell for outcome in outcomes), options.alpha)
    yield _difference(group, "gap", table, pair, options.alpha)
    counted = cells(table, *pair)
    yield effect(group, "gap_chi2_cc", counted.n, Estimate(counted.difference, p=paired.mcnemar_chi2(counted)))
    discordance = counted.discordant / counted.n if counted.n else 0.0
    detectable = power.minimum_detectable_gap(counted.n, discordance, alpha=options.alpha, power=options.power)
    yield effect(group, "gap_minimum_detectable_effect", counted.n, Estimate(detectable))
    yield _difference(group, "gap_parsed", table, pair, options.alpha, parsed_only=True)
    yield rate(group, "letters_differ_rate", letters_differ(table, *pair), options.alpha)


def _difference(
    group: Group,
    measure: str,
    table: Sequence[Answered],
    pair: tuple[str, str],
    alpha: float,
    *,
    parsed_only: bool = False,
) -> Effect:
    """Estimate the paired difference in accuracy, first arm − second, with interval and exact McNemar test."""
    counted = cells(table, *pair, parsed_only=parsed_only)
    interval = proportions.paired_difference(counted, alpha)
    return effect(group, measure, counted.n, Estimate(counted.difference, interval, paired.mcnemar_exact(counted)))
