"""Verbs that agree with a subject pronoun, made to agree with they."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.neutral.edits import Edit
from equipoise.neutral.verbs import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from equipoise.neutral.lexicon import Lexicon
    from equipoise.neutral.tokens import Token

CONJUNCTIONS = frozenset({"and", "or", "but", "nor", "yet", "then"})
RELATIVES = frozenset({"that", "which", "who", "whom", "whose", "because", "when", "while", "whether", "although", "though", "if", "where"})
SUBJECTS = frozenset({"he", "she", "they", "it", "i", "we", "you"})
CLAUSE_ENDS = frozenset({";", ":", "?", "!", "."})
PARENTHESIS = 9
"""Tokens between two commas that may part a subject from its verb, at most."""


def agree(tokens: Sequence[Token], first: int, last: int, lexicon: Lexicon) -> Iterator[Edit]:
    """Yield the edits of every verb that a subject at tokens `first` to `last` governs."""
    front = inverted_verb(tokens, first, last, lexicon)
    if front is not None:
        yield from _edit(tokens[front], lexicon)
        return
    clitic = _at(tokens, last + 1)
    if clitic is not None and clitic.lower == "'s" and clitic.start == tokens[last].end:
        following = _at(tokens, last + 2)
        have = following is not None and following.lower in lexicon.verbs.contracted
        yield Edit(clitic.start, clitic.end, clitic.text[0] + ("ve" if have else "re"), "verb")
        yield from _shared(tokens, last + 2, lexicon)
        return
    verb = _finite(tokens, last, lexicon)
    if verb is not None:
        yield from _edit(tokens[verb], lexicon)
        yield from _shared(tokens, verb + 1, lexicon)


def inverted_verb(tokens: Sequence[Token], first: int, last: int, lexicon: Lexicon) -> int | None:
    """The auxiliary before its subject ("Does he smoke"), unless a verb of the subject's own follows ("the pill is what he takes")."""
    before = _at(tokens, first - 1)
    if before is None or before.lower not in lexicon.verbs.inverted or before.sentence != tokens[first].sentence:
        return None
    verb = _finite(tokens, last, lexicon)
    return None if verb is not None and plural(tokens[verb].text, lexicon.verbs) else first - 1


def _at(tokens: Sequence[Token], index: int) -> Token | None:
    return tokens[index] if 0 <= index < len(tokens) else None


def _edit(token: Token, lexicon: Lexicon) -> Iterator[Edit]:
    form = plural(token.text, lexicon.verbs)
    if form:
        yield Edit(token.start, token.end, form, "verb")


def _is_adverb(token: Token, lexicon: Lexicon) -> bool:
    word, words = token.lower, lexicon.pronouns
    return word in words.adverbs or (word.endswith("ly") and word not in words.not_adverbs)


def _finite(tokens: Sequence[Token], last: int, lexicon: Lexicon) -> int | None:
    """The place of the verb after a subject: past adverbs, "himself", and what stands between two commas."""
    i = last + 1
    while i < len(tokens) and tokens[i].sentence == tokens[last].sentence:
        token = tokens[i]
        if token.text == ",":
            closing = next((k for k in range(i + 1, min(i + PARENTHESIS, len(tokens))) if tokens[k].text == ","), None)
            if closing is None:
                return None
            i = closing + 1
        elif token.is_word and not _is_adverb(token, lexicon) and token.lower not in lexicon.pronouns.object:
            return i
        elif not token.is_word and token.text not in "'‘“\"":
            return None
        else:
            i += 1
    return None


def _shared(tokens: Sequence[Token], start: int, lexicon: Lexicon) -> Iterator[Edit]:
    """Yield the edits of later verbs of the same subject: those right after a conjunction or comma, until another subject comes."""
    joined = relative = False
    for i in range(start, len(tokens)):
        token = tokens[i]
        if token.sentence != tokens[start - 1].sentence or token.text in CLAUSE_ENDS or token.lower in SUBJECTS:
            return
        if token.lower in CONJUNCTIONS or token.text == ",":
            joined = True
        elif joined and token.is_word and _is_adverb(token, lexicon):
            continue
        elif token.lower in lexicon.verbs.coordinated:
            if not joined:
                return
            yield from _edit(token, lexicon)
            joined = False
        elif relative and (token.lower in lexicon.verbs.finite or token.lower.endswith("ed")):
            return
        else:
            relative = relative or token.lower in RELATIVES
            joined = False
