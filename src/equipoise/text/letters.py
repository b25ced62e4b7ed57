"""The letter that a response gives to a multiple-choice question, read from the text.

First every place is marked where the text names an option, by its letter or by its words (`lettermarks`); then rules
are tried in order, and the first that finds an option decides. Where a letter and the words beside it are of two
options the letter decides, as in the published gradings.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

from equipoise.text.lettermarks import Mark, find_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class LetterReading(NamedTuple):
    """The option's letter, None where the response gives none, and the name of the rule that decided."""

    letter: str | None
    rule: str


UNPARSED: Final = "unparsed"
REFUSAL: Final = "refusal"
UNFINISHED: Final = "unfinished_thinking"

BLOCK = r"think(?:ing)?|thought|reasoning|analysis|scratchpad"
CLOSED = re.compile(rf"[<\[]({BLOCK})[>\]].*?[<\[]/\1[>\]]", re.IGNORECASE | re.DOTALL)
# A chat template may put the opening tag in the prompt, so that the response holds the closing one alone.
CLOSING = re.compile(rf"^.*[<\[]/(?:{BLOCK})[>\]]", re.IGNORECASE | re.DOTALL)
OPENING = re.compile(rf"[<\[](?:{BLOCK})[>\]].*$", re.IGNORECASE | re.DOTALL)
# The form of gpt-oss, with its special tokens or without them.
FINAL_CHANNEL = re.compile(r"^.*(?:<\|channel\|>final<\|message\|>|assistantfinal)", re.DOTALL)
ANALYSIS_CHANNEL = re.compile(r"<\|channel\|>analysis.*$", re.DOTALL)
MARKUP = re.compile(
    r"\*+|`+|\$+|__|\\text(?:bf)?|</?(?:answer|content|final|final_answer|b|strong|p|br)\s*/?>|<\|[a-z_]+\|>|</?s>"
    r"|[\u200b-\u200f\u2060\ufeff\ufe0f]",
    re.IGNORECASE,
)

NOUN = r"(?:answers?|ans\b|options?|choices?|response|selection|solution|letter)"
HEDGE = (
    r"(?:\b(?:therefore|thus|then|hence|most likely|likely|probably|clearly|definitely|indeed|letter|option|choice"
    r"|answer|choose|select|as follows|to be)\b[\s:,]*)*"
)
BRACKETS = r"[\s(\[{\"'“‘<]*"
LINK = r"\s*(?:(?:\b(?:is|was|are|be|being|would|should|will|must|remains)\b|[=:→–—]|-+>?)\s*)+"
ASKED = r"(?:\s*\([^)\n]*\))?(?:\s+(?:to|for|here|in|of|among|that|by|according)\b[^.:\n]{0,90}?)?"
SINGLE = r"(?:answers?|ans\b|option|choice|response|selection|solution|letter)"
DECISION = re.compile(rf"\b{SINGLE}{ASKED}{LINK}{HEDGE}{BRACKETS}$", re.IGNORECASE)
FINAL = re.compile(rf"(?:\bfinal\s+{NOUN}{ASKED}{LINK}{HEDGE}{BRACKETS}|\\boxed\s*\{{{BRACKETS})$", re.IGNORECASE)
CHOICE = re.compile(
    r"\bI(?:'d|'ll| would| will| shall)?\s+(?:therefore\s+)?(?:choose|chose|select|pick|go with|opt for|vote for|answer"
    rf"|say)\s+(?:with\s+)?(?:the\s+)?{HEDGE}{BRACKETS}$",
    re.IGNORECASE,
)
# The thing asked for stands where 'answer' might: 'the most likely diagnosis in this patient is B'.
PICTURE = re.compile(
    r"\b(?:most (?:likely|appropriate|probable|suitable|accurate|consistent)|best|correct)\b[^.;\n]{0,140}?"
    rf"\b(?:is|would be|should be|are|with)\s+(?:the\s+)?{HEDGE}{BRACKETS}$",
    re.IGNORECASE,
)
WRONG = re.compile(r"\b(?:incorrect|wrong|not (?:the|a)|not)\W+(?:\w+\W+){0,2}$", re.IGNORECASE)
PREFACE = re.compile(
    rf"(?:[^\w]|\d{{1,2}}(?:\s*[.):;,\-]|(?=\W*$))|\b(?:the|correct|final|only|my|it|s|so|thus|hence|therefore"
    rf"|is|would|should|must|be|{NOUN})\b)*",
    re.IGNORECASE,
)
"""What may stand before an opening letter: symbols, the number of a list, the word answer."""
DELIMITED = re.compile(
    r"\s*(?:$|[\n.:;,)\]}>*|/!\"”—–(=→“]|-\s|\\n|(?:because|since|is|was|would|as the|correct)\b)", re.IGNORECASE
)
VERDICT = re.compile(
    r"[)\]\"”']?(?:\s*\([^)\n]{1,120}\)|[:,.]\s*[^.\n,:]{1,120}?,?)?\s+(?:is|was|would be|seems)\s+"
    r"(?:(?:the|a|most|best|single|only|clearly|definitely|indeed)\s+)*"
    r"(?:correct|right|best|appropriate|likely|answer|choice|consistent|accurate|suitable|my (?:answer|choice))\b",
    re.IGNORECASE,
)
SENTENCE_START = re.compile(
    rf"(?:^|[\n.!?:;,(\"“–—]|\b(?:{NOUN}|that|so|therefore|thus|hence|believe|think))\s*[(\"“']*$", re.IGNORECASE
)
LINE_START = re.compile(rf"[^\w\n]*(?:{NOUN}[^\w\n]*)?", re.IGNORECASE)
LINE_END = re.compile(r"[.)][ \t]|[^\w\n]*(?:\n|$)")
NAMED = re.compile(rf"\b{SINGLE}\s*[:\-]?\s*[(\"“'\[]?$", re.IGNORECASE)
NEGATION = re.compile(
    r"\b(?:not|isn't|aren't|wasn't|never|neither|nor|without|rather than|instead of|rul\w+ out|exclud\w+|unlikely"
    r"|incorrect|wrong|except|although|though|while|unlike|less likely|does ?n[o']t|contraindicated)\b[^.;\n]*$",
    re.IGNORECASE,
)
DENIAL = r"(?:is|are|was|would be|seems)\s+(?:not|incorrect|in(?:appropriate|consistent)|unlikely|less|wrong)\b"
DENIED = re.compile(
    rf"(?:(?!\b(?:because|since|as|but|and|while|whereas)\b)[^.,;\n]){{0,60}}?\b{DENIAL}", re.IGNORECASE
)
DENIED_ITSELF = re.compile(rf"\W{{0,3}}{DENIAL}", re.IGNORECASE)
DECLINED = re.compile(
    r"\b(?:I(?:'m| am) (?:sorry|unable|not able)|(?:I|we) (?:can(?:'t|not| not)|won't|will not|am not comfortable)\b"
    r"|(?:unable|not able|not appropriate|not possible) to (?:answer|choose|select|determine|pick|provide|give)"
    r"|as an AI\b[^.]*\b(?:can(?:'t|not| not)|unable|not able))",
    re.IGNORECASE,
)
NONE_OF_THEM = re.compile(r"\b(?:none|all|any|both|neither) of the (?:above|options|choices|listed)\b", re.IGNORECASE)
COMMITTED = re.compile(
    r"(?:\bfinal\s+answer\W*(?:is\W+)?|(?:^|[.!?]\s|\n)\s*answer\W*(?:is\W+)?|\\boxed\s*\{)$", re.IGNORECASE
)
NEAR = 40
"""Characters before a letter in which its own name ('option') or the start of its sentence is looked for."""
SHORT = 400
"""Characters of a reply in which one option's words, named alone, are taken as the answer."""


def read_letter(response: str, options: Mapping[str, str]) -> LetterReading:
    """Read which of the options (letter to text) a response gives; a refusal or anything unclear gives None.

    Thinking in its tags is left out. Thinking that never ended gives no answer, unless its last words are a marked
    one ("Answer: B").
    """
    keys = {letter.upper(): letter for letter in options}
    words = {letter.upper(): _plain(text) for letter, text in options.items()}
    said, cut_off = _without_thinking(unicodedata.normalize("NFKC", response))
    text = _plain(said)
    marks = find_marks(text, words)
    for name, rule in RULES:
        found = rule(text, marks)
        if found is not None:
            return LetterReading(keys.get(found), name)
    if cut_off:
        text = _plain(unicodedata.normalize("NFKC", response))
        for mark in find_marks(text, words)[-1:]:
            if mark.by_letter and not re.search(r"\w", text[mark.end :]) and COMMITTED.search(text[: mark.start]):
                return LetterReading(keys[mark.letter], "committed_thinking")
        return LetterReading(None, UNFINISHED)
    return LetterReading(None, UNPARSED)


def _without_thinking(text: str) -> tuple[str, bool]:
    """Leave out what stands in thinking tags, and say whether thinking was begun and never ended."""
    if FINAL_CHANNEL.search(text):
        return FINAL_CHANNEL.sub("", text), False
    said = CLOSING.sub("", CLOSED.sub("", text))
    for unfinished in (OPENING, ANALYSIS_CHANNEL):
        if unfinished.search(said):
            return unfinished.sub("", said), True
    return said, False


def _plain(text: str) -> str:
    return MARKUP.sub("", unicodedata.normalize("NFKC", text).replace("’", "'")).strip()


def _alone(text: str, marks: Sequence[Mark]) -> str | None:
    """The text is a letter, or the words of one option, and no more."""
    for mark in _first(marks):
        opens = PREFACE.fullmatch(text[: mark.start]) and not re.search(r"\d", text[: mark.start])
        if opens and not re.search(r"\w", text[mark.end :]):
            return mark.letter
    return None


def _opening(text: str, marks: Sequence[Mark]) -> str | None:
    """The text opens with a letter, unless it denies it, or weighs one option after the other and then decides."""
    first = next((mark for mark in marks if mark.by_letter), None)
    if first is None or not PREFACE.fullmatch(text[: first.start]):
        return None
    if not (first.followed_by_words or DELIMITED.match(text, first.end)):
        return None
    ends = [first.end, *(mark.end for mark in marks if first.followed_by_words and mark.start >= first.end)][:2]
    if any(DENIED_ITSELF.match(text, end) for end in ends) or _final(text, marks):
        return None
    weighs = len({mark.letter for mark in marks if _heads_line(text, mark)}) > 1
    return None if weighs and _statement(text, marks) else first.letter


def _heads_line(text: str, mark: Mark) -> bool:
    # "A:" may also announce an answer.
    ends = mark.followed_by_words or LINE_END.match(text, mark.end)
    line = text.rfind("\n", 0, mark.start) + 1
    return mark.by_letter and bool(ends and LINE_START.fullmatch(text, line, mark.start))


def _last(text: str, marks: Sequence[Mark], *patterns: re.Pattern[str]) -> str | None:
    """The last option that one of the patterns leads up to: who thinks aloud decides at the end."""
    for mark in reversed(marks):
        before = text[max(0, mark.start - 260) : mark.start]
        if any((led := pattern.search(before)) and not WRONG.search(before[: led.start()]) for pattern in patterns):
            return mark.letter
    return None


def _final(text: str, marks: Sequence[Mark]) -> str | None:
    return _last(text, marks, FINAL)


def _statement(text: str, marks: Sequence[Mark]) -> str | None:
    kept = [mark for mark in marks if not DENIED.match(text, mark.end)]
    return _last(text, kept, DECISION, CHOICE) or _last(text, kept, PICTURE)


def _verdict(text: str, marks: Sequence[Mark]) -> str | None:
    """'B is correct', of one letter alone."""
    return _only(
        mark
        for mark in marks
        if mark.by_letter
        and VERDICT.match(text, mark.end)
        and SENTENCE_START.search(text[max(0, mark.start - NEAR) : mark.start])
    )


def _line(text: str, marks: Sequence[Mark]) -> str | None:
    """One letter alone heads a line."""
    return _only(mark for mark in marks if _heads_line(text, mark))


def _refusal(text: str, marks: Sequence[Mark]) -> str | None:
    del marks
    return "" if DECLINED.search(text) else None


def _no_option(text: str, marks: Sequence[Mark]) -> str | None:
    """The text opens with 'none of the above' or the like."""
    del marks
    return "" if NONE_OF_THEM.match(PREFACE.sub("", text, count=1)) else None


def _opening_words(text: str, marks: Sequence[Mark]) -> str | None:
    """The text opens with the words of an option, and does not deny them."""
    for mark in _first(marks):
        if not mark.by_letter and PREFACE.fullmatch(text[: mark.start]) and not DENIED.match(text, mark.end):
            return mark.letter
    return None


def _mention(text: str, marks: Sequence[Mark]) -> str | None:
    """One letter alone is named as an option ("option B") or in brackets, and not denied."""
    return _only(
        mark
        for mark in marks
        if mark.by_letter
        and (
            NAMED.search(text[max(0, mark.start - NEAR) : mark.start])
            or (text[mark.start - 1 : mark.start] == "(" and text[mark.end : mark.end + 1] == ")")
        )
        and not _denied(text, mark)
    )


def _words(text: str, marks: Sequence[Mark]) -> str | None:
    """A short text names one option alone by its words, and does not deny them."""
    if len(text) > SHORT:
        return None
    return _only(mark for mark in marks if not mark.by_letter and mark.telling and not _denied(text, mark))


def _first(marks: Sequence[Mark]) -> list[Mark]:
    return [mark for mark in marks if mark.start == marks[0].start]


def _denied(text: str, mark: Mark) -> bool:
    return bool(NEGATION.search(text[max(0, mark.start - 200) : mark.start]) or DENIED.match(text, mark.end))


def _only(marks: Iterable[Mark]) -> str | None:
    letters = {mark.letter for mark in marks}
    return letters.pop() if len(letters) == 1 else None


RULES: tuple[tuple[str, Callable[[str, Sequence[Mark]], str | None]], ...] = (
    ("alone", _alone),
    ("opening", _opening),
    ("final", _final),
    ("statement", _statement),
    ("verdict", _verdict),
    ("line", _line),
    (REFUSAL, _refusal),
    ("no_option", _no_option),
    ("opening_words", _opening_words),
    ("mention", _mention),
    ("words", _words),
)
"""The rules by name, in the order in which they are tried; the empty letter means that there is none."""
