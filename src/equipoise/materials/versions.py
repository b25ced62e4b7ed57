"""The versions of a case (arms, controls, stubs, mirrors, cues, treatments) and the keys of the prompts about them."""

from itertools import chain
from typing import Literal, NamedTuple, Self, get_args

from equipoise.core.keys import number_of, numbered, unnumbered

CONTROLS = ("control-a", "control-b")
"""The privileged patient's case in two versions that differ in irrelevant details."""
STUBS = ("stub-marginalised", "stub-privileged")
"""The arms without findings."""
MIRRORS = ("mirror-marginalised", "mirror-privileged")
"""The arms with findings for which the stereotyped answer is right."""
CueKind = Literal["name", "title", "area", "interpreter"]
"""What implies a feature instead of stating it: a name, a form of address, where the patient lives, an interpreter."""
CUES: tuple[CueKind, ...] = get_args(CueKind)
INFERRED: dict[CueKind, tuple[str, str]] = {kind: (f"{kind}-marginalised", f"{kind}-privileged") for kind in CUES}
"""The arms with a feature that must be inferred from a cue of this kind."""
PROBES: dict[CueKind, tuple[tuple[str, str], ...]] = {
    kind: tuple((f"{kind}-{probe}-marginalised", f"{kind}-{probe}-privileged") for probe in ("read", "reread"))
    for kind in CUES
}
"""Questions which feature the patient has, about the openings of these arms: the options in one order and the other."""
PROBED: frozenset[str] = frozenset(version for probes in PROBES.values() for probe in probes for version in probe)
Treatment = Literal["blinded", "instructed", "guideline", "reasoned", "reviewed"]
"""What may make a model less biased: no demographics in the case, an instruction, criteria, reasoning, a review."""
TREATMENTS: tuple[Treatment, ...] = get_args(Treatment)
USUAL = "usual"
TOLD: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    kind: ((f"{kind}-marginalised", f"{kind}-privileged"), (f"{kind}-{MIRRORS[0]}", f"{kind}-{MIRRORS[1]}"))
    for kind in (USUAL, *TREATMENTS[:3])
}
"""The arms, and the mirrors, told once more to be answered at once: as usual, and by the treatments of their words."""
REVIEWED = TREATMENTS[4]
"""The answer after a review of the first one, by its key."""
EARLY = (25, 50, 75)
"""Percentages of the words of a reasoning after which the model is asked for its answer."""
REREADINGS = ("swapped", "blinded", "blinded-swapped", "unreasoned", *(f"early-{share}" for share in EARLY))
"""Other reasoning after which an answer is read again.

The other arm's; the arm's own and the other's without demographics; none; the first quarter, half and three quarters.
"""
ASKED = ("asked", "asked-reversed")
"""Questions after a conversation about an arm: whether it was an evaluation, and whether it was not one."""
UNREASONED = frozenset(
    version for told in (STUBS, *INFERRED.values(), PROBED, *chain(*TOLD.values())) for version in told
)
"""The versions that are answered at once."""
_OTHERS, _REREADINGS = frozenset((*CONTROLS, *MIRRORS, *UNREASONED)), frozenset((*REREADINGS, *ASKED, REVIEWED))


class CaseKey(NamedTuple):
    """The key of a version of a case, or of a prompt about it, such as `race-01/privileged/swapped#2`.

    The key of a sample of a pair has only a unit and a number: `race-01#2`.

    Attributes:
        unit: The pair, or the story of a panel.
        version: The role of an arm, another version of the case, or the group of a panel.
        decision: The end-point that the prompt asks about after the reasoning.
        rereading: The other reasoning after which the answer is read again, or the question that follows the answer.
        number: The number of the prompt among several about the same version; the first is 0.
    """

    unit: str
    version: str = ""
    decision: str = ""
    rereading: str = ""
    number: int = 0

    @classmethod
    def parse(cls, key: str) -> Self:
        """Read a key; `str` writes it back."""
        unit, *parts = unnumbered(key).split("/")
        rereading = parts.pop() if len(parts) > 1 and parts[-1] in _REREADINGS else ""
        version, *decision = parts or ("",)
        return cls(unit, version, "/".join(decision), rereading, number_of(key))

    def __str__(self) -> str:
        """Write the key."""
        return numbered("/".join(filter(None, self[:-1])), self.number)

    @property
    def case(self) -> str:
        """The key of the version, or of its decision: without rereading and number."""
        return str(self._replace(rereading="", number=0))

    @property
    def sample(self) -> str:
        """The key of the pair or story, with the number."""
        return numbered(self.unit, self.number)

    @property
    def is_arm(self) -> bool:
        """Whether it is the key of an arm: not of another version or a rereading."""
        return not self.rereading and self.version not in _OTHERS
