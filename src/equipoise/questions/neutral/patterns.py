"""Word lists as regular expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def alternatives(words: Iterable[str]) -> str:
    """A group of whole words and phrases, longest first; `*` is any letters, `#` a number, a blank any white space."""
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    bodies = "|".join(re.escape(word) for word in ordered)
    for sign, pattern in ((r"\*", r"\w*"), (r"\#", r"\d+"), (r"\ ", r"\s+"), ("'", "['’]")):
        bodies = bodies.replace(sign, pattern)
    return rf"(?:(?<![\w-])(?:{bodies})(?!\w))"


def phrases(words: Iterable[str]) -> re.Pattern[str]:
    """Compile `alternatives`; case is ignored."""
    return re.compile(alternatives(words), re.IGNORECASE)
