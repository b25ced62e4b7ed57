"""The one exception whose message is written for the user."""

import re

ADVICE = re.compile(r"[^.\n]*\bpip3? install (?:--upgrade|-U|git\+).*", re.DOTALL)
"""The end of a message from the sentence on that says to install another version."""


class EquipoiseError(Exception):
    """An error in the input or the environment; its message is one line: location, problem, fix."""


def one_line(error: BaseException) -> str:
    """Give an exception of others, its type and its message, as one line.

    Advice to install another version, and what follows it, is left out: ours are pinned, and tested together.
    """
    return " ".join(f"{type(error).__name__}: {ADVICE.sub('', str(error))}".split())
