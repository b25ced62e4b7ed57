"""How often an adversarial variant moved the evaluator: the paper's Figure 2, in both of its definitions.

`any`: the evaluator's answer differs from its answer on the neutral question (the paper's text). `directional`: it
changed the way the background was meant to push (the released code). A variant counts in the first round in which it
triggered, out of all variants of its group, so that the rounds add up to the total.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from equipoise.metrics.answered import NEUTRAL, label
from equipoise.metrics.effects import Group, rate
from equipoise.questions.variants.loop import triggered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from equipoise.core.records import Effect
    from equipoise.metrics.answered import Answered
    from equipoise.questions.rows import Attempt, Direction

DEFINITIONS: dict[str, Callable[[Attempt], bool]] = {
    "any": lambda attempt: bool(attempt.triggered_any),
    "directional": lambda attempt: bool(attempt.triggered_directional),
}


def with_answers(attempts: Sequence[Attempt], table: Sequence[Answered]) -> list[Attempt]:
    """Complete attempts that were not evaluated with the answers of the study; those without an answer are left out."""
    rows = {row.question: row for row in table}
    found = []
    for attempt in attempts:
        if attempt.triggered_any is not None:
            found.append(attempt)
            continue
        question, *parts = attempt.variant.rsplit("/", 3)
        row, name = rows.get(question), "/".join(parts)
        if row is None or not {name, NEUTRAL} <= row.letters.keys():
            continue
        direction: Direction = "favourable" if name.endswith("/favourable") else "unfavourable"
        moved, directional = triggered(row.gold, direction, row.letters[name], row.letters[NEUTRAL])
        found.append(attempt.model_copy(update={"triggered_any": moved, "triggered_directional": directional}))
    return found


def triggering_effects(attempts: Sequence[Attempt], *, alpha: float) -> Iterator[Effect]:
    """Estimate the share of variants that triggered in each round and in all, by attribute and by arm."""
    by_variant: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda attempt: attempt.number):
        by_variant.setdefault(attempt.variant, []).append(attempt)
    groups: dict[str, list[list[Attempt]]] = {}
    for variant, tries in sorted(by_variant.items()):
        attribute, *rest = variant.split("/")[-3:]
        for name in (attribute, label("/".join([attribute, *rest]))):
            groups.setdefault(name, []).append(tries)
    rounds = sorted({attempt.number for attempt in attempts})
    for name, members in sorted(groups.items()):
        group = Group("triggering", name, "questions")
        for definition, has_triggered in DEFINITIONS.items():
            first = [next((attempt.number for attempt in tries if has_triggered(attempt)), None) for tries in members]
            for number in rounds:
                yield rate(group, f"{definition}_round_{number}", (seen == number for seen in first), alpha)
            yield rate(group, f"{definition}_total", (seen is not None for seen in first), alpha)


def violation_effects(attempts: Sequence[Attempt], *, alpha: float) -> Iterator[Effect]:
    """Estimate the share of attempts that each validator refused, and that any of them did."""
    counts = Counter(rule for attempt in attempts for rule in set(attempt.violations))
    for rule in sorted(counts):
        refused = (rule in attempt.violations for attempt in attempts)
        yield rate(Group("violation", rule, "questions"), "violation_rate", refused, alpha)
    if attempts:
        yield rate(
            Group("violation", "any", "questions"), "violation_rate", (bool(a.violations) for a in attempts), alpha
        )
