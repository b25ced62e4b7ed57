"""Locate a text's conclusion: under a heading such as `Final Answer`, in a concluding sentence, or at the end.

`holds` tells whether a claim is the text's own, or one that it reports or denies.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from equipoise.text.patterns import caseless, end_of_match
from equipoise.text.sentences import Span, each_sentence, sentence_spans

How = Literal["heading", "sentence", "paragraph"]

NAME = (
    r"(?:(?:my|the|final|single|most[ ]likely|most[ ]probable|most[ ]plausible|likely|likeliest|probable|leading"
    r"|working|primary|principal|provisional|preliminary|definitive|presumed|presumptive|suspected|overall|clinical|diagnostic"
    r"|medical|main|top|best|chosen|correct)[ ])*(?:diagnosis|answer|impression)"
    r"|conclusion[ ]\([^)\n]{0,30}diagnosis\)"
)
BEFORE = r"(?:^[ \t>#*_•|\-]*(?:\d{1,2}[.)][ \t]*[*_]*)?|(?<=\s)\*\*|(?<=[.!?:>][ ]))"
"""Context before a heading: the start of a line with its markup, bold type, or the end of a sentence."""
AFTER = r"(?:[ ]\([^)\n]{1,40}\))?[ \t*_]*(?:[:|]|[—–-](?=\s)|$)"
"""Context after a heading: a colon, a dash, a table's bar, or the end of its line."""
HEADING = caseless(rf"{BEFORE}(?:{NAME}){AFTER}", re.MULTILINE)
SUMMARY = caseless(
    rf"{BEFORE}(?:(?:final|overall|clinical|in)[ ])*(?:conclusion|bottom[ ]line|final[ ]thoughts?){AFTER}", re.MULTILINE
)
HEADING_ALONE = caseless(rf"^(?:{HEADING.pattern}|{SUMMARY.pattern})\W*$", re.MULTILINE)
PARAGRAPH = re.compile(r"\S(?:(?!\n[ \t]*\n).)*", re.DOTALL)
MARKUP = re.compile(r"[\s>*_#:|\-—–]*")
MARKER = re.compile(r"[\W_]*(?:\d{1,2}|[A-H])[.):]?[\W_]*")
CUT_SHORT = caseless(r"\b(?:is|are|be|of|to|the|an?|with|as|most|likely|diagnosis|answer)[\s*_:]*$")
ENDED = re.compile(r"[.!?)\]*_|]\s*$")
ASKED_FOR = r"(?:help|assist|answer|provide|diagnose|give|choose|select|determine|pick|offer|recommend|comply)"
REFUSAL = caseless(
    r"\b(?:I(?:'m| am) (?:sorry|unable|not able|not comfortable)|we(?:'re| are) (?:unable|not able)"
    rf"|(?:I|we) (?:can(?:'t|not| not)|won't|will not) {ASKED_FOR}|(?:not able|not appropriate|unable) to {ASKED_FOR})"
    # Matched only from the first `as an AI` of a sentence: matching from each would take quadratic time.
    r"|(?:\A|(?<=\.))(?>[^.]*?\bas an AI\b)[^.]*\b(?:can(?:'t|not| not)|unable|not able)"
)
"""Phrases by which a reply declines to answer."""
UNDECIDED = caseless(
    r"^\W*(?:it(?:'s| is) (?=not|im|hard|diff))?"
    r"(none\b|impossible\b|unknown\b"
    r"|unclear\b|not (yet )?(clear|known|possible|one specific|a specific|specified|given)"
    r"|cannot be|difficult to|hard to)"
)
LIST_FOLLOWS = re.compile(r"(?<=[.!?*])\s+[•\-—]+(?:\s|$)")
"""The start of a list or rule on the line of a statement."""

DECIDES = caseless(
    r"\bmost[ ](?:likely|probable|plausible|fitting|appropriate)\b(?![ ](?:to|in|among)\b)|\blikeliest\b"
    r"|\bbest[ ](?:diagnosis|explanation|explain\w*|fits?|accounts?|matche[sd])\b|\bfits?[ ]best\b"
    r"|\b(?:final|primary|principal|working|leading|top|main)[ ](?:diagnosis|diagnostic|hypothesis|impression|concern"
    r"|differential|consideration)\b"
    r"|\bI(?:'d|'m| would| am)?[ ](?:conclude|diagnose|go(?:ing)?[ ]with)\b"
    r"|\bdiagnos(?:is|ed)[ ](?:is|as|of|with|would[ ]be|should[ ]be|remains)\b|\bis[ ]the[ ]diagnosis\b"
)
LEANS = caseless(
    r"\bmost[ ](?:consistent|compatible|in[ ]keeping|suggestive|indicative)\b|\b(?:consistent|compatible)[ ]with\b"
    r"|\bpoint(?:s|ing)?\b[^.;]{0,30}?\bto(?:wards?)?\b|\balign(?:s|ing|ed)?\b[^.;]{0,20}?\bwith\b"
    r"|\b(?:suggest|favou?r|indicate)s?[ ](?!this\b|that\b|it\b)|\bindicative[ ]of\b|\b(?:classic|criteria)[ ]for\b"
    r"|\b(?:characteristic|diagnostic|typical)[ ](?:of|for)\b"
    r"|\b(?:concerns?|concerning|suspicion|suspicious)[ ](?:for|of)\b"
    r"|\bin[ ]line[ ]with\b|\blean\w*[ ]towards?\b|\battributable[ ]to\b|\b(?:impl(?:y|ies)|establish(?:es)?)\b"
    r"|\b(?:highly|very|strongly)[ ](?:likely|probable|suspect)|\bleading[ ]consideration\b"
    r"|\blikely[ ](?:has|have|having|is|represents?|reflects?|experiencing|suffer\w*|due)\b"
)
MIXED = caseless(
    r"\b(?:differential|next|exclu\w+|rul(?:e|ed|ing)[ ]out|unlikely|less[ ]likely|cannot|can't|alternatives?"
    r"|if|other[ ](?:possibilit|diagnos|cause|condition)\w*)\b"
)
"""Words of a sentence that also weighs other diagnoses; a sentence without them is the clearer statement."""

EMBEDDED = caseless(
    r"(?:\b(?P<that>that|in which)(?:,[^.,;:!?\n]{1,60},)?(?=\s+(?:the|my|our|this|it|its|your|his|her|an?|I|we)\b)"
    r"|(?P<verb>\b(?:sa(?:y|ys|ying|id)|stat\w+|claim\w*|argu\w+|assum\w+|conclud\w+|th(?:ink\w*|ought)|believ\w+|suggest\w*"
    r"|assert\w*|insist\w*|maintain\w*|declar\w+|suppos\w+|pretend\w*|infer\w*|imagin\w+|answer(?:ing|ed)|decid\w+"
    r"|presum\w+|suspect\w*|expect\w*|guess\w*|hear\w*|told|propos\w+|writ\w+|reply\w*|den(?:y|ies|ied)))"
    r"(?=\s+(?:the|my|it)\b))(?:\s+[\w'-]+){0,5}\s*$"
)
"""The start of a clause; the words before it tell whether the reply holds it: 'it is unlikely that the'."""
MATRIX = caseless(r"[.,;:!?\n–—]|\b(?:but|yet|however|so|hence|thus|therefore|because|and)\b")
"""What ends before the words that say it."""
UNDOUBTED = caseless(
    r"\b(?:(?:no|without(?: a| any)?|(?:not|n't) (?:a )?|little|hardly a) (?:doubt\w*|question|denying)"
    r"|(?:cannot|can't) (?:but|deny|doubt|escape|avoid)|(?:not|n't) deny|not only)\b"
)
DISOWNING = caseless(
    r"(?:n't|\b(?:not|never|no|nobody|none|nothing|nor|neither|without|hardly|scarcely|little|few|cannot"
    r"|un(?:likely|true|fair|just|safe|wise|supported|justified|justifiable|reasonable|warranted|tenable|convinced"
    r"|founded|proven|helpful|ethical|kind)\w*|im(?:probable|plausible|possible|proper)|in(?:correct|accurate"
    r"|appropriate|valid|defensible)|false\w*|wrong\w*|mis(?:tak\w+|conception|guided|reading|judg\w+|leading)|errors?"
    r"|erroneous\w*|fallac\w+|myths?|absurd|nonsense|ridiculous|premature|na[iï]ve|lazy|harmful|dangerous\w*"
    r"|(?<!un)bias\w*|prejudic\w*|stereotyp\w*|discriminat\w+|stigma\w*|anchoring|over(?:call|reach)\w*|tempt\w+|traps?"
    r"|beware|wary|careful|avoid\w*|resist\w*|refus\w+|reject\w*|disagree\w*|doubt\w*|den(?:y|ies|ied)|dismiss\w*"
    r"|disput\w+|disbeliev\w+|contest\w*|against|hard to|difficult to|far-fetched|too far|(?:am|was|were|been) asked"
    r"|some|many|others|people|critics|s[ck]eptics|those|anyone|everyone|everybody|students|candidates|clinicians"
    r"|doctors|colleagues|one (?:might|could|may|would)|unsupported|rests? on|weak))\b"
)
"""Words for what the reply does not hold."""
OWNING = caseless(
    r"\b(?:I|we|me|us|mean\w*|suggest\w*|show\w*|indicat\w+|confirm\w*|impl(?:y|ies|ying)|tells?|support\w*|establish\w*"
    r"|prov(?:e[sd]?|ing)|demonstrat\w+|reveal\w*|follows|points?|makes?|making|conclu\w+|clear\w*|likely|probable"
    r"|certain\w*|evident|obvious|true|safe|fair|reasonable|right|correct|apparent|plausible|sure|confident|so|such"
    r"|not(?:e|ing)|given|fact|seems?|appears?|looks|know\w*|sense|evidence|reason(?:s|ing|ed)?"
    r"|(?:can|should|must) (?:safely )?be (?:told|reassured|informed|said))\b"
)
"""Words for what it holds."""
PREDICATE = re.compile(r"[)\]\"']*\s+(?:would|could|will|may|might|is|was|[a-z]+s)\b[^.;!?\n]{0,80}")

LONGEST = 1200
"""Characters after a heading that are searched for its statement."""
HEADINGS = 200
"""Number of headings that are read, from the end: a text with more repeats itself."""


class Statement(NamedTuple):
    """The half-open character range of a conclusion with its heading, and how it was found."""

    start: int
    end: int
    how: How


def locate(text: str) -> Statement | None:
    """Find the conclusion of a text; None if it has no words.

    In order of precedence: the last heading that names a diagnosis or an answer; the last sentence that states what is
    most likely; a heading such as `Conclusion`; the last sentence that states what the findings point to; the last
    paragraph. An earlier complete statement is preferred to one that the end of the text cuts short.
    """
    return next(statements(text), None)


def statements(text: str) -> Iterator[Statement]:
    """Yield the conclusion of a text, then the candidates to try next if it names nothing, in order."""
    if not re.search(r"\w", text):
        return
    yield from headed_statements(text, HEADING)
    spans = sentence_spans(text)
    yield from _sentences(text, spans, DECIDES)
    yield from headed_statements(text, SUMMARY)
    yield from _sentences(text, spans, LEANS)
    yield _paragraph(text)


def headed_statement(text: str) -> Statement | None:
    """Find the conclusion under the last heading that names a diagnosis or an answer; None without such a heading."""
    return next(headed_statements(text, HEADING), None)


def headed_statements(text: str, heading: re.Pattern[str]) -> Iterator[Statement]:
    """Yield the statements under headings, last first; statements that the text's end cuts short come after them."""
    cut_short = []
    written = len(text.rstrip(" \n\t*_"))
    for match in reversed(deque(heading.finditer(text), maxlen=HEADINGS)):
        first = end_of_match(MARKUP, text, match.end(), len(text))
        room = text[first : first + LONGEST]
        spans = each_sentence(room)
        opening = next(spans, None)
        if opening is None:
            continue
        # A list number or an option's letter is not a statement; the text after it is.
        last = next((span for span in chain((opening,), spans) if not MARKER.fullmatch(room, *span)), opening)
        stated = LIST_FOLLOWS.split(room[: last.end], maxsplit=1)[0].rstrip()
        end = first + len(stated)
        if CUT_SHORT.search(stated) or heading.fullmatch(stated):
            continue
        statement = Statement(match.start(), end, "heading")
        if ENDED.search(stated) or end < written:
            yield statement
        else:
            cut_short.append(statement)
    yield from cut_short


def _sentences(text: str, spans: Sequence[Span], cue: re.Pattern[str]) -> Iterator[Statement]:
    """Yield the sentences with a cue, last first; those that also weigh other diagnoses come after the rest.

    Headings and sentences that are cut short do not count.
    """
    statements = []
    for span in reversed(spans):
        sentence = text[span.start : span.end]
        if cue.search(sentence) and not any(no.search(sentence) for no in (CUT_SHORT, HEADING_ALONE)):
            statements.append((Statement(*span, "sentence"), MIXED.search(sentence) is not None))
    for mixed in (False, True):
        yield from (statement for statement, is_mixed in statements if is_mixed == mixed)


def _paragraph(text: str) -> Statement:
    """Return the last paragraph that has words."""
    *_, last = (match for match in PARAGRAPH.finditer(text) if re.search(r"\w", match[0]))
    return Statement(last.start(), last.start() + len(last[0].rstrip()), "paragraph")


def holds(before: str, after: str) -> Literal["yes", "no", "unclear"]:
    """Whether a reply holds a claim itself, by the words around it: not in 'it is unlikely that the answer is A'."""
    embedded = EMBEDDED.search(before)
    if not embedded:
        return "yes"
    opened = max((match.end() for match in MATRIX.finditer(before, 0, embedded.start())), default=0)
    # For a verb without 'that', its subject and its form decide as well.
    words = before[opened : embedded.start() if embedded["that"] else embedded.end()]
    words = UNDOUBTED.sub(" clearly ", words)
    predicate = PREDICATE.match(after)
    if DISOWNING.search(words) or (predicate and not re.search(r"\bI\b", words) and DISOWNING.search(predicate[0])):
        return "no"
    if embedded["that"] and not words.strip():
        return "yes" if not predicate or OWNING.search(predicate[0]) else "unclear"
    return "yes" if OWNING.search(words) else "unclear"
