"""The third-person singular verb turned plural, as singular they asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.questions.neutral.tokens import match_case

if TYPE_CHECKING:
    from equipoise.questions.neutral.lexicon import Verbs

SIBILANTS = ("sses", "shes", "ches", "xes", "zzes", "oes")
"""Endings that add "es" to the plain verb: misses, washes, itches, fixes, buzzes, echoes."""
NOT_THIRD_PERSON = ("ss", "us", "is")
"""Endings of words that are no verb in -s: discuss, thus, this."""
SHORTEST = 3


def plural(verb: str, verbs: Verbs) -> str | None:
    """The form after "they" of a verb in the third person singular; None where it does not change.

    "has" gives "have", "denies" "deny", "itches" "itch", "uses" "use"; pasts, modals and plain forms give None.
    """
    lower = verb.lower().replace("’", "'")
    if lower in verbs.irregular:
        form = verbs.irregular[lower]
        return match_case(verb, form.replace("'", "’") if "’" in verb else form)
    if len(lower) < SHORTEST or not lower.isalpha() or not lower.endswith("s") or lower.endswith(NOT_THIRD_PERSON):
        return None
    if lower.endswith("ies"):
        return verb[:-3] + "y"
    if lower.endswith(SIBILANTS):
        return verb[:-2]
    return verb[:-1]
