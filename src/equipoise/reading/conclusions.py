"""Where a text states its conclusion: under a heading such as `Final Answer`, in a sentence that concludes, or last."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from equipoise.judge.windows import sentence_spans

How = Literal["heading", "sentence", "paragraph"]

NAME = (
    r"(?:(?:my|the|final|single|most[ ]likely|most[ ]probable|most[ ]plausible|likely|probable|leading|working|primary"
    r"|provisional|overall|clinical|suspected|presumptive)[ ])*(?:diagnosis|answer|impression)"
    r"|conclusion[ ]\([^)\n]{0,30}diagnosis\)"
)
BEFORE = r"(?:^[ \t>#*_•|\-]*(?:\d{1,2}[.)][ \t]*[*_]*)?|(?<=\s)\*\*|(?<=[.!?:>][ ]))"
"""What a heading follows: the start of a line with its markup, bold type, or the end of a sentence."""
AFTER = r"(?:[ ]\([^)\n]{1,40}\))?[ \t*_]*(?:[:|]|[—–-](?=\s)|$)"
"""What makes it a heading: a colon, a dash or a table's bar after it, or the end of its line."""
HEADING = re.compile(rf"{BEFORE}(?:{NAME}){AFTER}", re.IGNORECASE | re.MULTILINE)
SUMMARY = re.compile(
    rf"{BEFORE}(?:(?:final|overall|clinical|in)[ ])*(?:conclusion|bottom[ ]line|final[ ]thoughts?){AFTER}",
    re.IGNORECASE | re.MULTILINE,
)
HEADING_ALONE = re.compile(rf"^(?:{HEADING.pattern}|{SUMMARY.pattern})\W*$", re.IGNORECASE | re.MULTILINE)
PARAGRAPH = re.compile(r"\S(?:(?!\n[ \t]*\n).)*", re.DOTALL)
MARKUP = re.compile(r"[\s>*_#:|\-—–]*")
CUT_SHORT = re.compile(r"\b(?:is|are|be|of|to|the|an?|with|as|most|likely|diagnosis|answer)[\s*_:]*$", re.IGNORECASE)
ENDED = re.compile(r"[.!?)\]*_|]\s*$")
LIST_FOLLOWS = re.compile(r"(?<=[.!?*])\s+[•\-—]+(?:\s|$)")
"""Where a list, or a rule, goes on in the line of a statement."""

DECIDES = re.compile(
    r"\bmost[ ](?:likely|probable|plausible|fitting)\b(?![ ](?:to|in|among)\b)"
    r"|\b(?:final|primary|working|leading)[ ]diagnosis\b|\bI(?:'d| would)?[ ](?:conclude|diagnose)\b"
    r"|\bdiagnos(?:is|ed)[ ](?:is|as|of|would[ ]be|remains)\b",
    re.IGNORECASE,
)
LEANS = re.compile(
    r"\bmost[ ](?:consistent|compatible|in[ ]keeping|suggestive|indicative)\b|\b(?:consistent|compatible)[ ]with\b"
    r"|\bpoint(?:s|ing)?\b[^.;]{0,30}?\bto(?:wards?)?\b|\balign(?:s|ing|ed)?\b[^.;]{0,20}?\bwith\b"
    r"|\b(?:suggest|favou?r|indicate)s?[ ](?!this\b|that\b|it\b)|\bindicative[ ]of\b|\b(?:classic|criteria)[ ]for\b",
    re.IGNORECASE,
)

LONGEST = 1200
"""Characters after a heading in which its statement is looked for."""


class Statement(NamedTuple):
    """Where a conclusion stands, as a half-open range of characters with its heading, and how it was found."""

    start: int
    end: int
    how: How


def locate(text: str) -> Statement | None:
    """Find the conclusion of a text; None where it has no words.

    The last heading that names a diagnosis or an answer decides; else the last sentence that names what is most likely;
    else a heading such as `Conclusion`; else the last sentence that says what the findings point to; else the last
    paragraph. Of a statement that the end of the text cuts short an earlier complete one is preferred.
    """
    if not re.search(r"\w", text):
        return None
    return (
        headed(text) or _sentence(text, DECIDES) or _under(text, SUMMARY) or _sentence(text, LEANS) or _paragraph(text)
    )


def headed(text: str) -> Statement | None:
    """Find the conclusion under the last heading that names a diagnosis or an answer; None without one."""
    return _under(text, HEADING)


def _under(text: str, heading: re.Pattern[str]) -> Statement | None:
    cut_short = None
    for match in reversed(list(heading.finditer(text))):
        first = match.end() + len(MARKUP.match(text[match.end() :])[0])  # type: ignore[index]  # it matches anything
        spans = sentence_spans(text[first : first + LONGEST])
        if not spans:
            continue
        stated = LIST_FOLLOWS.split(text[first : first + spans[0].end])[0].rstrip()
        end = first + len(stated)
        if CUT_SHORT.search(stated) or heading.fullmatch(stated):
            continue
        found = Statement(match.start(), end, "heading")
        if ENDED.search(stated) or text[end:].strip(" \n\t*_"):
            return found
        cut_short = cut_short or found
    return cut_short


def _sentence(text: str, cue: re.Pattern[str]) -> Statement | None:
    """The last sentence with a cue; a heading, or a sentence that is cut short, is none."""
    for span in reversed(sentence_spans(text)):
        sentence = text[span.start : span.end]
        if cue.search(sentence) and not any(no.search(sentence) for no in (CUT_SHORT, HEADING_ALONE)):
            return Statement(*span, "sentence")
    return None


def _paragraph(text: str) -> Statement:
    """The last paragraph that has words."""
    *_, last = (match for match in PARAGRAPH.finditer(text) if re.search(r"\w", match[0]))
    return Statement(last.start(), last.start() + len(last[0].rstrip()), "paragraph")
