"""Sentences of a vignette: how many there are, and which is the final question."""

from __future__ import annotations

import re

_END = re.compile(r"""(?P<word>\S*?)[.!?:]+["'”’)\]]*(?P<gap>\s+)(?=\S)|(?P<line>[ \t]*\n\s*)(?=\S)""")
_ABBREVIATION = re.compile(r"^\W*(?:dr|mr|mrs|ms|st|vs|etc|approx|ca|cf|fig|e\.g|i\.e|(?:\w\.)+\w)$", re.IGNORECASE)
_QUESTION = r"(?:Which|What|Where|When|Why|Who|Whom|Whose|How)\b"
_OPENER = re.compile(rf"{_QUESTION}|(?:The|This|These|They|Their|Based|Given|After|In|On|At|If)\b")


def starts(text: str) -> list[int]:
    """Find where each sentence begins; a line break ends one too, since tables of results have no full stops."""
    found = [len(text) - len(text.lstrip())] if text.strip() else []
    for match in _END.finditer(text):
        rest = text[match.end() :]
        if match["line"] is None:
            mark = match.group()[len(match["word"]) :].lstrip()[0]
            colon = mark == ":" and "\n" not in match["gap"]
            abbreviated = mark == "." and _ABBREVIATION.match(match["word"]) and not _OPENER.match(rest)
            if colon or abbreviated or rest[0].islower():
                continue
        found.append(match.end())
    return found


def sentences(text: str) -> list[str]:
    """Split a text into sentences, without the white space between them."""
    begin = starts(text)
    # without a sentence there is no beginning, but still the end of the text
    return [text[here:there].strip() for here, there in zip(begin, [*begin[1:], len(text)], strict=False)]


def final_question_start(text: str) -> int:
    """Find where the final question sentence begins.

    It is the last sentence; where that asks nothing and the one before it does, the one before. A question that
    follows a table without a line break begins at its question word.
    """
    begin = starts(text)
    if not begin:
        return 0
    last = begin[-1]
    if not text.rstrip().endswith(("?", ":")) and len(begin) > 1 and text[begin[-2] : last].rstrip().endswith("?"):
        last = begin[-2]
    inner = list(re.finditer(rf"(?<=[^\s,;:“\"'(]) (?={_QUESTION})", text[last:]))
    return last + inner[-1].end() if inner else last


def final_question(text: str) -> str:
    """Give the final question sentence of a vignette."""
    return text[final_question_start(text) :].strip()
