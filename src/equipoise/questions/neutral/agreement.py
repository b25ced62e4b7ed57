"""Verbs that agree with a subject pronoun, made to agree with they."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.questions.neutral.edits import Edit
from equipoise.questions.neutral.verbs import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from equipoise.questions.neutral.lexicon import Lexicon
    from equipoise.questions.neutral.tokens import Token

CONJUNCTIONS = frozenset({"and", "or", "but", "nor", "yet", "then"})
RELATIVES = frozenset(
    {
        "that",
        "which",
        "who",
        "whom",
        "whose",
        "because",
        "when",
        "while",
        "whether",
        "although",
        "though",
        "if",
        "where",
    }
)
SUBJECTS = frozenset({"he", "she", "they", "i", "we", "you"})
OBJECTS = frozenset({"his", "her", "him", "himself", "herself", "what", "whether", "how", "why"})
DETERMINERS = frozenset({"the", "a", "an"})
TIMES = frozenset(
    {
        "past",
        "last",
        "next",
        "previous",
        "same",
        "following",
        "first",
        "second",
        "day",
        "week",
        "month",
        "year",
        "night",
        "morning",
        "few",
    }
)
"""Words that make "the" the start of a time, not of an object ("chills the past week")."""
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
    """The auxiliary before its subject ("Does he smoke"), unless a verb that agrees follows the subject."""
    before = _at(tokens, first - 1)
    if before is None or before.lower not in lexicon.verbs.inverted or before.sentence != tokens[first].sentence:
        return None
    cleft = _at(tokens, first - 2)
    if cleft is not None and cleft.lower == "it":
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


def _is_adverb_phrase(token: Token, following: Token | None, lexicon: Lexicon) -> bool:
    return following is not None and f"{token.lower} {following.lower}" in lexicon.pronouns.adverb_phrases


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
        elif _is_adverb_phrase(token, _at(tokens, i + 1), lexicon):
            i += 2
        elif token.is_word and not _is_adverb(token, lexicon) and token.lower not in lexicon.pronouns.object:
            return i
        elif not token.is_word and token.text not in "'‘“\"":
            return None
        else:
            i += 1
    return None


def _shared(tokens: Sequence[Token], start: int, lexicon: Lexicon) -> Iterator[Edit]:
    """Yield the edits of later verbs of the same subject: those right after a conjunction or comma.

    A verb elsewhere has a subject of its own. Verbs after it are no longer the pronoun's if that subject is a person,
    or if a thing could do what they say.
    """
    joined = relative = thing = person = False
    for i in range(start, len(tokens)):
        token = tokens[i]
        if token.sentence != tokens[start - 1].sentence or token.lower in SUBJECTS or _ends_clause(tokens, i):
            return
        if token.lower in CONJUNCTIONS or token.text == ",":
            joined = True
            continue
        if joined and token.is_word and _is_adverb(token, lexicon):
            continue
        if joined and _is_verb(tokens, i, lexicon):
            if not thing or _is_personal(tokens, i, lexicon):
                yield from _edit(token, lexicon)
        elif joined and _is_of_things(token, lexicon):
            return
        elif _has_subject(tokens, i, lexicon, relative=relative):
            if person:
                return
            thing = True
        relative = relative or token.lower in RELATIVES
        person = person or token.lower in lexicon.nouns.persons
        joined = False


def _is_personal(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> bool:
    """Whether only a person does what a verb says; "does not" is read by the verb after it."""
    word, following = tokens[index].lower, _at(tokens, index + 2)
    if word in {"does", "doesn't"}:
        following = _at(tokens, index + 1) if word == "doesn't" else following
        return following is not None and following.lower in lexicon.verbs.personal
    return word not in lexicon.verbs.impersonal


def _is_of_things(token: Token, lexicon: Lexicon) -> bool:
    """Whether a verb is not the pronoun's ("It comes when he walks, spreads to his arm and goes")."""
    return token.lower in lexicon.verbs.finite and plural(token.text, lexicon.verbs) is not None


def _has_subject(tokens: Sequence[Token], index: int, lexicon: Lexicon, *, relative: bool) -> bool:
    """Whether a token shows that another subject has come: a verb that nothing joins to the first, or "it".

    "It" right after a verb is its object ("finds it hard"), unless the verb reports ("says it hurts").
    """
    token, words = tokens[index], lexicon.verbs
    if token.lower == "it":
        before = tokens[index - 1].lower
        return before not in words.coordinated | words.finite or before in lexicon.pronouns.reporting
    listed = token.lower in words.coordinated | words.finite or token.lower.endswith("ed")
    return token.lower in words.irregular or (relative and listed)


def _ends_clause(tokens: Sequence[Token], index: int) -> bool:
    """Whether a mark ends a clause: not the colon of a time (04:00)."""
    following = _at(tokens, index + 1)
    inside = following is not None and following.start == tokens[index].end and following.text.isdigit()
    return tokens[index].text in CLAUSE_ENDS and not inside


def _is_verb(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> bool:
    """Whether a word in -s after a conjunction is a verb: listed, or with an object ("and redecorates the flat")."""
    token, following, then = tokens[index], _at(tokens, index + 1), _at(tokens, index + 2)
    if token.lower in lexicon.verbs.coordinated:
        return True
    if plural(token.text, lexicon.verbs) is None or following is None or token.lower in lexicon.pronouns.not_modified:
        return False
    timed = then is not None and then.lower in TIMES
    return following.lower in OBJECTS or (following.lower in DETERMINERS and not timed)
