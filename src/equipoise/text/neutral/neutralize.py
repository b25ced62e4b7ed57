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
from equipoise.text.patterns import past
from equipoise.text.sentences import final_question

SPACE = re.compile(r"\s*")
ROUNDS = 5
"""Most rounds of the rules over a text; the items of AMQA and of the project need two."""
LOOK_AHEAD = 80
"""Characters after an article in which its word is found once the edits are made."""


def select(question: str, options: Mapping[str, str], lexicon: Lexicon) -> str | None:
    """The id of the first rule that excludes a question, None where it stays (AMQA, section 3.1)."""
    chosen = " \n ".join(options.values())
    texts = {"question": question, "options": chosen, "both": f"{question} \n {chosen}"}
    return next((rule.id for rule in lexicon.selection.rules if _applies(rule, texts[rule.read])), None)


def _applies(rule: SelectionRule, text: str) -> bool:
    any_, also, absent = rule.patterns
    if absent is not None:
        return absent.search(text) is None
    return any_ is not None and any_.search(text) is not None and (also is None or also.search(text) is not None)


class Neutral(NamedTuple):
    """A text without race, gender and socioeconomic terms, and the changes that made it, in the original's order."""

    text: str
    changes: tuple[Change, ...]


def neutralize(text: str, lexicon: Lexicon) -> Neutral:
    """Take race, gender and socioeconomic terms out of a text; age, numerals and all clinical content stay.

    Idempotent, since the rules are applied until none finds anything: a word that is dropped can bring two others
    together that only then make a phrase. Ordinary texts need two rounds; there are at most `ROUNDS`, so that a text
    that repeats its words without end is read in linear time.
    """
    edits: list[Edit] = []
    neutral = text
    for _ in range(ROUNDS):
        round_ = _round(neutral, lexicon)
        if not round_:
            break
        edits = compose(text, edits, round_)
        neutral = apply(neutral, round_)
    changes = (
        Change(start=e.start, end=e.end, before=text[e.start : e.end], after=e.after, rule=e.rule) for e in edits
    )
    return Neutral(neutral, tuple(changes))


def _round(text: str, lexicon: Lexicon) -> list[Edit]:
    """One pass of all rules over a text."""
    taken = bytearray(len(text))
    for match in lexicon.protected.finditer(text):
        taken[match.start() : match.end()] = b"\1" * len(match[0])
    fixed = _free((*description_edits(text, lexicon), *phrase_edits(text, lexicon)), taken)
    every = tokenise(text)
    tokens = [token for token in every if taken.find(1, token.start, token.end) < 0]
    cast = read_cast(tokens, lexicon)
    begin, end = final_question(text)
    is_asked = text[begin:end].rstrip(CLOSING).endswith(("?", ":"))
    asked = next((token.sentence for token in every if is_asked and token.start >= begin), -1)
    pronouns = Reader(tokens, cast, lexicon, asked).edits()
    edits = settle((*fixed, *pronouns, *noun_edits(tokens, cast)))
    return settle((*edits, *_articles(text, tokens, edits)))


def _free(edits: Iterable[Edit], taken: bytearray) -> list[Edit]:
    """Keep the edits that overlap neither a taken character nor an edit before them in the list; they take theirs."""
    free: list[Edit] = []
    for edit in edits:
        if taken.find(1, edit.start, edit.end) < 0:
            taken[edit.start : edit.end] = b"\1" * (edit.end - edit.start)
            free.append(edit)
    return free


def _articles(text: str, tokens: Sequence[Token], edits: Sequence[Edit]) -> list[Edit]:
    """Make "a" and "an" fit the words that now follow them; `edits` are in order."""
    fitted: list[Edit] = []
    starts = [edit.start for edit in edits]
    for token in tokens:
        if token.lower not in ARTICLES:
            continue
        place = past(SPACE, text, token.end, len(text))
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
