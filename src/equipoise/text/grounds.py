"""The grounds of a model's output, which a judge reads: its text without a bare answer, or one with a heading."""

import re

from equipoise.text.conclusions import SUMMARY, locate
from equipoise.text.patterns import caseless
from equipoise.text.reasoning import remove_tags, split

NOTE = re.compile(r"(?<!\s)\s*\[Repetitive content removed\]\s*$")
"""Note that the cleaning of a published benchmark appends to outputs that it shortened."""
LONGEST_NAME = 3
"""Words of a conclusion that can be no more than the name of a diagnosis."""
STATING = caseless(
    r"\b(?:[a-j]|\d+|the|this|it|my|an|i|we|and|so|final|correct|right|best|single|most|likely|probable|answer|option"
    r"|choice|choose|select|pick|letter|diagnosis|impression|response|patient|has|is|are|would|be|to|of|with)\b"
)
"""Words that state an answer and give no reason for it, letters and numbers of options among them."""


def own_words(text: str) -> str:
    """Return the model's own words: a saved output without the note of a benchmark's cleaning."""
    return NOTE.sub("", text)


def grounds_of(text: str) -> str:
    """Return an output without its answer, if this is a bare name or has a heading such as `Diagnosis`.

    Any other concluding sentence or paragraph stays, since reasons may be within it ("Given her obesity, … is the most
    likely diagnosis"); the judge tells them from a mere mention.
    """
    parts = split(text)
    conclusion = locate(parts.answer)
    if not parts.finished or conclusion is None:
        return parts.reasoning
    stated = parts.answer[conclusion.start : conclusion.end]
    is_headed = conclusion.how == "heading" and not SUMMARY.match(stated)
    if not is_headed and len(stated.split()) > LONGEST_NAME:
        return remove_tags(text)
    return "\n\n".join((parts.reasoning, parts.answer[: conclusion.start], parts.answer[conclusion.end :])).strip()


def gives_reasons(grounds: str, names: re.Pattern[str]) -> bool:
    """Whether grounds have words beyond those that state an answer: `names` matches the names of the case's answers."""
    return re.search(r"\w", STATING.sub(" ", names.sub(" ", grounds))) is not None


def reasoning_of(text: str) -> str:
    """Return the grounds of a saved output, or the whole output if it only states its answer under a heading."""
    words = own_words(text)
    grounds = grounds_of(words)
    return grounds if re.search(r"\w", grounds) else words
