"""Words by which a sentence tells which diagnosis it takes for likely, sets aside or withholds."""

from __future__ import annotations

import re

SET_ASIDE = re.compile(
    r"\b(?:rather than|instead of|as opposed to|unlike|but not|less likely(?! than)|ruled? out|excluding"
    r"|(?<=more likely )than|(?<=more probable )than|not(?! less))\b(?:(?!\bbut\b)[^,;.])*"
    r"|\b(?:while|although|though|whereas|despite|besides)\b[^,;.]*(?:,|$)",
    re.IGNORECASE,
)
"""Parts of a statement that name a diagnosis only to set it aside."""
CLAUSE = re.compile(r"\s*;\s+|,?\s+\b(?:but|yet|however,?)\s+")
ASIDE = re.compile(
    r"\b(?:unlikely|improbable|(?:was|were|been|be) (?:also )?(?:considered|excluded|ruled out|possible|suggested)"
    r"|(?:is|are|remains?) (?:also )?(?:possible|considered)|rule out|to exclude|can be (?:excluded|ruled)|could mimic"
    r"|can mimic|differential (?:also )?(?:includes?|diagnos\w+))\b",
    re.IGNORECASE,
)
"""What a clause has that sets aside what it names, where another clause concludes."""
WITHHELD = re.compile(
    r"\bno (?:\w+ ){0,2}diagnosis (?:can|could|is|was)\b|\bbefore (?:an?|any|the) (?:\w+ )?diagnosis\b"
    r"|\b(?:cannot|can't|can not|could not|unable to|not possible to|impossible to)\b[^.;,]{0,40}"
    r"\b(?:diagnos\w+|determine)|\bdiagnosis\b[^.;,]{0,20}\b(?:cannot|can't|can not|could not)\b",
    re.IGNORECASE,
)
"""What a clause has that says that there is no diagnosis."""
NOTHING = re.compile(
    r"^\W*(?:n/?a\b|none\b|unknown|unclear|undetermined|indeterminate|inconclusive|uncertain|pending"
    r"|insufficient (?:information|data|evidence)|deferred|unspecified\W*$|more (?:information|data)"
    r"|further (?:information|data|test\w*|evaluation)"
    r"|no (?:\w+ ){0,2}(?:diagnosis|answer|disease)\b|to be determined)",
    re.IGNORECASE,
)
"""What stands in the place of a diagnosis where there is none."""
VAGUE = re.compile(
    r"(?:(?:an?|the|some|any|his|her|their|this|that|it|other|another|one|these|those|many|several|various|multiple|few"
    r"|different|underlying|serious|significant|acute|chronic|possible|clinical|primary|secondary|specific|organic|medical|physical|biological|cardiac|cardiovascular|pulmonary|respiratory"
    r"|neurologic(?:al)?|gastrointestinal|abdominal|psychiatric|psychological|metabolic|infectious|inflammatory|systemic"
    r"|autoimmune|vascular|treatable|of|or|and|origin|[ae]*etiology|cause|process|condition|pathology|problem|issue"
    r"|diagnosis|illness|disease|disorder|source|nature|emergency|concern|findings?|patient"
    r"|conditions|causes|disorders|diagnoses|possibilities|problems|illnesses|diseases)\b\W*)+",
    re.IGNORECASE,
)
"""Words that tell of a kind of cause and name no diagnosis."""

MOST_LIKELY = (
    r"(?:(?:the|my|our|an?|by|far|single|overall|strongly|highly|very|therefore|thus|clearly|now|also|still) )*"
    r"(?:(?:most|more) (?:likely|probable|plausible|appropriate|fitting)|likeliest|best|leading|primary|working|final"
    r"|top|main|principal|correct|likely|probable)\b"
)
LESS_LIKELY = re.compile(r"\b(?:less|not as) (?:likely|probable) (?:than|as)\s+(?P<named>.+)", re.IGNORECASE)
"""`Anxiety is less likely than tuberculosis`."""
MAKES = re.compile(
    rf"\b(?:mak(?:es?|ing)|made|leav(?:es?|ing)|renders?)\s+(?!(?:it|this|that|them|these)\b)(?P<named>[^.;]{{2,120}}?)"
    rf"\s+(?:as\s+)?{MOST_LIKELY}",
    re.IGNORECASE,
)
"""`The signs make tuberculosis the most likely diagnosis`."""
AFTER = re.compile(
    rf"^(?P<named>.+?)\s*(?:,\s*)?\b(?:(?:is|are|remains?|was|would be|should be|being|seems?|appears?|becomes|as)"
    rf"\s+(?:to be )?(?:{MOST_LIKELY}|at the top\b|(?:the|my) (?:diagnosis|answer)\b"
    rf"|(?:(?:strongly|highly|clearly|well) )?(?:suspected|supported|favou?red|warranted|confirmed|established|made)\b)"
    rf"|best (?:explains|fits|accounts for|matches)\b|(?:fits|explains)\b[^.;,]{{0,40}}\bbest\b|is the diagnosis\b)",
    re.IGNORECASE,
)
"""`Tuberculosis remains the most likely diagnosis`: what is named stands before."""
SUBJECT = re.compile(
    rf"^\W*(?:(?:and|so|thus|hence|the|an?|my|this|that|these|those|his|her|their|{MOST_LIKELY}) )*"
    r"(?:diagnos[ei]s|explanation|cause|condition|answer|impression|problem|culprit|he|she|it|they|this|that|these|patient"
    r"|man|woman|symptoms?|presentation|findings?|picture|features?|case|history|signs?|evidence|combination|constellation|what)\b",
    re.IGNORECASE,
)
"""What stands before a verb and is not a diagnosis."""
NAMES = re.compile(
    r"\b(?:diagnos[ei]s|explanation|cause|condition|answer|impression|problem|illness|conclude|conclusion|concern"
    r"|hypothesis|suspicion|culprit|fit)\b"
    r"(?:(?:[^.;:,]{0,60},[^.;:]{0,200},)??[^.;:,]{0,50}?\b(?:is|was|are|be|remains|of|as|that|about|for)\b|\s*:)"
    r"(?:\s+(?:most|highly|very|best|likely|probably|to be|considered)\b)*"
    r"(?:\s+that\b[^,;.]{0,30}\b(?:has|have|is))?"
    r"|\bdiagnosed\b[^.;,]{0,20}?\b(?:with|as)\b|\bI(?:'d| would)? diagnose\b|\b(?:go|going) with\b",
    re.IGNORECASE,
)
"""`The most likely diagnosis is tuberculosis`: what is named stands after."""
LEANS = re.compile(
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
    r"|\bsuffer\w* from\b|\bgo(?:ing)? with\b|\bexperiencing\b|\blooks? like\b|\bsuspect(?:ed|ing)?\b",
    re.IGNORECASE,
)
"""`The findings point to tuberculosis`."""
HAS = re.compile(
    r"(?<!should )(?<!would )(?<!could )\b(?:has|have|had|developed|having|this is)\b(?! been\b)", re.IGNORECASE
)
"""`She has tuberculosis`: where nothing says it better."""
SENTENCE = re.compile(
    r"^(?:given|based|in)\b|\b(?:presentation|findings?|symptoms?|picture|features?|case|history|signs|patient|he|she|they"
    r"|these|this|it|results?|combination|constellation|pattern|evidence|tests?|examination)\b",
    re.IGNORECASE,
)
"""What a sentence has and a bare name has not."""
VERB = re.compile(
    r"\b(?:is|are|was|were|be|should|would|could|can|cannot|will|needs?|must|may|might|includes?|I|thank|please"
    r"|consult|seek|important|recommended|advis\w+)\b",
    re.IGNORECASE,
)
"""What an advice, a question or an account has and a bare name has not."""
REASONS = re.compile(
    r"[,;]?\s*\b(?:because|since|supported by|evidenced by|characteri[sz]ed by"
    r"|as (?:evidenced|suggested|indicated|shown) by|which|making (?:it|this)\b)",
    re.IGNORECASE,
)
"""Where the reasons for a diagnosis begin."""
