"""The versions of a case, by what their keys end in: arms, controls, stubs, mirrors and rereadings."""

from equipoise.core.keys import unnumbered

CONTROLS = ("control-a", "control-b")


STUBS = ("stub-marginalised", "stub-privileged")


MIRRORS = ("mirror-marginalised", "mirror-privileged")
"""What the keys of a pair's other tellings end in, after its id, where those of its arms end in their roles.

Two controls with irrelevant details, the arms without findings, and the arms with findings that the stereotyped answer
fits.
"""


EARLY = (25, 50, 75)
"""Per cent of the words of a reasoning after which the answer is asked."""


REREADINGS = ("swapped", "blinded", "blinded-swapped", "unreasoned", *(f"early-{share}" for share in EARLY))
"""What the keys of prompts end in, after the key of an arm, that read its answer again after other reasoning.

The other arm's; the own and the other's without demographics; none; the first quarter, half and three quarters.
"""


def is_arm(key: str) -> bool:
    """Whether a vignette's key, or that of a prompt about it, is that of an arm: of no other telling or rereading."""
    return unnumbered(key).rpartition("/")[2] not in (*CONTROLS, *STUBS, *MIRRORS, *REREADINGS)


def is_rereading(key: str) -> bool:
    """Whether the key of a prompt about a vignette is that of an arm's answer, read again after other reasoning."""
    return unnumbered(key).rpartition("/")[2] in REREADINGS


def case_of(key: str) -> str:
    """Give the key of the vignette that a prompt is about: without a rereading and the number of the prompt."""
    return unnumbered(key).rpartition("/")[0] if is_rereading(key) else unnumbered(key)
