"""Sentences: where each begins and ends, the final question, and the windows that the judge reads as premises."""

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_SENTENCE = 400
"""Characters after which a sentence is cut: three such sentences of English and a hypothesis stay below 512 tokens."""

TITLES = frozenset({"al", "cf", "dept", "dr", "e.g", "eg", "esp", "i.e", "ie", "mr", "mrs", "ms", "prof", "rev", "vs"})
"""Words whose full stop never ends a sentence, in lower case; a small `ms` is the unit."""

BEFORE_NUMBER = frozenset({"approx", "ca", "fig", "hr", "max", "min", "no", "nos", "p", "pp", "temp", "wt"})
"""Words whose full stop does not end a sentence when a number follows, clinical shorthand included."""

# Each begins where its run of characters begins: tried from every character of a long run, it would take the square.
_BOUNDARY = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]*_]*(?=\s)")
_STARTER = re.compile(r"[\"'“‘(\[*_]*[A-Z0-9<]")
_ASKING = r"(?:Which|What|Where|When|Why|Who|Whom|Whose|How)\b"
_QUESTION = re.compile(_ASKING)
_INNER_QUESTION = re.compile(rf"(?<=[^\s,;:“\"'(]) (?={_ASKING})")
_CLOSING = "\"'”’)"
_WORD = re.compile(r"\w")
_LAST_WORD = re.compile(r"(?<![\w.])([\w.]*\w)\W*$")
_LIST_ITEM = re.compile(r"(?:[-*+•–—#>|]|\(?(?:\d{1,3}|[A-Za-z])[.)])(?=\s)|</?\w+>|#{1,6}\s|\*\*")
_LINE_BREAK = re.compile(r"(?<!\s)\s*\n\s*")
_CLAUSE = re.compile(r"[;:,—–](?=\s)")


class Span(NamedTuple):
    """A half-open range of characters."""

    start: int
    end: int


def windows(text: str, *, sentences: int, stride: int, longest: int = LONGEST_SENTENCE) -> list[str]:
    """Runs of `sentences` consecutive sentences, one every `stride` sentences, each a verbatim slice of `text`.

    Every sentence is in at least one window, in the order of the text. A sentence of more than `longest` characters
    counts as several, cut at a clause or at a space. A text without words gives no window.

    Raises:
        ValueError: `stride` is not within 1 and `sentences`, which would leave sentences unread.
    """
    if not 1 <= stride <= sentences:
        raise ValueError(f"stride {stride} must lie between 1 and sentences = {sentences}, or sentences go unread")
    spans = sentence_spans(text, longest=longest)
    found: list[str] = []
    for first in range(0, len(spans), stride):
        last = min(first + sentences, len(spans)) - 1
        found.append(text[spans[first].start : spans[last].end])
        if last == len(spans) - 1:
            break
    return found


def final_question(text: str) -> Span:
    """The range of the final question sentence; `Span(0, 0)` of a text without words.

    It is the last sentence; where that asks nothing and the one before it does, the one before. A question that
    follows a table without a line break begins at its question word.
    """
    spans = sentence_spans(text, longest=len(text) + 1)
    if not spans:
        return Span(0, 0)
    last = spans[-1]
    if len(spans) > 1 and not _asks(text, last, "?:") and _asks(text, spans[-2], "?"):
        last = spans[-2]
    inner = [match.end() for match in _INNER_QUESTION.finditer(text, last.start, last.end)]
    return Span(inner[-1], last.end) if inner else last


def asked_last(text: str) -> str:
    """The final question sentence, with whatever follows it."""
    return text[final_question(text).start :].strip()


def _asks(text: str, sentence: Span, marks: str) -> bool:
    """Whether a sentence ends in one of the marks, quotation marks and brackets after it passed over."""
    return text[sentence.start : sentence.end].rstrip(_CLOSING).endswith(tuple(marks))


def sentence_spans(text: str, *, longest: int = LONGEST_SENTENCE) -> list[Span]:
    """Where each sentence of `text` is, without the white space around it.

    A sentence ends at a full stop, exclamation or question mark that is followed by white space and a capital, a digit
    or an opening mark, unless an abbreviation, an initial or a list number precedes the stop; and at the end of a
    line, unless the next line begins in lower case. Decimals hold no white space and so never end one. What has no
    letter or digit, such as a rule between paragraphs, is not a sentence.
    """
    return [
        piece
        for line in _lines(text)
        for sentence in _sentences(text, line)
        for piece in _pieces(text, sentence, longest)
        if _WORD.search(text, piece.start, piece.end)
    ]


def _trimmed(text: str, start: int, end: int) -> Span:
    inner = text[start:end]
    return Span(start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip()))


def _lines(text: str) -> Iterator[Span]:
    """Lines and paragraphs; a hard-wrapped line (the next begins in lower case) is joined to the next."""
    start = 0
    for match in _LINE_BREAK.finditer(text):
        following = text[match.end() : match.end() + 8]
        blank_line = match.group().count("\n") > 1
        if blank_line or not following[:1].islower() or _LIST_ITEM.match(following):
            yield _trimmed(text, start, match.start())
            start = match.end()
    yield _trimmed(text, start, len(text))


def _sentences(text: str, line: Span) -> Iterator[Span]:
    start = line.start
    for match in _BOUNDARY.finditer(text, line.start, line.end):
        rest = text[match.end() : line.end].lstrip()
        before = text[start : match.start()]
        quoted = match.group()[-1] in _CLOSING and rest[:1].islower()
        if quoted or (match.group().startswith(".") and not _ends_sentence(before, rest)):
            continue
        if rest:
            yield _trimmed(text, start, match.end())
            start = match.end()
    yield _trimmed(text, start, line.end)


def _ends_sentence(before: str, rest: str) -> bool:
    """Whether the full stop after `before` ends a sentence that `rest` follows."""
    if not _STARTER.match(rest):
        return False
    word = _LAST_WORD.search(before)
    if word is None:
        return True
    last = word.group(1)
    alone = word.start() == 0 or not before[: word.start()].strip(" \t\"'“‘(*_-")
    list_number = alone and (last.isdigit() or len(last) == 1)
    # No surname begins like a question ("vitamin D. Which …"), and no initial follows a sign ("2 mg/L", "98.5°F").
    initial = len(last) == 1 and last.isupper() and last != "I" and not _QUESTION.match(rest)
    initial = initial and not before[: word.start()].endswith(("/", "°"))
    before_number = rest[0].isdigit() and ("." in last or last.lower() in BEFORE_NUMBER)
    return not (list_number or initial or before_number or (last.lower() in TITLES and last != "ms"))


def _pieces(text: str, sentence: Span, longest: int) -> Iterator[Span]:
    """The sentence, or its parts where it is too long: cut after the last clause mark, or else space, that fits."""
    start = sentence.start
    while sentence.end - start > longest:
        room = text[start : start + longest]
        clauses = [match.end() for match in _CLAUSE.finditer(room) if match.end() > longest // 2]
        cut = clauses[-1] if clauses else max(room.rfind(" "), room.rfind("\n"), room.rfind("\t"))
        end = start + (cut if cut > 0 else longest)
        yield _trimmed(text, start, end)
        start = _trimmed(text, end, sentence.end).start
    yield Span(start, sentence.end)
