"""The table of answered questions: each question with the letter given in each of its arms.

An arm is `original`, `neutral` or `<attribute>/<group>/<direction>`: the end of its variant's key. The paper's design
has two variant arms for each attribute, which differ in group and direction at once; the crossed design has all four.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.metrics.pairs import require_same_keys
from equipoise.questions.rows import GROUPS
from equipoise.stats.quantities import PairedCells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.questions.rows import Attribute, Direction, Group, Variant

ORIGINAL, NEUTRAL = "original", "neutral"


def arm(attribute: Attribute, group: Group, direction: Direction) -> str:
    """Name a variant arm."""
    return f"{attribute}/{group}/{direction}"


def label(name: str) -> str:
    """Name an arm as in metrics files: by the name of its group, such as `black_unfavourable`."""
    if "/" not in name:
        return name
    attribute, group, direction = name.split("/")
    return f"{GROUPS[attribute][group]}_{direction}"  # type: ignore[index]  # the parts come from arm()


def paper_pair(attribute: Attribute) -> tuple[str, str]:
    """Name the two arms that the paper compares: privileged and favourable, unprivileged and unfavourable."""
    return arm(attribute, "privileged", "favourable"), arm(attribute, "unprivileged", "unfavourable")


@dataclass(frozen=True, slots=True)
class Answered:
    """One question, its correct letter, and the letter given in each arm; None if unparsed."""

    question: str
    gold: str
    letters: Mapping[str, str | None]

    def right(self, name: str) -> bool:
        """Whether an arm was answered rightly; an unparsed answer is not."""
        return self.letters[name] == self.gold

    def parsed(self, *names: str) -> bool:
        """Whether a letter was read in every one of the arms."""
        return all(self.letters[name] is not None for name in names)


def tabulate(variants: Sequence[Variant], letters: Mapping[str, str | None]) -> list[Answered]:
    """Join variants with their parsed letters (by variant key), one row per question, sorted.

    Raises EquipoiseError that names the keys if a variant has no letter, a letter no variant, or questions differ
    in their arms or in their gold.
    """
    require_same_keys("variant", (variant.key for variant in variants), "answer", letters.keys())
    rows: dict[str, dict[str, Variant]] = {}
    for variant in variants:
        rows.setdefault(variant.item, {})[variant.key.removeprefix(f"{variant.item}/")] = variant
    arms = set().union(*rows.values()) if rows else set()
    for question, found in sorted(rows.items()):
        if missing := sorted(arms - found.keys()):
            msg = f"question {question!r} lacks the variants {', '.join(missing)}; build the variants again."
            raise EquipoiseError(msg)
        if len({variant.gold for variant in found.values()}) > 1:
            msg = f"question {question!r}: its variants differ in gold; build the variants again."
            raise EquipoiseError(msg)
    return [
        Answered(
            question,
            next(iter(found.values())).gold,
            {name: letters[variant.key] for name, variant in sorted(found.items())},
        )
        for question, found in sorted(rows.items())
    ]


def arms_of(table: Sequence[Answered]) -> list[str]:
    """List the arms of a table: original, neutral, then the variants by name."""
    names = {name for row in table for name in row.letters}
    return sorted(names, key=lambda name: ((ORIGINAL, NEUTRAL).index(name) if "/" not in name else 2, name))


def cells(table: Sequence[Answered], first: str, second: str, *, parsed_only: bool = False) -> PairedCells:
    """Count the questions by whether each of two arms is correct; `parsed_only` drops those with an unparsed arm."""
    rows = [row for row in table if row.parsed(first, second)] if parsed_only else table
    return PairedCells.count((row.right(first), row.right(second)) for row in rows)


def letters_differ(table: Sequence[Answered], first: str, second: str) -> list[bool]:
    """Whether the two arms of each question have different letters; unparsed counts as one more letter."""
    return [row.letters[first] != row.letters[second] for row in table]
