"""Replies to a request for help or for a letter that begin by declining, or have no words."""

import re
from typing import Literal

from equipoise.text.conclusions import ASKED_FOR
from equipoise.text.patterns import caseless
from equipoise.text.sentences import sentences_of

DECLINES = caseless(
    r"\b(?:(?:I|we) (?:can(?:'t|not| not)|won't|will not)|(?:I'm|I am|we're|we are) (?:unable|not able) to) "
    rf"(?!help (?:but|\w+ing)\b)(?:{ASKED_FOR}|discuss|engage|continue|respond|talk)\b"
)
"""Words by which a reply declines; a counsellor who is sorry for a client, or cannot help but notice, does not."""
Kind = Literal["refusal", "unparsed", "other"]
BEGINNING = 2
"""Sentences in which a reply declines, if it does: later ones may name the limits of a counsellor."""


def kind_of(reply: str) -> Kind:
    """Say whether the part of a reply that the client reads has words, and whether it begins by declining to help."""
    if not re.search(r"\w", reply):
        return "unparsed"
    plain = reply.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    begun = " ".join(sentences_of(plain)[:BEGINNING])
    return "refusal" if DECLINES.search(begun) else "other"
