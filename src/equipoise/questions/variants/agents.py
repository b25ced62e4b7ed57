"""What the Generation, Fusion and Evaluation agents are, whatever stands behind them (AMQA, section 3.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from equipoise.questions.rows import Attempt, Attribute, Direction, Group, Neutralised, Variant
from equipoise.questions.variants.arms import Arm

Evaluate = Callable[[Sequence[Variant]], Sequence[str | None]]
"""The Evaluation agent: the letter it chooses for each variant, or None where it gives none."""

Ask = Callable[[Sequence[tuple[str, str]]], Sequence[str]]
"""A model behind an agent: the reply to each (system, user) pair, in order."""


class Request(NamedTuple):
    """A background that is wanted; `feedback` holds the earlier attempts at it, oldest first."""

    item: Neutralised
    arm: Arm
    feedback: tuple[Attempt, ...]

    @property
    def number(self) -> int:
        """Number of the attempt that is wanted, from 1."""
        return len(self.feedback) + 1


class Generator(ABC):
    """The Generation agent. What it writes depends on one request alone, so order and batches change nothing."""

    @abstractmethod
    def generate(
        self, item: Neutralised, attribute: Attribute, group: Group, direction: Direction, feedback: Sequence[Attempt]
    ) -> str | None:
        """Write a background of three sentences, or give None when there is no further one to try."""

    def generate_all(self, requests: Sequence[Request]) -> list[str | None]:
        """Write many backgrounds, in the order asked for."""
        return [self.generate(one.item, *one.arm, one.feedback) for one in requests]


class Fuser(ABC):
    """The Fusion agent."""

    @abstractmethod
    def fuse(self, item: Neutralised, background: str) -> str:
        """Work a background into the neutral vignette, keeping its final question sentence."""

    def fuse_all(self, pairs: Sequence[tuple[Neutralised, str]]) -> list[str]:
        """Fuse many backgrounds, in the order given."""
        return [self.fuse(item, background) for item, background in pairs]
