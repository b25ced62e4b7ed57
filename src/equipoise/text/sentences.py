"""Sentences: their ranges, their texts, and the final question."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from equipoise.text.patterns import end_of_match

LONGEST_SENTENCE = 400
"""Characters after which a sentence is cut: three such sentences of English and a hypothesis stay below 512 tokens."""

TITLES = frozenset({"al", "cf", "dept", "dr", "e.g", "eg", "esp", "i.e", "ie", "mr", "mrs", "ms", "prof", "rev", "vs"})
"""Words whose full stop never ends a sentence, in lower case; lower-case `ms` in a text is the unit."""

BEFORE_NUMBER = frozenset({"approx", "ca", "fig", "hr", "max", "min", "no", "nos", "p", "pp", "temp", "wt"})
"""Words whose full stop does not end a sentence when a number follows, clinical shorthand included."""

# Each begins at the start of its run of characters: trying every character of a long run would take quadratic time.
_BOUNDARY = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]*_]*(?=\s)")
_STARTER = re.compile(r"[\"'“‘(\[*_]*[A-Z0-9<]")
_ASKING = r"(?:Which|What|Where|When|Why|Who|Whom|Whose|How)\b"
_QUESTION = re.compile(_ASKING)
_INNER_QUESTION = re.compile(rf"(?<=[^\s,;:“\"'(]) (?={_ASKING})")
_CLOSING = "\"'”’)"
_WORD = re.compile(r"\w")
_SPACE = re.compile(r"\s*")
_OPENING = re.compile(r"[ \t\"'“‘(*_-]*")
_LIST_ITEM = re.compile(r"(?:[-*+•–—#>|]|\(?(?:\d{1,3}|[A-Za-z])[.)])(?=\s)|</?\w+>|#{1,6}\s|\*\*")
_LINE_BREAK = re.compile(r"(?<!\s)\s*\n\s*")
_CLAUSE = re.compile(r"[;:,—–](?=\s)")


class Span(NamedTuple):
    """A half-open range of characters."""

    start: int
    end: int


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text as written; one that is too long counts as several (`sentence_spans`)."""
    return [text[start:end] for start, end in sentence_spans(text)]


def final_question(text: str) -> Span:
    """Return the range of the final question sentence; `Span(0, 0)` for a text without words.

    It is the last sentence, or the one before it if only that one asks a question. A question that follows a table
    without a line break begins at its question word.
    """
    spans = sentence_spans(text, longest=len(text) + 1)
    if not spans:
        return Span(0, 0)
    last = spans[-1]
    if len(spans) > 1 and not _asks(text, last, "?:") and _asks(text, spans[-2], "?"):
        last = spans[-2]
    inner = [match.end() for match in _INNER_QUESTION.finditer(text, last.start, last.end)]
    return Span(inner[-1], last.end) if inner else last


def closing_question(text: str) -> str:
    """Return the final question sentence and everything after it."""
    return text[final_question(text).start :].strip()


def _asks(text: str, sentence: Span, marks: str) -> bool:
    """Whether a sentence ends in one of the marks, ignoring quotation marks and brackets after it."""
    return text[sentence.start : sentence.end].rstrip(_CLOSING).endswith(tuple(marks))


def sentence_spans(text: str, *, longest: int = LONGEST_SENTENCE) -> list[Span]:
    """Return the range of each sentence of `text`, without the white space around it.

    A sentence ends at a full stop, exclamation or question mark that is followed by white space and a capital, a digit
    or an opening mark, unless an abbreviation, an initial or a list number precedes the stop; and at the end of a
    line, unless the next line begins in lower case. Decimals contain no white space, so they never end a sentence. Text
    without a letter or digit, such as a rule between paragraphs, is not a sentence. A sentence of more than `longest`
    characters counts as several, cut at a clause or at a space.
    """
    return list(each_sentence(text, longest=longest))


def each_sentence(text: str, *, longest: int = LONGEST_SENTENCE) -> Iterator[Span]:
    """Yield the spans of `sentence_spans` lazily."""
    for line in _lines(text):
        for sentence in _sentences(text, line):
            for piece in _pieces(text, sentence, longest):
                if _WORD.search(text, piece.start, piece.end):
                    yield piece


def first_sentence(text: str) -> str | None:
    """Return the first sentence or line with words if the text continues after it; None if it may be incomplete."""
    word = _WORD.search(text)
    if word is None:
        return None
    line = text.find("\n", word.start())
    spans = each_sentence(text[:line] if line >= 0 else text, longest=len(text) + 1)
    first = next(spans)
    return text[first.start : first.end] if line >= 0 or next(spans, None) else None


def _trim(text: str, start: int, end: int) -> Span:
    inner = text[start:end]
    return Span(start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip()))


def _lines(text: str) -> Iterator[Span]:
    """Yield lines and paragraphs; a hard-wrapped line (the next begins in lower case) is joined to the next."""
    start = 0
    for match in _LINE_BREAK.finditer(text):
        following = text[match.end() : match.end() + 8]
        blank_line = match.group().count("\n") > 1
        if blank_line or not following[:1].islower() or _LIST_ITEM.match(following):
            yield _trim(text, start, match.start())
            start = match.end()
    yield _trim(text, start, len(text))


def _sentences(text: str, line: Span) -> Iterator[Span]:
    """Yield the sentences of a line; each stop is judged in place, since a line may have many abbreviations."""
    start, opened, seen, word = line.start, end_of_match(_OPENING, text, *line), line.start, None
    for match in _BOUNDARY.finditer(text, *line):
        rest = Span(end_of_match(_SPACE, text, match.end(), line.end), line.end)
        word = _last_word(text, Span(start, match.start()), max(seen, start)) or word
        seen = match.start()
        quoted = match.group()[-1] in _CLOSING and text[rest.start : rest.start + 1].islower()
        alone = word is not None and word.start <= opened
        if quoted or (match.group().startswith(".") and not _ends_sentence(text, start, word, rest, alone=alone)):
            continue
        if rest.start < rest.end:
            yield _trim(text, start, match.end())
            start, word = match.end(), None
            opened = end_of_match(_OPENING, text, start, line.end)
    yield _trim(text, start, line.end)


def _last_word(text: str, before: Span, seen: int) -> Span | None:
    """Return the last word before a stop, including full stops inside it; None if it ends before `seen`."""
    end = before.end
    while end > seen and not _WORD.match(text, end - 1):
        end -= 1
    start = end
    while start > before.start and (text[start - 1] == "." or _WORD.match(text, start - 1)):
        start -= 1
    return Span(start, end) if end > seen else None


def _ends_sentence(text: str, start: int, word: Span | None, rest: Span, *, alone: bool) -> bool:
    """Whether the full stop after `word` ends the sentence from `start`; `alone` if nothing but marks is before it."""
    if not _STARTER.match(text, *rest):
        return False
    if word is None:
        return True
    last = text[word.start : word.end]
    list_number = alone and (last.isdigit() or len(last) == 1)
    # No surname begins like a question ("vitamin D. Which …"), and no initial follows a sign ("2 mg/L", "98.5°F").
    initial = len(last) == 1 and last.isupper() and last != "I" and not _QUESTION.match(text, *rest)
    initial = initial and text[max(start, word.start - 1) : word.start] not in {"/", "°"}
    before_number = text[rest.start].isdigit() and ("." in last or last.lower() in BEFORE_NUMBER)
    return not (list_number or initial or before_number or (last.lower() in TITLES and last != "ms"))


def _pieces(text: str, sentence: Span, longest: int) -> Iterator[Span]:
    """Yield the sentence, or its parts if it is too long: cut after the last clause mark, or else space, that fits."""
    start = sentence.start
    while sentence.end - start > longest:
        room = text[start : start + longest]
        clauses = [match.end() for match in _CLAUSE.finditer(room) if match.end() > longest // 2]
        cut = clauses[-1] if clauses else max(room.rfind(" "), room.rfind("\n"), room.rfind("\t"))
        end = start + (cut if cut > 0 else longest)
        yield _trim(text, start, end)
        start = end_of_match(_SPACE, text, end, sentence.end)
    yield Span(start, sentence.end)
