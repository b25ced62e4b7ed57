"""Read the answer letter from a response to a multiple-choice question.

The reply is rewritten plainly: phrases of other languages in English, no markup, no question that the model goes on
with. Every place where it names an option, by its letter or its words, is marked; then rules are tried in order, and
the first that finds an option decides. If a letter and the words beside it belong to different options, the letter
decides, as in the published gradings. Where no rule is sure, the reply is unread: a wrong letter is worse than none.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from equipoise.text.conclusions import REFUSAL as REFUSING
from equipoise.text.languages import to_english
from equipoise.text.letter_marks import Mark, find_marks, tokens_of
from equipoise.text.patterns import caseless, end_of_match, normalize_unicode
from equipoise.text.reasoning import strip_thinking


class LetterReading(NamedTuple):
    """The option's letter, None if the response gives none, and the name of the rule that decided."""

    letter: str | None
    rule: str


class Reply(NamedTuple):
    """A reply as the rules see it: plain text, the places that name an option, and the options' words."""

    text: str
    marks: Sequence[Mark]
    options: Mapping[str, str]


UNPARSED: Final = "unparsed"
REFUSAL: Final = "refusal"
UNFINISHED: Final = "unfinished_thinking"
NONE: Final = ""
"""What a rule returns if the reply gives no option, whatever the rules after it find."""

ANSWER_TAG = caseless(r"[<\[](?:final[_ ]?)?(?:answer|choice|selected_option)[>\]]")
MARKUP = caseless(
    r"~~[^~\n]{1,200}~~|\w\u0336|\*+|`+|\$+|__|\\(?:text|math)(?:bf|rm|sf|it|tt|bb|cal|normal)?(?![a-z])"
    r"|\\(?:bm|boldsymbol|underline|displaystyle|left|right|large|huge|,|;|!)(?![a-z])"
    r"|</?(?:answer|content|final|final_answer|choice|selected_option|b|strong|em|i|u|p|br|div|span|reasoning)\s*/?>"
    r"|\[/?(?:final[_ ]?)?answer\]"
    r"|<\|[a-z_]+\|>|</?s>|[\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufe0f\U0001f3fb-\U0001f3ff]"
)
GAP = re.compile(r"\s{41,}")
"""Long white space, which no rule crosses; it is shortened so that rules do not scan it many times."""
NEXT_QUESTION = caseless(
    r"(?:\n|[^\S\n]{2})[#*]{0,6}[^\S\n]{0,3}[#*]{0,4}(?:(?:next|another|new|following|sample|example)\s+)?"
    r"(?:question|q|problem|case|example|exercise|scenario|vignette|human|user|input|instruction|prompt)"
    r"\s*(?:no\.?\s*|number\s*|#\s*)?\d{0,3}\s*\**(?:[:.)](?=\D)|\n)"
    r"|<\|(?:im_start|im_end|endoftext|eot_id|start_header_id|user|end)\|>|\[/?INST\]|</s>|<(?:end|start)_of_turn>"
)
"""Where a model goes on with a question that nobody asked."""
NEXT_LIST = re.compile(r"\n[^\S\n]*\(?A[).:][^\n]*\n[^\S\n]*\(?B[).:][^\n]*\n[^\S\n]*\(?C[).:]")

# What leads to the letter of an answer.
SINGLE = r"(?:answers?|ans\b|option|choice|response|selection|solution|letter)"
NOUN = rf"(?:{SINGLE}|options?|choices?)"
HEDGE = (
    r"(?:\b(?:therefore|thus|then|hence|most|likely|likeliest|probably|possibly|perhaps|maybe|clearly|definitely"
    r"|certainly|obviously|surely|simply|indeed|actually|in fact|letter|number|option|choice|answer|choose|select"
    r"|as follows|to be|going with|I think|I believe|in my (?:opinion|view)|still|now|rather|instead|just)\b[\s:,]*)*"
    r"(?:the\s+)?(?:(?:option|letter|choice|answer)\s+)?"
)
BRACKETS = r"[\s(\[{\"'“‘<«]*"
LINK = (
    r"\s*(?:(?:\b(?:is|was|are|be|being|would|should|will|must|has to|remains|seems|appears|looks like)\b"
    r"|[=:→⇒–—]|-+>?|=>)\s*)+"
)
ASKED = r"(?:\s*\([^)\n]*\))?(?:\s+(?:to|for|here|in|of|among|that|by|according)\b[^.:\n]{0,90}?)?"
LEAD_END = rf"{HEDGE}{BRACKETS}$"
DECISION = caseless(rf"\b(?!(?<=first )answer){SINGLE}{ASKED}{LINK}{LEAD_END}")
FINAL = caseless(rf"(?:\bfinal\s+{NOUN}{ASKED}{LINK}{LEAD_END}|\\(?:boxed|fbox|framebox)\s*\{{{BRACKETS})$")
CHOICE = caseless(
    r"\bI(?:'d|'ll| would| will| shall| am|'m)?\s+(?:therefore\s+|have to\s+|must\s+|'d\s+)?(?:choose|chose|choosing|select"
    r"|selecting|pick|picking|go(?:ing)? (?:with|for)|opt(?:ing)? for|vote for|answer|say|lean(?:ing)? towards?"
    rf"|settle on|stick with|sticking with)\s+(?:with\s+)?{LEAD_END}"
)
# The question's subject replaces 'answer': 'the most likely diagnosis in this patient is B'.
PICTURE = caseless(
    r"\b(?:most (?:likely|appropriate|probable|suitable|accurate|consistent)|best|correct)\b[^.;\n]{0,140}?"
    rf"\b(?:is|would be|should be|are|with)\s+{LEAD_END}"
)
CLAIMS = (DECISION, FINAL, CHOICE, PICTURE)
CONCLUDING = caseless(
    r"(?:\b(?:so|hence|thus|therefore|consequently|but|rather|instead|actually|namely|ergo|leaves?(?: us with| only)?"
    r"|leaving|left with|down to|mak(?:es?|ing)(?: it| this)?|(?:leads?|brings?|takes?|changes?|changed)(?: me| us| this| it| that)? to|point(?:s|ing)?(?: me| us| strongly| clearly)? (?:to|towards?)"
    r"|suggests?|favou?rs?|indicates?|supports?|go(?:ing|es)? (?:with|for)|lock(?:ing|ed)?(?: it)? in(?: as)?"
    r"|lean(?:s|ing)?(?: to| towards?)?|settl(?:e|ing) (?:on|for)|stick(?:ing)? (?:with|to)|opt(?:ing)? for"
    r"|vot(?:e|ing)(?: is| goes)? (?:for|to)|bet(?: is)?(?: on)?|choos(?:e|ing)|pick(?:ing)?|select(?:ing)?|mark|tick|circle"
    r"|guess(?: is)?|say|think|believe|it(?:'s| is| was| must be| has to be| should be| would be| can only be)"
    r"|must be|has to be|should be|would be|got to be|gotta be|money(?:'s| is) on|prefer|vote(?: is)?|pick(?: is)?|match is"
    r"|fit is|is clearly|is|winner(?: is)?|final|verdict|conclusion|key|decision|result|summary|short|brief|diagnosis"
    r"|correct|best|answer|chosen|selected|lands? (?:us )?on|hence the|arrive at|only)\b"
    rf"|=>|[→⇒:–—]|->|####|\[\[|<<)\s*[:,]?\s*{LEAD_END}"
)
CLAUSE_END = caseless(
    r"[)\]}\"'”’>»]*\s*(?:$|[.!,;\n(\[{—–✓✔✅]|-\s|\b(?:because|since|as|given|based|due|for|here|then|it is|is (?:my|the)|rather than|instead of|over|to me|all day|(?:the|a|my) (?:best|most|more|correct|only|clear|obvious"
    r"|likely|right|better|strongest|answer|choice))\b)"
)
UNMEANT = caseless(
    r"(?:\b(?:options|choices)\W*|\b(?:each|every|which|what|any|anything|everything|all)\s+"
    r"|\b(?:incorrect|wrong|not (?:the|a)|not)\b[^\w.,:;!?\n]+(?:\w+[^\w.,;:!?\n]+){0,2}"
    r"|\b(?:second|third|another|alternative|other|previous(?:ly)?|initial(?:ly)?|original(?:ly)?|earlier|former|old"
    r"|false|tempting|runner-up|first instinct|first guess)\b[^\w.;!?\n]+(?:(?:best|most|likely|possible|my|the)\s+)*"
    r"|(?:n't|\bnot|\bnever|\bcannot)\s+(?:think|believe|say|agree|mean|claim|conclude|convinced|sure)\b[^.,;:!?\n]*"
    r"|(?:n't|\bnot|\bnever|\bcannot|\bwouldn't)\s+(?:(?:be|have|simply|just)\s+)?"
    r"|\b(?:doubt|whether|at first|first glance|tempt\w+|mistaken(?:ly)?|(?:I|we|one|you) (?:first |had |initially )*"
    r"(?:thought|assumed|considered)|(?:one|some|many|you|a \w+) (?:\w+ )?(?:might|may|could|would) (?:\w+ )?"
    r"(?:say|think|argue|suggest|guess|choose|pick|assume|expect|believe)|(?:students?|people|candidates|clinicians|doctors)"
    r"|instead of|rather than|without(?! (?:a |any )?(?:doubt|question|hesitation))|in the absence of|(?:^|[.;!?\n]\s*)had|were (?:it|this|she|he|the)"
    r"|if(?! (?:I|we|you|one|forced|pressed|pushed|asked)\b)|unless)\b[^.;!?\n]*"
    r"|\b(?:consider|considering|examine|evaluate|discuss|look at|start with|begin with|compare|why|what about|how about)\s+"
    r"(?:the\s+)?)$"
)
"""Text before what leads to a letter, if the letter is not meant as the answer."""
SUPPOSED = r"(?:only |even )?if(?! (?:I|we|you|one|forced|pressed|pushed|asked)\b)|had (?:the|there|she|he|it)"
REFUTED = (
    r"(?:wrong|incorrect|false|a (?:trap|distractor)|not (?:correct|right|so|the case|it|supported|possible|consistent)"
    r"|n't (?:fit|hold|work|right|correct|explain|it)|(?:cannot|can't|does not|doesn't) (?:be|fit|hold|explain|work)"
    r"|ruled out|excluded|misleading|ignores?)"
)
WITHDRAWN = caseless(
    r"[)\]\"'”]*(?:[^\S\n]*\?"
    rf"|[^.;!?\n]{{0,60}}?\b(?:but|however|yet|though|although|except)\b,?\s*(?:that|this|it|which)\b[^.;!?\n]{{0,30}}?\b{REFUTED}"
    rf"|[^.;!?\n]{{0,60}}?[.;!]\s*(?:But |However, |Yet |No, |Though )?(?:that|this|it)\b(?:'s| is| was| would be)?[^.;!?\n]{{0,12}}?\b{REFUTED}"
    rf"|,?\s+(?:at first|initially|{SUPPOSED})\b"
    r"|\s+would(?: be| have been)?\b[^.;!?\n]{0,60}?\b(?:if|were|had|in case)\b"
    r"|\W{1,6}(?:(?:hmm+|wait|oh|well|sorry|actually)\W+){0,2}(?:no|nope)\b(?=\s*(?:$|[,.;:!—–-])))"
)
"""Text after a letter by which it is taken back, or holds for another patient only."""
COUNTERED = caseless(
    r"\bnot\b[^.;!?\n]{0,80}?,?\s*\b(?:but|rather|instead)\s*(?:rather|instead)?\s*(?:(?:an?|the|option|it is|it's)\s+)?$"
)

PREFACE = caseless(
    r"(?:[^\w]|\d{1,2}(?:\s*[.):;,\-]|(?=\W*$))|\b(?:without (?:a |any )?doubt|no (?:doubt|question)|the|correct|final"
    r"|only|my|it|s|so|thus|hence|therefore|is|would"
    r"|should|must|be|best|definitely|probably|likely|possibly|maybe|perhaps|certainly|clearly|surely|obviously|most|sure"
    r"|yes|okay|ok|well|hmm|um|think|believe|guess|say|choose|pick|select|go|going|went|with|for|lock|locking|in|let|us|key"
    r"|verdict|conclusion|vote|bet|has|have|to|got|gotta|d|m|ll|im|id|i(?=['’ ])|that|this|one|number|q\d{0,2}|question"
    r"|selected|chosen|take|answering|final|solution|result|ans(?:wers?)?|options?|choices?|response|selection|letter"
    r"|here|was|hands|down|re|settle|on|lean|leaning|toward|towards|and|new|diagnosis|of|course|certain|confident|confidently"
    r"|decision|right|better)\b)*"
)
"""Text that may precede an opening letter: symbols, a list number, the word answer."""
STRICT_PREFACE = caseless(
    rf"(?:[^\w]|\d{{1,2}}(?:\s*[.):;,\-]|(?=\W*$))|\b(?:the|correct|final|only|my|it|s|so|thus|hence|therefore"
    rf"|is|would|should|must|be|{NOUN})\b)*"
)
POSTFACE = caseless(
    r"(?:[^\w]|\b(?:it|is|s|for|sure|definitely|probably|likely|most|imo|imho|i|think|guess|believe|d|say|please|final|my"
    r"|the|a|answer|choice|pick|guess|option|correct|best|no|doubt|about|without|hands|down|obviously|clearly|certainly|all"
    r"|way|thanks|thank|you|me|then|of|course|one|here|that|should|must|be|would|right|fits|and|only|lock|locked|in|confidence"
    r"|high|confident|end|done|eos|bye|hope|this|helps|very|am|vote|bet|go|with|ll|to|done|period)\b)*"
)
DELIMITED = caseless(
    r"\s*(?:$|[\n.:;,)\]}>*|/!\"”—–(=→“✓✔✅☑]|-\s|\\n|(?:because|since|is|was|would|as the|as|given|correct|it is|for sure"
    r"|definitely|due to|based on|fits|seems)\b)"
)
SUBJECT = caseless(r"[)\]\"']*\s+(?:is|was|would|seems|as|since|fits|due)\b")
VERDICT = caseless(
    r"[)\]\"”']?(?:\s*\([^)\n]{1,120}\)|[:,.]\s*[^.\n,:]{1,120}?,?)?\s+(?:is|was|would be|seems|must be|has to be)\s+"
    r"(?:(?:the|a|most|more|much|far|better|best|single|only|clearly|definitely|indeed|actually|therefore|by far)\s+)*"
    r"(?:correct|right(?=\W*(?:$|[.,;:!?\n–—)]|\b(?:because|since|answer|choice|option|one|as|given)\b))|best|better|appropriate|likely|plausible"
    r"|answer|choice|consistent|accurate|suitable|my (?:final )?(?:answer|choice|pick|vote|guess)|true|(?:only )?one)\b"
)
FITS = caseless(
    r"[)\]\"”']*,?\s+(?:it is\b(?! not)|it must be|(?:clearly |definitely )?fits?\b|best (?:fits|explains|matches|describes"
    r"|accounts|answers)|(?:alone |only )?remains\b|is (?:left|more likely|likelier|the (?:only )?one|it\b|what I|where I"
    r"|(?:strongly |most )?supported|favou?red|preferred|far more)|wins|edges|takes it|makes (?:the )?(?:most )?sense|stands out|has to be\b"
    r"|must be (?:it|right|correct|the)|(?:does|is|would be)[.!](?:\s|$)|explains (?:it|every|all|both|the|this)|matches|definitely"
    r"|for sure|all the way|gets my|would be my|hands down|over [A-J]\b|rather than\b|instead of\b|without (?:a |any )?doubt)"
)
SENTENCE_START = caseless(
    rf"(?:^|[\n.!?:;,(\"“–—]|\b(?:{NOUN}|that|so|therefore|thus|hence|believe|think|but|and|while|whereas|only|then|the)"
    r")\s*[(\"“'\[]*$"
)
NO = (
    r"(?:\b(?:incorrect|wrong|false|no|not(?! (?:option )?[A-J]\b)|none|never|unlikely|less|least|ruled out|excluded?|eliminated?|rejected|out|implausible"
    r"|improbable|inconsistent|inappropriate|contraindicated|unsafe|cannot|can't|isn't|wasn't|doesn't|don't|does ?n[o']t"
    r"|wouldn't|aren't|distractor|trap|red herring|tempting|lacks?|too|nope|unsupported|unrelated|irrelevant|premature"
    r"|insufficient|dismissed|discarded|weak|poor|against|doubtful|(?:plausible|possible|reasonable|close|considered|common"
    r"|attractive|likely|good)[^.;\n]{0,30}?\b(?:but|yet|though))\b|[✗✘❌✖×☒❎👎🚫⛔]|n't\b)"
)
YES = (
    r"(?:\b(?:correct|right(?=\W*(?:$|[.,;:!?\n–—|)]|\b(?:because|since|answer|choice|option|one|as|given)\b))|true|yes|yep"
    r"|best(?=\s+(?:answer|choice|option|fit\w*|explain\w*|explanation|match\w*|diagnosis|supported|next|overall)|\W*(?:[.,;:!?|)\n]|$))"
    r"|(?:most|very|highly|more)\s+(?:likely|appropriate|consistent|suitable|probable|plausible|accurate)|likely|fits"
    r"|matches|(?:best|fully|well) explain\w*|explains|winner|the answer|chosen|selected|confirmed|keep|accepted?|supported"
    r"|remains(?=\W*(?:$|[.,;\n])))\b"
    r"|[✓✔✅☑👍⭐])"
)
TICK = caseless(
    r"(?:(?P<no>[✗✘❌✖×☒❎👎🚫⛔☐○◯]|\[\s?\]|\(\s\))|(?P<yes>[✓✔✅☑👍⭐●◉🔘]|\[x\]|\(x\)))\W{0,4}(?:(?:option|for)\W{1,3})?$"
)
SIGN = caseless(rf"(?P<no>\bcorrect\W{{1,6}}(?:false|no)\b|{NO})|(?P<yes>{YES})")
AT_ONCE = caseless(
    r"[^\w\n✗✘❌✖×☒❎👎🚫✓✔✅☑👍?]*(?:\b(?:is|was|are|would be|seems|appears|looks|option|answer|this|it|s|also|clearly|definitely"
    r"|probably|very|quite|a|an|the|just|simply|therefore|thus|because)\b[^\w\n✗✘❌✖×✓✔✅?]*)*"
)
INDENT = re.compile(r"[^\w\n]*")
LINE_START = caseless(rf"{INDENT.pattern}(?:{NOUN}{INDENT.pattern})?")
LINE_END = re.compile(r"[.)][ \t]|[^\w\n]*(?:\n|$)")
LISTED = re.compile(r"(?:^|\n|:[^\S\n])[^\w\n]*([A-Z])(?=[.):|]|\s+[-–—|])")
LISTING = caseless(
    r"\b(?:each|every|one by one|step by step|in turn|options|choices|go through|going through|analy[sz]\w+|evaluat\w+"
    r"|consider\w*|examin\w+|review\w*|look at|break\w*|discuss\w*|assess\w*|compar\w+|weigh\w*)\b[^\n]*$"
)
ANNOUNCED = caseless(rf"\b(?:{NOUN}|conclusion|final|verdict|summary)\W*\n\W*$")
NAMED = caseless(rf"\b{SINGLE}\s*[:\-]?\s*[(\"“'\[]?$")
NEGATION = caseless(
    r"(?:n't|\b(?:not|(?:any|every)thing but|never|neither|nor|without|rather than|instead of|rul\w+ out|exclud\w+|unlikely"
    r"|incorrect|wrong|except|although|though|while|unlike|less likely|contraindicated|consider\w*|examin\w+"
    r"|let's (?:start|begin)|starting with|look at|initially|at first|whether|eliminat\w+|avoid\w*|if))\b[^.;\n]*$"
)
DENIAL = (
    r"(?:(?:should|must|can|does|do|would|could|may|need)(?: not|n't)\b|cannot\b|can't\b|(?:should|must|needs? to|has to) (?:\w+ )?be (?:considered|ruled out|excluded)\b|(?:is|are|was|were|would be|seems|can be"
    r"|could be|'s)\s+(?:also |therefore |thus |clearly |probably |very |too |highly )*"
    r"(?:not|incorrect|in(?:appropriate|consistent|sufficient)|un(?:likely|safe|necessary|wise|suitable)|less|wrong|premature"
    r"|dangerous|contraindicated|(?:ruled out|excluded|dismissed|rejected|eliminated|discarded)|a (?:distractor|trap|red herring)"
    r"|tempting|risky|harmful|too|improbable|implausible|false|out\b|against))"
)
DENIED = caseless(rf"(?:(?!\b(?:because|since|as|but|and|while|whereas)\b)[^.,;\n]){{0,60}}?\b{DENIAL}")
UNSETTLED = caseless(
    r"[)\]\"':]*(?:\s+(?:seems|would|could|may|might|needs?|requires?|is|has|can|was)\b(?!\s+(?:to )?(?:be )?(?:my|the|most|best|correct))"
    r"[^.!?\n]*)?$"
)
"""Text after an option that breaks off before it says what it makes of the option."""
NONE_OF_THEM = caseless(r"\b(?:none|all|any|both|neither) of (?:the (?:above|options|choices|listed)|these|them)\b")
COMMITTED = caseless(r"(?:\bfinal\s+answer\W*(?:is\W+)?|(?:^|[.!?]\s|\n)\s*answer\W*(?:is\W+)?|\\boxed\s*\{)$")
NO_SUCH_OPTION = re.compile(
    rf"(?i:(?:\b{SINGLE}{ASKED}{LINK}{HEDGE}|\\boxed\s*\{{){BRACKETS})(?P<letter>[B-HJ-Z])(?=[)\]}}\"'.,;:\s]*(?:$|\n|[.,;:)]))"
)

CHANGED = caseless(
    r"(?:\b(?:revis(?:ed|ing|ion)|correct(?:ed|ion)|correcting (?:myself|that)|edit(?:ed)?(?=\s*[:\-–—])|updated?(?=\s*(?:[:\-–—]|answer|choice))"
    r"|amend(?:ed|ment)|chang(?:e|ed|ing)(?: my| the)?(?: final)?(?: answer| mind| choice| selection| response)?(?: from [^.\n]{1,30}?)? to"
    r"|chang(?:e|ed|ing) my (?:answer|mind|choice)|switch(?:ed|ing)?(?: my (?:answer|choice))?(?: from [^.\n]{1,30}?)? to"
    r"|on (?:second thoughts?|reflection|further (?:thought|reflection|review|consideration)|closer (?:look|inspection|reading)|reconsideration)"
    r"|(?:having |after |upon )?(?:reconsider\w*|re-?evaluat\w+|re-?read\w*|re-?think\w*|re-?check\w*|reassess\w*)"
    r"|scratch that|strike that|never ?mind|(?:no,? )?wait|hold on|actually|sorry|oops|whoops|my (?:mistake|bad|apologies)|apolog\w+"
    r"|I (?:misread|misspoke|meant|stand corrected|take (?:that|it) back|was (?:wrong|mistaken)|made an? (?:\w+ )?(?:mistake|error))"
    r"|let me (?:correct|revise|rethink|fix|change)|make that|make it|or rather|new answer|better answer|no,(?=\W*(?:it|[A-J]\b))"
    r"|thinking (?:again|more|it over|about it more)|that (?:was|is) (?:wrong|a mistake|incorrect)|disregard|ignore (?:that|the above|my)"
    r"|my (?:first|initial|earlier|previous) (?:answer|choice|response) (?:was|is) (?:wrong|incorrect))\b"
    r"|(?<=[A-J])\)?\s*(?:→|⇒|[-=]+>)\s*(?=\(?[A-J]\b))"
)
"""Words by which a reply changes an answer that it has given."""
KEY = (
    r"(?:(?:final|correct|best|selected|chosen|predicted|my|model|revised|updated|corrected|new)[_\s\-]?)*(?:answer|choice|option|letter|prediction"
    r"|selection|response|label|output|diagnosis|verdict)(?:[_\s\-]?(?:letter|choice|option|key|id|code|text|value))?|correct"
)
FIELD = caseless(
    rf"(?<=[{{,\[\s])[\"']?(?<![^\W])(?P<key>{KEY})[\"']?\s*:\s*"
    r"(?P<value>\"(?:[^\"\\]|\\.){0,400}\"|'(?:[^'\\]|\\.){0,400}'|\[[^\[\]{}]{0,200}\]|[A-Z](?=\s*[,}\n]))"
)
"""A field of JSON that holds an answer, with quotes of either kind or none."""
RANKING = re.compile(
    r"(?i:\b(?:rank\w*|order of \w+|most to least \w+|likeliest first)\b[^.:\n]{0,40}:)\s*\(?([A-Z])\)?(?=\s*[,>;]\s*\(?[A-Z]\b)"
)
CAPITAL = re.compile(r"(?<!\w)[A-Z](?!\w)")
SHARE = re.compile(r"[^\w\n]*(\d{1,3}(?:\.\d+)?(?=\s?%)|0?\.\d+|1\.0+)")
EITHER_END = caseless(r"\b(?:or|versus|vs\.?)\s+(?:(?:an?|the|even|possibly)\s+)?$")
EITHER = caseless(r"\W*\b(?:or|versus|vs|and)\b\W*(?:(?:an?|the|possibly|even)\s+)?|\s*/\s*")
COUNTER = caseless(r"\b(?:but|however|yet|whereas|although|instead)\b")
CLAUSE = re.compile(r"[^.;\n]{1,120}?(?=$|[.;\n]|,? (?:because|since|as|given|due to)\b)")
FILLERS = frozenset(
    "answer option choice correct is it would be next step best most likely diagnosis cause treatment management"
    " appropriate i d choose pick go with say think believe for my final start order give do perform get obtain request"
    " her him them there s initial therefore so this patient has have with case should we he she they and of likely probably definitely begin"
    " administer prescribe recommend that here in to suggest advise right key".split()
)
"""Words, as folded, that a reply may have around a part of an option's words."""
GENERAL = frozenset(
    "acute chronic severe mild type disease syndrome therapy disorder deficiency primary secondary increased decreased"
    " increase decrease high low left right upper lower early late infection".split()
)
"""Words, as folded, that alone do not tell an option."""
REVERSING = frozenset({"not", "no", "without", "avoid", "stop", "discontinue", "withhold", "never", "non", "except"})
"""Words, as folded, without which an option's words mean the reverse."""
REJECTED = caseless(
    rf"\W*(?:(?:no|nope)\W*$|(?:no, )?(?:that|this|it|my (?:first |previous |initial )?(?:answer|choice)|[A-J])\b[^.;!?\n]{{0,20}}?\b{REFUTED})"
)
CHANGES = 12
"""Number of changes that are read, from the end: a text with more repeats itself."""
AFTERTHOUGHT = 300
"""Characters after a change of mind that are searched for the new answer."""
NEAR = 40
"""Characters before a letter that are searched for the word 'option' or the start of its sentence."""
SHORT = 400
"""Longest reply, in characters, in which the words of a single option, or a lone letter, count as the answer."""
WEIGHED = 160
"""Characters after an option that are searched for what the reply makes of it."""


def read_letter(response: str, options: Mapping[str, str]) -> LetterReading:
    """Read which of the options (letter to text) a response chooses; None for a refusal or an unclear response.

    Tagged thinking is ignored. Unfinished thinking gives no answer, unless its last words are a marked answer
    ("Answer: B").
    """
    keys = {letter.upper(): letter for letter in options}
    words = {letter.upper(): _plain(text) for letter, text in options.items()}
    visible, cut_off = strip_thinking(normalize_unicode(response, "NFKC"))
    for reply in _replies(_shorten_gaps(visible), words):
        letter, rule = _read(reply, words)
        if letter is not None:
            return LetterReading(keys.get(letter), rule)
    if cut_off:
        text = _plain(normalize_unicode(response, "NFKC"))
        for mark in find_marks(text, words)[-1:]:
            if mark.by_letter and not re.search(r"\w", text[mark.end :]) and COMMITTED.search(text[: mark.start]):
                return LetterReading(keys[mark.letter], "committed_thinking")
        return LetterReading(None, UNFINISHED)
    return LetterReading(None, UNPARSED)


def _read(raw: str, words: Mapping[str, str]) -> tuple[str | None, str]:
    """Read a part of a reply: the letter, empty if it gives none, and the rule; None if no rule decides."""
    if letter := _field(raw, words):
        return letter, "field"
    reply = _marked(_plain(to_english(raw)), words)
    for name, rule in RULES:
        letter = rule(reply)
        if letter is not None:
            return letter, name
    return None, UNPARSED


def _marked(text: str, words: Mapping[str, str]) -> Reply:
    return Reply(text, find_marks(text, words), words)


def _plain(text: str) -> str:
    tagged = ANSWER_TAG.sub("\nFinal answer: ", normalize_unicode(text, "NFKC").replace("’", "'"))
    return _shorten_gaps(MARKUP.sub("", tagged).strip())


def _shorten_gaps(text: str) -> str:
    return GAP.sub(lambda gap: gap[0][:20] + ("\n" if "\n" in gap[0] else "") + gap[0][-20:], text)


def _replies(text: str, words: Mapping[str, str]) -> Iterator[str]:
    """Yield the reply up to a next question that nobody asked, if there is one, then all of it."""
    for match in islice(NEXT_QUESTION.finditer(text), 2):
        if re.search(r"\w", text[: match.start()]):
            yield text[: match.start()]
    for match in islice(NEXT_LIST.finditer(text), 2):
        stem = text.rfind("\n\n", 0, max(0, match.start() - 1))
        if stem > 0 and "?" in text[stem : match.start()] and not _restates(match[0], words):
            yield text[:stem]
    yield text


def _restates(listed: str, words: Mapping[str, str]) -> bool:
    """Whether a list has an option's words."""
    return any(not mark.by_letter for mark in find_marks(_plain(listed), words))


def _field(text: str, words: Mapping[str, str]) -> str | None:
    """Read the field of a JSON object, or of one like it, that holds the answer; of several kinds, the most final."""
    if "{" not in text:
        return None
    fields = [(match["key"].lower(), match["value"].strip("\"' \n")) for match in FIELD.finditer(text)]
    for kind in ("revised", "updated", "corrected", "new", "final", "answer", ""):
        values = [value for key, value in fields if kind in key]
        letters = {letter for value in values if (letter := _read(value, words)[0]) is not None}
        if len(letters) == 1:
            return letters.pop()
        if len(letters) > 1:
            return None
    return None


def _alone(reply: Reply) -> str | None:
    """The whole text is a letter, or the words of one option, with no more than a hedge."""
    text = reply.text
    first = _first_marks(reply.marks)
    for mark in first:
        opens = PREFACE.fullmatch(text[: mark.start]) and not re.search(r"(?<!\bq)(?<!\bQ)\d", text[: mark.start])
        if opens and not re.search(r"\w", text[mark.end :]):
            return mark.letter if not re.match(r"\W*\?", text[mark.end :]) else None
        if opens and mark.by_letter and len(reply.marks) == len(first) and POSTFACE.fullmatch(text[mark.end :]):
            return mark.letter
    return None


def _changed(reply: Reply) -> str | None:
    """The answer after the last change of mind; none if the change only rejects the answer."""
    text = reply.text
    first = min((mark.start for mark in reply.marks), default=len(text))
    changes = [match for match in CHANGED.finditer(text) if match.start() > first or match.start() < 2]
    for match in reversed(changes[-CHANGES:]):
        after = text[match.end() : match.end() + AFTERTHOUGHT]
        later = _marked(after, reply.options)
        for rule in (_alone, _final, _statement, _concluding, _verdict, _opening, _last_word, _lone_letter):
            letter = rule(later)
            if letter is not None:
                return letter
        if match.start() > first and REJECTED.match(after):
            return NONE
    return None


def _opening(reply: Reply) -> str | None:
    """The text opens with a letter, unless it rejects it, or weighs several options in turn and then decides."""
    text, marks, _ = reply
    first = next((mark for mark in marks if mark.by_letter), None)
    if first is None or not PREFACE.fullmatch(text[: first.start]):
        return None
    if not (first.followed_by_words or DELIMITED.match(text, first.end)):
        return None
    if "no" in (_sign_at_once(reply, first), _sign_before(text, first)) or WITHDRAWN.match(text, first.end) or _final(reply):
        return None
    heads = list(_heads(reply))
    if SUBJECT.match(text, first.end) and not _is_judged_right(text, first) and (_concluding(reply) or _verdict(reply)):
        return None
    if len({mark.letter for mark in heads}) > 1 and (_statement(reply) or _weighed(reply)):
        return None
    if _lists_options(reply):
        return None
    # 'The answer is A' is a statement, of which the last decides.
    stated = _statement(reply) if re.search(r"[^\W\d]", text[: first.start]) else None
    return first.letter if stated is None else stated


def _lists_options(reply: Reply) -> bool:
    """Whether lines begin with the letters of the first two options, in order."""
    listed = [match[1] for match in islice(LISTED.finditer(reply.text), 2)]
    return len(listed) > 1 and listed == list(reply.options)[:2]


def _announces_list(reply: Reply) -> bool:
    """Whether the text says that it goes through the options, and begins with the first: it may have been cut off."""
    start = LISTED.search(reply.text)
    if start is None or start[1] != next(iter(reply.options), ""):
        return False
    return LISTING.search(reply.text[max(0, start.start() - 200) : start.start()].rstrip()) is not None


def _heads(reply: Reply) -> Iterator[Mark]:
    """Yield the letters at the start of a line; "A:" may also announce an answer."""
    text, marks, _ = reply
    places: set[int] = set()
    seen = 0
    for mark in marks:
        if not places or "\n" in text[seen : mark.start]:
            line = text.rfind("\n", 0, mark.start) + 1
            places = {end_of_match(start, text, line, len(text)) for start in (INDENT, LINE_START)}
        seen = mark.start
        if mark.by_letter and mark.start in places and (mark.followed_by_words or LINE_END.match(text, mark.end)):
            yield mark


def _line(reply: Reply) -> str | None:
    """A single letter begins a line, which neither begins a list of the options nor rejects it."""
    if _announces_list(reply):
        return None
    return _single_letter(mark for mark in _heads(reply) if _sign_at_once(reply, mark) != "no")


def _last_option(reply: Reply, *patterns: re.Pattern[str]) -> str | None:
    """The last option that follows one of the patterns: a response that thinks aloud decides at the end."""
    for mark in reversed(reply.marks):
        if any(_is_led_to(reply.text, mark, pattern) for pattern in patterns):
            return mark.letter
    return None


def _is_led_to(text: str, mark: Mark, pattern: re.Pattern[str]) -> bool:
    """Whether a pattern leads to a mark, which is meant as the answer and not taken back."""
    before = text[max(0, mark.start - 260) : mark.start]
    led = pattern.search(before)
    if not led or WITHDRAWN.match(text, mark.end):
        return False
    return COUNTERED.search(before) is not None or not UNMEANT.search(before[: led.start()])


def _final(reply: Reply) -> str | None:
    return _last_option(reply, FINAL)


def _statement(reply: Reply) -> str | None:
    return _last_option(reply, *CLAIMS)


def _concluding(reply: Reply) -> str | None:
    """The last letter to which a conclusion leads and with which its clause ends: 'so B.', 'that leaves (C)'."""
    announced = _announces_list(reply)
    listed = set(_heads(reply)) if announced else set()
    concluded = [
        mark
        for mark in reply.marks
        if mark not in listed
        and not (announced and mark.followed_by_words)
        and _ends_clause(reply.text, mark)
        and _is_led_to(reply.text, mark, CONCLUDING)
        and _sign_at_once(reply, mark) != "no"
    ]
    judged = [mark for mark in reply.marks if _is_judged_right(reply.text, mark)]
    if not concluded or (judged and judged[-1].start > concluded[-1].start and judged[-1].letter != concluded[-1].letter):
        return None
    return concluded[-1].letter


def _ends_clause(text: str, mark: Mark) -> bool:
    """Whether a capital letter, with the option's words if these follow, ends its clause."""
    capital = mark.by_letter and text[mark.start].isupper()
    return capital and (mark.followed_by_words or CLAUSE_END.match(text, mark.end) is not None)


def _verdict(reply: Reply) -> str | None:
    """'B is correct', said of one letter only."""
    return _single_letter(mark for mark in reply.marks if _is_judged_right(reply.text, mark))


def _is_judged_right(text: str, mark: Mark) -> bool:
    return (
        mark.by_letter
        and (VERDICT.match(text, mark.end) or FITS.match(text, mark.end)) is not None
        and SENTENCE_START.search(text[max(0, mark.start - NEAR) : mark.start]) is not None
        and not WITHDRAWN.match(text, mark.end)
    )


def _weighed(reply: Reply) -> str | None:
    """Options weighed one by one, of which one alone is called right, and another wrong."""
    signs: dict[str, set[str]] = {"yes": set(), "no": set()}
    letters = [mark for mark in reply.marks if mark.by_letter]
    if not letters:
        for mark in reply.marks:
            signs.get(_sign_at_once(reply, mark) or "", set()).add(mark.letter)
    ticks = [_sign_before(reply.text, mark) for mark in letters]
    if ticks[:1] != [None] and len(set(filter(None, ticks))) == 2:
        ticked = {mark.letter for mark, tick in zip(letters, ticks, strict=True) if tick == "yes"}
        return ticked.pop() if len(ticked) == 1 else None
    for index, mark in enumerate(letters):
        after = letters[index + 1].start if index + 1 < len(letters) else len(reply.text)
        if sign := SIGN.search(reply.text, mark.end, min(after, mark.end + WEIGHED)):
            signs[str(sign.lastgroup)].add(mark.letter)
    right = signs["yes"] - signs["no"]
    return right.pop() if len(right) == 1 and signs["no"] else None


def _sign_at_once(reply: Reply, mark: Mark) -> str | None:
    """What the text makes of an option, "yes" or "no", in the words directly after the letter and the option's words."""
    for end in _ends(reply, mark):
        place = end_of_match(AT_ONCE, reply.text, end, end + WEIGHED)
        sign = SIGN.match(reply.text, place)
        # 'Angina; not asthma' does not reject angina.
        if sign and not (sign[0].lower() == "not" and re.search(r"[,;]", reply.text[end:place])):
            return sign.lastgroup
    return None


def _ends(reply: Reply, mark: Mark) -> list[int]:
    """Where a letter ends, and where the option's words after it end."""
    if not mark.followed_by_words:
        return [mark.end]
    following = islice(reply.marks, bisect_left(reply.marks, mark.end, key=lambda later: later.start), None)
    return [mark.end, *islice((later.end for later in following if not later.by_letter), 1)]


def _sign_before(text: str, mark: Mark) -> str | None:
    """What a tick, cross or box before an option makes of it."""
    tick = TICK.search(text[max(0, mark.start - 12) : mark.start])
    return tick.lastgroup if tick else None


def _ranked(reply: Reply) -> str | None:
    """The first of a ranking: 'C > A > B'."""
    if ranking := RANKING.search(reply.text):
        return ranking[1] if ranking[1] in reply.options else None
    chains = [
        first.letter
        for first, second in zip(reply.marks, reply.marks[1:], strict=False)
        if re.fullmatch(r"[)\s\"']*>{1,3}[(\s\"']*", reply.text[first.end : second.start])
    ]
    return chains[0] if chains else None


def _likeliest(reply: Reply) -> str | None:
    """The letter with the largest share, where most options have one."""
    if any(re.search(r"\d", words) for words in reply.options.values()):
        return None
    shares: dict[str, float] = {}
    ends = {mark.start: mark.end for mark in reply.marks if not mark.by_letter}
    for mark in reply.marks:
        place = end_of_match(AT_ONCE, reply.text, mark.end, mark.end + WEIGHED)
        place = end_of_match(AT_ONCE, reply.text, ends.get(place, place), place + 2 * WEIGHED)
        if mark.by_letter and (share := SHARE.match(reply.text, place)):
            shares[mark.letter] = float(share[1])
    best = [letter for letter, share in shares.items() if share == max(shares.values())]
    return best[0] if len(shares) > len(reply.options) / 2 and len(best) == 1 else None


def _last_word(reply: Reply) -> str | None:
    """A letter alone is the last sentence or line, but not the next of a list that was cut off."""
    text = reply.text
    last = next((mark for mark in reversed(reply.marks) if mark.by_letter), None)
    if last is None or re.search(r"\w|\?", text[last.end :]) or not re.search(r"(?:[.!?,;]\s+|\n\s*)\W*$", text[: last.start][-NEAR:]):
        return None
    order = "".join(reply.options)
    listed = any(order.find(mark.letter) + 1 == order.find(last.letter) for mark in _heads(reply))
    is_next = listed and not text[last.end :].strip(" )") and not ANNOUNCED.search(text[: last.start][-NEAR:])
    return None if is_next else last.letter


def _lone_letter(reply: Reply) -> str | None:
    """A short text names no other option, and ends a clause with the letter."""
    text = reply.text
    if len(text) > SHORT / 2 or _announces_list(reply):
        return None
    capitals = {match[0] for match in CAPITAL.finditer(text)} & set(reply.options) - {"A", "I"}
    if len({mark.letter for mark in reply.marks} | capitals) != 1:
        return None
    return _single_letter(
        mark
        for mark in reply.marks
        if _ends_clause(text, mark)
        and not text.startswith("\n", mark.end)
        and not _is_denied(reply, mark)
        and not any(end < len(text) and UNSETTLED.match(text, end) for end in _ends(reply, mark))
    )


def _opening_words(reply: Reply) -> str | None:
    """The text opens with the words of an option, and does not reject them."""
    text = reply.text
    for mark in _first_marks(reply.marks):
        opens = not mark.by_letter and PREFACE.fullmatch(text[: mark.start])
        other = next((later for later in reply.marks if later.start > mark.start and later.letter != mark.letter), None)
        if other and (between := text[mark.end : other.start]) and EITHER.fullmatch(between):
            return None
        if other and COUNTER.search(between) and not _is_denied(reply, other):
            return None
        if opens and not DENIED.match(text, mark.end) and _sign_at_once(reply, mark) != "no":
            return mark.letter
    return None


def _mention(reply: Reply) -> str | None:
    """Exactly one letter is named as an option ("option B") or in brackets, and not rejected."""
    text = reply.text
    if _announces_list(reply):
        return None
    return _single_letter(
        mark
        for mark in reply.marks
        if mark.by_letter
        and (
            NAMED.search(text[max(0, mark.start - NEAR) : mark.start])
            or (text[mark.start - 1 : mark.start] == "(" and text[mark.end : mark.end + 1] == ")")
        )
        and not _is_denied(reply, mark)
        and not any(UNSETTLED.match(text, end) for end in _ends(reply, mark))
    )


def _words(reply: Reply) -> str | None:
    """A short text names exactly one option by its words, and does not reject them."""
    if len(reply.text) > SHORT or _announces_list(reply):
        return None
    return _single_letter(
        mark
        for mark in reply.marks
        if not mark.by_letter
        and mark.distinctive
        and not _is_denied(reply, mark)
        and not EITHER_END.search(reply.text[max(0, mark.start - NEAR) : mark.start])
        and not (mark.end < len(reply.text) and UNSETTLED.match(reply.text, mark.end))
    )


def _part(reply: Reply) -> str | None:
    """A short text is a part of one option's words, with a word of no other option's, or its initials."""
    clause = CLAUSE.match(reply.text)
    if reply.marks or not clause or len(reply.text) > SHORT or "?" in reply.text:
        return None
    said = {token.word for token in tokens_of(clause[0]) if token.word not in FILLERS}
    abbreviations = {word.lower() for word in re.findall(r"\b[A-Z]{2,5}\b", clause[0])}
    shares = {
        letter: {token.word for token in tokens_of(words)} | (abbreviations & _initials(words))
        for letter, words in reply.options.items()
    }
    fitting = [letter for letter, words in shares.items() if said and said <= words]
    if len(fitting) != 1:
        return None
    share = shares[fitting[0]]
    others = set().union(*(words for letter, words in shares.items() if letter != fitting[0]))
    own = {
        word
        for word in said - others - GENERAL
        if len(word) > 3 or word in abbreviations or (word[0].isdigit() and len(share) < 3)
    }
    return fitting[0] if own and not (share & REVERSING) - said else None


def _initials(words: str) -> set[str]:
    """Return the initials of each run of an option's words."""
    first = "".join(word[0] for word in re.findall(r"[^\W\d_]+", words)).lower()
    return {first[start:end] for start in range(len(first)) for end in range(start + 2, min(len(first), start + 5) + 1)}


def _no_such_option(reply: Reply) -> str | None:
    """The answer is a letter that no option has."""
    stated = [match["letter"] for match in NO_SUCH_OPTION.finditer(reply.text)]
    return NONE if stated and stated[-1] not in reply.options else None


def _first_marks(marks: Sequence[Mark]) -> list[Mark]:
    return [mark for mark in marks if mark.start == marks[0].start]


def _is_denied(reply: Reply, mark: Mark) -> bool:
    text = reply.text
    before = text[max(0, mark.start - 200) : mark.start]
    return bool(
        (NEGATION.search(before) and not COUNTERED.search(before))
        or DENIED.match(text, mark.end)
        or WITHDRAWN.match(text, mark.end)
        or "no" in (_sign_at_once(reply, mark), _sign_before(text, mark))
    )


def _single_letter(marks: Iterable[Mark]) -> str | None:
    letters = {mark.letter for mark in marks}
    return letters.pop() if len(letters) == 1 else None


RULES: tuple[tuple[str, Callable[[Reply], str | None]], ...] = (
    ("alone", _alone),
    ("changed", _changed),
    ("likeliest", _likeliest),
    ("opening", _opening),
    ("final", _final),
    ("statement", _statement),
    ("no_such_option", _no_such_option),
    ("ranked", _ranked),
    ("weighed", _weighed),
    ("concluding", _concluding),
    ("verdict", _verdict),
    ("last_word", _last_word),
    ("line", _line),
    (REFUSAL, lambda reply: NONE if REFUSING.search(reply.text) else None),
    ("no_option", lambda reply: NONE if NONE_OF_THEM.match(STRICT_PREFACE.sub("", reply.text, count=1)) else None),
    ("opening_words", _opening_words),
    ("mention", _mention),
    ("words", _words),
    ("lone_letter", _lone_letter),
    ("part", _part),
)
"""The rules by name, in the order in which they are tried; an empty letter means that no option is chosen."""
