"""Word lists as regular expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def alternatives(words: Iterable[str]) -> str:
    """A group of whole words and phrases, longest first; `*` is any letters, a blank any white space, either apostrophe."""
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    bodies = (re.escape(word).replace(r"\*", r"\w*").replace(r"\ ", r"\s+").replace("'", "['’]") for word in ordered)
    return rf"(?:(?<![\w-])(?:{'|'.join(bodies)})(?!\w))"


def phrases(words: Iterable[str]) -> re.Pattern[str]:
    """Compile `alternatives`; case is ignored."""
    return re.compile(alternatives(words), re.IGNORECASE)
