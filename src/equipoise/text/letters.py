"""Read the answer letter from a response to a multiple-choice question.

First, every place where the text names an option, by its letter or its words, is marked; then rules are tried in order,
and the first that finds an option decides. If a letter and the words beside it belong to different options, the letter
decides, as in the published gradings.

A letter counts only if it cannot be a word or part of a name: the article "a", "vitamin D", "B cells", "hepatitis A"
and "E. coli" name no option. Joined letters ("A and C", "B/D") name no option either, nor does a repeated list of the
options.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise, takewhile
from typing import Final, NamedTuple

from equipoise.text.conclusions import REFUSAL as REFUSING
from equipoise.text.patterns import caseless, end_of_match, normalize_unicode
from equipoise.text.reasoning import strip_thinking


class LetterReading(NamedTuple):
    """The option's letter, None if the response gives none, and the name of the rule that decided."""

    letter: str | None
    rule: str


UNPARSED: Final = "unparsed"
REFUSAL: Final = "refusal"
UNFINISHED: Final = "unfinished_thinking"

MARKUP = caseless(
    r"\*+|`+|\$+|__|\\text(?:bf)?|</?(?:answer|content|final|final_answer|b|strong|p|br)\s*/?>|<\|[a-z_]+\|>|</?s>"
    r"|[\u200b-\u200f\u2060\ufeff\ufe0f]"
)

NOUN = r"(?:answers?|ans\b|options?|choices?|response|selection|solution|letter)"
HEDGE = (
    r"(?:\b(?:therefore|thus|then|hence|most likely|likely|probably|clearly|definitely|indeed|letter|option|choice"
    r"|answer|choose|select|as follows|to be)\b[\s:,]*)*"
)
BRACKETS = r"[\s(\[{\"'“‘<]*"
LINK = r"\s*(?:(?:\b(?:is|was|are|be|being|would|should|will|must|remains)\b|[=:→–—]|-+>?)\s*)+"
ASKED = r"(?:\s*\([^)\n]*\))?(?:\s+(?:to|for|here|in|of|among|that|by|according)\b[^.:\n]{0,90}?)?"
SINGLE = r"(?:answers?|ans\b|option|choice|response|selection|solution|letter)"
DECISION = caseless(rf"\b{SINGLE}{ASKED}{LINK}{HEDGE}{BRACKETS}$")
FINAL = caseless(rf"(?:\bfinal\s+{NOUN}{ASKED}{LINK}{HEDGE}{BRACKETS}|\\boxed\s*\{{{BRACKETS})$")
CHOICE = caseless(
    r"\bI(?:'d|'ll| would| will| shall)?\s+(?:therefore\s+)?(?:choose|chose|select|pick|go with|opt for|vote for|answer"
    rf"|say)\s+(?:with\s+)?(?:the\s+)?{HEDGE}{BRACKETS}$"
)
# The question's subject replaces 'answer': 'the most likely diagnosis in this patient is B'.
PICTURE = caseless(
    r"\b(?:most (?:likely|appropriate|probable|suitable|accurate|consistent)|best|correct)\b[^.;\n]{0,140}?"
    rf"\b(?:is|would be|should be|are|with)\s+(?:the\s+)?{HEDGE}{BRACKETS}$"
)
WRONG = caseless(r"\b(?:incorrect|wrong|not (?:the|a)|not)\W+(?:\w+\W+){0,2}$")
PREFACE = caseless(
    rf"(?:[^\w]|\d{{1,2}}(?:\s*[.):;,\-]|(?=\W*$))|\b(?:the|correct|final|only|my|it|s|so|thus|hence|therefore"
    rf"|is|would|should|must|be|{NOUN})\b)*"
)
"""Text that may precede an opening letter: symbols, a list number, the word answer."""
DELIMITED = caseless(r"\s*(?:$|[\n.:;,)\]}>*|/!\"”—–(=→“]|-\s|\\n|(?:because|since|is|was|would|as the|correct)\b)")
VERDICT = caseless(
    r"[)\]\"”']?(?:\s*\([^)\n]{1,120}\)|[:,.]\s*[^.\n,:]{1,120}?,?)?\s+(?:is|was|would be|seems)\s+"
    r"(?:(?:the|a|most|best|single|only|clearly|definitely|indeed)\s+)*"
    r"(?:correct|right|best|appropriate|likely|answer|choice|consistent|accurate|suitable|my (?:answer|choice))\b"
)
SENTENCE_START = caseless(
    rf"(?:^|[\n.!?:;,(\"“–—]|\b(?:{NOUN}|that|so|therefore|thus|hence|believe|think))\s*[(\"“']*$"
)
INDENT = re.compile(r"[^\w\n]*")
LINE_START = caseless(rf"{INDENT.pattern}(?:{NOUN}{INDENT.pattern})?")
NO_WORD = re.compile(r"\W*")
LINE_END = re.compile(r"[.)][ \t]|[^\w\n]*(?:\n|$)")
NAMED = caseless(rf"\b{SINGLE}\s*[:\-]?\s*[(\"“'\[]?$")
NEGATION = caseless(
    r"\b(?:not|isn't|aren't|wasn't|never|neither|nor|without|rather than|instead of|rul\w+ out|exclud\w+|unlikely"
    r"|incorrect|wrong|except|although|though|while|unlike|less likely|does ?n[o']t|contraindicated)\b[^.;\n]*$"
)
DENIAL = r"(?:is|are|was|would be|seems)\s+(?:not|incorrect|in(?:appropriate|consistent)|unlikely|less|wrong)\b"
DENIED = caseless(rf"(?:(?!\b(?:because|since|as|but|and|while|whereas)\b)[^.,;\n]){{0,60}}?\b{DENIAL}")
DENIED_ITSELF = caseless(rf"\W{{0,3}}{DENIAL}")
NONE_OF_THEM = caseless(r"\b(?:none|all|any|both|neither) of the (?:above|options|choices|listed)\b")
COMMITTED = caseless(r"(?:\bfinal\s+answer\W*(?:is\W+)?|(?:^|[.!?]\s|\n)\s*answer\W*(?:is\W+)?|\\boxed\s*\{)$")
NEAR = 40
"""Characters before a letter that are searched for the word 'option' or the start of its sentence."""
SHORT = 400
"""Longest reply, in characters, in which the words of a single option count as the answer."""

SPECIES = (
    r"coli|diff\w*|trachomatis|perfringens|botulinum|tetani|albicans|neoformans|burgdorferi|pertussis|fragilis|cereus"
    r"|anthracis|baumannii|fumigatus|dermatitidis|diphtheriae|jejuni|psittaci|pneumoniae|histolytica|faecal\w+|faecium"
    r"|cloacae|henselae|quintana|granulosus|multilocularis|vermicularis|lumbricoides|duodenale|israelii|melitensis"
    r"|immitis|burnetii|chaffeensis|corrodens"
)
"""Species whose genus is often abbreviated to a letter that may also be an option's."""
NAME_BEFORE = caseless(
    r"\b(?:vitamins?|hepatitis|groups?|types?|proteins?|factor|influenza|grade|stage|class|category|haemophilia"
    r"|hemophilia|immunoglobulin|ig|cluster|coenzyme|phase|complex|amphotericin|interferon|troponin|cyclosporin|apo"
    r"|apolipoprotein|statin|drug|patient|study|figure|fig\.?|table|child|exon|serotype|antigen|region|section|part)"
    r"[\s\-]$"
)
NAME_AFTER = caseless(
    rf"[\w']|[-‐–][^\W_]|\.\s?(?:{SPECIES})\b|[\s\-]?(?:cells?|lymphocytes?|waves?|antigen|virus|dimers?)\b"
)
WORDS = "AI"
"""Letters that are also English words."""
NOT_ARTICLE = re.compile(
    r"\s*(?:$|[\n.,:;)\]}>*|/!?\"”—–(=→]|-\s|\\n|(?:because|since|as|due|is|was|would|and|or|correct)\b)"
)
"""Text after such a letter if it names an option."""
BRACKETED = re.compile(r"\s*[)\]}:]|\W*$|\.\s*(?:\n|$)")
"""Text after a lower-case letter that names an option."""
SMALL_AFTER = re.compile(r"(?<![^\s(\[{:\"'])")
"""Context before a lower-case letter that names an option."""
JOINT = caseless(r"[)\]\"']?\s*(?:[,/&]|,?\s*\b(?:and|or)\b|\s[^\w\s.,;:(\-–—]\s)\s*(?:options?\s*)?[(\[\"']?")
NEW_CLAUSE = caseless(r"[)\]\"']?\s+(?:is|was|would|seems|can|does|has|refers|represents)\b")
GLUED = 4
"""A letter directly after a digit counts only within this many characters of the start."""
DISTINCTIVE = 4
"""Fewest letters of an option's words for a match not to be a coincidence."""
GAP = re.compile(r"\s{41,}")
"""Long white space, which no rule crosses; it is shortened so that rules do not scan it many times."""
RESTATED = 3
"""Number of consecutive options, each with its own words, that count as a repetition of the question's list."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One place that names an option: half-open range, the option's letter, and whether it is named by its letter.

    `followed_by_words`: an option's words directly follow the letter (after A or I, which may be English words, only
    the words of that option count). `distinctive`: the words are long enough not to occur by chance.
    """

    start: int
    end: int
    letter: str
    by_letter: bool
    followed_by_words: bool = False
    distinctive: bool = True


def read_letter(response: str, options: Mapping[str, str]) -> LetterReading:
    """Read which of the options (letter to text) a response chooses; None for a refusal or an unclear response.

    Tagged thinking is ignored. Unfinished thinking gives no answer, unless its last words are a marked answer
    ("Answer: B").
    """
    keys = {letter.upper(): letter for letter in options}
    words = {letter.upper(): _plain(text) for letter, text in options.items()}
    reply, cut_off = strip_thinking(normalize_unicode(response, "NFKC"))
    text = _plain(reply)
    marks = find_marks(text, words)
    for name, rule in RULES:
        letter = rule(text, marks)
        if letter is not None:
            return LetterReading(keys.get(letter), name)
    if cut_off:
        text = _plain(normalize_unicode(response, "NFKC"))
        for mark in find_marks(text, words)[-1:]:
            if mark.by_letter and not re.search(r"\w", text[mark.end :]) and COMMITTED.search(text[: mark.start]):
                return LetterReading(keys[mark.letter], "committed_thinking")
        return LetterReading(None, UNFINISHED)
    return LetterReading(None, UNPARSED)


def _plain(text: str) -> str:
    plain = MARKUP.sub("", normalize_unicode(text, "NFKC").replace("’", "'")).strip()
    return GAP.sub(lambda gap: gap[0][:20] + ("\n" if "\n" in gap[0] else "") + gap[0][-20:], plain)


def _lone_option(text: str, marks: Sequence[Mark]) -> str | None:
    """The whole text is a letter, or the words of one option."""
    for mark in _first_marks(marks):
        opens = PREFACE.fullmatch(text[: mark.start]) and not re.search(r"\d", text[: mark.start])
        if opens and not re.search(r"\w", text[mark.end :]):
            return mark.letter
    return None


def _opening(text: str, marks: Sequence[Mark]) -> str | None:
    """The text opens with a letter, unless it rejects it, or weighs several options in turn and then decides."""
    first = next((mark for mark in marks if mark.by_letter), None)
    if first is None or not PREFACE.fullmatch(text[: first.start]):
        return None
    if not (first.followed_by_words or DELIMITED.match(text, first.end)):
        return None
    ends = [first.end, *(mark.end for mark in marks if first.followed_by_words and mark.start >= first.end)][:2]
    if any(DENIED_ITSELF.match(text, end) for end in ends) or _last_option(text, marks, FINAL):
        return None
    weighs = len({mark.letter for mark in _heads(text, marks)}) > 1
    return None if weighs and _statement(text, marks) else first.letter


def _heads(text: str, marks: Sequence[Mark]) -> Iterator[Mark]:
    """Yield the letters at the start of a line; "A:" may also announce an answer."""
    places: set[int] = set()
    seen = 0
    for mark in marks:
        if not places or "\n" in text[seen : mark.start]:
            line = text.rfind("\n", 0, mark.start) + 1
            places = {end_of_match(start, text, line, len(text)) for start in (INDENT, LINE_START)}
        seen = mark.start
        if mark.by_letter and mark.start in places and (mark.followed_by_words or LINE_END.match(text, mark.end)):
            yield mark


def _last_option(text: str, marks: Sequence[Mark], *patterns: re.Pattern[str]) -> str | None:
    """The last option that follows one of the patterns: a response that thinks aloud decides at the end."""
    for mark in reversed(marks):
        before = text[max(0, mark.start - 260) : mark.start]
        if any((led := pattern.search(before)) and not WRONG.search(before[: led.start()]) for pattern in patterns):
            return mark.letter
    return None


def _statement(text: str, marks: Sequence[Mark]) -> str | None:
    undenied = [mark for mark in marks if not DENIED.match(text, mark.end)]
    return _last_option(text, undenied, DECISION, CHOICE) or _last_option(text, undenied, PICTURE)


def _verdict(text: str, marks: Sequence[Mark]) -> str | None:
    """'B is correct', said of one letter only."""
    return _single_letter(
        mark
        for mark in marks
        if mark.by_letter
        and VERDICT.match(text, mark.end)
        and SENTENCE_START.search(text[max(0, mark.start - NEAR) : mark.start])
    )


def _opening_words(text: str, marks: Sequence[Mark]) -> str | None:
    """The text opens with the words of an option, and does not reject them."""
    for mark in _first_marks(marks):
        if not mark.by_letter and PREFACE.fullmatch(text[: mark.start]) and not DENIED.match(text, mark.end):
            return mark.letter
    return None


def _mention(text: str, marks: Sequence[Mark]) -> str | None:
    """Exactly one letter is named as an option ("option B") or in brackets, and not rejected."""
    return _single_letter(
        mark
        for mark in marks
        if mark.by_letter
        and (
            NAMED.search(text[max(0, mark.start - NEAR) : mark.start])
            or (text[mark.start - 1 : mark.start] == "(" and text[mark.end : mark.end + 1] == ")")
        )
        and not _is_denied(text, mark)
    )


def _words(text: str, marks: Sequence[Mark]) -> str | None:
    """A short text names exactly one option by its words, and does not reject them."""
    if len(text) > SHORT:
        return None
    return _single_letter(
        mark for mark in marks if not mark.by_letter and mark.distinctive and not _is_denied(text, mark)
    )


def _first_marks(marks: Sequence[Mark]) -> list[Mark]:
    return [mark for mark in marks if mark.start == marks[0].start]


def _is_denied(text: str, mark: Mark) -> bool:
    return bool(NEGATION.search(text[max(0, mark.start - 200) : mark.start]) or DENIED.match(text, mark.end))


def _single_letter(marks: Iterable[Mark]) -> str | None:
    letters = {mark.letter for mark in marks}
    return letters.pop() if len(letters) == 1 else None


RULES: tuple[tuple[str, Callable[[str, Sequence[Mark]], str | None]], ...] = (
    ("alone", _lone_option),
    ("opening", _opening),
    ("final", lambda text, marks: _last_option(text, marks, FINAL)),
    ("statement", _statement),
    ("verdict", _verdict),
    ("line", lambda text, marks: _single_letter(_heads(text, marks))),
    (REFUSAL, lambda text, _: "" if REFUSING.search(text) else None),
    ("no_option", lambda text, _: "" if NONE_OF_THEM.match(PREFACE.sub("", text, count=1)) else None),
    ("opening_words", _opening_words),
    ("mention", _mention),
    ("words", _words),
)
"""The rules by name, in the order in which they are tried; an empty letter means that no option is chosen."""


def find_marks(text: str, options: Mapping[str, str]) -> list[Mark]:
    """Mark every place where the text names an option, in order; `options` maps capital letters to words."""
    words = sorted(_mark_words(text, options), key=lambda mark: mark.start)
    starts = [mark.start for mark in words]
    ends = [0, *accumulate((mark.end for mark in words), max)]
    letters = [
        replace(mark, followed_by_words=_is_led_by(text, mark, words, bisect_left(starts, mark.end)))
        for mark in _mark_letters(text, options)
        # In 'B cells are reduced', the letter is part of an option's words.
        if ends[bisect_right(starts, mark.start)] < mark.end
    ]
    letters = [
        mark
        for mark in letters
        if mark.followed_by_words
        or mark.letter not in WORDS
        or text[mark.start].islower()
        or NOT_ARTICLE.match(text, mark.end)
    ]
    dropped = _joined_letters(text, letters) | _restated_marks(text, letters, words)
    return sorted({*letters, *words} - dropped, key=lambda mark: (mark.start, -mark.end, mark.letter))


def _mark_letters(text: str, options: Mapping[str, str]) -> Iterator[Mark]:
    letters = "".join(letter for letter in options if len(letter) == 1)
    if not letters:
        return
    for match in re.finditer(rf"(?<![^\W\d])(?<!\w')[{re.escape(letters + letters.lower())}]", text):
        start, end = match.span()
        # '1C' at the very start is a list number and a letter.
        glued = start > GLUED and text[start - 1].isdigit()
        if glued or NAME_AFTER.match(text, end) or NAME_BEFORE.search(text[max(0, start - 16) : start]):
            continue
        if match[0].islower() and not (BRACKETED.match(text, end) and SMALL_AFTER.match(text, start)):
            continue
        yield Mark(start, end, match[0].upper(), by_letter=True)


def _mark_words(text: str, options: Mapping[str, str]) -> list[Mark]:
    """Mark the words of options; if one option's words are part of another's, only the longer."""
    marks: list[Mark] = []
    for letter, words in options.items():
        for wording in _wordings(words):
            pattern = r"(?<!\w)(?<!\d[.,])" + r"\s+".join(map(re.escape, wording.split())) + r"(?![\w%]|[.,]\d)"
            distinctive = len(re.findall(r"[^\W\d_]", wording)) >= DISTINCTIVE
            marks += [
                Mark(match.start(), match.end(), letter, by_letter=False, distinctive=distinctive)
                for match in re.finditer(pattern, text, re.IGNORECASE)
            ]
    inner: set[tuple[int, int]] = set()
    reached = 0
    for start, end in sorted({(mark.start, mark.end) for mark in marks}, key=lambda place: (place[0], -place[1])):
        if end <= reached:
            inner.add((start, end))
        reached = max(reached, end)
    return [mark for mark in marks if (mark.start, mark.end) not in inner]


def _wordings(words: str) -> set[str]:
    """Return an option's words; if they end in brackets, also without these, and any abbreviation inside them."""
    bare = re.sub(r"^(?:the|a|an)\s+", "", words.strip(" .;,\\\n"), flags=re.IGNORECASE)
    wordings = {bare}
    if inner := re.fullmatch(r"(.*\S)\s*\(([^()]+)\)", bare):
        wordings |= {inner[1]} | ({inner[2]} if re.fullmatch(r"[A-Z][A-Za-z0-9\-]*[A-Z0-9]s?", inner[2]) else set())
    return {wording for wording in wordings if wording and not (len(wording) == 1 and wording.isalpha())}


def _is_led_by(text: str, letter: Mark, words: Sequence[Mark], first: int) -> bool:
    """Whether an option's words directly follow the letter; only `words` from index `first` are tested."""
    gap = end_of_match(NO_WORD, text, letter.end, len(text))
    following = takewhile(lambda mark: mark.start <= gap, islice(words, first, None))
    return any(mark.letter == letter.letter or letter.letter not in WORDS for mark in following)


def _joined_letters(text: str, letters: Sequence[Mark]) -> set[Mark]:
    """Return the letters that are named together with another letter."""
    joined: set[Mark] = set()
    for first, second in pairwise(letters):
        together = first.letter != second.letter and JOINT.fullmatch(
            re.sub(r"\s+", " ", text[first.end : second.start])
        )
        # In 'B, and A is wrong' the second letter begins a new clause.
        if together and not NEW_CLAUSE.match(text, second.end):
            joined |= {first, second}
    return joined


def _restated_marks(text: str, letters: Sequence[Mark], words: Sequence[Mark]) -> set[Mark]:
    """Return the letters and words of option lists that the text repeats."""
    starts = [mark.start for mark in words]
    entries = [(letter, words[bisect_left(starts, letter.end)]) for letter in letters if letter.followed_by_words]
    runs: list[list[tuple[Mark, Mark]]] = []
    for entry in entries:
        near = runs and not re.search(r"\w", text[runs[-1][-1][1].end : entry[0].start])
        if near:
            runs[-1].append(entry)
        else:
            runs.append([entry])
    return {
        mark for run in runs if len({letter.letter for letter, _ in run}) >= RESTATED for entry in run for mark in entry
    }
