"""What is left: the gendered words that still stand in a text."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from equipoise.questions.neutral.tokens import tokenise

if TYPE_CHECKING:
    from equipoise.questions.neutral.lexicon import Lexicon


def residual_gender(text: str, lexicon: Lexicon) -> list[str]:
    """Every gendered word of a text, in order: pronouns, nouns and adjectives, relatives, trades, titles before a name.

    Words in capitals throughout are symbols (HER2, MEN 2), not words.
    """
    nouns, pronouns = lexicon.nouns, lexicon.pronouns
    words = {*pronouns.subject, *pronouns.object, *pronouns.object_gender}
    words |= {*nouns.person, *nouns.people, *nouns.adjective, *nouns.kin, *nouns.occupations}
    tokens = tokenise(text)
    left = [t.text for t in tokens if t.lower in words and not (len(t.text) > 1 and t.text.isupper())]
    titles = [
        t.text
        for t, after in pairwise(tokens)
        if t.lower in nouns.titles and t.text.istitle() and (after.text == "." or after.text.istitle())
    ]
    return left + titles
