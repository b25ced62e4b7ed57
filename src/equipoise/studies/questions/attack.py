"""The effects of an attack: the change in accuracy from texts that an evaluator chose because they moved its answer.

If the evaluator is the model under test, texts chosen by its answers in one half of the option orders are measured by
those in the other half, both ways, so that a model that answers by chance has figures around 0
(docs/metrics/attack.md). Each figure is a mean over questions with Student's t interval and test.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from equipoise.core.keys import grouped
from equipoise.figures.effects import Effect, Group, bounded_mean, effect, with_adjusted
from equipoise.figures.options import Measure
from equipoise.materials.orders import chosen
from equipoise.materials.questions import ATTRIBUTES, Attribute, Order
from equipoise.studies.questions import NAME
from equipoise.studies.questions.effects import (
    CONTRASTS,
    NEUTRAL,
    Answered,
    arms_of,
    crossed_attributes,
    direction_pair,
    having,
    mean_contrast,
    paper_pair,
)
from equipoise.studies.questions.rows import Variant
from equipoise.studies.questions.variants.agents import DIRECTIONS
from equipoise.studies.questions.variants.loop import ATTACK

FAMILY = "attack"
"""The family of these effects; the group is an attribute, or `all` for the contrasts over all of them."""


def attack_tables(
    variants: Sequence[Variant], attacks: Sequence[Variant], orders: Mapping[str, Sequence[Order]]
) -> list[list[Answered]]:
    """Tabulate the texts of each run with the answers that measure them, and the neutral answers in the same orders.

    Questions that a run lacks are left out of all runs.
    """
    neutral = {row.item: row for row in variants if row.key == f"{row.item}/{NEUTRAL}"}
    rows = grouped((row.key.rpartition("/")[2], row) for row in attacks)
    runs = [grouped((row.item, row) for row in run) for run in rows.values()]
    common = sorted(set.intersection(*map(set, runs))) if runs else []
    return [[_answered(neutral[item], items[item], orders) for item in common] for items in runs]


def _answered(neutral: Variant, attacks: Sequence[Variant], orders: Mapping[str, Sequence[Order]]) -> Answered:
    measured = {order.shift for order in orders[attacks[0].key]}
    letters = {NEUTRAL: chosen((order for order in orders[neutral.key] if order.shift in measured), neutral.options)}
    for row in attacks:
        name = row.key.removeprefix(f"{row.item}/").partition(ATTACK)[0]
        letters[name] = chosen(orders[row.key], row.options)
    return Answered(neutral.item, neutral.gold, letters)


def attack_effects(tables: Sequence[Sequence[Answered]], options: Measure) -> list[Effect]:
    """Estimate every figure of an attack, sorted by key; none without an attack."""
    if not tables or not tables[0]:
        return []
    rows = [row for attribute in ATTRIBUTES for row in _attribute_effects(tables, attribute, options.alpha)]
    if crossed := crossed_attributes(tables[0], ATTRIBUTES):
        rows += _contrast_effects(Group(FAMILY, "all", NAME), tables, crossed, options.alpha)
    return sorted(with_adjusted(rows, (FAMILY,)), key=lambda row: row.key)


def _attribute_effects(tables: Sequence[Sequence[Answered]], attribute: Attribute, alpha: float) -> Iterator[Effect]:
    group, names = Group(FAMILY, attribute, NAME), set(arms_of(tables[0]))
    privileged, unprivileged = paper_pair(attribute)
    if not {privileged, unprivileged} <= names:
        return
    pairs = {"gap": (privileged, unprivileged), "lift": (privileged, NEUTRAL), "penalty": (NEUTRAL, unprivileged)}
    crossed = crossed_attributes(tables[0], [attribute])
    for direction in DIRECTIONS if crossed else ():
        pairs[f"gap_{direction}"] = direction_pair(attribute, direction)
    for measure, (first, second) in pairs.items():
        values = [[float(row.gap(first, second)) for row in having(table, first, second)] for table in tables]
        yield _mean(group, measure, values, 1.0, alpha)
    if crossed:
        yield from _contrast_effects(group, tables, crossed, alpha)


def _contrast_effects(
    group: Group, tables: Sequence[Sequence[Answered]], attributes: Sequence[Attribute], alpha: float
) -> Iterator[Effect]:
    for measure, bound in CONTRASTS.items():
        values = [
            [value for row in table if (value := mean_contrast(measure, row, attributes)) is not None]
            for table in tables
        ]
        yield _mean(group, measure, values, bound, alpha)


def _mean(group: Group, measure: str, runs: Sequence[Sequence[float]], bound: float, alpha: float) -> Effect:
    """Estimate the mean over questions of a value within ±bound; each question counts with its mean over the runs."""
    values = [fmean(of_question) for of_question in zip(*runs, strict=True)]
    return effect(group, measure, len(values), bounded_mean(values, bound, alpha))
