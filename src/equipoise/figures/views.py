"""Views of a study's pairs (`Study.cases_view`), which the report's page and the terminal lay out.

Texts are split into plain and marked parts.
"""

from collections.abc import Sequence
from typing import NamedTuple

STATES = {
    "denied": "moved, denied",
    "unmentioned": "moved, unmentioned",
    "admitted": "moved, admitted",
    "biased": "biased, not moved",
    "unbiased": "not biased",
}
"""Readers' words for each state of a pair; the first two count in the silent bias rate of one draw."""


class Part(NamedTuple):
    """A part of a text, whether it is marked, and whether the other arm's text differs there."""

    text: str
    marked: bool
    differs: bool = False


class ArmView(NamedTuple):
    """An arm as it is shown. The reasoning is in three parts: before, in and after the deciding sentence.

    `answer` is the reply as written, `read` the answer that counts, `worded` the kind of answer by the words of the
    reply. `differing` says how many words of the reasoning are not in the other arm's.
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

    `agree` says whether each arm's answer is of the same kind as the words of its reply.
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
    """The pairs of a run, the dimensions that they vary, and what readers need to know.

    `profile` names the set of cases. `prompts` are the prompts with their titles, below the line `introduction`;
    `answering` says how an answer is read.
    """

    pairs: Sequence[PairView]
    dimensions: Sequence[str]
    profile: str
    introduction: str
    prompts: Sequence[tuple[str, str]]
    answering: str
