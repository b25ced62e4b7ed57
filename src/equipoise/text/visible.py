"""Other people's text on a terminal: what would steer the terminal shows as a sign, and nothing counts as markup."""

from rich.text import Text

DELETE = 0x7F
SIGNS = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    DELETE: "\N{SYMBOL FOR DELETE}",
    **dict.fromkeys(range(0x80, 0xA0), "\N{REPLACEMENT CHARACTER}"),
    **dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"),
}
"""Control characters, and halves of characters, by the one character that is shown in their place."""


def visible(text: str) -> Text:
    """Give a text as the terminal may print it, character for character, so that positions in it stay what they are."""
    return Text(text.translate(SIGNS))
