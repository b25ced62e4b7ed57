"""The neutral form of one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from equipoise.questions.neutral.demographics import description_edits, phrase_edits
from equipoise.questions.neutral.edits import Edit, apply, compose, settle
from equipoise.questions.neutral.people import noun_edits, read_cast
from equipoise.questions.neutral.pronouns import Reader
from equipoise.questions.neutral.tokens import ARTICLES, CLOSING, match_case, tokenise
from equipoise.questions.rows import Change
from equipoise.text.articles import article
from equipoise.text.sentences import final_question

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from equipoise.questions.neutral.lexicon import Lexicon
    from equipoise.questions.neutral.tokens import Token

LOOK_AHEAD = 80
"""Characters after an article in which its word is found once the edits are made."""


class Neutral(NamedTuple):
    """A text without race, gender and socioeconomic terms, and the changes that made it, in the original's order."""

    text: str
    changes: tuple[Change, ...]


def neutralise(text: str, lexicon: Lexicon) -> Neutral:
    """Take race, gender and socioeconomic terms out of a text; age, numerals and all clinical content stay.

    Idempotent, since the rules are applied until none finds anything: a word that is dropped can bring two others
    together that only then make a phrase. Every round leaves fewer words of the lexicon, so the rounds come to an end.
    """
    edits: list[Edit] = []
    neutral = text
    while round_ := _round(neutral, lexicon):
        edits = compose(text, edits, round_)
        neutral = apply(neutral, round_)
    changes = (
        Change(start=e.start, end=e.end, before=text[e.start : e.end], after=e.after, rule=e.rule) for e in edits
    )
    return Neutral(neutral, tuple(changes))


def _round(text: str, lexicon: Lexicon) -> list[Edit]:
    """One pass of all rules over a text."""
    kept = [match.span() for match in lexicon.protected.finditer(text)]
    fixed = _free((*description_edits(text, lexicon), *phrase_edits(text, lexicon)), kept)
    covered = [*kept, *((edit.start, edit.end) for edit in fixed)]
    every = tokenise(text)
    tokens = [token for token in every if not any(token.start < end and start < token.end for start, end in covered)]
    cast = read_cast(tokens, lexicon)
    begin, end = final_question(text)
    is_asked = text[begin:end].rstrip(CLOSING).endswith(("?", ":"))
    asked = next((token.sentence for token in every if is_asked and token.start >= begin), -1)
    pronouns = Reader(tokens, cast, lexicon, asked).edits()
    edits = settle((*fixed, *pronouns, *noun_edits(tokens, cast)))
    return settle((*edits, *_articles(text, tokens, edits)))


def _free(edits: Iterable[Edit], taken: Sequence[tuple[int, int]]) -> list[Edit]:
    """Keep the edits that overlap neither a taken range nor an edit before them in the list."""
    free: list[Edit] = []
    for edit in edits:
        ranges = (*taken, *((e.start, e.end) for e in free))
        if not any(edit.start < end and start < edit.end for start, end in ranges):
            free.append(edit)
    return free


def _articles(text: str, tokens: Sequence[Token], edits: Sequence[Edit]) -> list[Edit]:
    """Make "a" and "an" fit the words that come to stand after them."""
    fitted: list[Edit] = []
    for token in tokens:
        place = token.end + len(text[token.end :]) - len(text[token.end :].lstrip())
        if token.lower not in ARTICLES or all(edit.start != place for edit in edits):
            continue
        near = [e for e in edits if place <= e.start and e.end <= place + LOOK_AHEAD]
        touched = [edit._replace(start=edit.start - place, end=edit.end - place) for edit in near]
        word = apply(text[place : place + LOOK_AHEAD], touched).lstrip()
        fitting = article(word)
        if word and fitting != token.lower:
            fitted.append(Edit(token.start, token.end, match_case(token.text, fitting), "article"))
    return fitted
