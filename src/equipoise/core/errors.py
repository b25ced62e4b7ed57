"""The one exception whose message is written for the user."""

import difflib
import re
from collections.abc import Collection

ADVICE = re.compile(r"\bpip3? install (?:--upgrade|-U|git\+)")
"""Advice to install another version."""


class EquipoiseError(Exception):
    """An error in the input or the environment; its message is one line: location, problem, fix."""


def one_line(error: BaseException) -> str:
    """Give an exception of others as one line: its type and message, or only the words for a system error.

    The sentence that advises to install another version, and what follows it, is left out: ours are pinned, and tested
    together.
    """
    reason = getattr(error, "reason", None)
    cause = reason if isinstance(reason, OSError) else error  # urllib wraps those of the system
    if isinstance(cause, OSError) and str(cause):
        text = ": ".join(str(word) for word in (cause.strerror or str(cause), cause.filename) if word)
    else:
        text = f"{type(error).__name__}: {error}"
    if advice := ADVICE.search(text):
        text = text[: max(text.rfind(end, 0, advice.start()) for end in ".\n") + 1]
    return " ".join(text.split()) or f"{type(error).__name__}:"


def nearest(name: str, known: Collection[str]) -> str:
    """Ask whether the nearest known name was meant; empty where none is near."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}? " if near else ""
