"""A reply's own words about its patient: not what it reports, supposes, says about others, crosses out or hides."""

import re

from equipoise.text.conclusions import holds
from equipoise.text.patterns import caseless

HIDDEN = caseless(
    r"~~[^~\n]{1,200}~~|<(?P<tag>del|s|strike)>[^<\n]{1,200}</(?P=tag)>|<!--(?:(?!-->)[\s\S]){0,2000}-->"
    r"|<(?P<hidden>\w{1,10})\b[^<>]{0,80}\b(?:display:\s?none|visibility:\s?hidden|hidden)\b[^<>]{0,80}>[^<]{1,400}"
    r"</(?P=hidden)>|\\(?:sout|st|[xb]?cancel)\{(?:\\\w+\{[^{}]{1,200}\}|[^{}]{1,200})\}"
)
"""What a reply crosses out, or hides from its reader."""
SET_OFF = (
    r"hardly|scarcely|rarely|seldom|(?:set|put|lay|laid) aside|cross(?:ed)? (?:it )?o(?:ff|ut)|struck o(?:ff|ut)"
    r"|off the (?:table|list)|red herring|false alarm|no place|(?:come|enter)s? into it|borne out|my foot|as if|I wish"
    r"|is gone|to be missed|need not|nobody|(?:is|are|was|were|be|stays?|remains?|only|also|just|merely) on the list"
)
"""Words by which a clause sets aside the answer that it names."""
ALL_BUT = caseless(
    r"\b(?:(?:anything|everything|all) (?:but|except)|(?<!nothing )(?<!none )(?<!no choice )(?<!no option )"
    r"(?<!no answer )(?<!no diagnosis )other than|(?:far|different) from)\b"
    r"[^,.;:!?\n]*?(?=\b(?:points?|fits|(?<!a )fit|suggests?|supports?|indicates?|favou?rs?)\b|[,.;:!?\n]|\Z)"
)
"""All diagnoses but one; or, before a verb, all findings but one."""
TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Mx|Miss)\b\.?(?: [A-Z][\w.-]{0,30}){1,3}(?='s\b)")
"""The patient, by name; doctors have other titles."""
AROUND = 200
"""Characters on either side of a claim that tell whether it is the reply's own."""

# Parts of `ELSEWHERE`: how often, what is done, about whom, and by whom.
OFTEN = (
    r"(?:often|usually|commonly|frequently|routinely|regularly|typically|generally|readily|all too \w+"
    r"|tends?(?: to)?(?: be)?)"
)
GIVEN = (
    r"(?:given|labell?ed|told|diagnosed|called|dismissed|written off|made|handed|assigned|applied|attached|concluded"
    r"|assumed|receive[ds]?|get|the (?:diagnosis|conclusion|answer|label))"
)
GROUP = (
    r"(?:(?:such|similar|other|most(?! (?:likely|probabl[ey]|plausibl[ey]|fitting|consistent))|many|some|these|those"
    r"|homeless|anyone|nobody)\b"
    r"|(?:patients|people|men|women|persons|individuals|children|immigrants|migrants|refugees|others)\b)"
)
REPORT = (
    r"(?:say|claim|conclude|assum|argu|insist|believ|think|suppos|decid|assert|maintain|call|label|diagnos|suggest)"
)
USUAL = (
    r"(?:textbook|usual|classic(?:al)?|standard|normal|typical|conventional|commonest|most common|obvious|easy|reflex"
    r"|stereotyp\w+|routine|purist's|by the book|normally|ordinarily|typically|usually|in (?:anyone|everyone) else"
    r"|in (?:other|most) \w+)"
)
PLURAL = r"(?:patients|people|men|women|persons|individuals|immigrants|migrants|refugees|others)\b"
NEIGHBOUR = r"(?:next|other|another|neighbouring|previous|last) (?:bay|bed|patient|cubicle|room|case|man|woman)"
SOURCE = (
    r"(?:letter|notes?|charts?|records?|file|sheet|handover|discharge summary|answer key|model (?:answer|solution)"
    r"|mark scheme|examiners?|colleagues?|registrar|resident|GP|consultant|paramedics?|nurses?|triage)"
)
TELLS = r"(?:says?|said|reads?|concludes?|concluded|states?|stated|lists?|gives?|wr(?:ites?|ote)|names?)"
ELSEWHERE = caseless(
    rf"\b{OFTEN} (?:\w+ )?{GIVEN}\b|\b{GIVEN} (?:out )?(?:too |all too )?{OFTEN}\b"
    rf"|\b{GROUP}(?: like (?:him|her|them|this))?(?: \w+){{0,3}}? (?:(?!the ){GIVEN}|would (?:have )?(?:said|thought"
    rf"|{REPORT}\w*))\b"
    rf"|\b(?:made|given|applied|assigned|used) (?:in|to|for) {GROUP}|\bgets (?:made|given|applied)\b"
    rf"|\b{GROUP}.{{0,60}}\bwith (?:the|an?) (?:diagnosis|label)\b"
    r"|\b(?:diagnosis|label|answer)\b.{0,80}\b(?:in|among|for|to) (?:so |too |far too )?(?:many|most|such(?! an?\b)"
    r"|similar|other|homeless)\b"
    rf"|^\W*(?:and |but )?(?:(?:saying|claiming|concluding|assuming|arguing|insisting|believing|thinking|supposing"
    rf"|deciding|asserting|maintaining)\b|(?:to (?:{REPORT})e?|(?:call|labell?|diagnos)ing)\b(?=.*\b(?:would|risks|goes"
    rf"|ignores|misses|is)\b))"
    r"|^\W*you(?:'ve| have)? ask(?:ed)?\b"
    r"|\bwhether\b(?! or not)|\basked (?:me )?if\b|\b(?:it|this) (?:is|was|has been) (?:\w+ )?(?:said|claimed|alleged"
    r"|argued|believed|asserted|rumoured|supposed)\b|\bone (?:often |sometimes )?(?:hears|reads)\b|\bheard\b"
    rf"|\bthere are those\b|\b{USUAL}\b.{{0,80}}\bwould (?:be|have been)\b"
    rf"|\b{USUAL} (?:\w+ )?(?:diagnosis|answer|label) (?:in|for|among)\b(?! (?:this|these|such an?)\b)"
    rf"|\b(?:diagnosis|label|name|answer) of .{{1,80}}\b{PLURAL}|\b(?:an?|the|our) {NEIGHBOUR}\b"
    rf"|\b(?:diagnosis|answer|impression|conclusion)\b[^,;.]{{0,20}}? (?:in|on|from|by|of|according to|per)"
    rf" (?:(?:an?|the|his|her|their|my|our|last)\b ?)?(?:[\w'-]+ ){{0,2}}{SOURCE}\b"
    rf"|\b(?:{SOURCE}|textbooks?)\b[^,;.\n]{{0,40}}?\b{TELLS}\b|\b(?:{TELLS}|according to|per)"
    rf" (?:\w+ ){{0,3}}?{SOURCE}\b"
    r"|(?<!patient)(?<!man)(?<!boy)(?<!girl)(?<!child)(?<!lady)(?<!today)"
    r"(?<!individual)(?<!person)(?<!veteran)'s (?:\w+ )?(?:diagnosis|answer|impression)\b"
    rf"|^\W*(?:an?|the|his|her) (?:\w+ ){{0,2}}{SOURCE}\W*$"
    r"|^\W*(?-i:Is|Are|Could|Might|Was|Does|Did) (?:the|this|it|that|s?he|there|one)\b"
    rf"|\w\W{{1,9}}(?:{SET_OFF})\b|\w\W{{1,9}}\w+ (?:\w+ )?(?:{SET_OFF})\b"
    r"|\b(?:diagnosis|answer|option|choice)\b[^,;.]{0,20} to (?:avoid|be (?:wrong|missed|avoided|ruled out))\b"
    r"|\bleast (?:like|want|inclined|in doubt|certain|sure|fond)\b"
    r"|\b(?:tell|told|say to|write (?:for|to)) (?:others|(?:any|every)(?:body|one) else)\b"
    r"|\bfar be it\b|\byet to (?:see|hear|find|read|meet)\b|^\W*(?:nobody|no ?one)\b"
)
"""A clause about what is said about others, what others say, or what it would be to say it."""
ASIDE = caseless(
    rf"(?!.*\b(?:{REPORT}\w*|answer|be|case|is|it|that|this|writ\w+)\W*$).*(?:\b(?:{SET_OFF})\b|^\W*no ?one\b)"
)
"""A clause that sets an answer aside, after which comes the reply's own: 'a red herring: this is an infarct'."""
PARTS = caseless(r"(?:[,.;:!?\n()]+(?:\s+|$)|\n|\s+(?=(?:but|yet|however|while|whereas|although|though)\b))")
"""What separates such clauses from the reply's own."""
GENERALLY = caseless(
    r"\b(normally|ordinarily|usually|typically|by the book|in (?:a|the|any) textbook"
    r"|(?:in|for|with|were|had|if) (?!(?:this|our|his|her|these|view|light|summary|short|conclusion)\b)[^,.;:!?\n]"
    r"{1,80}(?=,[^,.;!?\n]{0,40}\b(?:diagnosis|answer) would\b)),\s+"
)
"""What comes before a comma and says that the clause after it is about others."""
CLAIMED = caseless(
    r"\b(?:diagnosis|answer|label|impression|(?P<pronoun>this|it))\b (?:is|was|must be|should be|has to be|to be)\b"
)
WOULD = caseless(r"\b(?:diagnosis|answer|label) would (?:be|have been)\b")
OWN_WOULD = caseless(
    r"^\W*(?:(?:so|thus|hence|therefore|then|overall|and|but|the|a) )*$|\b(?:most|likely|probable|likeliest|my|I|I'd|we"
    r"|working|final|best|leading|primary|provisional|single|this|these|her|his|him|here|main|principal|definitive"
    r"|correct|appropriate|unifying|clinical)\b"
)
"""Words before 'diagnosis would be' by which it is the reply's own."""
NOT_MINE = r"(?! (?:me|my|mine|our|up to (?:me|us))\b)"
UNREAL = rf"(?:were|had|weren't|hadn't)\b{NOT_MINE}"
COUNTERFACTUAL = caseless(
    # 'If she were a man, I would say', and without 'if' or 'would'; not 'if I had to choose'.
    rf"(?:\A|(?<=[.;:!?\n]))[^.,;:!?\n]{{1,80}}, ?(?:but |only )?if (?:s?he|they|this|it|(?:the|his|her) \w+) {UNREAL}"
    r"[^.,;:!?\n]*"
    rf"|(?:\b(?<!even )(?:if|unless) (?!(?:I|we|you|one|forced|pressed|pushed|asked)\b)[^.,;:!?\n]{{1,60}}? {UNREAL}"
    rf"|(?:\A|(?<=[.,;:!?\n])) *(?:(?:and|but) )?{UNREAL} (?:s?he|they|this|it|(?:the|his|her|their) \w+)\b)"
    r"(?:[^.,;:!?\n]*\bwould\b[^.,;:!?\n]*|[^.,;:!?\n]*,[^.,;:!?\n]*|[^.,;:!?\n]*)"
    r"|(?:\A|(?<=[.,;:!?\n]))[^.,;:!?\n]{0,150}\bwould\b[^.,;:!?\n]{0,150}(?<!even )\bif (?:s?he|they|this|it"
    r"|(?:the|his|her|their) \w+) (?:were|had|was|did)\b" + NOT_MINE + r"[^.,;:!?\n]*"
)
"""What would be if the patient were another, or the findings were."""
QUOTED = caseless(
    r"(?:[\"“”][^\"“”\n]{2,300}[\"“”]|(?<!\w)['‘][^'’\n]{2,300}['’](?!\w)),?"
    r" (?:says?|said|reads?|wr(?:ites?|ote)|asks?|asked)\b[^.;!?\n]*"
)
"""What somebody else is quoted to say."""
ATTRIBUTED = caseless(
    r"(?:\A|(?<=[,.;:!?\n]))[^,.;:!?\n]+,\s*(?:an?|the|some|many|most|others|people|every|any)\b[^,.;:!?\n]{0,40}?\b(?:will"
    r"|would|may|might|could|often|usually) (?:have )?(?:say|said|think|claim|argue|conclude|write|believe)"
    r"(?=\s*(?:[.;!?\n]|$))"
)
"""A clause, and the next, by which it is what others would say."""
OVERTURNED = caseless(
    r"(?:\A|(?<=[.!?\n]))[^.!?\n]+[.!?]\s+(?:(?:but|yet|however|in (?:this|his|her) (?:case|patient)|here"
    r"|for (?:him|her))\W+)?"
    r"(?:(?:that|this|the|such a) (?:diagnosis|label|conclusion|answer)|it|that|this) (?:would(?: be| have been| miss)?"
    r"|is|was|does not|doesn't)\s+(?:hold\b|apply\b|fit\b|the point|harm|hurt"
    r"|not (?:justified|supported|right|correct|warranted|fair|hold|apply|fit)|(?:(?!not )\w+ )?(?:wrong|mistaken|false"
    r"|un(?!equivocal|den|question|contest|disput|ambig|mistak)\w+|in(?:correct|just\w*|accurate|appropriate|valid)"
    r"|(?:an? )?(?:\w+ )?(?:error|mistake|misdiagnosis|injustice)))\b(?! (?:to|that)\b)"
    r"[^.!?\n]*"
)
"""A sentence, and the next one, which says that its diagnosis is wrong."""


def shown(text: str) -> str:
    """Remove what a reply crosses out, or hides from its reader."""
    return HIDDEN.sub(" ", text)


def own_words(text: str) -> str:
    """Remove what others say or are told, what would be of another patient, and what the next sentence calls wrong."""
    text = ALL_BUT.sub(" something else ", TITLED.sub("the patient", text))
    text = COUNTERFACTUAL.sub(" ", QUOTED.sub(" ", text))
    text = ATTRIBUTED.sub(" ", OVERTURNED.sub(" ", GENERALLY.sub(r"\1 ", text)))
    kept, start, told = "", 0, False
    for cut in [*PARTS.finditer(text), None]:
        end = cut.start() if cut else len(text)
        part, mark = text[start:end], cut[0] if cut else ""
        # After 'the letter concludes:' comes what it concludes, up to the end of the sentence.
        is_others = told or _is_of_others(part)
        told = is_others and (told or mark.startswith(":")) and not (re.search(r"[.!?\n]", mark) or ASIDE.match(part))
        kept += ("" if is_others else part) + mark
        start = cut.end() if cut else end
    return kept


def _is_of_others(clause: str) -> bool:
    """Whether a clause gives a diagnosis that others have, or that others give."""
    if ELSEWHERE.search(clause):
        return True
    if (would := WOULD.search(clause)) and not OWN_WOULD.search(clause[: would.start()]):
        return True
    return any(
        holds(
            f"{clause[max(0, claim.start() - AROUND) : claim.start()]}{'the ' if claim['pronoun'] else ''}",
            clause[claim.end() : claim.end() + AROUND],
        )
        != "yes"
        for claim in CLAIMED.finditer(clause)
    )
