"""Words of a text with the sentence that each is in, and edits of it: two rounds of them compose into one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from equipoise.text.sentences import sentence_spans

TOKEN = re.compile(r"[^\W_]+n['’]t\b|[^\W_]+|['’](?:s|d|ll|re|ve|m)\b|\S", re.IGNORECASE)
"""A negated auxiliary, a word or number, a clitic, or one mark."""
CLOSING = " \n\t\"'”’)]"
"""What may follow the mark that ends a sentence."""
ARTICLES = frozenset({"a", "an"})


@dataclass(frozen=True)
class Token:
    """A word, clitic or mark: its half-open range, its text and the number of its sentence."""

    start: int
    end: int
    text: str
    sentence: int

    @cached_property
    def lower(self) -> str:
        """The text in lower case, with a straight apostrophe."""
        return self.text.lower().replace("’", "'")

    @property
    def is_word(self) -> bool:
        """Whether it begins with a letter or a digit."""
        return self.text[0].isalnum()


def tokenise(text: str) -> list[Token]:
    """Split a text into tokens."""
    ranges = sentence_spans(text, longest=len(text) + 1)
    tokens: list[Token] = []
    sentence = 0
    for match in TOKEN.finditer(text):
        while sentence + 1 < len(ranges) and match.start() >= ranges[sentence + 1].start:
            sentence += 1
        tokens.append(Token(match.start(), match.end(), match[0], sentence))
    return tokens


def match_case(model: str, word: str) -> str:
    """Give a word the model's capital first letter, if it has one."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


class Edit(NamedTuple):
    """A half-open range of a text, what comes in its place, and the rule that asks for it."""

    start: int
    end: int
    after: str
    rule: str


def settle(edits: Iterable[Edit]) -> list[Edit]:
    """Order edits and drop what overlaps an earlier one; of two at the same place the one given first stays."""
    settled: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: edit.start):
        if not settled or edit.start >= settled[-1].end:
            settled.append(edit)
    return settled


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Carry out ordered edits that do not overlap."""
    parts: list[str] = []
    place = 0
    for edit in edits:
        parts += (text[place : edit.start], edit.after)
        place = edit.end
    return "".join((*parts, text[place:]))


def compose(text: str, first: Sequence[Edit], second: Sequence[Edit]) -> list[Edit]:
    """Express a second round of edits, made on the text after the first, as one round on the text itself.

    Edits of the two rounds that meet become one edit under the first one's rule.
    """
    middle = apply(text, first)
    spans = [_Span(edit.start, edit.end, edit, late=True) for edit in second]
    shift = 0
    for edit in first:
        spans.append(_Span(edit.start + shift, edit.start + shift + len(edit.after), edit, late=False))
        shift += _growth(edit)
    composed: list[Edit] = []
    shift = 0
    for group in _groups(sorted(spans)):
        begin, end = group[0].begin, max(span.end for span in group)
        late = [span.edit._replace(start=span.begin - begin, end=span.end - begin) for span in group if span.late]
        early = [span.edit for span in group if not span.late]
        inside = sum(map(_growth, early))
        rule = early[0].rule if early else late[0].rule
        composed.append(Edit(begin - shift, end - shift - inside, apply(middle[begin:end], late), rule))
        shift += inside
    return [edit for edit in composed if text[edit.start : edit.end] != edit.after]


class _Span(NamedTuple):
    """Where an edit of either round lies in the text between the two."""

    begin: int
    end: int
    edit: Edit
    late: bool


def _groups(spans: Iterable[_Span]) -> list[list[_Span]]:
    """Group ordered spans that overlap, or that meet and are of two rounds."""
    groups: list[list[_Span]] = []
    for span in spans:
        end = max((other.end for other in groups[-1]), default=-1) if groups else -1
        if span.begin < end or (span.begin == end and any(other.late != span.late for other in groups[-1])):
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _growth(edit: Edit) -> int:
    """Characters by which an edit lengthens its text."""
    return len(edit.after) - (edit.end - edit.start)
