r"""Other people's text where people read it: a function each for running text, a single line, Markdown and JSON.

What would steer a terminal, turn a line round, hide text or break a table is written out, not sent: control characters
as their signs (`␛`), bidirectional and invisible characters by their code (`\u202e`). Applying a function twice is
applying it once.
"""

import json
import re
from collections.abc import Iterable

LONGEST, LAST = 2000, 500
"""Characters of a message, and how many of its last ones are kept."""
DELETE = 0x7F
SHORT = 0x10000
"""Codes below this have four digits."""
INVISIBLE = (
    (0xAD, 0xAD),  # the soft hyphen
    (0x061C, 0x061C),  # marks, embeddings, overrides and isolates of direction; line and paragraph separators
    (0x200B, 0x200B),  # but not the two joiners that follow, which scripts and emoji need
    (0x200E, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0xE0000, 0xE007F),  # tags: a whole alphabet that no font shows
)
SIGNS: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    DELETE: "\N{SYMBOL FOR DELETE}",
    **dict.fromkeys(range(0x80, 0xA0), "\N{REPLACEMENT CHARACTER}"),
    **dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"),
    **{
        code: f"\\u{code:04x}" if code < SHORT else f"\\U{code:08x}"
        for low, high in INVISIBLE
        for code in range(low, high + 1)
    },
}
"""What is shown in place of a character: its sign, its code, or that something has no sign."""
ONE_LINE = SIGNS | {ord(character): chr(0x2400 + ord(character)) for character in "\n\t"}
HIDDEN = re.compile(f"[{''.join(re.escape(chr(code)) for code in SIGNS if code >= DELETE)}]")
"""Characters that JSON may hold as they are, and that are written as escapes all the same."""
HARMLESS = re.compile(r"(?!.*(?://|www\.))[\w .,:;=()+%'/→−–×′-]*", re.IGNORECASE)
"""Text that means in Markdown what it says: no markup, no link, no mention of a person or an issue."""


def visible(text: str) -> str:
    """Give running text as a terminal or a page may show it; line ends and tabs stay."""
    return text.translate(SIGNS)


def line(text: str) -> str:
    """Give a text as one line, for an error or a cell: its line ends and tabs are signs too."""
    return text.translate(ONE_LINE)


def brief(message: str) -> str:
    """Leave out the middle of a long message, such as one that quotes a long value: it ends with the fix."""
    if len(message) <= LONGEST:
        return message
    return f"{message[: LONGEST - LAST]} … {message[-LAST:]}"


def markdown(text: str) -> str:
    """Give a text as one line of Markdown: as it is where it is harmless, else as code, which nothing in it can end."""
    return text if HARMLESS.fullmatch(text) else code(text)


def code(text: str) -> str:
    """Give a text as one line of code in Markdown, where neither markup nor mentions have an effect.

    Within a table `|` is still to be escaped.
    """
    shown = line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    gap = " " if "`" in shown else ""
    return f"{fence}{gap}{shown or ' '}{gap}{fence}"


def table_row(cells: Iterable[str]) -> str:
    """Write a row of a table in Markdown, in which no `|` ends a cell."""
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def json_line(value: object) -> str:
    """Write a value as one line of JSON, hidden characters as escapes; NaN and infinities are refused (ValueError)."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text)
