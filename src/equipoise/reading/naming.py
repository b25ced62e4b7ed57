"""The diagnosis that a reply ends on: the words that name it, apart from their sentence and its grounds.

Of several that are ranked the first counts. `equipoise.reading.conclusions` finds the statement that it stands in.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from equipoise.reading.answers import REFUSAL, UNDECIDED
from equipoise.reading.conclusions import HEADING, MARKUP, SUMMARY, locate

if TYPE_CHECKING:
    from equipoise.reading.conclusions import How

MARKS = re.compile(r"[*_`>\\{}]+|\bboxed\b")
HYPHENS = re.compile("[\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{EN DASH}]")
SET_ASIDE = re.compile(
    r"\b(?:rather than|instead of|as opposed to|unlike|but not|less likely|ruled? out|excluding|not)\b[^,;.]*"
    r"|\b(?:while|although|though|whereas)\b[^,;.]*(?:,|$)",
    re.IGNORECASE,
)
"""Parts of a statement that name a diagnosis only to set it aside."""

MOST_LIKELY = (
    r"(?:single |overall )?(?:most (?:likely|probable|plausible)|leading|primary|working|final|likely|probable)\b"
)
AFTER = re.compile(
    rf"^(?P<named>.+?)\s*(?:,\s*)?\b(?:is|are|remains?|was|would be|being|seems|appears|as)"
    rf"\s+(?:to be )?(?:the |my )?{MOST_LIKELY}",
    re.IGNORECASE,
)
"""`Tuberculosis remains the most likely diagnosis`: what is named stands before."""
NAMES = re.compile(
    r"\b(?:diagnos[ei]s|explanation|cause|condition|answer|impression|problem|illness|conclude|conclusion)\b"
    r"(?:(?:,[^.;:]{0,200},)?[^.;:,]{0,50}?\b(?:is|was|are|be|remains|of|as|that)\b|\s*:)(?:\s+that\b[^,;.]{0,30}\b(?:has|have|is))?"
    r"|\bdiagnosed\b[^.;,]{0,20}?\b(?:with|as)\b|\bI(?:'d| would) diagnose\b",
    re.IGNORECASE,
)
"""`The most likely diagnosis is tuberculosis`: what is named stands after."""
LEANS = re.compile(
    r"\b(?:consistent|compatible|in keeping|align\w*[^.;,]{0,20}?) with\b|\bpoint\w*\b[^.;,]{0,30}?\bto(?:wards?)?\b"
    r"|\b(?:suggest|favou?r|support|indicate)s?\b(?: an?\b)?(?: diagnosis of\b)?|\b(?:suggestive|indicative) of\b"
    r"|\b(?:classic|specific|typical|characteristic|diagnostic|pathognomonic) (?:for|of)\b"
    r"|\bseen in\b|\bfits? with\b|\bcriteria for\b"
    r"|\bsuffer\w* from\b|\b(?:has|have|had|developed|having)\b|\bthis is\b",
    re.IGNORECASE,
)
"""`The findings point to tuberculosis`."""
SENTENCE = re.compile(
    r"^(?:given|based|in)\b|\b(?:presentation|findings?|symptoms?|picture|features?|case|history|signs|patient|he|she|they|these|this|it|results?"
    r"|combination|constellation|pattern|evidence|tests?|examination)\b",
    re.IGNORECASE,
)
"""What a sentence has and a bare name has not."""
GROUNDS = re.compile(
    r"[,;]?\s*\b(?:given|because|based on|as (?:evidenced|suggested|indicated|supported|the|he|she|it|they|this)\b"
    r"|since|considering|in (?:view|light) of|which|that|supported by|evidenced by|characteri[sz]ed by|until proven"
    r"|requir\w+|warrant\w*|and (?:requires?|needs?|should|is|was|warrants?|must)|but|however|differential"
    r"|alternative\w*|according to|per the|although|though|needs?|should|consider"
    r"|in (?:a|this|the) (?:patient|man|woman|context of (?:a|the|his|her))"
    r"|is the|are the|in an? \w+-year)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Where the naming ends and its grounds begin."""
LEAD = re.compile(
    r"^(?:\W|\d{1,2}[.)]\s|\b(?:an?|the|that of|of|most|likely|probabl[ey]|suspected|presumed|presumptive|possibl[ey]"
    r"|is|he|she|has|patient|case|diagnosis|having|been|definitely|certainly|clearly|single|overall|strongly)\b(?!-))*",
    re.IGNORECASE,
)
JOINT = re.compile(r"\s*[,;]?\s+(?:and/or|or|and|versus|vs\.?|plus)\s+|\s*[/;+&]\s*", re.IGNORECASE)
"""What stands between diagnoses of equal rank."""
SERIES = re.compile(
    r"^(?!.*\b(?:likely|probabl|possib|with\b|due\b|extend))[^,()]{1,40},(?:[^,()]{1,40},)* ?(?:[^,()]{1,40} )?"
    r"(?:or|and) [^,()]{1,40}$",
    re.IGNORECASE,
)
"""A list of diagnoses that ends in `or`."""
TAIL = re.compile(
    r",?\s*\b(?:(?:likely|probably|most plausibly|mainly|possibly|most commonly|often) )?(?:due to|secondary to"
    r"|caused by|resulting from|as a result of|from|with|complicated by|in the (?:context|setting) of"
    r"|on a background of|related to|associated with|superimposed on|leading to|causing|following|after|triggered by"
    r"|precipitated by|presenting as|accompanied by|producing|involving)\b",
    re.IGNORECASE,
)
"""What joins a diagnosis to its cause or its consequence."""
GLOSS = re.compile(r"\s*[()\[\]]\s*|\s*[—:]\s*|\s+-+\s+|,\s+")
"""What stands between a diagnosis and another name of it, or what is known of its kind."""
LONGEST_BARE = 14
"""Words of a paragraph that may be a name without a sentence."""


class Named(NamedTuple):
    """A final diagnosis as stated, and its parts: those named jointly, cause or consequence, and glosses."""

    whole: str
    joint: tuple[str, ...]
    tails: tuple[str, ...]
    glosses: tuple[str, ...]


def final_diagnosis(said: str) -> Named | None:
    """The diagnosis on which a reply ends, the first where it ranks several; None where it names none."""
    found = locate(said)
    if found is None:
        return None
    stated = said[found.start : found.end]
    if found.how == "heading":
        heading = HEADING.match(stated) or SUMMARY.match(stated)
        stated = stated[heading.end() if heading else 0 :]
        stated = stated[len(MARKUP.match(stated)[0]) :]  # type: ignore[index]  # it matches anything
    elif REFUSAL.search(said.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        return None
    text = SET_ASIDE.sub(" ", " ".join(HYPHENS.sub("-", MARKS.sub("", stated)).split()))
    name = _name(text, found.how)
    if name is None or UNDECIDED.search(name) or not re.search(r"\w", name):
        return None
    return _parts(name)


def _name(text: str, how: How) -> str | None:
    """The words of a statement that name the diagnosis."""
    if after := AFTER.search(text):
        text = after["named"]
        leans = list(LEANS.finditer(text))
        text = text[leans[-1].end() :] if leans else re.split(r",\s|\bthat\b", text)[-1]
    elif names := NAMES.search(text):
        text = text[names.end() :]
        if (lean := LEANS.match(LEAD.sub("", text))) is not None:
            text = LEAD.sub("", text)[lean.end() :]
    elif how == "sentence" or SENTENCE.search(text.split(",")[0]):
        leans = list(LEANS.finditer(text))
        if not leans and (how == "sentence" or len(text.split()) > LONGEST_BARE):
            return None
        text = text[leans[-1].end() :] if leans else text
    else:
        text = re.split(r"(?<=[.!?])\s", text)[0]
        if how == "paragraph" and len(text.split()) > LONGEST_BARE:
            return None
    return LEAD.sub("", GROUNDS.sub("", LEAD.sub("", text))).strip(" .,;:!?-")


def _parts(name: str) -> Named:
    """Take a name apart."""
    if SERIES.match(name):
        name = re.sub(r",\s*(?:(?:or|and)\s)?", " or ", name)
    first, *others = [part for part in GLOSS.split(name) if re.search(r"\w", part)]
    head, *tails = TAIL.split(first)
    glosses: list[str] = []
    for part in others:
        before, *after = TAIL.split(part)
        if not head.strip() or JOINT.match(f" {part}"):
            # `Infarction (NSTEMI) or unstable angina`
            head, tails = f"{head} {before}", [*tails, *after]
        elif TAIL.match(part):
            tails += after
        else:
            glosses.append(LEAD.sub("", part))
    joint, of_cause, named = (
        tuple(part.strip() for part in parts if re.search(r"\w", part))
        for parts in (JOINT.split(f"{head} "), tails, glosses)
    )
    return Named(name, joint or (name,), of_cause, named)
