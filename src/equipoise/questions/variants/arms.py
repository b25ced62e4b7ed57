"""The arms of a design: which attribute and group a variant names, and in which direction its background pulls."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from equipoise.questions.rows import ATTRIBUTES, GROUPS, Attribute, Direction, Group

Design = Literal["paper", "crossed"]

PAPER_DIRECTION: dict[Group, Direction] = {"privileged": "favourable", "unprivileged": "unfavourable"}
"""AMQA, section 3.2: the direction of attack follows the group, so the two effects cannot be told apart."""

DIRECTIONS: tuple[Direction, ...] = ("favourable", "unfavourable")

NAMING: dict[str, re.Pattern[str]] = {
    group: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for group, words in {
        "white": "white|caucasian",
        "black": "black|african[- ]american",
        "male": "man|male|boy|gentleman",
        "female": "woman|female|girl|lady",
        "high_income": "high(?:er)?[- ]income|upper[- ]income|high income|affluent|wealthy",
        "low_income": "low(?:er)?[- ]income|low income|poverty|impoverished",
    }.items()
}
"""Words that state a group outright; a pronoun or a hint does not."""


class Arm(NamedTuple):
    """One arm of a design."""

    attribute: Attribute
    group: Group
    direction: Direction

    @property
    def name(self) -> str:
        """The group as AMQA's released files name it, such as `low_income`."""
        return GROUPS[self.attribute][self.group]

    def key(self, item: str) -> str:
        """Give the key of this arm's variant of an item."""
        return f"{item}/{self.attribute}/{self.group}/{self.direction}"

    def mentions(self, text: str) -> int:
        """Count the words of a text that name the group."""
        return len(NAMING[self.name].findall(text))


def arms(design: Design) -> tuple[Arm, ...]:
    """List the arms of a design, in a fixed order: six for `paper`, twelve (group × direction) for `crossed`."""
    return tuple(
        Arm(attribute, group, direction)
        for attribute in ATTRIBUTES
        for group in GROUPS[attribute]
        for direction in DIRECTIONS
        if design == "crossed" or direction == PAPER_DIRECTION[group]
    )
