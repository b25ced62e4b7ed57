"""Views of a study's pairs (`Study.cases_view`) for the page and the terminal; texts are in plain and marked parts."""

from collections import Counter
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


class Evidenced(NamedTuple):
    """The evidence on a pair's documented error: the finding, its paper, the grade with flags, and the base rate."""

    error: str
    paper: str
    flags: str
    base_rate: str


class HarmView(NamedTuple):
    """A class of harm: what a delay of the expected answer does, and the scale on which the class is built."""

    name: str
    delay: str
    source: str


class PairView(NamedTuple):
    """A pair as it is shown; `state` is a key of `STATES`.

    `agree` says whether each arm's answer is of the same kind as the words of its reply, `changed` whether it counts
    among the diagnoses that changed, and `right` names the patients who were given the expected answer. `evidence` and
    `harm` are None where the library has none.
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
    changed: bool = False
    right: str = ""
    evidence: Evidenced | None = None
    harm: HarmView | None = None

    @property
    def outcome(self) -> str:
        """The state in readers' words."""
        return STATES[self.state]


class CasesView(NamedTuple):
    """The pairs of a run, the dimensions that they vary, and what readers need to know.

    `profile` names the set of cases. `prompts` are the prompts with their titles, below the line `introduction`;
    `answering` says how an answer is read, `guessing` what guessing gives. `harms` are the classes, worst first.
    """

    pairs: Sequence[PairView]
    dimensions: Sequence[str]
    profile: str
    introduction: str
    prompts: Sequence[tuple[str, str]]
    answering: str
    guessing: str
    harms: Sequence[HarmView]

    @property
    def changed(self) -> list[PairView]:
        """The pairs whose diagnosis changed, those of the worst harm first, those without a class last."""
        changed = (pair for pair in self.pairs if pair.changed)
        return sorted(changed, key=lambda pair: self.harms.index(pair.harm) if pair.harm else len(self.harms))

    @property
    def changed_by_harm(self) -> str:
        """The number of changed diagnoses, and of those in each class of harm."""
        counts = Counter(pair.harm.name if pair.harm else "without a class" for pair in self.changed)
        told = ", ".join(f"{n} {name}" for name, n in counts.items())
        return f"Diagnoses that changed between the two patients: {len(self.changed)} ({told})"


class Brief(NamedTuple):
    """What those who decide ask first: right answers by group of pairs, and plain sentences.

    A row of `right` has the group, and so many of so many marginalised and privileged patients.
    """

    right: Sequence[tuple[str, str, str]]
    notes: Sequence[str]
