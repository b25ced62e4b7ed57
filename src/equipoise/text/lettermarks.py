"""Where a text names one of the options of a multiple-choice question: by its letter, or by its words.

A letter counts only where it cannot be a word or part of a name: the article "a", "vitamin D", "B cells", "hepatitis A"
and "E. coli" name no option. Letters that are joined ("A and C", "B/D") name none either, nor does a list of the
options that is said over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SPECIES = (
    r"coli|diff\w*|trachomatis|perfringens|botulinum|tetani|albicans|neoformans|burgdorferi|pertussis|fragilis|cereus"
    r"|anthracis|baumannii|fumigatus|dermatitidis|diphtheriae|jejuni|psittaci|pneumoniae|histolytica|faecal\w+|faecium"
    r"|cloacae|henselae|quintana|granulosus|multilocularis|vermicularis|lumbricoides|duodenale|israelii|melitensis"
    r"|immitis|burnetii|chaffeensis|corrodens"
)
"""Species whose genus is often shortened to a letter that may be an option's."""
NAME_BEFORE = re.compile(
    r"\b(?:vitamins?|hepatitis|groups?|types?|proteins?|factor|influenza|grade|stage|class|category|haemophilia"
    r"|hemophilia|immunoglobulin|ig|cluster|coenzyme|phase|complex|amphotericin|interferon|troponin|cyclosporin|apo"
    r"|apolipoprotein|statin|drug|patient|study|figure|fig\.?|table|child|exon|serotype|antigen|region|section|part)"
    r"[\s\-]$",
    re.IGNORECASE,
)
NAME_AFTER = re.compile(
    rf"[\w']|[-‐–][^\W_]|\.\s?(?:{SPECIES})\b|[\s\-]?(?:cells?|lymphocytes?|waves?|antigen|virus|dimers?)\b",
    re.IGNORECASE,
)
WORDS = "AI"
"""Letters that are words of English."""
NOT_ARTICLE = re.compile(
    r"\s*(?:$|[\n.,:;)\]}>*|/!?\"”—–(=→]|-\s|\\n|(?:because|since|as|due|is|was|would|and|or|correct)\b)"
)
"""What follows such a letter where it is an option's."""
BRACKETED = re.compile(r"\s*[)\]}:]|\W*$|\.\s*(?:\n|$)")
"""What follows a small letter that is an option's."""
SMALL_AFTER = re.compile(r"(?:^|[\s(\[{:\"'])$")
"""What comes before it."""
JOINT = re.compile(
    r"[)\]\"']?\s*(?:[,/&]|,?\s*\b(?:and|or)\b|\s[^\w\s.,;:(\-–—]\s)\s*(?:options?\s*)?[(\[\"']?", re.IGNORECASE
)
CLAUSE = re.compile(r"[)\]\"']?\s+(?:is|was|would|seems|can|does|has|refers|represents)\b", re.IGNORECASE)
GLUED = 4
"""A letter glued to a number counts only so near the start."""
TELLING = 4
"""Letters from which on an option's words are not found by chance."""
RESTATED = 3
"""So many options in a row, each with its own words, are the question's list said over."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One place that names an option: half-open range, the letter, and whether it stands there as such.

    `followed_by_words`: an option's words come straight after the letter (after an A or I, which may be English words,
    only its own count). `telling`: words long enough not to occur by chance.
    """

    start: int
    end: int
    letter: str
    by_letter: bool
    followed_by_words: bool = False
    telling: bool = True


def find_marks(text: str, options: Mapping[str, str]) -> list[Mark]:
    """Mark every place, in order, where the text names an option (capital letter to words)."""
    words = list(_words(text, options))
    letters = [
        replace(mark, followed_by_words=_led_by(text, mark, words))
        for mark in _letters(text, options)
        # In 'B cells are reduced' the letter belongs to the words of an option.
        if not any(other.start <= mark.start and mark.end <= other.end for other in words)
    ]
    letters = [
        mark
        for mark in letters
        if mark.followed_by_words
        or mark.letter not in WORDS
        or text[mark.start].islower()
        or NOT_ARTICLE.match(text, mark.end)
    ]
    dropped = _joined(text, letters) | _restated(text, letters, words)
    return sorted({*letters, *words} - dropped, key=lambda mark: (mark.start, -mark.end, mark.letter))


def _letters(text: str, options: Mapping[str, str]) -> Iterator[Mark]:
    letters = "".join(letter for letter in options if len(letter) == 1)
    if not letters:
        return
    for found in re.finditer(rf"(?<![^\W\d])(?<!\w')[{re.escape(letters + letters.lower())}]", text):
        start, end = found.span()
        # '1C' at the very start is a list's number and a letter.
        glued = start > GLUED and text[start - 1].isdigit()
        if glued or NAME_AFTER.match(text, end) or NAME_BEFORE.search(text[max(0, start - 16) : start]):
            continue
        if found[0].islower() and not (BRACKETED.match(text, end) and SMALL_AFTER.search(text[:start])):
            continue
        yield Mark(start, end, found[0].upper(), by_letter=True)


def _words(text: str, options: Mapping[str, str]) -> Iterator[Mark]:
    """Mark the words of options; where the words of one option are part of another's, the longer."""
    found: list[Mark] = []
    for letter, words in options.items():
        for wording in _wordings(words):
            pattern = r"(?<!\w)(?<!\d[.,])" + r"\s+".join(map(re.escape, wording.split())) + r"(?![\w%]|[.,]\d)"
            telling = len(re.findall(r"[^\W\d_]", wording)) >= TELLING
            found += [
                Mark(match.start(), match.end(), letter, by_letter=False, telling=telling)
                for match in re.finditer(pattern, text, re.IGNORECASE)
            ]
    for mark in found:
        if not any(
            other.start <= mark.start and mark.end <= other.end and other.end - other.start > mark.end - mark.start
            for other in found
        ):
            yield mark


def _wordings(words: str) -> set[str]:
    """An option's words; where they end in brackets, also without those, and an abbreviation in them alone."""
    bare = re.sub(r"^(?:the|a|an)\s+", "", words.strip(" .;,\\\n"), flags=re.IGNORECASE)
    wordings = {bare}
    if inner := re.fullmatch(r"(.+?)\s*\(([^()]+)\)", bare):
        wordings |= {inner[1]} | ({inner[2]} if re.fullmatch(r"[A-Z][A-Za-z0-9\-]*[A-Z0-9]s?", inner[2]) else set())
    return {wording for wording in wordings if wording and not (len(wording) == 1 and wording.isalpha())}


def _led_by(text: str, letter: Mark, words: Sequence[Mark]) -> bool:
    """Whether an option's words follow the letter, with no word between."""
    return any(
        letter.end <= mark.start
        and not re.search(r"\w", text[letter.end : mark.start])
        and (mark.letter == letter.letter or letter.letter not in WORDS)
        for mark in words
    )


def _joined(text: str, letters: Sequence[Mark]) -> set[Mark]:
    """Letters that are named together with another one."""
    joined: set[Mark] = set()
    for one, other in pairwise(letters):
        together = JOINT.fullmatch(text[one.end : other.start]) and one.letter != other.letter
        # In 'B, and A is wrong' the second letter begins a new clause.
        if together and not CLAUSE.match(text, other.end):
            joined |= {one, other}
    return joined


def _restated(text: str, letters: Sequence[Mark], words: Sequence[Mark]) -> set[Mark]:
    """Letters and words of a list of options that the text says over."""
    entries = [
        (letter, next(mark for mark in sorted(words, key=lambda mark: mark.start) if mark.start >= letter.end))
        for letter in letters
        if letter.followed_by_words
    ]
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
