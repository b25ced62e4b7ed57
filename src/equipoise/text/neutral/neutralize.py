"""The neutral form of a question, and which questions can have one."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from equipoise.text.articles import article
from equipoise.text.neutral.lexicon import (
    ARTICLES,
    CLOSING,
    Change,
    Edit,
    Lexicon,
    SelectionRule,
    Token,
    apply,
    compose,
    match_case,
    settle,
    tokenise,
)
from equipoise.text.neutral.people import description_edits, noun_edits, phrase_edits, read_cast
from equipoise.text.neutral.pronouns import Reader
from equipoise.text.patterns import end_of_match
from equipoise.text.sentences import final_question

SPACE = re.compile(r"\s*")
ROUNDS = 5
"""Most rounds of the rules over a text; the items of AMQA and of this project need two."""
LOOK_AHEAD = 80
"""Characters after an article within which its word is found, once the edits are applied."""


def select(question: str, options: Mapping[str, str], lexicon: Lexicon) -> str | None:
    """Return the id of the first rule that excludes a question; None if none does (AMQA, section 3.1)."""
    chosen = " \n ".join(options.values())
    texts = {"question": question, "options": chosen, "both": f"{question} \n {chosen}"}
    return next((rule.id for rule in lexicon.selection.rules if _applies(rule, texts[rule.read])), None)


def _applies(rule: SelectionRule, text: str) -> bool:
    any_, also, absent = rule.patterns
    if absent is not None:
        return absent.search(text) is None
    return any_ is not None and any_.search(text) is not None and (also is None or also.search(text) is not None)


class Neutral(NamedTuple):
    """A text without race, gender and socioeconomic terms, and the changes made, in the order of the original."""

    text: str
    changes: tuple[Change, ...]


def neutralize(text: str, lexicon: Lexicon) -> Neutral:
    """Remove race, gender and socioeconomic terms from a text; age, numerals and all clinical content are kept.

    It is idempotent, because the rules are applied until none matches: dropping a word can bring two others together
    that form a phrase only then. Ordinary texts need two rounds; there are at most `ROUNDS`, so that a text that
    repeats its words endlessly is read in linear time.
    """
    edits: list[Edit] = []
    neutral = text
    for _ in range(ROUNDS):
        round_ = _round_edits(neutral, lexicon)
        if not round_:
            break
        edits = compose(text, edits, round_)
        neutral = apply(neutral, round_)
    changes = (
        Change(start=e.start, end=e.end, before=text[e.start : e.end], after=e.after, rule=e.rule) for e in edits
    )
    return Neutral(neutral, tuple(changes))


def _round_edits(text: str, lexicon: Lexicon) -> list[Edit]:
    """One pass of all rules over a text."""
    taken = bytearray(len(text))
    for match in lexicon.protected.finditer(text):
        taken[match.start() : match.end()] = b"\1" * len(match[0])
    fixed = _free_edits((*description_edits(text, lexicon), *phrase_edits(text, lexicon)), taken)
    every = tokenise(text)
    tokens = [token for token in every if taken.find(1, token.start, token.end) < 0]
    cast = read_cast(tokens, lexicon)
    begin, end = final_question(text)
    is_asked = text[begin:end].rstrip(CLOSING).endswith(("?", ":"))
    question_sentence = next((token.sentence for token in every if is_asked and token.start >= begin), -1)
    pronouns = Reader(tokens, cast, lexicon, question_sentence).edits()
    edits = settle((*fixed, *pronouns, *noun_edits(tokens, cast)))
    return settle((*edits, *_article_edits(text, tokens, edits)))


def _free_edits(edits: Iterable[Edit], taken: bytearray) -> list[Edit]:
    """Keep the edits that overlap no taken character and no edit before them; mark the characters of kept edits."""
    free: list[Edit] = []
    for edit in edits:
        if taken.find(1, edit.start, edit.end) < 0:
            taken[edit.start : edit.end] = b"\1" * (edit.end - edit.start)
            free.append(edit)
    return free


def _article_edits(text: str, tokens: Sequence[Token], edits: Sequence[Edit]) -> list[Edit]:
    """Yield edits that make "a" and "an" fit the words that now follow them; `edits` are in order."""
    fitted: list[Edit] = []
    starts = [edit.start for edit in edits]
    for token in tokens:
        if token.lower not in ARTICLES:
            continue
        place = end_of_match(SPACE, text, token.end, len(text))
        first = bisect_left(starts, place)
        if starts[first : first + 1] != [place]:
            continue
        near = takewhile(lambda edit: edit.start <= place + LOOK_AHEAD, islice(edits, first, None))  # noqa: B023  (used at once)
        touched = [
            edit._replace(start=edit.start - place, end=edit.end - place)
            for edit in near
            if edit.end <= place + LOOK_AHEAD
        ]
        word = apply(text[place : place + LOOK_AHEAD], touched).lstrip()
        fitting = article(word)
        if word and fitting != token.lower:
            fitted.append(Edit(token.start, token.end, match_case(token.text, fitting), "article"))
    return fitted
