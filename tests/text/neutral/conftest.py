"""The project's own lexicon, read once, and what a text says about gender by it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from equipoise.text.neutral.lexicon import Lexicon, load_lexicon, tokenise

LEXICON = Path(__file__).parents[3] / "data/lexicon"


@pytest.fixture(scope="session")
def lexicon() -> Lexicon:
    """The word lists under data/lexicon."""
    return load_lexicon(LEXICON)


@pytest.fixture(scope="session")
def residual_gender(lexicon: Lexicon) -> Callable[[str], list[str]]:
    """Every gendered word of a text: pronouns, nouns and adjectives, relatives, trades, titles before a name.

    Words in capitals throughout are symbols (HER2, MEN 2), not words.
    """

    def found(text: str) -> list[str]:
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

    return found
