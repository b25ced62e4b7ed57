"""Decide which of a case's answers a reply states, by its final diagnosis and by how its clauses treat each answer.

The last of several diagnoses counts if the reply revises it. Disclaimers, plans and notes after a diagnosis are left
out. An answer that a clause dismisses, or names as a worry, as a possibility or as someone's label, is not the reply's;
where the final diagnosis cannot be taken out of its sentence, the one answer that a clause asserts is.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from equipoise.text.answer import Answer
from equipoise.text.answers import Given, match_answer
from equipoise.text.conclusions import DECIDES, HEADING, headed_statements
from equipoise.text.diagnoses import Diagnoses, Meaning
from equipoise.text.languages import DENYING, comparisons_in_english
from equipoise.text.layouts import lay_out, outside
from equipoise.text.naming import LESS_LIKELY, SET_ASIDE, VERB
from equipoise.text.own import SET_OFF, own_words, shown
from equipoise.text.patterns import caseless, plain_letters
from equipoise.text.sentences import sentence_spans

REVISES = caseless(
    r"(?:\b(?:on (?:reflection|second thoughts?|further (?:thought|reflection|review)|re-?reading)|correction"
    r"|edit(?:ed)?|update|sorry|I meant|scratch that|strike that|I (?:take|took) (?:that|it) back|let me (?:reconsider"
    r"|correct|revise|rethink|re-?evaluate|re-?read|re-?check|re-?think|look again|think again|go back)"
    r"|that changes (?:everything|things|the picture)|(?:changed|amended|revised|updated|corrected) to|correct myself"
    r"|my mistake|oops|(?:withdraw|retract) (?:that|it|this)|change my mind|changed my mind|then again|hmm|I(?:'d"
    r"| would)? now (?:think|believe|favou?r|say)|I (?:was|am|stand) (?:wrong|mistaken|corrected)|that (?:was"
    r"|is) wrong|I (?:misspoke|misread|overlooked)|actually|(?:(?<![a-z] )|(?<=\boh )|(?<=\bbut )|(?<=\bno )"
    r"|(?<=\bhmm ))wait|hold on|in hindsight|having reconsidered|reconsidering|(?:revise[ds]?|change[ds]?"
    r"|correct(?:ed)?|amend(?:ed)?|update[ds]?) (?:it|this|that|(?:the|my) [a-z ]{0,30}?(?:answer|diagnosis"
    r"|impression))(?: (?:from [^.;]{1,60}? )?to)?)\b|\b(?<!\ba )(?:revised|corrected|updated|amended"
    r"|new)(?: final)? (?:diagnosis|answer|impression)\b)"
)
"""Words by which a reply takes its diagnosis back."""
WITHDRAWS = caseless(
    r"\b(?:can(?:'t|not| not) be (?:right|correct|it|that)|exclud\w+ (?:it|this|that)|(?:it|this|that)(?: is"
    r"|'s) (?:excluded|ruled"
    r" out)|was hasty|(?:diagnosis|answer) (?:is|was)|(?:this|that|it) (?:has to|must) be|explains? (?:it|this"
    r"|everything))\b"
)
"""Words after a revision by which it gives another diagnosis, or takes the earlier one back."""
TRAILING = caseless(
    r"^[\s*_#>\-•(\[]*(?:(?:disclaimer|(?:please |important )?notes?|caveats?|warning|important|reminder|PS"
    r"|N\.?B)\b[^\w]"
    r"|I (?:hope|am not a|'m not a|am an AI|recommend|advise|strongly)|let me know|please|feel free|as an? (?:AI"
    r"|language)"
    r"|(?:do |just )?(?:remember|keep in mind|bear in mind|be aware)\b"
    r"|this (?:is not|does not|should not|information|answer|response|assessment) |it is (?:important|essential) to"
    r"|(?:always|you should|the patient should|he should|she should) (?:seek|consult|see|be)|if (?:you|imaging|the|this"
    r"|tests?)\b|(?:recommended |suggested |immediate |next |best |further )*(?:next (?:best )?steps?|plan|treatment"
    r"|management|investigations?|work-?up|tests?|recommendations?|actions?|advice|red flags?|follow[- ]up)\b\W*(?::|$"
    r"|[–—-])|(?:the )?(?:main |other |key |top )*(?:differentials?|alternatives?|ddx|d/dx"
    r"|other possibilities)(?: diagnos[ei]s)?\b)"
)
"""The start of a sentence after the diagnosis that does not state it."""
DISCLAIMER = caseless(
    r"^[\s*_#>\-•(\[]*(?:disclaimer|(?:please |important )?notes?\b|(?:please |do |just )?(?:remember|note"
    r"|keep in mind|bear in mind"
    r"|be aware|see|consult|seek)|I(?:'m| am) (?:not a|an)\b|as an? (?:AI|language)|this (?:is not|answer|response"
    r"|information|does not))\b"
)
"""The start of a paragraph in which nothing states the diagnosis."""
REMARK = caseless(
    r"^[\s*_#>•(\[-]*(?:(?:please |important )?note(?:s|d)?|caveats?|warning|important|reminder)\b(?: that)?\W*"
)
"""What announces a remark."""
USUAL_NOTE = caseless(r"\b(?:normal|natural|understandable)\b")
"""Words of a remark that comforts its reader."""
REGAINED = caseless(r"\bmost (?:likely|probable)\b|\b(?:the|my|final|working|leading) (?:\w+ )?diagnosis\b")
"""Words of a sentence after a disclaimer that states a diagnosis again."""
SECTION = re.compile(r"[:*#]\W*$|^\s*#")
CLAUSES = caseless(
    r"[;,:()\[\]…]\s+|[()]|(?<!\s)\s+[–—-]+\s+|[–—]|\.{3}\s*|\?"
    r"|(?:,|(?<![\s,]))(?<!\bis)(?<!\bare)(?<!\bbe)\s+(?:but|yet|however|though|although|while|whereas|so(?! far)|hence"
    r"|therefore|thus|because|since|given|and(?= (?:now )?(?:diagnose|conclude|settle|opt|go for|against)))\b"
)
AGAINST = caseless(
    rf"\b(?:{SET_OFF}|no|not|nothing|little|is out|never|nor|neither|without|\w+n't|can ?not|exclud\w+"
    r"|exclusi\w+|rul(?:ed?|es|ing) out|unlikely|less|least|improbable|dismiss\w*|discount\w*|reject\w*|refut\w*"
    r"|negative|against|mimic\w*|resembl\w+|history|histories|previous\w*|prior|past|everyone|everybody|they|staff"
    r"|nurses?|carers|parents|paramedics?|triage|wife|husband|(?<!bed )partner|sisters?|brothers?|mother|father|aunt"
    r"|uncle|cousin|daughter|son|friend|neighbour|convinced|frightened|afraid|scared|GP|team|psychiatrist|colleagues?"
    r"|records?|handover|problem list|so far|stigma\w*|prejudice|distract\w*|doctors?|physicians?|blam\w+"
    r"|(?<!I )(?<!I'd )(?<!would )put (?:it|this|that) down|withdraw|easy to|known|underlying|pre-?existing|documented"
    r"|reported|wr(?:ote|itten)|attribut\w+|carries|sent home|discharge|label\w*|mislabel\w*|referr\w+|chart|notes"
    r"|letter|(?<!can be )(?<!should be )told|call(?:s|ed)|(?<!am )(?<!'m )calling|raised by|was raised|thought"
    r"|comes? to mind|consider\w*(?! (?:this|it|him|her)\b)|worr\w+|concern\w*"
    r"|fears?(?! of (?:\w+ing|death|the worst|crowds|open)\b)|feared|suspicion|possib\w+"
    r"|might|may|could|alternatives?|differentials?|second(?:ly)?|followed by|of course|common\w*|prevalen\w+|if"
    r"|overlook\w*|misdiagnos\w*|mistak\w+|mistook|wrong\w*|initial\w*|originally|(?<!put )(?<!rank )first|anchor\w*"
    r"|element|contribut\w+|background|trigger\w*|stereotyp\w*|assum\w+|tempt\w+|avoid|also|too|secondarily|comorbid\w*"
    r"|coexist\w*|co-exist\w*|family|precipitat\w+|provoked|exacerbated|worsened|other (?:condition|cause|possibilit"
    r"|diagnos|option)\w*|can (?:also |sometimes |often )?(?:look|present|appear|cause|be(?! told)|resemble|mimic)"
    r"|(?<!at-)(?<!clinical high )(?<!ultra-high )risks?|screen\w*|tests?|testing"
    r"|(?<!patient)'s (?:explanation|impression|diagnosis|view|opinion|verdict|theory"
    r"|idea|label|assessment)|look like|looks like|come next|runner-up|instead of|why)\b"
)
"""Words of a clause that does not assert the diagnosis that it names."""
NOT_NOW = caseless(
    rf"\b(?:{SET_OFF}|nothing"
    r"|histor(?:y|ies)|previous(?:ly)?|prior|past|(?<!at-)(?<!clinical high )(?<!ultra-high )risks?(?! factors?\b)"
    r"|fears?|worr\w+"
    r"|no|not|non|absen(?:t|ce)|negative|exclu\w+|unlikely"
    r"|mimic\w*|resolved|family|familial|rul(?:ed?|ing) out|dismiss\w*|reject\w*)\b"
)
"""Words for a disease that the patient does not have, or no longer has."""
LIKE = caseless(
    r"\b(?:(?!(?:an?|the|and|or|of|with|has|have|is|was|from|after|by|due|to)\b)[\w']{1,30}[ -]){0,4}"
    r"[\w']{1,30}-like\b(?! illness)"
)
"""A disease that another one looks like."""
NEGATED = caseless(
    r"\b(?:do|does|did|can|could|would|will)(?:n't| ?not)\b|(?<!\bI )\b(?:would|might|may|could) (?:suggest|fit"
    r"|favou?r|point|show|have|cause|give|produce|present|come|begin|start|usually|typically|normally|need|require)\b"
    r"|\bno longer\b|\bopposite of\b|\bso-called\b"
    r"|\bshould not be diagnosed\b|\bdoes not apply\b|\b(?:is|are|was|were|been?|seems?|remains?"
    r"|appears?)\b[^,;]{0,20}\b(?:less (?:likely|probable)(?! than)|ruled out|excluded)\b|\bnot\W*$|\bnot (?:explain"
    r"|fit|account|match|cause)|\b(?:got|gets|been) (?:ruled out|excluded)"
    r"|(?<=\w )(?<!and )(?<!or )(?<!but )less (?:likely|probable)(?! than)"
)
"""Verbs of a clause that denies what its subject would explain."""
BESIDE = caseless(
    r"\b(?:in (?:a|an|the) (?:\w+[ -]){1,4}?(?:with|who|whose|known)|superimposed on|on (?:a background|top) of"
    r"|complicat\w+|with|as well as|and (?:secondary|reactive|resulting|mild|background|comorbid|concurrent|consequent"
    r"|associated)|alongside|plus|in addition to|than|over|after|followed by|ahead of|on the background of"
    r"|as a (?:symptom|sign|confounder|complication|comorbidity)|overlooks?|misses|due to|secondary to|caused by"
    r"|resulting from|related to|presenting (?:with|as)|misdiagnosed as|mistaken for)\b"
)
"""What follows is beside the diagnosis that a clause names first."""
CONCLUDES = caseless(
    r"\b(?:overall|in (?:summary|conclusion|short|sum)|on balance|taken together|conclu\w+|answer|final\w*|(?:diagnosis"
    r"|cause) is|diagnosis (?:of|would|should|remains)|most (?:likely|probable|plausible)|likeliest|(?:it|this|that|he"
    r"|she)(?:'s| is| has)|call (?:this|it)|is the|are the|mine is|actual\w*|real|true|remains?|explain\w*"
    r"|accounts? for|points? (?:clearly |strongly )?to\w*"
    r"|favou?rs?|suggests?|supports?|aligns?|consistent with|means?|makes?|I(?:'d| would)? (?:say|suspect|diagnose"
    r"|conclude|go|think|believe)|does|fits|verdict|settle for|adds up to"
    r"|shows?|reveals?|confirms?|proves?|establish\w*|indicates?|says|tells|settles?|treat (?:\w+ ){1,2}as|that leaves"
    r"|which leaves|that of|speaks? (?:clearly |strongly )?(?:for|in favou?r)|argues? for)\b"
)
LESSER = caseless(
    r"^\W*(?:\w+ )?(?:second\w*|third|alternatives?|differentials?|ddx|d/dx|less|least|unlikely|others?|also|rule out"
    r"|exclude\w*|ruled out|against|comorbid\w*|background|history|past|not(?! the)|consider|runner-up|chart|notes"
    r"|triage|referral|previous\w*|initial\w*|last|old|first impression|label|further|lower|below|then|next|followed)\b"
)
"""What stands before the colon in front of a diagnosis that is not the likeliest."""
EITHER = caseless(r"\b(?:or|versus|vs)\b|(?<!\d)/(?!(?:d?l|ml|kg|min|h|hour|day|u?l|mm3)\b)")
VERDICT = caseless(
    r"^\W*(?:no(?! doubt| question)|I wish|as if|my foot|need(?:s|ed)? not|needn't|hardly"
    r"|scarcely|never|think again|wrong|false|unlikely|improbable|exclu\w+|ruled out|less likely|not(?! (?!likely"
    r"|supported|possible|it|this|here|the (?:case|answer|cause|diagnosis)|consistent|present|explained|enough"
    r"|convincing)\w)|rejected|dismissed|doubtful|out)\b"
)
"""What follows a diagnosis to dismiss it."""
SUBORDINATE = frozenset({"although", "though", "while", "whereas", "because", "since", "given", "(", "["})
"""Words before a clause that does not overrule the one before."""
CAUSE = caseless(
    r"\b(?:due to|secondary to|caused by|resulting from|as a result of|because of"
    r"|(?:symptom|sign|manifestation|consequence|result|effect|feature|part|presentation|expression) of)\b"
)
LINKS = caseless(
    r"\b(?:of|in|about|that|for|with|and|over|(?!underlying|existing|ongoing|evolving|bleeding)\w{3,}ing|fears?)\b"
)
"""Words between a cause and a diagnosis that is not the cause itself."""
HEDGE = caseless(r"^\W*(?:(?:possibl[ey]|probabl[ey]|likely|suspected|query|maybe|perhaps|presumed)\s+)+")
"""Words before a diagnosis that is likely or possible."""
CONCESSION = caseless(
    r"(?:, )?\b(?:however (?:much|many|often|well|long|\w+ (?:he|she|they|it))|no matter (?:how|what)|regardless of"
    r"|irrespective of)\b[^,;.!?\n]*"
    r"|, as (?:an?|the|some|many|others|people)\b[^,;.!?\n]{1,40}\b(?:might|may|would|could|often|usually)\b"
    r"[^,;.!?\n]{0,20},"
)
ASKED = caseless(r"(?<=diagnosis)\?\s|(?<=verdict)\?\s|(?<=conclusion)\?\s")
EXPLAINED = caseless(r"\b(?:explained|accounted for) by\b")
"""What follows is the diagnosis, or a finding; what comes before is not."""
QUESTION = caseless(
    r"(?:^|(?<=[.?!;] ))(?:so |and )?(?:is|could|might|was) (?:this|it|that|she|he)(?: be"
    r"| having)? (?P<name>[^?.!\n]{2,60})\? (?P<no>no|yes)\b"
)
"""A diagnosis that a question asks for, and the answer."""
HEDGED = caseless(r"^\W*(?:possibly|perhaps|maybe|conceivably|potentially)\b")
"""The start of a clause with a diagnosis that is merely possible beside another."""
SHORTHAND = {
    r"2/2(?= [a-z])": "due to",
    "(?:d/t|s/t|2°)": "due to",
    "w/o": "without",
    "w/": "with",
    "r/o": "rule out",
    "h/o": "history of",
    "c/w": "consistent with",
    "s/o": "suggestive of",
    "b/c": "because",
    "A/P": "Assessment",
}
"""Clinical shorthand with a slash, which otherwise separates alternatives."""
ARROW = caseless(
    r"(?<=\S) [-=]> |(?:^|(?<=\n))(?P<label>[ *#-]{0,6}(?:[a-z]{1,20} )?(?:diagnosis|runner-up|first|second|third"
    r"|leading|alternatives?|dx|answer"
    r"|differentials?|consider|impression|likely|probable|unlikely))[ *]{0,4}(?:→|=>)\s*"
)
CROSSED = re.compile(r"(?P<name>[A-Za-z][^\n,;✅✓✔☑👍❌✗✘🚫❎⛔👎]{1,80}?)\s*[❌✗✘🚫❎⛔👎]\ufe0f?[ \t]*(?=[,;\n]|\Z)")
CROSS, TICK = re.compile("[❌✗✘🚫❎⛔👎]\ufe0f?"), re.compile("[✅✓✔☑👍]\ufe0f?")
EQUALS = re.compile(
    r"\s=\s(?=[A-Za-z]{4})|(?:(?<=[\d%)])|(?<=positive)|(?<=negative)|(?<=normal)|(?<=raised)|(?<=weeks)"
    r"|(?<=low))\s*(?:→|=>|⇒)\s*(?=[A-Za-z])"
)
"""A sign between findings and what they mean."""
NAMES_DASH = re.compile("(?<=[a-zé])–(?=[A-Z])")
"""The dash between two names: Guillain–Barré."""
POINTED = caseless(
    r"\b(?:number \w+|(?:the )?(?:first|second|third|fourth|fifth|last)(?: one| option)?) (?:of (?:these|those|them)"
    r"|on (?:the|my) list|in (?:the|my) list|above)\s*[,(:–-]\s*"
)
"""A place in a list before the name that stands there."""
THATS_IT = caseless(
    r"(?:^|(?<=[.!?:;\n]))[ \t*]{0,9}(?P<name>[^\s*.!?:;][^.!?:;\n]{2,79})[.!*]{1,9}\s{1,9}(?:that|this)"
    r"(?:'s| is| would be) (?:my|the) (?:final )?(?:answer|diagnosis)\b"
)
"""A name that the next sentence calls the answer."""
CONCLUSION = caseless(
    r"(?:^[ \t*#>_-]*|(?<=[.!?] ))(?:step \d+\W+)?(?:(?:overall |final |my )?(?:conclusion|answer|verdict|bottom line"
    r"|decision|judge?ment|opinion|summary)"
    r"|hence|therefore|thus|so|most (?:likely|probable)|likeliest|favou?red|in (?:conclusion|summary"
    r"|short))[*_ ]*[:.–—][*_\s]+(?=(?P<name>[^.,;(\n–—]{3,90}))",
    re.MULTILINE,
)
"""A heading, or a conclusion with a colon, before a name without a verb."""
FORMER = caseless(
    r"\b(?:(?:first|initial|original) (?:thought|guess|instinct|impression|idea|reaction)|at first|initially"
    r"|I (?:first )?thought)\b"
)
"""Words by which a reply names a diagnosis that it has since left."""
TURN = caseless(
    r"\b(?:(?<!anything )(?<!nothing )but|yet|however|instead(?! of)|here|actually"
    r"|(?:patients?|people|someone|anyone|cases?|wom[ae]n|m[ae]n) like (?:this|him|her|them)"
    r"|(?:in|for|with|about) this (?:\w+ )?(?:patient|case|one|person|man|woman|girl|boy|child|individual|presentation)"
    r"|in (?:reality|fact|practice|favou?r of)|gives? way to)\b"
)
"""Words at which a reply may turn from what is usual to what it says about the patient."""
RECONSIDERS = caseless(r"\bre-?(?:evaluat|assess|consider|think|visit|view|read)\w*|\bstop\b")
FINAL = caseless(r"[^\w]*(?:(?:my|the) )?(?:final|revised|corrected|updated|definitive|overall)\b")
PROVISIONAL = caseless(
    r"[^\w]*(?:(?:my|the) )?(?:working|provisional|preliminary|initial|first|suspected|presumptive)\b"
)
"""Headings of the diagnosis that counts where others differ, and of one that need not."""
SHARES = caseless(
    r"\d ?%|\bp ?= ?[01]?\.\d|\b(?:\d+|one|two|three|four|five|six|seven|eight|nine)(?: \w+){0,2} (?:in|out of|to)"
    r" (?:\d+|one|two|three|four|five|ten|twenty|a hundred)\b"
)
"""Shares of two diagnoses, in numbers or in words."""
SHARING, PERCENT = caseless(r"[,;.!?]\s|\n|\b(?:and|but)\b"), re.compile(r"\b(\d+(?:\.\d+)?) ?%")
"""What separates the shares of diagnoses, and a share in percent."""
CHANCE = caseless(r"\b(?:probab\w+|chances?|likelihood|odds|confiden\w+|times|p ?=)")
COEQUAL = caseless(
    r"\b(?:co-?infect\w*|(?<!can )(?<!may )(?<!might )(?<!could )co-?exist\w*"
    r"|each|both|equally|dual|in equal (?:measure|parts)|neither (?:is|being)"
    r"|two (?:diagnoses|conditions|separate|distinct))\b"
)
"""Words of a sentence that gives two diagnoses, neither of which is the main one."""
UNCAPPED = re.compile(
    r"\b(?:(?!(?:approx|dept|diag|diff|hist|hosp|poss|prob|prof|resp|susp|temp)\.)[a-z]{4,}|[a-z]{3,}\)|yes|no)\.\s+[a-z](?=[a-z])"
)
"""The end of a sentence, and the first letter of one that begins in lower case."""
CYRILLIC_NOT = re.compile(r"\bН(?=[еЕіІ]\b)")
RUN = re.compile(r"(\W{1,4}?)\1{8,}")
"""The same marks or spaces again and again, which a looping model writes and patterns would compare with each other."""
BRACKETS = re.compile(r"\([^()]*\)")
CLOSING = caseless(
    r"\b(?:is|are|was|be|remains?|has|have|speaks?|argues?|leaves?|left|points?|due to|because of|called|fits?|matches"
    r"|explains?|ties|unif\w+|solves?|answers?|wins?|land\w* on|settl\w+ on|com(?:es?|ing) down (?:on|to)|ends? up"
    r"|arriv\w+ at|bet\w* on|put (?:it|this) down to|leads? (?:me |us )?to|sits|plump\w* for|comes? back to|lean\w*"
    r"|opt\w* for|choose|pick|go(?:es|ing)? (?:for|with)|call|diagnos\w+|conclu\w+|think|believe|say)\b"
)
"""Verbs by which the last sentence of a long reply names its diagnosis."""
ADVICE = caseless(
    r"\b(?:should|needs?|must(?! not be missed)|manag\w+|treat\w*|therap\w+|recommend\w*|advis\w+|refer\w*|common\w*"
    r"|prevalen\w+)\b"
)
DRAW = caseless(
    r"\b(?:(?:can(?:'t|not| not)|could(?:n't| not)|(?:un|not )able to|impossible to|hard to|difficult to|won't"
    r"|will not|not dare to)"
    r" (?:be sure |really |reliably |confidently )?(?:say|tell|decide|distinguish|choose|determine|separate|pick|know"
    r"|commit)|equally (?:likely|probable|plausible|possible|well)|toss[- ]up|coin[- ]flip|fifty[- ]fifty|50[/:-]50"
    r"|(?:undecided|torn) between|either (?:is|one|could|of (?:these|them|the two))"
    r"|(?:stays?|remains?|leave (?:it|this|the \w+)|left|is still|has to stay|must stay) (?:open|undecided|unanswered"
    r"|unresolved)|no (?:single |firm |definite |final )?(?:diagnosis|answer|conclusion) (?:can|could|is)|(?:needed"
    r"|required) to (?:decide|choose)|can(?:'t|not| not) be (?:told apart"
    r"|separated|distinguished))\b"
)
"""Words by which the last sentence leaves the answer open."""
LONGEST_OPENING = 10
LONGEST_NAME = 5
LONGEST_SHORT = 60
"""Words of a short reply, whose every clause is about its diagnosis."""
NO_SIGN = (
    r"(?: (?:hinweise?|anhalt(?:spunkte?)?|(?:an)?zeichen|belege?|verdacht|aanwijzing(?:en)?|tekenen|bewijs|sprake"
    r"|signes?|arguments?|éléments?|indices?|preuves?|signos?|indicios?|evidencias?|datos|pruebas?|síntomas|sinais"
    r"|sinal|indícios?|evidências?|segn[oi]|evidenz[ae]|prov[ae]|tecken|tegn|suggests)"
    r"(?: (?:auf|für|von|voor|van|pour|de|d'|di|en faveur (?:de|d'|d'une?)|av|på|for|til))?)?"
    r"(?: (?:einer?|une?|uma?|un'))?"
)
DENIALS = (
    (
        (
            r"\b(?:ist|sind|est|is|n'est|ne) (?:nicht|pas|niet)\b(?! (?:eine?|une?|een)\b)"
            r"|\b(?:no es|non è|não é) (?:probab\w+|prov[aá]vel|compat\w+|veros\w+)"
        ),
        "is unlikely",
    ),
    (r"\b(?:exclusão|exclusión|esclusione|ausschlussdiagnose)\b", "exclusion"),
    (r"\b(?:contra|contro|contre|tegen)\b", "not"),
    (
        r"\b(?:statt|anstatt|anstelle von|au lieu (?:de|d')|en (?:lugar|vez) de|em vez de|invece di|in plaats van)\b",
        "instead of",
    ),
    (
        (
            r"(?:\A|(?<=[.;:\n] ))(?:más que|(?:plus|plutôt) (?:que |qu')(?:une?)?|(?:più|piuttosto) che"
            r"|mais (?:do )?que|(?:mehr|eher) als)\b"
        ),
        "instead of",
    ),
    (r"\b(?:nie|bukan|tidak(?: ada)?|brak(?: \w+)?)\b", "not"),
    (r"\bliegt (?:\w+ )?nicht vor\b", "is unlikely"),
    (r"\bmelainkan\b", "but"),
    (r"(?<=\w )(?:wykluczon\w+|исключ\w+|vyloučen\w*)", "is ruled out"),
    (rf"\b(?:{DENYING})\b", "not"),
    (rf"\bkein(?:e[nmrs]?|erlei)?\b{NO_SIGN}", "no"),
    (
        (
            r"\b(?:geen|aucune?|ning[uú]n[ao]?|nenhuma?|nessun[ao]?|niente|ingen|inga|inget|intet|ingenting)\b'?"
            rf"{NO_SIGN}"
        ),
        "no",
    ),
    (
        r"\b(?:es )?handelt (?:es )?sich nicht um\b(?: eine?)?|\b(?:nicht|ikke|inte|niet|nie jest(?: to)?)\b(?: um)?",
        "not",
    ),
    (
        (
            r"\b(?:rien (?:ne |n')|nichts |niets |ingenting |nada |nulla )[\w'’]+"
            r"(?: (?:auf|für|op|voor|a|per|til|på|en faveur))?(?: (?:einer?|une?|uma?|de|d'|di|om))*\b"
        ),
        "no",
    ),
    (
        r"\b(?:rien|nichts|niets|ingenting|nada|nulla|niente|nic)\b,?(?: (?:qui|que|was|das|wat|dat|che|som|co)\b)?",
        "nothing that",
    ),
    (r"\bgegen (?P<name>[^.,;\n]{1,60}?) (?:spricht|sprechen)\b[^.,;\n]*", r"not \g<name>"),
    (
        (
            r"\b(?:(?:ist|est|es|è|é|is|är|er) )?(?:sehr |très |muy |molto |muito )?(?:(?:eher )?unwahrscheinlich"
            r"|peu probable"
            r"|(?:poco|pouco) (?:probable|probabile|provável)|improbabile|improvável|onwaarschijnlijk|osannolik\w*"
            r"|usannsynlig|usandsynlig)\b"
        ),
        "is unlikely",
    ),
    (
        (
            r"\b(?:ist |kann |wurde |is |est |è |es |é )?(?:ausgeschlossen(?: werden)?|uitgesloten|écartée?"
            r"|exclue?|da escludere|esclus[oa]|descartad[oa]|excluíd[oa]|utesluten|udelukket)\b"
        ),
        "is ruled out",
    ),
    (r"\b(?:sondern|bensì|bensi|maar|sino(?: de)?)\b", "but"),
    # Some letters have been replaced by Latin ones that look like them.
    (r"\b(?:н[еe]|[нh][еe]т(?: \w+)?)\b|不是|并非|並非|没有|沒有|排除", " not "),
    (r"(?:\bа\b|而是)", " but "),
    (
        (
            r"(?P<name>[A-Za-z][A-Za-z ]{2,60}?)\s*(?:ではなく|ではありません|ではない|じゃない|,? ?de[gğ]il"
            r"|(?:이|가) ?아니라|(?:이|가) ?아닙니다),?"
        ),
        r"not \g<name>, but ",
    ),
)
"""Words of other languages that reject what they stand at, and the English ones, whatever else a reply has."""
DENIALS_ALONE = (
    (rf"\b(?:sin|sem|senza|sans|utan|uden|uten|zonder)\b{NO_SIGN}", "no"),
    (rf"\bno (?:es|hay|existen?|se trata de|creo que sea|parece)\b{NO_SIGN}", "not"),
    (rf"\bn[aã]o (?:é|há|existem?|se trata de|parece)\b{NO_SIGN}|\bn[aã]o\b", "not"),
    (rf"\bnon (?:è|c'è|ci sono|si tratta di|sembra)\b{NO_SIGN}|\bnon\b(?!-)", "not"),
    (rf"\b(?:il ne s'agit pas|ce n'est pas|n'est pas|il n'y a pas|pas)\b(?!-)(?: (?:de|d'))?{NO_SIGN}", "not"),
    (r"\b(?:ni|ne)\b", "not"),
    (r"\b(?:ma|mas(?: de)?|mais|men|lecz|ale|utan)\b", "but"),
)
"""Those that are also words or names in English."""
FOREIGN = tuple((caseless(own), english) for own, english in DENIALS)
FOREIGN_ALONE = tuple((caseless(own), english) for own, english in DENIALS_ALONE)
ENGLISH = caseless(r"\b(?:the|and|this|are|with|his|her|from|she|it|to|that|likely|diagnosis)\b")

Answers = Mapping[Given, Answer]
Meanings = Mapping[Given, list[Meaning]]


class _Clause(NamedTuple):
    """A clause, what separates it from the one before, and the sentence and line on which it stands."""

    text: str
    before: str
    after: str
    sentence: int
    line: int
    closes: bool
    """Whether it ends the reply after an argument or a colon."""


class _Mention(NamedTuple):
    """An answer in a clause: whether the clause asserts or denies it, concludes, is its name alone, and so on."""

    kind: Given
    asserted: bool
    denied: bool
    concludes: bool
    decides: bool
    bare: bool
    overrules: bool
    sentence: int
    line: int


def stated_answer(reply: str, answers: Answers, diagnoses: Diagnoses) -> Given | None:
    """Return the answer that a reply states.

    Args:
        reply: The part of an output that its reader sees.
        answers: The answers to look for, by kind.
        diagnoses: The lexicon.

    Returns:
        The kind of the answer that the reply states as its diagnosis; None if it states none, another or several.
    """
    reply = RUN.sub(lambda run: 8 * run[1], plain_reply(reply))
    reply = LIKE.sub(" ", _denials_in_english(diagnoses.to_english(comparisons_in_english(shown(reply))), reply))
    reply = re.sub(r"\b(GAD|EPDS|PHQ|HADS|AUDIT)-?\d\b", "score", reply)
    reply = UNCAPPED.sub(lambda end: f"{end[0][:-1]}{end[0][-1].upper()}", reply)
    reply = QUESTION.sub(
        lambda question: f"{'This is' if question['no'].lower() == 'yes' else 'Not'} {question['name']}", reply
    )
    reply = POINTED.sub("", EQUALS.sub(": this is ", NAMES_DASH.sub("-", reply)))
    reply = THATS_IT.sub(lambda name: f"\nDiagnosis: {name['name']}", reply)
    reply = CONCLUSION.sub(lambda head: head[0] if VERB.search(head["name"]) else "\nDiagnosis: ", reply)
    reply = ASKED.sub(": ", CONCESSION.sub(" ", reply))
    reply = own_words(reply)
    reply = ARROW.sub(lambda arrow: f"{arrow['label'] or ''}: ", reply)
    for short, words in SHORTHAND.items():
        reply = re.sub(rf"(?<!\w){short}(?![\w/])", words, reply, flags=re.IGNORECASE)
    meanings = {kind: _meanings(answer, diagnoses) for kind, answer in answers.items()}
    given = _revised(reply, answers, meanings, diagnoses)
    return given if given and {given} >= {*_given_beside(reply, answers, meanings, diagnoses)} else None


def plain_reply(reply: str) -> str:
    """Return a reply in Latin letters; the Cyrillic for `not`, which would look like `He`, stays."""
    return plain_letters(CYRILLIC_NOT.sub("н", reply))


def _given_beside(reply: str, answers: Answers, meanings: Meanings, diagnoses: Diagnoses) -> Iterator[Given]:
    """Yield what a reply gives after a turn, beside a layout that holds its answer, in later remarks, and by shares."""
    turn = TURN.search(reply)
    for rest in (reply[turn.end() :] if turn else "", outside(reply)):
        if other := _settled(rest, answers, meanings, diagnoses):
            yield other
    plain, noted = _trailing(reply)
    if len(plain.split()) <= LONGEST_SHORT and lay_out(plain) == plain:
        yield from _shared(plain, meanings, diagnoses)
    remarks = _mentions(noted, meanings, diagnoses, is_short=False)
    yield from (mention.kind for mention in remarks if mention.asserted and mention.concludes)


def _denials_in_english(text: str, original: str) -> str:
    """Rewrite the denials of other languages that are left in a translated text."""
    for own, english in FOREIGN if ENGLISH.search(original) else FOREIGN + FOREIGN_ALONE:
        text = own.sub(english, text)
    return text


def _revised(reply: str, answers: Answers, meanings: Meanings, diagnoses: Diagnoses) -> Given | None:
    """Read a reply's answer after its last revision, if it has one, else as a whole."""
    revisions = list(REVISES.finditer(reply))
    if revisions and not reply.lstrip().startswith(("{", "[", "`")):
        revised = reply[revisions[-1].end() :]
        # Without a word of another diagnosis, what follows explains the one before.
        if (kind := _settled(revised, answers, meanings, diagnoses)) is not None:
            return kind
        if re.search(r"diagnos|answer|impression", revisions[-1][0], re.IGNORECASE) or WITHDRAWS.search(revised):
            return None
    return _settled(reply, answers, meanings, diagnoses, is_revised=bool(revisions))


def named_answers(text: str, answers: Answers, diagnoses: Diagnoses) -> list[Given]:
    """Return the answers that a text names, whatever it says about them."""
    return [*_named(text, {given: _meanings(answer, diagnoses) for given, answer in answers.items()}, diagnoses)]


def _meanings(answer: Answer, diagnoses: Diagnoses) -> list[Meaning]:
    read = [diagnoses.meaning(wording) for wording in (answer.label, *answer.synonyms)]
    return [meaning for meaning in read if meaning.concepts]


def _settled(
    text: str, answers: Answers, meanings: Meanings, diagnoses: Diagnoses, *, is_revised: bool = False
) -> Given | None:
    """Read a text's answer by its final diagnosis, which its clauses may overrule; by these if it is not an answer."""
    is_short = len(text.split()) <= LONGEST_SHORT
    # A layout compares marks.
    plain = _trailing(text)[0]
    text = lay_out(plain)
    text = TICK.sub("; ", CROSS.sub("; not ", CROSSED.sub(r"; not \g<name>; ", text)))
    # The reply has ended: a last line without a full stop is not cut short.
    same = _same(f"{text}.", answers, diagnoses) or _same(text, answers, diagnoses)
    if len(same) > 1:
        named = _named(text, meanings, diagnoses)
        same = [kind for kind in same if kind in named]
    headings = list(HEADING.finditer(text))
    spans = sentence_spans(text, longest=len(text) + 1)
    last = text[spans[-1].start : spans[-1].end] if spans else ""
    drawn = None if headings else DRAW.search(last)
    is_open = drawn and len(_named(last[drawn.end() :], meanings, diagnoses)) != 1
    is_both = _are_at_odds(text, answers, diagnoses) or _are_coequal(last, meanings, diagnoses)
    if is_open or is_both:
        return None
    if headings and not is_short:
        return same[0] if len(same) == 1 else None
    opening = None if headings else _opening(text, answers, diagnoses)
    if opening:
        same = [opening]
    mentions = list(_mentions(text, meanings, diagnoses, is_short=is_short))
    if headings and not same:
        line = text.count("\n", 0, headings[-1].end())
        mentions = [
            mention for mention in mentions if mention.line == line or (mention.line > line and mention.concludes)
        ]
    closing = None if is_short else _closing(last, meanings, diagnoses)
    if closing and (not same or closing in same):
        return closing
    undecided = not same or (is_short and not any(mention.asserted for mention in mentions))
    if is_short and FORMER.search(text) and not (headings or opening or any(mention.asserted for mention in mentions)):
        return None
    concluded = {mention.kind for mention in mentions if mention.asserted and mention.concludes}
    if undecided and not headings and len(concluded) != 1 and _names_another(text, meanings, diagnoses):
        return None
    is_headed = bool(headings)
    return _weighed(mentions, same, is_headed=is_headed, is_first=is_headed or bool(opening), is_revised=is_revised)


def _shared(text: str, meanings: Meanings, diagnoses: Diagnoses) -> set[Given]:
    """Return the answer with the largest share in a text that gives shares of several; all if no share is largest."""
    if not CHANCE.search(text):
        return set()
    parts = [(_named(part, meanings, diagnoses), part) for part in SHARING.split(text) if SHARES.search(part)]
    parts = [(kinds, part) for kinds, part in parts if kinds]
    every = {kind for kinds, _ in parts for kind in kinds}
    if len(every) < 2 or len(parts) < 2:  # noqa: PLR2004
        return set()
    shares = sorted(
        (max(map(float, PERCENT.findall(part)), default=0.0), place) for place, (_, part) in enumerate(parts)
    )
    likeliest, part = parts[shares[-1][1]]
    is_told = shares[0][0] > 0 and shares[-1][0] > shares[-2][0] and not AGAINST.search(part)
    return {*likeliest} if is_told and len(likeliest) == 1 else every


def _are_at_odds(text: str, answers: Answers, diagnoses: Diagnoses) -> bool:
    """Whether two headings give different answers, neither of which is the final one, and nothing leads to the last."""
    statements = sorted(headed_statements(text, HEADING))
    headed = [
        (statement, text[statement.start : statement.end])
        for statement in statements
        if not PROVISIONAL.match(text, statement.start)
    ]
    for (earlier, first), (later, last) in pairwise(headed):
        own = {*_same(first, answers, diagnoses), *_same(last, answers, diagnoses)}
        between = text[earlier.end : later.start]
        is_led_to = FINAL.match(last) and not FINAL.match(first)
        if len(own) > 1 and not (is_led_to or AGAINST.search(between) or RECONSIDERS.search(between)):
            return True
    return False


def _are_coequal(sentence: str, meanings: Meanings, diagnoses: Diagnoses) -> bool:
    """Whether a sentence gives both answers, neither as the main one."""
    equal = COEQUAL.search(sentence)
    rest = re.sub(r"co-?exist\w*|contribut\w+|too|also", "", sentence)
    return bool(equal) and not AGAINST.search(rest) and len(_named(sentence, meanings, diagnoses)) > 1


def _closing(sentence: str, meanings: Meanings, diagnoses: Diagnoses) -> Given | None:
    """Return the answer that the last sentence of a long text asserts."""
    sentence = ", ".join(part for part in re.split(r",\s+(?:and|but)\s|;\s", sentence) if not ADVICE.search(part))
    if not CLOSING.search(sentence):
        return None
    kinds = {mention.kind for mention in _mentions(sentence, meanings, diagnoses, is_short=True) if mention.asserted}
    return kinds.pop() if len(kinds) == 1 else None


def _weighed(
    mentions: list[_Mention], same: list[Given], *, is_headed: bool, is_first: bool, is_revised: bool
) -> Given | None:
    """Weigh the final diagnosis, if it is one of the answers, against what the clauses assert.

    A later clause overrules it as a conclusion; one that merely asserts another answer leaves the reading open, unless
    the final diagnosis has a heading or a sentence of its own (`is_first`).
    """
    asserted = [mention for mention in mentions if mention.asserted]
    kinds = {mention.kind for mention in asserted}
    if len(same) != 1:
        if len(kinds) == 1:
            return kinds.pop()
        decided = {mention.kind for mention in asserted if mention.decides}
        concluded = {mention.kind for mention in asserted if mention.concludes}
        return next((candidates.pop() for candidates in (decided, concluded) if len(candidates) == 1), None)
    (own,) = same
    if own not in kinds and len(kinds) == 1:
        return kinds.pop()
    if own not in kinds:
        alone = all(mention.kind == own for mention in mentions)
        is_denied = bool(mentions) and all(mention.denied for mention in mentions)
        return own if is_first or (alone and not is_denied) else None
    last = max(place for place, mention in enumerate(asserted) if mention.kind == own)
    later = [mention for mention in asserted[last + 1 :] if mention.overrules]
    is_firm = (is_first or asserted[last].decides) and not is_revised
    if later and later[-1].concludes and (later[-1].decides or not is_firm):
        return later[-1].kind
    # Another name in a sentence of its own counts as much: 'embolism (on the form). Anxiety (to her face).'
    rivals = [
        mention
        for mention in later
        if mention.sentence != asserted[last].sentence and (mention.concludes or mention.bare)
    ]
    is_rivalled = rivals and not is_headed if is_first or is_firm else later
    return None if is_rivalled else own


def _same(text: str, answers: Answers, diagnoses: Diagnoses) -> list[Given]:
    """Return the answers that mean the same as a text's final diagnosis."""
    return [kind for kind, answer in answers.items() if match_answer(text, answer, diagnoses) == "yes"]


def _trailing(text: str) -> tuple[str, str]:
    """Return a text without later sentences and sections that state no diagnosis, and the remarks among these."""
    kept, gap, remarks, section, disclaimed, end = "", "", "", False, False, 0
    for span in sentence_spans(text, longest=len(text) + 1):
        sentence = text[span.start : span.end]
        between = text[end : span.start]
        gap, end = gap + between, span.end
        is_new = between.count("\n") > 1 and not re.match(r"\W*[-*•\d]", sentence)
        section = section and not is_new and not HEADING.match(sentence)
        disclaimed = disclaimed and section
        section = section and not (disclaimed and REGAINED.search(sentence))
        if kept and (section or TRAILING.match(sentence)):
            disclaimed = disclaimed or DISCLAIMER.match(sentence) is not None
            section = section or disclaimed or SECTION.search(sentence) is not None
            remarks += (
                "" if (section and not disclaimed) or USUAL_NOTE.search(sentence) else f"{REMARK.sub('', sentence)}\n\n"
            )
        else:
            kept, gap = kept + gap + sentence, ""
    return kept, remarks


def _opening(text: str, answers: Answers, diagnoses: Diagnoses) -> Given | None:
    """Return the answer that is all of a text's first sentence."""
    spans = sentence_spans(text)
    first = text[spans[0].start : spans[0].end] if spans else ""
    if not first or first.endswith((":", "?")) or len(first.split()) > LONGEST_OPENING:
        return None
    if VERB.search(first) or AGAINST.search(first) or NOT_NOW.search(first):
        return None
    same = _same(f"Diagnosis: {first}", answers, diagnoses)
    return same[0] if len(same) == 1 else None


def _clauses(text: str) -> Iterator[_Clause]:
    """Yield the clauses of a text."""
    spans = sentence_spans(text, longest=len(text) + 1)
    argued, line, at = False, 0, 0
    for number, span in enumerate(spans):
        sentence = text[span.start : span.end]
        line, at = line + text.count("\n", at, span.start), span.start
        start, before = 0, ""
        for cut in [*CLAUSES.finditer(sentence), None]:
            end = cut.start() if cut else len(sentence)
            words = sentence[start:end]
            is_name = len(words.split()) <= LONGEST_OPENING and not VERB.search(words)
            closes = number == len(spans) - 1 and cut is None and is_name and (argued or before == ":")
            after = cut[0].strip(" ,").lower() or "," if cut else ""
            yield _Clause(words, before, after, number, line, closes)
            start, before = cut.end() if cut else end, after
        # A name that ends the reply after an argument is its conclusion; after other names it is the last of a list.
        argued = len(sentence.split()) > LONGEST_OPENING // 2 or VERB.search(sentence) is not None


def _mentions(text: str, meanings: Meanings, diagnoses: Diagnoses, *, is_short: bool) -> Iterator[_Mention]:
    """Yield how each clause treats the answers that it names; in a long text only a conclusion asserts one."""
    clauses = list(_clauses(text))
    lesser = None
    for place, clause in enumerate(clauses):
        named = _named(clause.text, meanings, diagnoses)
        previous = clauses[place - 1].text if place and clause.before == ":" else ""
        if LESSER.match(previous) and not _named(previous, meanings, diagnoses):
            lesser = clause.sentence
        if not named:
            continue
        following = clauses[place + 1] if place + 1 < len(clauses) else None
        # `Less likely: asthma, anxiety` is about the whole list.
        is_lesser = lesser == clause.sentence and clause.before in {":", ","}
        denied = clause.after == "?" or is_lesser
        if following and following.sentence == clause.sentence and VERDICT.match(following.text):
            denied = denied or not _named(following.text, meanings, diagnoses)
        concludes = clause.closes or CONCLUDES.search(clause.text) is not None
        main = {} if denied or not (is_short or concludes) else _asserted(clause.text, named, meanings, diagnoses)
        decides = DECIDES.search(clause.text) is not None or (
            clause.closes and clause.before != ":" and len(clause.text.split()) <= LONGEST_NAME
        )
        head = BESIDE.split(SET_ASIDE.sub(" ", clause.text), maxsplit=1)[0]
        denied = denied or any(no.search(head) for no in (NOT_NOW, NEGATED))
        overrules = clause.before not in SUBORDINATE and not (clause.before == "," and HEDGED.match(clause.text))
        whole = diagnoses.meaning(clause.text).concepts
        for kind in named:
            bare = any(meaning.concepts == whole for meaning in meanings[kind])
            yield _Mention(
                kind, kind in main, denied, concludes, decides, bare, overrules, clause.sentence, clause.line
            )


def _asserted(clause: str, named: dict[Given, None], meanings: Meanings, diagnoses: Diagnoses) -> dict[Given, None]:
    """Return the answer that a clause asserts among those that it names: the first, or the expected one as a cause."""
    clause = HEDGE.sub("", clause)
    if (explained := EXPLAINED.search(clause)) and not AGAINST.search(clause[: explained.start()]):
        clause = clause[explained.end() :]
        named = _named(clause, meanings, diagnoses)
    if (compared := LESS_LIKELY.search(clause)) is not None:
        return _named(compared["named"], meanings, diagnoses)
    if NEGATED.search(clause):
        return {}
    kept = SET_ASIDE.sub(" ", clause)
    head = BESIDE.split(kept, maxsplit=1)[0]
    main, scope = _named(head, meanings, diagnoses), head
    meant = _named(kept, meanings, diagnoses)
    causes = {given: None for given in named if given.kind == "expected"}
    if len(named) > 1 and causes and (cause := CAUSE.search(clause)):
        # Not 'a panic attack due to talk of a pulmonary embolism'.
        named_first = LINKS.split(clause[cause.end() :], maxsplit=1)[0]
        main, scope = (causes if causes.keys() <= _named(named_first, meanings, diagnoses).keys() else {}), clause
    elif len(meant) == 1 and not main and not _foreign(head, meanings, diagnoses):
        main, scope = meant, kept
    if EITHER.search(kept):
        sides = [_named(side, meanings, diagnoses) for side in EITHER.split(kept)]
        main = {kind: None for kind in main if all(kind in side for side in sides)}
    rest = re.sub(r"\bwith(?:out| no) (?:any |other |focal )?[\w-]+", " ", scope)
    scope = rest if _named(rest, meanings, diagnoses) == _named(scope, meanings, diagnoses) else scope
    return {} if AGAINST.search(scope) else main


def _named(text: str, meanings: Meanings, diagnoses: Diagnoses) -> dict[Given, None]:
    """Return the answers that a text names; only the more exact of `drug-induced psychosis` and `psychosis`."""
    whole = diagnoses.meaning(text)
    concepts = {
        kind: [
            meaning.concepts
            for meaning in own
            if meaning.concepts <= whole.concepts and not diagnoses.are_opposed(meaning, whole)
        ]
        for kind, own in meanings.items()
    }
    every = [concept_set for own in concepts.values() for concept_set in own]
    return {
        kind: None
        for kind, own in concepts.items()
        if any(not any(concept_set < other for other in every) for concept_set in own)
    }


def _foreign(text: str, meanings: Meanings, diagnoses: Diagnoses) -> bool:
    """Whether a text names a diagnosis that is none of the answers and not related to one."""
    own = [meaning for group in meanings.values() for meaning in group]
    meaning = diagnoses.meaning(text)
    others = diagnoses.diagnoses_in(meaning) - frozenset().union(*(answer_meaning.groups for answer_meaning in own))
    return bool(others) and not any(diagnoses.are_related(meaning, answer_meaning) for answer_meaning in own)


def _names_another(text: str, meanings: Meanings, diagnoses: Diagnoses) -> bool:
    """Whether a text begins with, or concludes, a diagnosis that is none of the answers."""
    return any(
        _foreign(BESIDE.split(SET_ASIDE.sub(" ", clause), maxsplit=1)[0], meanings, diagnoses)
        and not _named(clause, meanings, diagnoses)
        for span in sentence_spans(text)
        # What is in brackets is not the diagnosis but its findings.
        for clause in CLAUSES.split(BRACKETS.sub(" ", text[span.start : span.end]))
        if (span.start == 0 or CONCLUDES.search(clause)) and not AGAINST.search(clause)
    )
