"""The facts of a story: its parts, split where a clinician would tick them off one by one (docs/metrics/letters.md)."""

import re
from collections.abc import Iterator
from typing import Literal, get_args

from equipoise.materials.stories.schema import Presentation
from equipoise.text.sentences import sentences_of

FactClass = Literal["symptom", "report", "history", "examination", "test"]
CLASSES: tuple[FactClass, ...] = get_args(FactClass)
PARTS: tuple[tuple[str, FactClass], ...] = (
    ("history", "symptom"),
    ("background", "history"),
    ("examination", "examination"),
    ("test", "test"),
)
"""The parts of a story, and the class of the facts told in each."""
QUOTED = re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*(?:'(?=\w)[^']*)*'(?!\w)")
PRONOUN = re.compile(r"\{(\w+)\}")
HIDDEN = "\0"
SOCIAL = re.compile(
    r"\b(?:lives?|shares? an?|flat|works?|retired|choir|club|garden\w*|allotment|walks? an?|plays|sings|helps|"
    r"came|brought|drove|driven|alone|waits|waiting room|brother|sister|nephew|neighbour|friend|crosswords?|yoga|swims|"
    r"council|shop|bowls|jigsaws|chess|gaming|dog|cat|football|good at|registered)\b",
    re.IGNORECASE,
)


def facts_of(story: Presentation) -> list[tuple[str, FactClass]]:
    """List the facts of a story with their classes, in the order of the story, each once; the patient is they."""
    told = [
        (
            PRONOUN.sub(lambda word: word[1], fact),
            "report" if part in ("history", "examination") and QUOTED.search(fact) else kind,
        )
        for part, kind in PARTS
        for fact in split(getattr(story, part) or "")
        if part != "background" or not SOCIAL.search(fact)
    ]
    return list(dict(told).items())


def split(text: str) -> Iterator[str]:
    """Split the text of a part into facts, without their final marks."""
    for sentence in sentences_of(text):
        hidden = QUOTED.sub(lambda quote: quote.group().replace(";", HIDDEN), sentence)
        yield from (piece.replace(HIDDEN, ";").strip(" .") for piece in hidden.split(";"))
