"""Phrases by which a reply gives, rejects, weighs or changes the letter of its answer, as `letters` reads them.

They are written for plain English text: `languages` rewrites those of other languages.
"""

import re

from equipoise.text.languages import DENYING
from equipoise.text.letter_marks import fold
from equipoise.text.patterns import caseless

ANSWER_TAG = caseless(
    r"[<\[](?:(?:final|my|best|correct|chosen|selected|predicted)[_ \-]?)?"
    r"(?:answer|choice|selected(?:_option)?|chosen|verdict|pick|prediction|letter|diagnosis)[>\]]"
)
MARKUP = caseless(
    r"~~[^~\n]{1,200}~~|\w\u0336|\*+|`+|\$+|__|\\(?:text|math)(?:bf|rm|sf|it|tt|bb|cal|normal)?(?![a-z])|\\(?:bm"
    r"|boldsymbol|underline|displaystyle|left|right|large|huge|,|;|!)(?![a-z])|</[a-z][a-z_ \-]{0,24}>|</?(?:answer"
    r"|content|final|final_answer|choice|selected_option|b|strong|em|i|u|p|br|div|span|reasoning)\s*/?>"
    r"|\[/?(?:final[_ ]?)?answer\]|<\|[a-z_]+\|>|</?s>"
    r"|[\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufe0f\U0001f3fb-\U0001f3ff]"
)
GAP = re.compile(r"\s{41,}")
"""Long white space, which no rule crosses; it is shortened so that rules do not scan it many times."""
NEXT_QUESTION = caseless(
    r"(?:\n|[^\S\n]{2})[#*]{0,6}[^\S\n]{0,3}[#*\[]{0,4}(?:(?:next|another|new|following|sample|example)\s+)?"
    r"(?:question|q|problem|case|example|exercise|scenario|vignette|human|user|input|instruction|prompt|(?:patient"
    r"|item|vignette|person)(?=\s*#?\d))\]?"
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
    r"|door|as follows|to be|going with|really|truly|prolly|probs|I think|I believe|in my (?:opinion|view)|still|now"
    r"|rather|instead|just)\b[\s:,]*)*"
    r"(?:the\s+)?(?:(?:option|letter|choice|answer)\s+)?"
)
BRACKETS = r"[\s(\[{\"'“‘<«]*"
LINK = (
    r"\s*(?:(?:\b(?:is|was|are|be|being|would|should|will|must|has to|remains|seems|appears|looks like)\b"
    r"|[=:→⇒–—]|-+>?|=>)\s*)+"
)
ASKED = (
    r"(?:\s*\([^)\n]*\))?"
    r"(?:\s+(?:to|for|here|in|of|among|that|by|according|after|upon|following|based)\b[^.:\n]{0,90}?)?"
)
LEAD_END = rf"{HEDGE}{BRACKETS}$"
DECISION = caseless(rf"\b(?!(?<=first )answer){SINGLE}{ASKED}{LINK}{LEAD_END}")
FINAL = caseless(
    rf"(?:\bfinal\s+{NOUN}(?:{ASKED}{LINK}|[ \t]*\n\s*){LEAD_END}|\\(?:boxed|fbox|framebox)\s*\{{{BRACKETS})$"
)
CHOICE = caseless(
    r"\bI(?:'d|'ll| would| will| shall| am|'m)?\s+(?:therefore\s+|have to\s+|must\s+|'d\s+|just\s+|still\s+)?(?:choose"
    r"|chose|choosing|select|selecting|pick|picking|go(?:ing)?(?: (?:with|for))?|opt(?:ing)? for|vote for|answer|say|do"
    r"|try|order|lean(?:ing)?(?: towards?)?"
    rf"|settle on|stick with|sticking with)\s+(?:with\s+)?{LEAD_END}"
)
# The question's subject replaces 'answer': 'the most likely diagnosis in this patient is B'.
PICTURE = caseless(
    r"\b(?:most (?:likely|appropriate|probable|suitable|accurate|consistent)|best|correct)\b[^.;\n]{0,140}?"
    rf"\b(?:is|would be|should be|are|with)\s+{LEAD_END}"
)
LABEL = caseless(
    rf"(?:^|[.;\n]\s*)\W{{0,4}}(?:(?:most )?(?:correct|right|true|chosen|selected|best|likely)|my pick"
    rf"|dx)(?: one)?\s*[:=]\s*{LEAD_END}"
)
"""A label before the letter: 'Correct: B. Wrong: A, C.'"""
CLAIMS = (DECISION, FINAL, CHOICE, PICTURE, LABEL)
CONCLUDING = caseless(
    r"(?:\b(?:so|hence|thus|therefore|consequently|but|rather|instead|actually|namely|ergo|leaves?(?: us with| only)?"
    r"|leaving|left with|down to|mak(?:es?|ing)(?: it| this)?|(?:leads?|brings?|takes?|changes?|changed)(?: me| us"
    r"| this| it| that)? to|point(?:s|ing)?(?: me| us| strongly| clearly)? (?:to|towards?)"
    r"|(?<!would )(?<!could )(?<!might )(?<!may )(?:means?|suggests?|favou?rs?|indicates?|supports?)|go(?:ing"
    r"|es)? (?:with|for)|lock(?:ing|ed)?(?: it)? in(?: as)?|lean(?:s|ing)?(?: to| towards?)?|settl(?:e|ing) (?:on|for)"
    r"|st(?:ick|ay)(?:ing)? (?:with|to)|opt(?:ing)? for|vot(?:e|ing)(?: is| goes)? (?:for|to)|bet(?: is)?(?: on)?"
    r"|choos(?:e|ing)|pick(?:ing)?|select(?:ing)?|mark|tick|circle|guess(?: is)?|say|think|believe|corresponds? to"
    r"|confident (?:in|about)|sure (?:of|about)|decid\w+ (?:for|on)|(?:speaks?|argues?|look(?:ing)?) for|textbook"
    r"|describes?|other than|money on(?: it)?|(?:no|any) (?:choice|option|alternative|answer) (?:other )?(?:than|but)"
    r"|tips? (?:\w+ ){0,3}(?:to|towards?)|it(?:'?s| is| was| must be| has to be| should be| would be| can only be)"
    r"|must be|has to be|should be|would be|got to be|gotta be|money(?:'s| is) on|prefer|vote(?: is)?|pick(?: is)?"
    r"|match is|fit is|is clearly|is|winner(?: is)?|final|verdict|conclusion|key|decision|result|summary|short|brief"
    r"|diagnosis|gives|yields|clinches|secures|confirms|establishes|proves|correct|best|answer|chosen|selected"
    r"|lands? (?:us )?on|hence the|arrive at|only|puts?|(?:rather than|instead of)\s+[^.,;:\n]{1,40}(?=,))\b"
    rf"|\bi\.e\.|\bviz\.|=>|[→⇒:–—]|->|####|\[\[|<<)\s*[:,]?\s*{LEAD_END}"
)
THIS_ONE = (
    r"(?:here|(?:in|for|with|about|of) (?:this|the present|our)(?: \w+)? (?:patient|case|one|person|man|woman|girl|boy"
    r"|child|individual|presentation|situation)|in (?:reality|practice)"
    r"|(?:in|for) (?:an? )?(?:patient|person|man|woman|someone|case) like (?:this(?: one)?|him|her)(?:, though)?)\b"
)
TURNED = caseless(
    rf"\b(?:but|yet|however|instead|(?:but |yet |however,? )?{THIS_ONE})\s*[:,]?\s*"
    r"(?:(?:the answer|it|that|this|I|we)(?:'s|'d| is| would be| becomes| (?:would )?(?:choose|pick|say"
    rf"|go (?:with|for)))?\s*:?\s*)?{LEAD_END}"
)
"""A turn from what is usual that leads to another letter: 'A in most patients, but here B'."""
OF_THIS_ONE = caseless(rf"[)\]\"']*(?: (?:is|would be)(?: the \w+(?: one)?)?|(?: is)? the \w+(?: one)?)?,? {THIS_ONE}")
"""What follows a letter that is said to hold for the patient: 'B in this patient'."""
REFUTES = caseless(
    r"[)\]\"']*\s+(?:is|was|has been|can be|must be)\s+(?:ruled out|excluded|dismissed|rejected|discarded)\b"
)
FOREIGN_DENIAL = caseless(
    r"\b(?:not|nicht|nein|kein\w*|niet|geen|nie|ikke|inte|pas|non(?!-)|n[aã]o|falsch\w*|gegen|contre|contro"
    rf"|b[łl][ęe]d\w*|erreur|errore|erro|un error|{DENYING})\b"
)
"""A denial of a clause in another language, whatever it denies, with what `to_english` makes of it."""
FOREIGN_NO = caseless(
    r"[)\]\"']*[:,–—-]?\s+(?:(?:is|ist|est|è|es)(?: (?:it|es|het))? )?(?:not|nein|niet|nie|non|no|n[aã]o)\W*(?:$|\n)"
)
"""A denial that is all that follows a letter."""
CLAUSE_END = caseless(
    r"[)\]}\"'”’>»]*\s*(?:$|[.!,;:\n(\[{—–✓✔✅☀-➿\U0001f300-\U0001faff]|-\s|\b(?:because|since|as|given|based|due|for"
    r"|here|and not|not\b|innit|though|anyway|on|first|next|to a T|then|instead|after all|in the end|any day"
    r"|every time|it is|is (?:my|the)|than|right|correct|imh?o|tbh|lol|mate|obviously|definitely|probably|for sure"
    r"|I (?:think|guess|reckon|'d say)|rather than|instead of|over|to me|all day|(?:most|more|much more) (?:likely"
    r"|plausible|probable|consistent)|(?:the|a|my) (?:best|most|more|correct|only|clear|obvious|likely|right|better"
    r"|strongest|answer|choice))\b)"
)
THIS_LETTER = re.compile(rf"(?i:{THIS_ONE})[\s:,(]{{1,4}}(?P<letter>[A-J])\b(?={CLAUSE_END.pattern})")
"""A letter after 'for this patient', where it is not marked: it may be the patient's."""
UNMEANT = caseless(
    r"(?:\b(?:incorrect|wrong|worst(?: \w+)?|least(?: \w+)?|(?:would|could|might|may) (?:favou?r|suggest|indicate"
    r"|support|point to)|second|third|excluded|eliminated|rejected|ruled out|step \d|distractors?)\s*|\b(?:instead of"
    r"|rather than|unlike)\b(?:(?!\bI\b['’ ])[^.,;!?\n])*|\b(?:options|choices)\W*|\b(?:each|every|(?<!, )which|what"
    r"|any|anything|everything|all)\s+|\b(?:incorrect|wrong|not (?:the|a)"
    r"|not)\b[^\w.,:;!?\n]+(?:\w+[^\w.,;:!?\n]+){0,2}|\b(?:second|third|another|alternative|other|previous(?:ly)?"
    r"|initial(?:ly)?|original(?:ly)?|earlier|former|old|false|tempting|runner-up|first instinct"
    r"|first guess)\b[^\w.;!?\n]+(?:(?:best|most|likely|possible|my|the)\s+)*|(?:n't|\bnot|\bnever"
    r"|\bcannot)\s+(?:think|believe|say|agree|mean|claim|conclude|convinced|sure)\b[^.,;:!?\n]*|(?:n't|\bnot|\bnever"
    r"|\bcannot|\bwouldn't)\s+(?:(?:be|have|simply|just)\s+)?|\b(?:(?:first|initial|original) (?:thought|guess"
    r"|instinct|impression|idea|reaction) (?:was|had been)|(?<!no )(?<!without )doubt|whether|at first|first glance"
    r"|tempt\w+|mistaken(?:ly)?|(?:I|we|one|you) (?:first |had |initially )*(?:thought|assumed|considered)"
    r"|(?:one|some|many|you|a \w+) (?:\w+ )?(?:might|may|could|would) (?:\w+ )?(?:say|think|argue|suggest"
    r"|guess|choose|pick|assume|expect|believe)|(?:students?|people|candidates|clinicians|doctors)"
    r"|(?:^|[.,;!?\n]\s*)(?:had|were|without(?! (?:a |any )?(?:doubt|question|hesitation))|in the absence of)"
    r"|if(?! (?:I|we|you|one|forced|pressed|pushed|asked)\b)"
    r"|unless)\b(?:(?!,? (?:but|yet|however)\b)[^.;!?\n])*|\b(?:second|third|fourth|fifth|2nd|3rd|next"
    r"|last)[- ](?:line|choice|place)\s*|(?:rank|place|no\.?|number|#) ?[2-9]\s*|(?:although|though(?!\W*$)|while"
    r"|whereas|even if)\b[^,.;!?\n]*|\b(?:e\.?g|for (?:example|instance)|such as)\b\W*|\b(?:consider|considering"
    r"|examine|evaluate|discuss|look at|start with|begin with|compare|why|what about|how about)\s+(?:the\s+)?"
    r"|\b(?:(?:stereotyp|bias|prejudic)(?:e|ed|es|ical|ing)?(?:[- ]driven)?|reader's|clinicians?'s?|doctors?'s?"
    r"|textbook's|colleagues?'s?|others'|people's|students?'s?|critics?'s?)\s+(?:[\w'-]+\s+){0,2}"
    r"|\b(?:according to|by|from) (?:the |an? )?(?:stereotyp|bias|prejudic)\w*,?\s+(?:[\w'-]+\s+){0,2})$"
)
"""Text before what leads to a letter, if the letter is not meant as the answer."""
INNER = caseless(rf"answer that (?=(?:the|my)\b(?: \w+){{0,3}} {SINGLE}\b)(?:the|my) ")
"""A verb that a claim depends on: 'some will answer that the answer is'."""
SUPPOSED = r"(?:only |even )?if(?! (?:I|we|you|one|forced|pressed|pushed|asked)\b)|had (?:the|there|she|he|it)"
REFUTED = (
    r"(?:wrong|incorrect|false|a (?:trap|distractor)|not (?:correct|right|so|the case|it|supported|possible|consistent)"
    r"|n't (?:fit|hold|work|right|correct|explain|it)|(?:cannot|can't|does not|doesn't) (?:be|fit|hold|explain|work)"
    r"|ruled out|excluded|misleading|ignores?)"
)
WITHDRAWN = caseless(
    r"[)\]\"'”]*(?:[^\S\n]*\?"
    rf"|[^.;!?\n]{{0,60}}?\b(?:but|however|yet|though|although|except)\b,?\s*(?:that|this|it"
    rf"|which)\b[^.;!?\n]{{0,30}}?\b{REFUTED}"
    rf"|[^.;!?\n]{{0,60}}?[.;!]\s*(?:(?:But|However|Yet|No|Though|Hmm+|Wait|Oh|Actually|Sorry)\W+){{0,2}}(?:that"
    rf"|this|it)\b(?:'s| is| was| would "
    rf"be)?[^.;!?\n]{{0,12}}?\b{REFUTED}(?! (?:to|that)\b)"
    rf"|,?\s+(?:at first|initially|{SUPPOSED})\b|,?\s+(?:but |and )?(?:without (?:it|that|this|them|these)|otherwise)\b"
    r"|\s+would(?: be| have been)?\b[^.;!?\n]{0,60}?\b(?:if|were|had|in case)\b"
    r"|\W{1,6}(?:(?:hmm+|wait|oh|well|sorry|actually)\W+){0,2}(?:no|nope|I wish|as if|if only|my foot)\b"
    r"(?=\s*(?:$|[,.;:!—–-])))"
)
"""Text after a letter by which it is taken back, or holds for another patient only."""
CONTRAST = caseless(r"(?<!thing )(?<!all )(?:but|yet|however|rather|instead)\b")
COUNTERED = caseless(
    r"\bnot\b[^.;!?\n]{0,80}?,?\s*\b(?:but|rather|instead)\s*(?:rather|instead)?\s*(?:(?:an?|the|option|it is"
    r"|it's)\s+)?$"
    r"|[,;]\s*(?:so|hence|therefore|thus)\b(?:(?!\b(?:not|never|avoid|no|if|without|exclud\w+|rul\w+)\b"
    r"|n't)[^.;!?\n]){0,60}$"
    r"|\b(?:while|although|though|whereas|even if)\b[^.;!?,\n]{1,80},(?:(?!\b(?:not|never|avoid|no(?! choice| option)"
    r"|if|without)\b|n't)[^.;!?\n]){0,100}$"
)

BEFORE = (
    r"[^\w]|\d{1,2}(?:\s*[.):;,\-]|(?=\W*$))|\b(?:without (?:a |any )?doubt|no (?:doubt|question)|the|correct|final"
    r"|only|my|it|s|so|thus|hence|therefore|is|would|should|must|be|best|definitely|probably|prolly|probs|likely"
    r"|possibly|maybe|perhaps|certainly|clearly|surely|obviously|most|sure|yes|okay|ok|well|hmm|um|think|believe|guess"
    r"|say|choose|pick|select|go|going|went|with|for|lock|locking|in|let|us|key|verdict|conclusion|vote|bet|has|have"
    r"|to|got|gotta|d|m|ll|im|id|i(?=['’ ])|that|this|one|number|q\d{0,2}|question|selected|chosen|take|answering"
    r"|final|solution|result|ans(?:wers?)?|options?|choices?|response|selection|letter|here|was|hands|down|re|settle"
    r"|on|lean|leaning|toward|towards|and|new|diagnosis|of|course|certain|confident|gonna|gotta|im gonna|confidently"
    r"|decision|right|better)\b"
)
PREFACE = caseless(rf"(?:{BEFORE})*")
"""Text that may precede an opening letter: symbols, a list number, the word answer."""
STRICT_PREFACE = caseless(
    rf"(?:[^\w]|\d{{1,2}}(?:\s*[.):;,\-]|(?=\W*$))|\b(?:the|correct|final|only|my|it|s|so|thus|hence|therefore"
    rf"|is|would|should|must|be|{NOUN})\b)*"
)
NUMBERED = re.compile(r"(?<![Qq])\d")
POSTFACE = caseless(
    r"(?:[^\w]|\b(?:it|is|s|for|sure|definitely|probably|likely|most|imo|imho|i|think|guess|believe|d|say|please|final"
    r"|my|the|a|answer|choice|pick|guess|option|correct|best|no(?= \w)|doubt|about|without|hands|down|obviously|clearly"
    r"|certainly|all|way|thanks|thank|you|me|then|of|course|one|here|that|should|must|be|would|right|fits|and|only|lock"
    r"|locked|in|confidence|tbh|lol|mate|reckon|high|confident|end|done|eos|bye|hope|this|helps|very|am|vote|bet|go"
    r"|with|ll|to|done|period)\b)*"
)
DELIMITED = caseless(
    r"\s*(?:$|[\n.:;,)\]}>*|/!\"”—–(=→“✓✔✅☑]|-\s|\\n|(?:because|since|is|was|would|as the|as|given|correct|it is"
    r"|for sure|definitely|due to|based on|fits|seems)\b)"
)
SUBJECT = caseless(r"[)\]\"']*\s+(?:is|was|would|seems|as|since|fits|due)\b")
VERDICT = caseless(
    r"[)\]\"”']?(?:\s*\([^)\n]{1,120}\)|[:,.]\s*[^.\n,:]{1,120}?,?)?(?:\s+(?:is|was|would be|(?:seems|appears"
    r"|looks)(?: to be| like)?|(?:sounds|feels)(?: like)?"
    r"|must be|has to be|(?=(?:more|most) (?:likely|plausible|probable)))|'s)\s*"
    r"\b(?:(?:the|a|your|our|definitely|a bit|a little|slightly|somewhat|marginally|still|just|most|more|much|far"
    r"|better|best|single|only|clearly|definitely|indeed|actually|therefore|by far)\s+)*"
    r"(?:correct|right(?=\W*(?:$|[.,;:!?\n–—)]|\b(?:because|since|answer|choice|option|one|as|given)\b))|best|better"
    r"|next step|appropriate|likely|plausible|probable|fitting|winner|it(?=\W*(?:$|[.,;!\n]))"
    r"|answer|choice|consistent|accurate|suitable|my (?:final )?(?:answer|choice|pick|vote|guess)|true|(?:only )?one)\b"
)
FITS = caseless(
    r"[)\]\"”']*,?\s+(?:(?:(?:seems|appears|looks) to )?(?:fit|match|explain)s? (?:it |this |everything )?(?:better"
    r"|best)\b|it is\b(?! not)|it must be|(?:clearly |definitely )?fits?\b|best (?:fits|explains|matches|describes"
    r"|accounts|answers)|(?:alone |only )?(?:remains|stays|survives)\b|is (?:(?:probably|likely|clearly|surely"
    r"|almost certainly|definitely) )?(?:left|more likely|likelier|the (?:only )?one|it\b|what (?!most|many|some"
    r"|people|one|you|would|could|might|the (?!exam|question|stem))|where I|(?:strongly |most )?supported|favou?red"
    r"|preferred|far more)|wins|edges|takes it|makes (?:the )?(?:most )?sense|stands out|has to be\b"
    r"|has (?:by far )?the (?:most|best|strongest|highest|greatest)\b|(?:is|was|would be|seems|looks(?: like)?"
    r"|sounds(?: like)?|remains)(?: clearly| definitely)? (?:the|my|your) (?:(?!wrong|worst|least|second|next best"
    r"|other|incorrect|tempting|trap)\w+[ -]){0,3}(?:answer|choice|option|bet|pick|one|diagnosis|fit|winner|guess)\b"
    r"|must be (?:it|right|correct|the)|(?:does|is|would be)[.!](?:\s|$)|explains (?:it|every|all|both|the|this)"
    r"|matches|definitely|for sure|all the way|gets my|would be my(?! (?:second|third|last|next|least))|hands down"
    r"|over [A-J]\b|rather than\b|instead of\b|without (?:a |any )?doubt)"
)
SENTENCE_START = caseless(
    rf"(?:^|[\n.!?:;,(\"“–—]|\b(?:{NOUN}|that|so|therefore|thus|hence|believe|think|but|yet|however|and|while"
    rf"|whereas|only|then|the)"
    r")\s*[(\"“'\[]*$"
)
NO = (
    r"(?:\b(?:(?:fits?|match\w*|explains?) (?:\w+ )?(?:poorly|badly|less)|(?:incorrect|wrong|false)"
    r"(?! (?:that|to \w+) )|no|not(?! (?:option )?[A-J]\b)|none|never|unlikely(?! that)|less|least|ruled out"
    r"|excluded?|eliminated?|rejected|out|implausible"
    r"|improbable|inconsistent|inappropriate|contraindicated|unsafe|cannot|can't|isn't|wasn't|doesn't|don't"
    r"|does ?n[o']t|wouldn't|aren't|distractor|trap|red herring|tempting|lacks?|too|nope|unsupported|unrelated"
    r"|irrelevant|premature|insufficient|dismissed|discarded|weak|poor|against|doubtful|(?:plausible|possible"
    r"|reasonable|close|considered|common|attractive|likely|good)[^.;\n]{0,30}?\b(?:but|yet|though))\b"
    r"|[✗✘❌✖×☒❎👎🚫⛔]|n't\b)"
)
YES = (
    r"(?:\b(?:correct|right(?=\W*(?:$|[.,;:!?\n–—|)]|\b(?:because|since|answer|choice|option|one|as|given)\b))|true"
    r"|yes|yep|best(?=\s+(?:answer|choice|option|fit\w*|explain\w*|explanation|match\w*|diagnosis|supported|next"
    r"|overall)|\W*(?:[.,;:!?|)\n]|$))|(?:most|very|highly|more)\s+(?:likely|appropriate|consistent|suitable|probable"
    r"|plausible|accurate)|likely|appropriate|suitable|fits|matches|(?:best|fully|well) explain\w*|explains|winner"
    r"|the answer|chosen|selected|confirmed|keep|accepted?|supported|remains(?=\W*(?:$|[.,;\n])))\b|[✓✔✅☑👍⭐])"
)
TICK = caseless(
    r"(?:(?P<no>[✗✘❌✖×☒❎👎🚫⛔☐○◯]|\[\s?\]|\(\s\))|(?P<yes>[✓✔✅☑👍⭐●◉🔘]|\[x\]|\(x\)))\W{0,4}(?:(?:option"
    r"|for)\W{1,3})?$"
)
SIGN = caseless(rf"(?P<no>\bcorrect\W{{1,6}}(?:false|no)\b|{NO})|(?P<yes>{YES})")
AT_ONCE = caseless(
    r"[^\w\n✗✘❌✖×☒❎👎🚫✓✔✅☑👍?]*(?:\b(?:is|was|are|would be|can be|could be|has been|had been|was then|seems|appears"
    r"|looks|option|answer|this|it|s|also|clearly|definitely"
    r"|probably|very|quite|a|an|the|just|simply|therefore|thus|because)\b[^\w\n✗✘❌✖×✓✔✅?]*)*"
)
ROW = re.compile(r"[^\n|]{0,120}\|(?P<cells>[^\n]{1,400})(?:\n|$)")
"""The rest of a row of a table after its letter."""
STOP = re.compile(r"[)\]\"']*[.!]\s")
INDENT = re.compile(r"[^\w\n]*")
LINE_START = caseless(rf"{INDENT.pattern}(?:{NOUN}{INDENT.pattern})?")
LINE_END = re.compile(r"[.)][ \t]|[^\w\n]*(?:\n|$)")
LISTED = re.compile(r"(?:^|\n|:[^\S\n])[^\w\n]*([A-Z])(?=[.):|]|\s+[-–—|])")
INLINE = re.compile(r"(?:^|[\n,;.:|)])\s*[(*]*([A-Z])(?=[.):|]|\s*[-–—=→|]|\s*\(|\s+(?!and\b|or\b)[a-z]{2})")
ANSWER_LINE = caseless(
    r"(?:^|\n)\W{0,6}(?P<final>final\s+)?(?:correct\s+)?answer(?:\s+is|\s+\([^()\n]{1,40}\))?\W{1,6}(?P<letter>[A-J])(?![\w'])"
)
LISTING = caseless(
    r"\b(?:each|every|one by one|step by step|in turn|options|choices|go through|going through|analy[sz]\w+|evaluat\w+"
    r"|consider\w*|examin\w+|review\w*|look at|break\w*|discuss\w*|assess\w*|compar\w+|weigh\w*)\b[^\n]*$"
)
NEW_SENTENCE = re.compile(r"(?:[.!?,;]\s+|\n\s*)(?:\|\s*1\s*\|)?\W*$")
ANNOUNCED = caseless(rf"\b(?:{NOUN}|conclusion|final|verdict|summary)\W*\n\W*$")
NAMED = caseless(rf"\b{SINGLE}\s*[:\-]?\s*[(\"“'\[]?$")
NEGATION = caseless(
    r"(?:n't|\b(?:not|(?:any|every)thing but|never|neither|nor|without|rather than|instead of|rul\w+ out|exclud\w+"
    r"|unlikely|incorrect|wrong|except|although|though|while|unlike|less likely|contraindicated|consider\w*|examin\w+"
    r"|let's (?:start|begin)|starting with|look at|initially|at first|whether|eliminat\w+|avoid\w*|(?<!grateful )if"
    r"|disagree\w*|distinguish\w*|differentiat\w*|worst|least))\b[^.;\n]*$|\b(?:no|history of|previous|prior|past"
    r"|against|risk (?:of|factors? for)|exposure to|contact with|(?:already|previously|recently) (?:\w+ )?\w+|received"
    r"|underwent|undergone|(?:was|were|been) (?:given|treated with|started on)|(?:brother|sister|mother|father|parent"
    r"|uncle|aunt|cousin|grand\w+|son|daughter|sibling|relative|wife|husband)s?(?: \w+){0,2}|(?:has had|have had|had"
    r"|complain\w*|presents? with|history of|lasting|persist\w*)\b[^.;,\n]{0,40}\bfor|is taking|takes|allergic to"
    r"|(?:test|screen|check|assess|look|vaccinat|immuni[sz]|monitor|watch)\w* (?:for|against)|think of|evidence of"
    r"|possibility of|suspicion of|as (?:does|do|is|are)|over"
    r"|(?:more (?:likely|probable|plausible)|likelier|better) than)\s+(?:\w+\s+)?$"
)
DENIAL = (
    r"(?:(?:should|must|can|does|do|would|could|may|need)(?: not|n't)\b|cannot\b|can't\b|(?:should|must|needs? to"
    r"|has to) (?:\w+ )?be (?:considered|ruled out|excluded)\b|(?:is|are|was|were|would be|seems|can be"
    r"|could be|'s)\s+(?:also |therefore |thus |clearly |probably |very |too |highly )*"
    r"(?:not|incorrect|in(?:appropriate|consistent|sufficient)|un(?:likely|safe|necessary|wise|suitable)|less|wrong"
    r"|premature|done|performed|carried out|pending|unremarkable|dangerous|negligent|useless|pointless|contraindicated"
    r"|(?:ruled out|excluded|dismissed|rejected|eliminated|discarded|avoided|deferred|postponed|withheld|omitted"
    r"|delayed)|a (?:distractor|trap|red herring)"
    r"|tempting|risky|harmful|too|improbable|implausible|false|out\b|against))"
)
DENIED = caseless(
    r",? but (?:I|we|more|further)\b[^.;\n]{0,20}\b(?:want|need|require|like)|"
    r"\s+(?:(?:dangerous|unlikely|unsafe|less likely|impossible|improbable|inappropriate|unnecessary|pointless"
    r"|premature|redundant)\b|remains? possible|(?:is|are) (?:also |very )?(?:common|frequent|rare|one (?:of|cause"
    r"|possib\w+))|(?:should|can|may|must|could|would) (?:wait|follow|come (?:later|after)|be added)"
    r"|comes? (?:later|after)|vaccin\w+|jab|shot|test(?:s|ing)?|screen\w*|serology|swab|antibod\w+|(?:is|was"
    r"|were) (?:normal|negative)|(?:was|were) given)\b"
    rf"|(?:(?!\b(?:because|since|as|but|and|while|whereas)\b)[^.,;\n]){{0,60}}?\b{DENIAL}"
)
UNSETTLED = caseless(
    r"[)\]\"':]*(?:\s+(?:seems|would|could|may|might|needs?|requires?|is|has|can|was"
    r"|[a-z]{3,}s)\b(?!\s+(?:to )?(?:be )?(?:my|the|most|best|correct))"
    r"[^.!?\n]*)?$"
)
"""Text after an option that breaks off before it says what it makes of the option."""
NONE_OF_THEM = caseless(
    r"\b(?:none|all|any|both|neither) of (?:the (?:above|options|choices|listed|given)|these|them"
    r"|(?:options )?A\s?(?:[-–—]|to|through)\s?[B-J])\b"
)
COMMITTED = caseless(r"(?:\bfinal\s+answer\W*(?:is\W+)?|(?:^|[.!?]\s|\n)\s*answer\W*(?:is\W+)?|\\boxed\s*\{)$")
NO_SUCH_OPTION = re.compile(
    rf"(?i:(?:\b{SINGLE}{ASKED}{LINK}{HEDGE}|\\boxed\s*\{{){BRACKETS})(?P<letter>[B-HJ-Z])(?=[)\]}}\"'.,;:\s]*(?:$"
    rf"|\n|[.,;:)]))"
)

NOT_CHANGED = caseless(
    r"\b(?:consider\w*|thought (?:about|of)|tempted to|might|could|would(?! now)|not|no (?:need|reason) to|if|why|never"
    r"|without|was going to|thinking (?:about|of))\s+(?:\w+\s+)?$|n't\s+(?:\w+\s+)?$"
)
"""Text before a change of mind that did not take place."""
CHANGED = caseless(
    r"(?:\b(?:revis(?:ed|ing|ion)|correct(?:ed|ion)|correcting (?:myself|that)|edit(?:ed)?(?=\s*[:\-–—])"
    r"|updated?(?=\s*(?:[:\-–—]|answer|choice))|amend(?:ed|ment)|chang(?:e|ed|ing)(?: my| the)?(?: final)?(?: answer"
    r"| mind| choice| selection| response)?(?: from [^.\n]{1,30}?)? to|chang(?:e|ed|ing) my (?:answer|mind|choice)"
    r"|switch(?:ed|ing)?(?: my (?:answer|choice))?(?: from [^.\n]{1,30}?)? to|on (?:second thoughts?|reflection"
    r"|further (?:thought|reflection|review|consideration)|closer (?:look|inspection|reading)|reconsideration)"
    r"|(?:having |after |upon )?(?:reconsider\w*|re-?evaluat\w+|re-?read\w*|re-?think\w*|re-?check\w*|reassess\w*)"
    r"|scratch that|strike that|never ?mind|(?:no,? )?wait|hold on|actually|sorry|oops|whoops|my (?:mistake|bad"
    r"|apologies)|apolog\w+|I (?:misread|misspoke|meant|stand corrected|take (?:that|it) back|was (?:wrong|mistaken)"
    r"|made an? (?:\w+ )?(?:mistake|error))|(?:go(?:ing)?|went|com(?:e|ing)|revert(?:ing)?|return(?:ing)?"
    r"|switch(?:ing)?)(?: back)? to my (?:original|first|initial)(?: answer| choice)?"
    r"|let me (?:correct|revise|rethink|fix|change)|make that|make it|or rather|new answer|better answer|no,(?=\W*(?:it"
    r"|[A-J]\b))|thinking (?:again|more|it over|about it more)|from [A-J] to|that (?:was|is) (?:wrong|a mistake"
    r"|incorrect)|disregard|ignore "
    r"(?:that|the above|my)"
    r"|my (?:first|initial|earlier|previous) (?:answer|choice|response) (?:was|is) (?:wrong|incorrect))\b"
    r"|(?<=\.\.)\s*(?:no|hmm+|wait)\b|(?<=[A-J])\)?\s*(?:→|⇒|[-=]+>)\s*(?=\(?[A-J]\b))"
)
"""Words by which a reply changes an answer that it has given."""
KEY = (
    r"(?:(?:final|correct|best|selected|chosen|predicted|my|model|revised|updated|corrected|new)[_\s\-]?)*(?:answer"
    r"|choice|option|letter|prediction|selection|response|label|output|diagnosis|verdict)(?:[_\s\-]?(?:letter|choice"
    r"|option|key|id|code|text|value))?|correct"
)
FIELD = caseless(
    rf"(?<=[{{,\[\s])[\"']?(?<![^\W])(?P<key>{KEY})[\"']?\s*:\s*"
    r"(?P<value>\"(?:[^\"\\]|\\.){0,400}\"|'(?:[^'\\]|\\.){0,400}'|\[[^\[\]{}]{0,200}\]|[A-Z](?=\s*[,}\n]))"
)
"""A field of JSON that holds an answer, with quotes of either kind or none."""
OBJECT = re.compile(r"\{\s*[\"'][^{}]{0,4000}\}")
"""An object of JSON without others in it, whose keys are quoted; no braces of LaTeX."""
LETTER_FIELD = caseless(
    r"[\"'](?P<key>[^\"'\n]{0,40}(?:answer|choice|option|diagnosis|pick)[^\"'\n]{0,40})[\"']\s*:\s*[\"'](?P<letter>[A-J])[\"']"
)
OTHER_KEY = caseless(
    r"initial|first|previous|earlier|second|third|alternative|backup|fallback|differential|confound|confus|tempt|runner|other|wrong|incorrect|reject|exclu|elimin|least"
    r"|worst|distract|next|less"
)
FINAL_KEY = caseless(r"final|revis|updat|correct|new")
"""A field of JSON with a letter; keys whose letter is not the answer, and keys whose letter is."""
RANKED_FIELDS = caseless(
    r"[{,]\s*[\"']?(?:rank[_ ]?)?(?:1|1st|first|top|one)[\"']?\s*:\s*(?P<first>\"[^\"\\\n]{1,200}\"|'[^'\\\n]{1,200}')"
    r"\s*,\s*[\"']?(?:rank[_ ]?)?(?:2|2nd|second|two)[\"']?\s*:"
)
"""The first field of JSON that ranks the options."""
RANKING = re.compile(
    r"(?i:\b(?:rank\w*|order of \w+|most to least \w+|likeliest "
    r"first)\b[^.:\n]{0,40}:)\s*\(?([A-Z])\)?(?=\s*[,>;]\s*\(?[A-Z]\b)"
)
CAPITAL = re.compile(r"(?<!\w)[A-Z](?!\w)")
SHARE = re.compile(r"[^\w\n]*(\d{1,3}(?:\.\d+)?(?=\s?%)|0?\.\d+|1\.0+)")
SHARE_OF = re.compile(
    r"(?:\s[a-z]+){0,2}[^\w\n]{1,8}(?:about |around |approx\.? )?(\d{1,3}(?:\.\d+)?)(?=\s?(?:%|/\s?(?:5|10|100)\b))"
)
WITH = r"(?:plus|(?:along |together |combined |in combination )?with|as well as|followed by)"
EITHER_END = caseless(r"\b(?:or|versus|vs\.?)\s+(?:(?:an?|the|even|possibly)\s+)?$")
RIVAL = caseless(r",?\s*\b(?:or|versus|vs)\s+(?:(?:an?|the|possibly|even)\s+)?")
EITHER = caseless(rf"\W*\b(?:or|versus|vs|and|{WITH})\b\W*(?:(?:an?|the|possibly|even)\s+)?|\s*/\s*")
COUNTER = caseless(r"\b(?:but|however|yet|whereas|although|instead)\b")
CLAUSE = re.compile(
    r"[^.;!\n]{1,120}?(?=$|[.;!\n]|,? (?:no doubt|without (?:a )?doubt|for sure|hands down|because|since|as|given"
    r"|due to)\b)"
)
FILLERS = frozenset(
    map(
        fold,
        {
            "administer", "advise", "and", "answer", "appropriate", "be", "begin", "believe", "best", "case",
            "cause", "choice", "choose", "correct", "d", "definitely", "diagnosis", "do", "final", "for", "get",
            "give", "go", "has", "have", "he", "her", "here", "him", "i", "in", "initial", "is", "it", "key",
            "likely", "management", "most", "my", "next", "obtain", "of", "option", "order", "patient", "perform",
            "pick", "prescribe", "probably", "recommend", "request", "right", "s", "say", "she", "should", "so",
            "start", "step", "suggest", "that", "them", "there", "therefore", "they", "think", "this", "to",
            "treatment", "we", "with", "would", "straight", "away", "now",
            "immediately", "first", "at", "once"
        },
    )
)  # fmt: skip
"""Words, as folded, that a reply may have around a part of an option's words."""
GENERAL = frozenset(
    map(
        fold,
        {
            "acute", "chronic", "decrease", "decreased", "deficiency", "disease", "disorder", "early", "high",
            "increase", "increased", "infection", "late", "left", "low", "lower", "mild", "primary", "right",
            "secondary", "severe", "syndrome", "therapy", "type", "upper"
        },
    )
)  # fmt: skip
"""Words, as folded, that alone do not tell an option."""
WORDS_PREFACE = caseless(
    rf"(?:{BEFORE}|(?<=[\w:]\W)an?\b|\b(?:give|start|order|perform|administer|begin|do|arrange|obtain|commence"
    rf"|prescribe"
    r"|proceed|refer|next|step|management|treatment|investigation|test|drug|therapy|agent|initial|first[- ]line"
    r"|immediate|urgent|first|appropriate|patient|she|he|needs?|requires?|should|receive|get|be|given|case)\b)*"
)
"""Text that may precede the words of an option that open the text."""
CONCLUDED_WORDS = caseless(
    r"(?:\b(?:so|hence|therefore|thus|consequently|accordingly|(?:in )?(?:summary|conclusion|short|sum)|overall|leaves?"
    r"|leaving|(?:points?|pointing|comes? down|boils? down|adds? up|amounts?) to(?:wards)?|equals|means|(?:diagnos"
    r"|classic|typical)\w*(?: is| of)?|consistent with|diagnostic of|this is|it(?:'s| is)|must be)\b|[→⇒]|=>|->)"
    r"(?:\W*\b(?:an?|the|my|this|that|these|it|is|are|was|s|most|very|likely|probably|certainly|clearly|diagnos[ie]s"
    r"|answer|cause|culprit|first|initial|now|drug|agent|picture|patient|he|she|they|we|has|have|had|must|be|should"
    r"|would|with|for|go|choose|pick|is|management|next|step|best|treatment|correct|option|choice|think|I|d|give|start"
    r"|order|perform|all|findings?|points?|to|due|of|suffer\w*|secondary|indicates?|suggests?|consistent|final|must"
    r"|acute|severe|classic|typical)\b){0,9}(?:\W+\w+)?\W*$"
)
"""A conclusion that leads to an option's words at the end of the reasoning."""
BROKEN_OFF = caseless(
    r"(?:\b(?:a|an|the|is|are|was|were|be|been|and|or|but|though|although|because|since|as|of|to|in|on|at|for|with|by"
    r"|from|that|which|who|if|when|while|whereas|this|these|his|her|its|their|may|might|can|could|would|should|has|have"
    r"|had|not|more|most|also|very)|[,(\-–])\s*$"
)
"""The end of a text that was cut off in the middle of a sentence."""
TRUE_FALSE = caseless(
    r"(?:^|[\n,;.])\W{0,4}(?P<letter>[A-J])\W{0,3}(?:[:\-–—=.)]|\bis\b)\s*(?:(?P<yes>T|Y|true|yes|right|correct)"
    r"|(?P<no>F|N|X|false|no|wrong|incorrect))(?![\w'])"
)
JOINT_ANSWER = caseless(
    rf"\b(?:{SINGLE}{ASKED}{LINK}{HEDGE}(?:both )?|(?:^|[.:\n] *)both (?:options? )?|I(?:'d| would)? (?:choose|pick"
    rf"|go with|say) ){BRACKETS}(?-i:[A-J])[)\]]?"
    r"\s*(?:[,&/+]|\b(?:and|or)\b)\s*(?:or\s+|and\s+)?(?:option )?\(?(?-i:[A-J])\b(?![^.;\n]{0,20}\b(?:is"
    r"|are) (?:wrong|incorrect))"
)
"""An answer of several letters."""
ITEM = caseless(
    r"^[ \t*_>\-•]*(?:(?:#|no\.? ?)?\d(?:[.):]|\ufe0f?\u20e3|(?:st|nd|rd|th)\b[.:)]?|\s?[-–—])|#\s?\d(?=\s)"
    r"|(?P<medal>[🥇🥈🥉]))"
    r"[\s*_:]*(?=\S)",
    re.MULTILINE,
)
"""The mark of an item of a ranking."""
RANKS = caseless(r"\brank\w*|\border|\b(?:most|least|more|less) (?:likely|probable|to)|likel\w+|probab\w+|\btop\b")
REVERSED = caseless(r"\bleast\b[^:\n]{0,30}\bto\b|\bascending|\bincreasing")
VERDICTS = caseless(
    r"verdict|decision|conclusion|overall|total|result|outcome|correct|right|judge?ment|answer\??$|keep|status|fits?\b"
    r"|assessment|chosen|selected|pick|likel|probab|✓|✔|✅"
)
"""The head of a column that says which option is right."""
CELL = re.compile(r"\W*(?:[Oo]ption )?(?P<letter>[A-J])(?=\W|$)(?!')")
YES_CELL = caseless(rf"\W*(?:{YES}|chosen|selected|answer|pick|y\b|x\b|fits?\b|keep|(?:very )?high(?:ly likely)?\W*$)")
SMALL = re.compile(
    r"(?<![\w'’/\-])(?:[b-hj](?![\w'’/\-])(?!\.? ?(?:coli|diff)\b)|a(?=\s*(?:$|[,;:)!\n]|\.(?:\s|$)|\b(?:because|cos"
    r"|cuz|since|is (?:my|the|correct|right)|tbh|imo|for sure|obviously|definitely|i think)\b)))"
)
"""A letter of an option in a reply without capitals."""
NEARLY = caseless(r"\b(?:was|were|had been) (?:going|about|leaning|inclined|tempted|thinking)\b|\b(?:nearly|almost)\b")
ANSWER_FIRST = re.compile(r"\W{0,4}\([A-J]\)\.\s[^.]*\.\s+\(?[A-J]\)?\s+[a-z]")
BARE = r"[^\w✗✘❌✖×☒❎✓✔✅☑🥇🥈🥉>]*[A-J][^\w✗✘❌✖×☒❎✓✔✅☑🥇🥈🥉>]*"
BARE_LETTERS = re.compile(rf"{BARE}(?:\n{BARE})+")
CONDITIONAL = caseless(r"(?:\s*\([^)\n]*\))?\s+(?:only|if|unless)\b")
CONFIDENCE = caseless(r"\b(?:confiden|certainty|sure\b)")
ALIKE = tuple(
    (caseless(rf"\b(?:{own})\b"), name)
    for own, name in (
        (r"(?:c|ca?esarean|cs)[ -](?:section|delivery)|ca?esarean(?: birth)?", "caesarean section"),
        (r"(?:(?:stop|quit|give up|giving up|stopp?ing|quitting) smok(?:ing|e))", "smoking cessation"),
        (r"heart attack", "myocardial infarction"),
        (r"whilst", "while"),
        (r"USS|ultrasound scan|ultrasonography|sonography", "ultrasound"),
        (r"OGD|EGD|gastroscopy|o?esophagogastroduodenoscopy|upper endoscopy", "upper GI endoscopy"),
        (r"CT scan|computed tomography(?: scan)?", "CT"),
        (r"MRI scan|magnetic resonance imaging", "MRI"),
        (r"by mouth|orally|p\.?o\b\.?", "oral"),
        (r"per hour|an hour|(?<=/)(?:hour|hr)", "h"),
        (r"primary (?:coronary )?angioplasty|emergency angioplasty|PPCI", "primary percutaneous coronary intervention"),
    )
)
"""Wordings that replies use for the words of an option, and what they become in both."""
VERSUS = caseless(r"\bvs\.(?=\s)")
"""An abbreviation whose full stop ends no sentence."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
PLACE = (
    rf"(?P<place>{'|'.join(ORDINALS)}|top(?= (?:one|option|choice|answer))|(?:number|no\.|#) ?(?:one|two|three"
    r"|four|five|[1-9])|last|(?:second"
    rf"|next)[- ]to[- ]last|last but one|penultimate)"
    r"(?: of (?:the|these|those)(?: (?:two|three|four|five|six|seven|eight|nine|ten|\d+))?)?"
    r"(?: (?:listed |given |answer )?(?:one|option|choice|answer|options|choices|answers|item|statement|alternative))?"
    r"(?: (?:on|in|of) (?:the|your) list| listed| above)?"
)
POSITIONS = (
    caseless(
        r"(?:\bI(?:'d|'ll| would| will| am|'m)?\s+(?:\w+\s+)?(?:choose|chose|choosing|take|taking|pick|picking|select"
        r"|say|vote for|go(?:ing)? (?:with|for)|opt for)|\b(?:answer|choice|pick|vote|guess|bet"
        r"|(?:most (?:likely|probable)|likeliest)(?: (?:one|option|answer|diagnosis))?)\s*"
        r"(?:,? (?:then|therefore),?\s*)?(?:is|would be|:)|^\W*(?:it(?:'s| is)\s+)?"
        rf"(?:(?:definitely|probably|clearly|so|likely)\W+)*)\s*(?:the\s+)?{PLACE}"
        r"(?=\W*$|[.,;:!)\n]|\s+(?:because|since|as|given|for|is|here|imo|tbh)\b)"
    ),
    caseless(
        rf"\b{PLACE}\s+(?:is|seems|looks|fits|would be|must be|matches)\s*"
        r"(?:(?:the|clearly|most|my|a|by far|far|definitely|more)\s+)*(?:right|correct|best|likely|appropriate"
        r"|consistent|plausible|probable|convincing|answer|choice|pick|one\b(?! that)|it\b|$|[.,!])"
    ),
    caseless(
        r"^\W*(?:(?:the |my )?(?:answer|choice)(?: is|:) )?(?:option|choice|answer|number) "
        r"(?P<place>one|two|three|four|five|[1-9])\W*$"
    ),
)
"""An option named by its place: 'I'd take the third one', 'the last of the four is correct'."""
SUPPOSING = caseless(
    r"(?:^|[.;!?\n]\s*)(?:(?:but|and|however|whereas|in contrast)\W+)?(?:in|with|for|given|without|after|among"
    r"|by contrast|had|were|if|suppose)\b[^.;!?\n]*$"
)
WOULD = caseless(r"\bwould\b")
"""With these, a second claim is about another patient: 'In a man with dysuria, the answer would be B'."""
IF_OTHER = caseless(rf"[^.;!?\n]{{0,60}}?\b(?:{SUPPOSED})\b")
UNDECIDED = caseless(
    r"\b(?:(?:can(?:'t|not| not)|could(?:n't| not)|unable to|hard to|impossible to|(?:would(?:n't| not)|not) (?:dare"
    r"|like|want) to)\b[^.;!?\n]{0,20}?\b(?:decide|choose|commit|pick|say which|tell which)|toss[- ]?up"
    r"|coin[- ]?(?:flip|toss)|torn between|fifty[- ]fifty)\b[^.!?\n]*"
)
"""A sentence that leaves the answer open."""
PROBABLY = caseless(
    r"^(\W*(?:(?:so|I|I'd|hmm+|well|is it|it's)\W+)*(?:probably|likely|(?:I'd )?(?:think|guess|say)|must be|has to be)"
    r"\W+(?:option\W+)?\(?[A-J]\)?)\s*\?(?=\s+\w[^?]*$)"
)
"""An answer with a question mark that the rest of the text gives reasons for: 'Probably B? The score is 4.'"""
CLAUSE_BREAK = caseless(
    r"(?<=[.;:!?\n])\s+|\s+[–—-]+\s+|[,\s]+(?=(?:but|yet|however|whereas|while|although|though|because|since|which"
    r"|rather"
    r"|instead|before|after|until|given|and not|not)\b)|,\s+(?=(?:and|with|then|or|nor|the|he|she|it|we|I|this)\b)"
)
UNASSERTED = caseless(
    r"n't\b|\b(?:not|no|nor|neither|never|without|avoid\w*|cannot|exclu\w+|rul\w+ out|out of|off the|unlikely|less"
    r"|least|if|unless|could|might|may|can|rarely|seldom|usually|often|common\w*|also|too|possible|possibly|possibility"
    r"|after|afterwards|later|follows?|comes? (?:second|next)|second|add-ons?|only|alone|already|previous\w*|prior"
    r"|history|on record|rather than|instead|although|though|while|whereas|before|until|presumed|suspected"
    r"|alternative\w*|than|wrong|incorrect|false|worr\w+|fear\w*|consider\w*|thought|tempt\w+|looks? like|mimic\w*"
    r"|resembl\w*|vaccin\w*|negative|both|combin\w+|together|takes|taking|(?:is|was) on|brother|sister|mother|father"
    r"|parents?|died|normal|against|screen\w*|risk|family|differential\w*|versus|vs|or|options?|choices?|why|whether"
    r"|each|unlike|between|would (?!(?:be|give|start|say|recommend|go|do|keep|choose|order|treat|advise|call|begin"
    r"|suggest|perform|pick)\b))\b"
    r"|\?"
)
"""Words of a clause that does not call an option the answer."""
ASSERTING = caseless(
    r"\b(?:so|hence|therefore|thus|(?:this|that|it)(?:'s| is)|must|should|needs?|ha(?:s|ve) to|(?:he|she|patient|man"
    r"|woman|child|boy|girl|infant|baby) has|points? to|means|(?:next|right|best|correct) \w+|first|culprit|diagnosis"
    r"|cause|answer|key|dealing with|now|straight away|immediately|at once|in other words|I(?:'d| would|'ll"
    r"| will)? (?:think|say|give|keep|do|start|recommend|call|order|choose))\b"
    r"|^\W*(?:give|start|order|call|perform|begin|do|obtain|refer|offer|stop|tell|ask|keep|admit|treat)\b"
)
"""Words of a clause that does."""
NAMES = caseless(r"[)\]\"']*\s+(?:is|was|would|seems|stands for|refers to)\b")
SENTENCE = re.compile(r"[.!?\n]\s+(?=\S*\w)")
ASKING = re.compile(r"[^.!?;\n]*\?")
AFTER_LAST = caseless(r"[)\]\"'.*]*\s*(?:then|it is|it's|therefore|please|obviously)\b")
RESULT_OF = re.compile(r"[=≈→⇒:]|\s[-–—]\s|\b(?:works? out (?:as|at|to)|comes? (?:out )?(?:to|at)|equals|gives)\b")
SEPARATOR = re.compile(r"\n[^\S\n]*(?:#{2,}|={3,}|-{3,}|\*{3,})[^\S\n]*\n")
RESULT = caseless(r"(?:[=≈≅:→]|\bi\.e\.,?|\b(?:is|equals|gives|about|approximately))\s*$")
BETWEEN = caseless(r"\b(?:between|from)\b[^.;\n]{0,24}\b(?:and|to)\s*$|\d\s*(?:to|or|and)\s*$")
ENDING = re.compile(r"(?:ations?|age|ia|ions?|(?:al)?ly|ing|ed|ism|r?al|us|ic|y|e|a)$")
DOUBLED = re.compile(r"([bdgmnprt])\1$")
REVERSING = frozenset({"not", "no", "without", "avoid", "stop", "discontinue", "withhold", "never", "non", "except"})
"""Words, as folded, without which an option's words mean the reverse."""
REJECTED = caseless(
    rf"\W*(?:(?:no|nope)\W*$|(?:no, )?(?:that|this|it|my (?:first |previous |initial )?(?:answer|choice)"
    rf"|[A-J])\b[^.;!?\n]{{0,20}}?\b{REFUTED})"
)
CHANGES = 12
"""Number of changes that are read, from the end: a text with more repeats itself."""
AFTERTHOUGHT = 300
"""Characters after a change of mind that are searched for the new answer."""
LED = 260
"""Characters before a letter that are searched for what leads to it."""
NEAR = 40
"""Characters before a letter that are searched for the word 'option' or the start of its sentence."""
FEW = 2
SHORTEST = 60
"""Longest text, in characters, in which the only letter need not end a clause."""
SHORT = 400
"""Longest reply, in characters, in which the words of a single option, or a lone letter, count as the answer."""
WEIGHED = 160
"""Characters after an option that are searched for what the reply makes of it."""
