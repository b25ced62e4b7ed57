"""The grounds of a model's output: its text without the conclusion, which a judge reads."""

import re

from equipoise.text.conclusions import locate
from equipoise.text.reasoning import split

NOTE = re.compile(r"(?<!\s)\s*\[Repetitive content removed\]\s*$")
"""Note that the cleaning of a published benchmark appends to outputs that it shortened."""


def own_words(text: str) -> str:
    """Return the model's own words: a saved output without the note of a benchmark's cleaning."""
    return NOTE.sub("", text)


def grounds_of(text: str) -> str:
    """Return an output without the statement of its answer."""
    parts = split(text)
    conclusion = locate(parts.answer)
    if not parts.finished or conclusion is None:
        return parts.reasoning
    return "\n\n".join((parts.reasoning, parts.answer[: conclusion.start], parts.answer[conclusion.end :])).strip()


def reasoning_of(text: str) -> str:
    """Return the grounds of a saved output, or the whole output if it only states its conclusion.

    Such a sentence or paragraph is read whole because any reasons are within it.
    """
    words = own_words(text)
    grounds = grounds_of(words)
    return grounds if re.search(r"\w", grounds) else words
