"""Extract the final diagnosis of a reply: the words that name it, without their sentence and the reasons for it.

If several diagnoses are ranked, the first counts. `equipoise.text.conclusions` finds the statement; the patterns below
first cover how a statement accepts a diagnosis as likely, sets it aside or withholds it.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from equipoise.text.conclusions import HEADING, MARKUP, REFUSAL, SUMMARY, UNDECIDED, How, statements
from equipoise.text.patterns import caseless, end_of_match

PASSIVE = r"(?!\W*(?:$|[.,;:()])|\s+(?:by|on|with|from|given|because|as|since|here|after|in|so|hence|and|now)\b)"
"""Not the end of a clause, where `embolism ruled out` sets aside what comes before, not what follows."""
SET_ASIDE = caseless(
    r"\b(?:rather than|instead of|as opposed to|unlike|mimicking|masquerading as|mis\w+ (?:by [^,;.]{1,40}? )?(?:as"
    rf"|for)|(?:confused|conflated|mixed up) with|passed off as|but not|less likely(?! than)"
    rf"|ruled? out{PASSIVE}|excluding|(?<=more likely )than|(?<=more probable )than|(?<!does )(?<!do )(?<!did )"
    r"not(?! less))\b(?:(?!\bbut\b)[^,;.])*"
    r"|\bwhat (?:may |might |could |at first )?(?:look|seem|appear|present|start|began|begin|sound)\w* (?:like|as"
    r"|to be)\b"
    r"[^.;]{1,80}?(?=\b(?:is|was|turns)\b)"
    r"|\b(?:while|although|though|whereas|despite|besides)\b[^,;.]{0,400}(?:,|$)"
)
"""Parts of a statement that name a diagnosis only to set it aside."""
CLAUSE = re.compile(r"\s*;\s+|,?\s+\b(?:but|yet|however,?)\s+")
ASIDE = caseless(
    r"\b(?:unlikely|improbable|(?:was|were|been|be) (?:also )?(?:considered|excluded|ruled out|possible|suggested)"
    r"|(?:is|are|remains?) (?:also )?(?:possible|considered)|rule out|to exclude|can be (?:excluded|ruled)|could mimic"
    r"|can mimic|differential (?:also )?(?:includes?|diagnos\w+))\b"
)
"""Words of a clause that sets aside the diagnosis it names, if another clause concludes."""
WITHHELD = caseless(
    r"\bno (?:\w+ ){0,2}diagnosis (?:can|could|is|was)\b|\bbefore (?:an?|any|the) (?:\w+ )?diagnosis\b"
    r"|\b(?:cannot|can't|can not|could not|unable to|not possible to|impossible to)\b[^.;,]{0,40}"
    r"\b(?:diagnos\w+|determine)|\bdiagnosis\b[^.;,]{0,20}\b(?:cannot|can't|can not|could not)\b"
)
"""Words of a clause that says that no diagnosis is possible."""
NOTHING = caseless(
    r"^\W*(?:n/?a\b|none\b|unknown|unclear|undetermined|indeterminate|inconclusive|uncertain|pending"
    r"|insufficient (?:information|data|evidence)|deferred|unspecified\W*$|more (?:information|data)"
    r"|further (?:information|data|test\w*|evaluation)|no (?:\w+ ){0,2}(?:diagnosis|answer|disease)\b|to be determined)"
)
"""Text in place of a diagnosis when none is given."""
VAGUE = caseless(
    r"(?:(?:an?|the|some|any|his|her|their|this|that|it|other|another|one|these|those|many|several|various|multiple|few"
    r"|different|underlying|serious|significant|acute|chronic|possible|clinical|primary|secondary|specific|organic"
    r"|medical|physical|biological|cardiac|cardiovascular|pulmonary|respiratory"
    r"|neurologic(?:al)?|gastrointestinal|abdominal|psychiatric|psychological|metabolic|infectious|inflammatory"
    r"|systemic|autoimmune|vascular|treatable|of|or|and|origin|[ae]*etiology|cause|process|condition|pathology|problem"
    r"|issue|diagnosis|illness|disease|disorder|source|nature|emergency|concern|findings?|patient"
    r"|conditions|causes|disorders|diagnoses|possibilities|problems|illnesses|diseases)\b\W*)+"
)
"""Words for a kind of cause, which do not name a diagnosis."""

BY_FAR = r"(?:(?:the|my|our|an?|by|far|single|overall|strongly|highly|very|therefore|thus|clearly|now|also|still) )*"
LIKELY = (
    r"(?:(?:most|more) (?:likely|probable|plausible|appropriate|fitting)|likeliest|best|leading|primary|working|final"
    r"|top|main|principal|correct|likely|probable)\b"
)
MOST_LIKELY = BY_FAR + LIKELY
LESS_LIKELY = caseless(r"\b(?:less|not as) (?:likely|probable) (?:than|as)\s+(?P<named>.+)")
"""`Anxiety is less likely than tuberculosis`."""
MAKES = caseless(
    rf"\b(?:mak(?:es?|ing)|made|leav(?:es?|ing)|renders?)\s+(?!(?:it|this|that|them|these)\b)(?P<named>[^.;]{{2,120}}?)"
    rf"\s+(?:as\s+)?{MOST_LIKELY}"
)
"""`The signs make tuberculosis the most likely diagnosis`."""
AFTER = caseless(
    rf"^(?P<named>.+?)\s*(?:,\s*)?\b(?:(?:is|are|remains?|was|would be|should be|being|seems?|appears?|becomes|as)"
    rf"\s+(?:to be )?(?:{MOST_LIKELY}|at the top\b|(?:the|my) (?:diagnosis|answer)\b"
    rf"|(?:(?:strongly|highly|clearly|well) )?(?:suspected|supported|favou?red|warranted|confirmed|established|made)\b)"
    rf"|best (?:explains|fits|accounts for|matches)\b|(?:fits|explains)\b[^.;,]{{0,40}}\bbest\b|is the diagnosis\b)"
)
"""`Tuberculosis remains the most likely diagnosis`: the named diagnosis comes before."""
SUBJECT = caseless(
    r"^\W*(?:(?:and|so|thus|hence|the|an?|my|this|that|these|those|his|her|their"
    # Not `the` and the like before `likely`, which are matched already: a second way to match doubles the time.
    rf"|(?:(?:our|by|far|single|overall|strongly|highly|very|therefore|clearly|now|also|still) {BY_FAR})?{LIKELY}) )*"
    r"(?:diagnos[ei]s|explanation|cause|condition|answer|impression|problem|culprit|he|she|it|they|this|that|these"
    r"|patient"
    r"|man|woman|symptoms?|presentation|findings?|picture|features?|case|history|signs?|evidence|combination"
    r"|constellation|what)\b"
)
"""Subjects of a verb that are not a diagnosis."""
NAMES = caseless(
    r"\b(?:diagnos[ei]s|explanation|cause|condition|answer|impression|problem|illness|conclude|conclusion|concern"
    r"|hypothesis|suspicion|culprit|fit)\b"
    r"(?:(?:[^.;:,]{0,60},[^.;:]{0,200},)??[^.;:,]{0,50}?\b(?:is|was|are|be|remains|of|as|that|about|for)\b|\s*:)"
    r"(?:\s+(?:most|highly|very|best|likely|probably|to be|considered)\b)*"
    r"(?:\s+that\b[^,;.]{0,30}\b(?:has|have|is))?"
    r"|\bdiagnosed\b[^.;,]{0,20}?\b(?:with|as)\b|\bI(?:'d| would)? diagnose\b|\b(?:go|going) with\b"
)
"""`The most likely diagnosis is tuberculosis`: the named diagnosis comes after."""
LEANS = caseless(
    r"\b(?:consistent|compatible|in keeping|align\w*[^.;,]{0,20}?) with\b|\bpoint\w*\b[^.;,]{0,30}?\bto(?:wards?)?\b"
    r"|\b(?:suggest|favou?r|support|indicate|represent|confirm)s?\b(?: an?\b)?(?: (?:the )?diagnosis of\b)?"
    r"|\b(?:suggestive|indicative|diagnosis) of\b|\b(?:classic|specific|typical|characteristic|diagnostic|pathognomonic"
    r"|concerning|suspicious) (?:for|of)\b|\b(?:concern|suspicion)s? (?:for|of|about)\b|\bconcerned about\b"
    r"|\b(?:classic|textbook|typical|clear|cardinal|hallmark|characteristic|clinical)(?: \w+)?"
    r" (?:features?|signs?|presentation|picture|case|example|symptoms?|manifestations?) (?:is (?:that )?)?of\b"
    r"|\bcase of\b|\bpicture (?:is )?(?:that )?of\b|\bexplained by\b|\bseen in\b|\bfits? with\b|\bcriteria for\b"
    r"|\b(?:symptoms?|presentation|findings|picture|signs|pain|complaints?|episodes?|changes|this|these)\b[^.;,]{0,30}"
    r"\b(?:is|are|was|were|be)\b[^.;,]{0,25}?\b(?:due|caused|attributable|secondary|related)\b (?:to|by)\b"
    r"|\blean\w* towards?\b|\bin line with\b|\bin favou?r of\b|\battributable to\b|\b(?:stem|result)s? from\b"
    r"|\b(?:impl(?:y|ies)|establish(?:es)?|describes?|match(?:es)?|corresponds? to)\b(?: an?\b)?"
    r"|\bsuffer\w* from\b|\bgo(?:ing)? with\b|\bexperiencing\b|\blooks? like\b|\bsuspect(?:ed|ing)?\b"
)
"""`The findings point to tuberculosis`."""
HAS = caseless(r"(?<!should )(?<!would )(?<!could )\b(?:has|have|had|developed|having|this is)\b(?! been\b)")
"""`She has tuberculosis`: used if no clearer pattern matches."""
SENTENCE = caseless(
    r"^(?:given|based|in)\b|\b(?:presentation|findings?|symptoms?|picture|features?|case|history|signs|patient|he|she"
    r"|they|these|this|it|results?|combination|constellation|pattern|evidence|tests?|examination)\b"
)
"""Words that occur in a sentence but not in a bare name."""
VERB = caseless(
    r"\b(?:is|are|was|were|be|should|would|could|can|cannot|will|needs?|must|may|might|includes?|I|thank|please"
    r"|consult|seek|important|recommended|advis\w+)\b"
)
"""Words that occur in advice, a question or an account but not in a bare name."""
REASONS = caseless(
    r"[,;]?\s*\b(?:because|since|supported by|evidenced by|characteri[sz]ed by"
    r"|as (?:evidenced|suggested|indicated|shown) by|which|making (?:it|this)\b)"
)
"""The start of the reasons for a diagnosis."""

MARKS = re.compile(r"[*_`>\\{}$|]+|\b(?:boxed|text)\b(?=\s*\{)|(?<=\\)(?:boxed|text)\b")
TAGS = caseless(r"</?(?:b|i|u|em|strong|p|br|h\d|span|div|li|ul|ol)\s*/?>")
HYPHENS = re.compile("[\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{EN DASH}]")
OPTION = re.compile(r"^\W*(?:\(?[A-H][.):]|\(?\d{1,2}[.)])\s+")
"""The letter or the number before an answer."""
GROUNDS = caseless(
    r"[,;]?\s*\b(?:given|because|based on|as (?:evidenced|suggested|indicated|supported|the|he|she|it|they|this)\b"
    r"|since|considering|in (?:view|light) of|which|that|supported by|evidenced by|characteri[sz]ed by|until"
    r"|requir\w+|warrant\w*|and (?:requires?|needs?|should|is|was|warrants?|must)|but|however|differential"
    r"|alternative\w*|according to|per the|although|though|needs?|should|consider|than|followed by|making (?:it|this)"
    r"|in (?:a|this|the) (?:patient|man|woman|context of (?:a|the|his|her))"
    r"|is the|are the|in an? \w+-year|icd(?:-\d+)?)\b.*"
    r"|;\s*(?:obtain|order|start|begin|initiate|refer|admit|treat|recommend|perform|proceed|urgent|rule)\b.*",
    re.DOTALL,
)
"""The end of a name, where its reasons begin."""
LEAD = caseless(
    r"^(?:\W|\d{1,2}[.)]\s|\b(?:an?|the|that of|of|most|likely|probabl[ey]|suspect(?:ed)?|presumed"
    r"|presumptive|possibl[ey]|is|he|she|has|patient|case|diagnosis|having|been|definitely|certainly|clearly|single"
    r"|overall|strongly|but|either"
    r"|so|therefore|thus|hence|it|this|highly|very|best|to be|classic|textbook|presents? with)\b(?!-))*"
)
PERSON = caseless(
    r"^\W*(?:an? )?(?:(?:\d+[- ]year[- ]old|young|elderly|middle-aged)?[- ]?(?:\w+ )?(?:man|woman|male|female|patient)"
    r"|\d+ ?(?:[MF]|y/?o\w?)) (?:with|who has)\s+"
)
JOINT = caseless(r"\s*[,;]?\s+(?:and/or|or|and|versus|vs\.?|plus)\s+|\s*[/;+&]\s*")
"""Separators of diagnoses of equal rank."""
SERIES = caseless(
    r"^(?!.*\b(?:likely|probabl|possib|with\b|due\b|extend))[^,()]{1,40},(?:[^,()]{1,40},)* ?(?:[^,()]{1,40} )?"
    r"(?:or|and) [^,()]{1,40}$"
)
"""A list of diagnoses that ends in `or`."""
TAIL = caseless(
    r",?\s*\b(?:(?:likely|probably|most plausibly|mainly|possibly|most commonly|often) )?(?:due to|secondary to"
    r"|caused by|resulting from|as a result of|from|with|complicated by|in the (?:context|setting) of"
    r"|on a background of|related to|associated with|superimposed on|leading to|causing|following|after|triggered by"
    r"|precipitated by|progressing to|evolving into|presenting as|accompanied by|producing|involving)\b"
)
"""Words that join a diagnosis to its cause or its consequence."""
GLOSS = re.compile(r"\s*[()\[\]]\s*|\s*[—:]\s*|\s+-+\s+|,\s+")
"""Separators between a diagnosis and another name of it, or details of its kind."""
LONGEST_BARE = 14
LONGEST_NAME = 2000
LONGEST_STATEMENT = 20_000
"""Characters of a statement that are read; longer statements are repetitions."""
HEDGED = caseless(
    r"^\W*(?:or |and )?(?:possibl[ey]|perhaps|maybe|potentially|conceivably|vs\.?|versus|alternatively|consider"
    r"|could be|might be|may be)\s+(?!due\b|from\b|secondary\b|with\b)"
)
"""Words that introduce a diagnosis that is merely possible beside the named one."""
CONTINUES = caseless(r"^\s*(?:type|stage|grade|class|specifically|likely|probably|possibly|or|and|including)\b")
"""Words that continue a name after a comma."""


class Named(NamedTuple):
    """A final diagnosis as stated, and its parts: those named jointly, cause or consequence, glosses, alternates.

    A gloss is another name or a detail of the kind; an alternate is merely possible beside the diagnosis.
    """

    whole: str
    joint: tuple[str, ...]
    tails: tuple[str, ...]
    glosses: tuple[str, ...]
    alternates: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def final_diagnosis(reply: str) -> Named | None:
    """Return the final diagnosis of a reply, the first if it ranks several; None if it names none.

    A statement that names only a kind of cause (`a cardiac problem`) is passed over for the next best.
    """
    reply = TAGS.sub("", reply.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    refused = REFUSAL.search(reply) is not None
    for statement in statements(reply):
        if statement.how == "paragraph" and refused:
            return None
        stated = reply[statement.start : min(statement.end, statement.start + LONGEST_STATEMENT)]
        if heading := HEADING.match(stated) or SUMMARY.match(stated):
            stated = stated[heading.end() :]
            stated = stated[end_of_match(MARKUP, stated, 0, len(stated)) :]
        text = OPTION.sub("", " ".join(HYPHENS.sub("-", MARKS.sub("", stated)).split()))
        name = _name(_conclusion(text), statement.how)
        undecided = any(no.search(words) for no in (UNDECIDED, NOTHING) for words in (text, name or ""))
        if statement.how == "heading" and undecided:
            return None
        if name and re.search(r"\w", name) and not any(no.match(name) for no in (UNDECIDED, NOTHING)):
            return _parts(name)
    return None


def _conclusion(text: str) -> str:
    """Remove the clauses, and parts of clauses, that set a diagnosis aside from a statement."""
    text = re.sub(r"\b(vs)\.", r"\1", text, flags=re.IGNORECASE)
    clauses = [clause for clause in CLAUSE.split(text) if re.search(r"\w", SET_ASIDE.sub(" ", clause))]
    concluding = [clause for clause in clauses if not ASIDE.search(clause) and not WITHHELD.search(clause)]
    concluding = concluding or [clause for clause in clauses if not WITHHELD.search(clause)]
    return " ".join(SET_ASIDE.sub(" ", "; ".join(concluding)).split())


def _name(text: str, how: How) -> str | None:
    """Return the words of a statement that name the diagnosis; None if it has none, or only vague ones."""
    if match := LESS_LIKELY.search(text) or MAKES.search(text):
        text = match["named"]
        text = _after_lean(text) or text
    elif (match := AFTER.search(text)) and (named := _subject(match["named"])):
        text = named
    elif names := NAMES.search(text):
        text = text[names.end() :]
        if (lean := LEANS.match(LEAD.sub("", text))) is not None:
            text = LEAD.sub("", text)[lean.end() :]
    else:
        stripped = LEAD.sub("", text)
        lean = LEANS.match(stripped)
        is_sentence = how == "sentence" or SENTENCE.search(text.split(",")[0]) is not None
        if how == "paragraph":
            is_sentence = SENTENCE.search(text) is not None or VERB.search(text) is not None
        leant = stripped[lean.end() :] if lean else _after_lean(text) if is_sentence else None
        first = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
        if leant is None and (how != "heading" or is_sentence) and not _is_bare(first, how):
            return None
        text = leant or first
    text = re.split(r"(?<=[a-z)][.!?])\s+(?=[A-Z])", text, maxsplit=1)[0]
    name = LEAD.sub("", GROUNDS.sub("", LEAD.sub("", PERSON.sub("", LEAD.sub("", text))))).strip(" .,;:!?-")
    return None if VAGUE.fullmatch(name) else name


def _after_lean(text: str) -> str | None:
    """Return the text after the last words that point to a diagnosis, outside its reasons; None without such words."""
    for cue, part in ((LEANS, REASONS.split(text)[0]), (LEANS, text), (HAS, REASONS.split(text)[0])):
        if leans := list(cue.finditer(part)):
            return text[leans[-1].end() :]
    return None


def _subject(named: str) -> str | None:
    """Return the words before `is the most likely diagnosis` that name it; None for a pronoun."""
    pieces = re.split(r",\s|\bthat\b|;\s", named)
    place = len(pieces) - 1
    while place and CONTINUES.match(pieces[place]):
        place -= 1
    last = ", ".join(pieces[place:])
    if leans := list(LEANS.finditer(last)):
        return last[leans[-1].end() :]
    return None if SUBJECT.match(last) else last


def _is_bare(text: str, how: How) -> bool:
    """Whether a text is short and has no verb, so that it may be a bare name."""
    rest = GROUNDS.sub("", LEAD.sub("", text))
    return len(text.split()) <= LONGEST_BARE and (how == "heading" or not VERB.search(rest))


def _parts(name: str) -> Named:
    """Split a name into its parts; only the beginning of an overlong name is read."""
    name = name[:LONGEST_NAME]
    if SERIES.match(name):
        name = re.sub(r",\s*(?:(?:or|and)\s)?", " or ", name)
    first, *others = [part for part in GLOSS.split(name) if re.search(r"\w", part)]
    head, *tails = TAIL.split(first)
    glosses: list[str] = []
    alternates: list[str] = []
    for part in others:
        before, *after = TAIL.split(part)
        if HEDGED.match(part) and head.strip():
            alternates.append(HEDGED.sub("", part))
            name = name.replace(part, " ")
        elif not head.strip() or JOINT.match(f" {part}"):
            # `Infarction (NSTEMI) or unstable angina`
            head, tails = f"{head} {before}", [*tails, *after]
        elif TAIL.match(part):
            tails += after
        else:
            glosses.append(LEAD.sub("", part))
    joint, *rest = (
        tuple(part.strip() for part in parts if re.search(r"\w", part))
        for parts in (JOINT.split(f"{head} "), tails, glosses, alternates)
    )
    return Named(name, joint or (name,), *rest)
