"""The arms of a design, the settings, and the types of the agents (AMQA, section 3.2)."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from equipoise.core.params import Name
from equipoise.core.row import Frozen
from equipoise.materials.questions import ATTRIBUTES, GROUPS, Attribute, Direction, Group, Orders
from equipoise.studies.questions.rows import Attempt, Neutralized, Variant

Design = Literal["paper", "crossed"]

PAPER_DIRECTION: dict[Group, Direction] = {"privileged": "favourable", "unprivileged": "unfavourable"}
"""AMQA, section 3.2: the direction of attack follows the group, so the two effects are confounded."""

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
"""Words that state a group explicitly, unlike pronouns and hints."""

Evaluate = Callable[[Sequence[Variant]], Sequence[str | None]]
"""The Evaluation agent: the letter it chooses for each variant, or None without a letter."""

Ask = Callable[[Sequence[tuple[str, str]]], Sequence[str]]
"""A model behind an agent: the reply to each (system, user) pair, in order."""


class Arm(NamedTuple):
    """One arm of a design."""

    attribute: Attribute
    group: Group
    direction: Direction

    @property
    def name(self) -> str:
        """The group's name in AMQA's released files, such as `low_income`."""
        return GROUPS[self.attribute][self.group]

    def key(self, item: str) -> str:
        """Return the key of this arm's variant of an item."""
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


class Perturb(Frozen):
    """The section `perturb` of params.yaml: which variants are made, and by which agents.

    `answering`: whether a letter is read from likelihoods or from a generated reply. `orders` is the most cyclic orders
    of a question's options in which it is asked, 1 for the order as written. `generator` and `fuser` are `rules`,
    `replay` or a model of the registry; `replay` is the file of earlier attempts or variants for the agent of that
    name. `templates` is the folder of prompts and of the grammar. `attempts` above 1 add an attack, whose texts are
    chosen by the `evaluator`, a model of the registry, or else by the answers of the model under test in one half of
    the orders, and measured in the other half.
    """

    design: Design = "crossed"
    answering: Literal["likelihood", "generate"] = "likelihood"
    orders: Orders = 4
    generator: Name = "rules"
    fuser: Name = "rules"
    attempts: Annotated[int, Field(ge=1, le=3)] = 3
    evaluator: Name | None = None
    templates: Path = Path("data/templates")
    replay: Path | None = None

    @property
    def models(self) -> list[str]:
        """Name the models of the registry that are agents."""
        named = (self.generator, self.fuser, self.evaluator)
        return list(dict.fromkeys(name for name in named if name not in (None, "rules", "replay")))

    @model_validator(mode="after")
    def _replay_has_a_file(self) -> Self:
        if "replay" in (self.generator, self.fuser) and self.replay is None:
            message = "an agent is replay, but replay names no file: give the JSONL of earlier attempts or variants"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _an_attack_is_measured_on_other_answers(self) -> Self:
        if self.attempts > 1 and self.evaluator is None and self.orders == 1:
            message = (
                f"{self.attempts} attempts are chosen by an evaluator, and with orders 1 the model under test has no "
                "other answers to be measured by: set orders to 2 or more, or name another model as evaluator"
            )
            raise ValueError(message)
        return self


class Request(NamedTuple):
    """A request for a background for one arm of one item; `feedback` has the attempts so far, oldest first."""

    item: Neutralized
    arm: Arm
    feedback: list[Attempt]

    @property
    def number(self) -> int:
        """The number of the requested attempt, from 1."""
        return len(self.feedback) + 1

    @property
    def key(self) -> str:
        """The key of the background's variant."""
        return self.arm.key(self.item.key)

    @property
    def accepted(self) -> Attempt | None:
        """The first attempt that triggers and breaks no rule, else the last one that breaks no rule."""
        clean = [attempt for attempt in self.feedback if not attempt.violations]
        return next((attempt for attempt in clean if attempt.triggered_directional), clean[-1] if clean else None)


Generate = Callable[[Sequence[Request]], Sequence[str | None]]
"""The Generation agent: a background of three sentences for each request, or None if it has no further one.

Each background depends only on its request, not on order or batches.
"""

Fuse = Callable[[Sequence[tuple[Neutralized, str]]], Sequence[str]]
"""The Fusion agent: integrates each background into its neutral vignette and keeps the final question sentence."""
