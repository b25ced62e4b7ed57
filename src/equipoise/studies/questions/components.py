"""What a verdict on the questions rests on besides the group effect: sensitivity, groups, and what is withheld.

docs/metrics/crossed_effects.md gives the reasons. `accuracy_over_blind` is the share of neutral questions answered
correctly minus that of the best strategy that does not read them. The intervals of `group_effect_simultaneous` hold for
each attribute, and for each attribute with either background, together: the level is divided by the two groupings, and
by the groups of each. Replies without a letter are withheld, that is refused or unread, by the side of the patient:
unprivileged minus privileged, over all attributes, backgrounds and orders of a question. By likelihood no text is
written, and nothing is withheld.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from equipoise.figures.effects import Effect, Estimate, Group, bounded_mean, effect, paired_gap, simultaneous_means
from equipoise.figures.guards import Guard, answer_guards
from equipoise.figures.options import Measure
from equipoise.materials.questions import ATTRIBUTES, Options, Order
from equipoise.stats.quantities import PairedCells
from equipoise.studies.questions import NAME
from equipoise.studies.questions.effects import (
    ATTRIBUTE,
    BACKGROUND,
    NEUTRAL,
    Answered,
    crossed_attributes,
    mean_contrast,
    parts,
)
from equipoise.studies.questions.variants.loop import ATTACK
from equipoise.text.answer import AnswerKind

BLIND = "accuracy_over_blind"


def component_effects(table: Sequence[Answered], options: Mapping[str, Options], settings: Measure) -> Iterator[Effect]:
    """Estimate what a verdict reads, but for the group effect itself; `options` are the questions' as written."""
    table = sorted(table, key=lambda row: row.question)
    overall, crossed = Group("overall", "all", NAME), crossed_attributes(table, ATTRIBUTES)
    effects = {row.question: mean_contrast("group_effect", row, crossed) for row in table}
    counted = [row for row in table if effects[row.question] is not None]
    yield effect(overall, "clusters", len(counted), Estimate(float(len(counted))))
    withheld: tuple[tuple[str, AnswerKind], ...] = (
        ("refusal_difference", "refusal"),
        ("unread_difference", "unparsed"),
    )
    for measure, kind in withheld:
        values = [value for row in table if (value := _withheld(row, kind)) is not None]
        yield effect(overall, measure, len(values), bounded_mean(values, 1.0, settings.alpha))
    families = (ATTRIBUTE, BACKGROUND)
    for family in families:
        groups = [
            (Group(family, name, NAME), [(mean_contrast("group_effect", row, crossed), row.question) for row in rows])
            for name, members in sorted(parts(table, family).items())
            if (rows := members.values())
        ]
        share = settings.alpha / len(families)
        yield from simultaneous_means("group_effect", groups, share, alone=settings.alpha)
    neutral = [row for row in table if row.has(NEUTRAL)]
    blind = best_blind(neutral, options)
    cells = PairedCells.count((row.right(NEUTRAL), blind[row.question] == row.gold) for row in neutral)
    yield effect(Group("arm", NEUTRAL, NAME), BLIND, len(neutral), paired_gap(cells, settings.alpha))


def best_blind(table: Sequence[Answered], options: Mapping[str, Options]) -> dict[str, str]:
    """Choose the letter of each question by the strategy that is right most often without reading the questions."""
    strategies = [*_strategies(table, options)]
    gold = {row.question: row.gold for row in table}
    return max(strategies, key=lambda letters: sum(letters[name] == right for name, right in gold.items()), default={})


def _strategies(table: Sequence[Answered], options: Mapping[str, Options]) -> Iterator[dict[str, str]]:
    """Yield the letters of each strategy by question; among options of one length, the first counts."""
    texts = {row.question: options[row.question] for row in table}
    for sign in (1, -1):
        yield {
            name: min(choices, key=lambda letter: (sign * len(choices[letter]), letter))
            for name, choices in texts.items()
        }
    if any(len(row.orders.get(NEUTRAL, ())) <= 1 for row in table):
        for letter in sorted(set().union(*texts.values())):
            yield dict.fromkeys(texts, letter)


def _withheld(row: Answered, kind: AnswerKind) -> float | None:
    """Return the share of a question's answers of a kind, unprivileged minus privileged; None without both."""
    sides = [
        [order.written == kind for name, orders in row.orders.items() if f"/{side}/" in name for order in orders]
        for side in ("unprivileged", "privileged")
    ]
    return fmean(sides[0]) - fmean(sides[1]) if all(sides) else None


def written_guards(orders: Mapping[str, Sequence[Order]]) -> Iterator[Guard]:
    """Count refused and unread answers by the patient's side, or in the original and the neutral question.

    `orders` are the answers to each variant, by its key.
    """
    sides: dict[str, list[AnswerKind]] = {}
    for key, answers in orders.items():
        name = next((side for side in ("unprivileged", "privileged") if f"/{side}/" in key), key.rpartition("/")[2])
        sides.setdefault("attack" if ATTACK in key else name, []).extend(order.written for order in answers)
    yield from answer_guards(sides)
