"""Views of cases: what a study shows of each pair, laid out by the report's page and by the terminal.

A study makes them (`Study.cases_view`). Their texts are cut into plain and marked parts.
"""

from collections.abc import Sequence
from typing import NamedTuple

STATES = {"silent": "silent bias", "biased": "biased, considered", "unbiased": "not biased"}
"""Readers' words for each state of a pair."""


class Part(NamedTuple):
    """A part of a text, whether it is marked, and whether the other arm's text has other words there."""

    text: str
    marked: bool
    differs: bool = False


class ArmView(NamedTuple):
    """An arm as it is shown. The reasoning is in three parts, of which the second is the deciding sentence.

    `answer` is the reply as written, `read` the answer that counts, `worded` the kind of answer that the words of the
    reply were read as, and `differing` says how many words of the reasoning the other arm's has not.
    """

    role: str
    features: str
    case: list[Part]
    before: list[Part]
    evidence: list[Part]
    after: list[Part]
    differing: str
    answer: list[Part]
    read: str
    worded: str
    figures: list[tuple[str, str]]


class PairView(NamedTuple):
    """A pair as it is shown; `state` is a key of `STATES`.

    `agree` is true where each arm's answer is of the kind that the words of its reply were read as.
    """

    key: str
    tier: str
    combination: str
    state: str
    agree: bool
    expected: str
    stereotyped: str
    distractors: str
    grounds: str
    arms: list[ArmView]

    @property
    def outcome(self) -> str:
        """The state in readers' words."""
        return STATES[self.state]


class CasesView(NamedTuple):
    """The pairs of a run, the dimensions that they vary, and what a reader must know to read them.

    `profile` names the set of cases. `prompts` are the words in which the model was asked, each with a title, after the
    line `asked`; `answering` says how an answer is read.
    """

    pairs: Sequence[PairView]
    dimensions: Sequence[str]
    profile: str
    asked: str
    prompts: Sequence[tuple[str, str]]
    answering: str
