"""Options that refer to other options, such as "All of the above" or "Both A and B": they mean another thing elsewhere.

The rule is lexical: an option refers if it matches one of `FORMS`, once its brackets, quotes and full stop are gone.
Letters count if they are letters of the question's options, numbers from 1 to 9 (or i to vi), which name statements.
"""

import re
import unicodedata
from collections.abc import Collection

from equipoise.text.patterns import caseless

HOW_MANY = (
    r"(?:all|none|any|both|either|neither|some|most|each|not (?:all|any)|(?:only |at least )?(?:one|two|three)"
    r"|(?:more|less) than one|(?:an? |any )?combinations?)"
)
RIGHT = (
    r"(?:(?:is|are|were|may be|can be) )?(?:equally |all |both )?"
    r"(?:(?:in)?correct|true|false|right|wrong|possible|applicable)"
)
CHOICE = r"(?:options?|choices?|answers?|alternatives?|statements?|responses?)"
PLACE = r"(?:above|below|following|preceding|foregoing|previous|aforementioned|above[- ]?mentioned|former|latter)"
NAMED = rf"(?:(?:listed|mentioned|given|stated|{PLACE})(?: {CHOICE})?|{CHOICE}(?: {PLACE}| listed| given)?)"
OTHERS = rf"(?:others|rest|remaining|other {CHOICE}|remaining {CHOICE})"
ORDINAL = r"(?:first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th)"
JOIN = r"(?: ?, ?(?:and |or |& ?)?| ?[&+] ?| (?:and|or|nor|plus|with|but not|not|then|followed by) )"
AFTER = r"(?:$| (?:except|but|only|are|is|were|alone|together|combined|depending|in combination)\b.*)"
END = rf"(?:{AFTER}| ?[,;:].*)"
FORMS = {
    "All of the above": rf"{HOW_MANY} of (?:the )?(?:above|{NAMED}|{OTHERS}){END}",
    "None of these": rf"{HOW_MANY} of (?:these|those|them)\b.*",
    "All the above": rf"{HOW_MANY} (?:of )?(?:the|these|those|other) (?:two |three |other )?(?:{NAMED}|{OTHERS}){END}",
    "None above": rf"{HOW_MANY} (?:{NAMED}|{OTHERS}){END}",
    "All are correct": rf"{HOW_MANY} {RIGHT}",
    "Neither": r"(?:all|none|both|neither|either|any)",
    "All except C": rf"(?:all|any|every(?:thing|one)?)(?: {CHOICE})? (?:except|but|other than)(?: for)? REF",
    "The above": rf"(?:the |as |same as )+(?:{PLACE})(?: {CHOICE})?",
    "Both A and B": rf"(?:both|either|neither|only|all|any of|none of)(?: of)? REF(?:{JOIN}REF)+{END}",
    "A and C only": rf"REF(?:{JOIN}REF)+(?: (?:only|both|alone|together|{RIGHT}))*{AFTER}",
    "Only A": rf"(?:only|not|same as|opposite of|as in) REF|REF (?:only|alone|{RIGHT})",
    "Options 1 and 3": rf"(?:.*\b)?{CHOICE} REF(?:{JOIN}REF)*\b(?! ?[%\d]).*",
    "The first two options": rf"(?:.*\b)?{ORDINAL}(?:(?:{JOIN}|[ -])(?:the )?(?:{ORDINAL}|two|three))* "
    rf"(?:of (?:the|these)\b.*{PLACE}|{CHOICE}\b.*)",
}
"""An example of each form, and its expression over the whole option; REF is a letter of the question or a number."""
NUMBER = r"(?:[1-9]|iii|ii|iv|vi|i|v)(?:st|nd|rd|th)?\b"
RUN = re.compile(r"[a-h]{2,}")
"""Letters side by side, in order: "ab", "acd". One alone may be a blood group, several name statements."""
RUNS = 2
ABBREVIATION = 5
"""The most letters of an abbreviation in capitals."""


def refers(options: Collection[str], letters: Collection[str]) -> list[str]:
    """Return the options that refer to others, or to statements by number; `letters` are those of the options."""
    pattern = _pattern("".join(sorted(letter.lower() for letter in letters if len(letter) == 1)))
    plain = {option: _plain(option) for option in options}
    runs = [option for option, text in plain.items() if RUN.fullmatch(text) and [*text] == sorted({*text})]
    referring = {
        option for option, text in plain.items() if pattern.fullmatch(text) and not _leukaemia(option, options)
    }
    return [option for option in options if option in referring or (option in runs and len(runs) >= RUNS)]


def _leukaemia(option: str, options: Collection[str]) -> bool:
    """Whether an option is the abbreviation ALL, and not the word in a question written in capitals."""
    capitals = any(other.isupper() and len(other) > ABBREVIATION for other in options)
    return option.strip(" .") == "ALL" and not capitals


def _plain(option: str) -> str:
    text = " ".join(re.sub(r"[()\[\]\"'*_]", " ", unicodedata.normalize("NFKC", option)).split()).casefold()
    text = re.sub(r"\b([a-z])\.(?=[ ,]|$)", r"\1", text)
    return text.strip(" .;:,!")


def _pattern(letters: str) -> re.Pattern[str]:
    reference = rf"(?:{CHOICE} )?(?:[{letters}]\b(?!')|{NUMBER})" if letters else rf"(?:{CHOICE} )?(?:{NUMBER})"
    forms = "|".join(f"(?:{form})" for form in FORMS.values()).replace("REF", reference)
    return caseless(forms)
