"""Mark the places where a text names an option of a question, by its letter or its words.

A letter counts only if it cannot be a word or part of a name: the article "a", "vitamin D", "B cells", "hepatitis A"
and "E. coli" name no option. Joined letters ("A and C", "B/D") name no option either, nor does a repeated list of the
options. Words count in British or American spelling, with or without hyphens, articles and the plural's ending.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, islice, pairwise, takewhile
from typing import NamedTuple
from unicodedata import combining, normalize

from equipoise.core.keys import grouped
from equipoise.text.patterns import caseless, end_of_match

SPECIES = (
    r"coli|diff\w*|trachomatis|perfringens|botulinum|tetani|albicans|neoformans|burgdorferi|pertussis|fragilis|cereus"
    r"|anthracis|baumannii|fumigatus|dermatitidis|diphtheriae|jejuni|psittaci|pneumoniae|histolytica|faecal\w+|faecium"
    r"|cloacae|henselae|quintana|granulosus|multilocularis|vermicularis|lumbricoides|duodenale|israelii|melitensis"
    r"|immitis|burnetii|chaffeensis|corrodens"
)
"""Species whose genus is often abbreviated to a letter that may also be an option's."""
NAME_BEFORE = caseless(
    r"(?:\b(?:vitamins?|vit\.?|hepatitis|hep|groups?|types?|subtypes?|proteins?|factor|influenza|grade|stage|class"
    r"|category|haemophilia|hemophilia|immunoglobulin|ig|cluster|coenzyme|phase|complex|amphotericin|interferon"
    r"|troponin|cyclosporin|ciclosporin|apo|apolipoprotein|lipoprotein|statin|drug|patient|study|figure|fig\.?|table"
    r"|child|pugh|stanford|dukes?|weber|forrest|exon|serotype|antigen|region|section|part|plan|point|ward|room|trial"
    r"|hemoglobin|haemoglobin|hb|streptococcus|strep|penicillin|prostaglandin|toxin|exotoxin|enterotoxin|chain|strain"
    r"|natriuretic|receptor|caspase|cyclin|mr|mrs|ms|dr|bacillus|globin|hla|killip|arm|component|appendix|lead)"
    r"|°)[\s\-]?$"
)
NAME_AFTER = caseless(
    rf"\w|'(?!s\s+(?:your|our|my|the|definitely|clearly|correct|right|best|most|it|more)\b)\w|\.[a-z]\.|[-‐–][^\W_]"
    rf"|\.\s?(?:{SPECIES})\b|/(?-i:[a-z])\b|[ \-]?(?:cells?|lymphocytes?|waves?|antigen"
    rf"|virus"
    rf"|dimers?"
    r"|fib|flutter|section|peptide|spine|reactive|blockers?|symptoms?|lines?|natriuretic|coli|streptococc\w+|strep"
    r"|fib(?:er|re)s?|chains?|receptors?)\b"
)
WORDS = "AI"
"""Letters that are also English words."""
CLAUSE = (
    r"(?:because|since|as|due|is|and|or|vs|versus|correct|fits?|seems|appears|looks|sounds|more likely|'s|remains"
    r"|explains|wins|makes|matches|definitely|here|all day|hands down|any day|every time|after all|(?:on|for|in|from|by"
    r"|with) (?:this|the|that|these|those|her|him)|obviously|for (?:sure|me)|without|most likely|best|given|based on"
    r"|tbh|imho|lol|mate|though|anyway|easily|not [A-J]\b|innit)\b"
)
NOT_ARTICLE = re.compile(
    rf"\s*(?:$|[\n.,:;)\]}}>*|/!?\"”—–(=→&+~×☀-➿\U0001f300-\U0001faff]|-\s|\\n|{CLAUSE}"
    r"|\d{1,3}(?:\.\d+)?\s?%\s*(?:$|[,;|)\n])"
    r"|(?:it is|was|would|isn't|can|cannot|can't|has|does"
    r"|doesn't|must|should|all the way|but|rather|instead|over|then|imo|then|i|please)\b)"
)
"""Text after such a letter if it names an option."""
NOT_PRONOUN = re.compile(
    rf"\s*(?:$|[\n.:;)\]}}>*|/!?\"”—–(=→&+~✓✔✅☑✗✘❌✖×❎]|,(?!\s*(?:for one|personally|too|as|however|therefore)\b)|-\s"
    rf"|\\n|{CLAUSE}|(?:it is|here)\b)"
)
BRACKETED = re.compile(r"\s*[)\]}:]|\W*$|\.\s*(?:\n|$)")
"""Text after a lower-case letter that names an option."""
SMALL_AFTER = re.compile(r"(?<![^\s(\[{:\"'])")
"""Context before a lower-case letter that names an option."""
JOINT = caseless(
    r"[)\]\"']?\s*(?:\((?!\s*\d)[^()]{1,80}\)\s*)?(?:[,/&+]|,?\s*\b(?:and|or|vs|versus|plus|(?:along |together "
    r"|combined |in combination )?with|as well as|followed by)\b"
    r"|\s[^\w\s.,;:(\-–—>=<→⇒|✓✔✅☑✗✘❌✖×❎👍👎🥇🥈🥉?!]\s)\s*(?:options?\s*)?[(\[\"']?"
)
SPAN = re.compile(r"[)\]]?\s?[-–—]\s?[(\[]?")
SPAN_OF = caseless(r"\b(?:of|options?|choices|answers|letters|all|any)\W*$")
"""Letters between which a range is meant, 'A–D', and, if it has 'to', the text before: 'options A to D'."""
THROUGH = re.compile(r"\W*\b(?:to|through)\b\W*")
PREFERRED = caseless(r"\b(?:rather than|instead of)\W*(?:options?\W*)?$")
NEW_CLAUSE = caseless(
    r"[)\]\"']?\s+(?:is|was|would|seems|can|does|has|refers|represents|being|as (?:a|the) (?:close|distant|second"
    r"|runner)|close|trailing)\b"
)
NEAR = 24
"""Characters before a letter that are searched for what makes it one of a range."""
GLUED = 4
"""A letter directly after a digit counts only within this many characters of the start."""
DISTINCTIVE = 4
"""Fewest letters of an option's words for a match not to be a coincidence."""
TOKEN = re.compile(r"(?:(?<!\w)[-−])?\d+(?:[.,]\d+)*(?:\s?(?:%|per ?cent\b))?|[^\W\d_]+|[↑↓<>≥≤+&]")
ARTICLES = frozenset({"a", "an", "the", "An", "The"})
ROUTES = frozenset({"intravenous", "intramuscular", "subcutaneous", "oral"})
"""Words, as folded, that may as well follow the drug: 'adrenaline IM'."""
COUNTS = "two three four five six seven eight nine ten"
SYNONYMS = {
    "hep": "hepatitis",
    "iv": "intravenous",
    "im": "intramuscular",
    "sc": "subcutaneous",
    "po": "oral",
    "epinephrine": "adrenaline",
    "norepinephrine": "noradrenaline",
    "acetaminophen": "paracetamol",
    "albuterol": "salbutamol",
    "frusemide": "furosemide",
    "lignocaine": "lidocaine",
    "pethidine": "meperidine",
    "strep|streptococci|streptococcal": "streptococcus",
    "staph|staphylococci|staphylococcal": "staphylococcus",
}
"""Words, without an inner hyphen, that say the same as another."""
SPELLINGS = tuple(
    (re.compile(spelling), folded)
    for spelling, folded in (
        (r"(?<=[a-z]{3})ae$", "a"),
        (r"(?<=[a-z]{4})i$", "us"),
        (r"[ao]+e(?=.)", "e"),
        (r"(?<=[a-z]{3})our", "or"),
        (r"(?<=i)s(?=e|ing|ation)|(?<=aly)s(?=e|i)", "z"),
        (r"\s?(?:%|per ?cent$)", "%"),
        *((rf"^{word}$", digit) for word, digit in zip(COUNTS.split(), map(str, range(2, 11)), strict=True)),
        *((rf"^(?:{others})$", name) for others, name in SYNONYMS.items()),
        (r"sulph", "sulf"),
        (r"leuco", "leuko"),
        (r"(?<=[tbv])re$", "er"),
        (r"ll(?=ed|ing|er)", "l"),
        (r"grey", "gray"),
        (r"aluminium", "aluminum"),
        (r"mould", "mold"),
        (r"^&$", "and"),
        (r"(?<=..)sis$", "se"),
        (r"(?<=..)ies$", "y"),
        (r"(?<=ch)es?$|(?<=ss|sh)es$|(?<=x)es$|(?<=[a-z][^aiosu\W])s$|(?<=[a-z]{2}[ao])s$", ""),
    )
)
"""British spellings and endings of the plural, and what they are folded to."""
PREFIX = re.compile(r"(?i:\bnon)[\s\-]$")
RANGE = re.compile(r"\d\s?[-–−]\s?$")
SUFFIX = re.compile(r"\s?/\s?(?:kg|h|hr|hour|day|d|min|m|m2|dL|L|mL)\b|\s?[-–−]\s?\d")
"""Text before and after an option's words that makes them part of another name, dose or range."""
SHARE_OF = re.compile(r"\s+of\b")
"""Text after a number which shows that it belongs to something else: '50 % of patients'."""
NO_WORD = re.compile(r"\W*")
LONG = 6
"""Fewest letters of an option's word that is also read with one letter wrong."""
IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff]{2,}")
"""Words of an option in a script without spaces."""
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


class Token(NamedTuple):
    """A word, number or sign of a text: half-open range, and the word folded to one spelling and number."""

    start: int
    end: int
    word: str


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
        or (NOT_ARTICLE if mark.letter == "A" else NOT_PRONOUN).match(text, mark.end)
    ]
    joined = _joined_letters(text, letters)
    # 'A (aspirin) and B (heparin)': the words are joined as well.
    owned = {words[bisect_left(starts, letter.end)] for letter in joined if letter.followed_by_words}
    dropped = joined | owned | _restated_marks(text, letters, words)
    return sorted({*letters, *words} - dropped, key=lambda mark: (mark.start, -mark.end, mark.letter))


def _mark_letters(text: str, options: Mapping[str, str]) -> Iterator[Mark]:
    letters = "".join(letter for letter in options if len(letter) == 1)
    if not letters:
        return
    for match in re.finditer(
        rf"(?<![^\W\d])(?<!\w')(?<![Nn]/)(?<!\b[A-J][-–—])[{re.escape(letters + letters.lower())}]", text
    ):
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
    wordings = _unambiguous(options)
    tokens = _corrected(list(tokens_of(text)), {word for wording in wordings for word in wording})
    places = grouped((token.word, index) for index, token in enumerate(tokens))
    marks: list[Mark] = []
    for wording, letter in wordings.items():
        for index in places.get(wording[0], ()):
            last = index + len(wording) - 1
            if tuple(token.word for token in tokens[index : last + 1]) == wording:
                start, end = tokens[index].start, tokens[last].end
                before = text[max(0, start - 5) : start]
                is_range = wording[0][0].isdigit() and RANGE.search(before)
                is_range = is_range or (wording[0][0].isdigit() and SHARE_OF.match(text, end))
                if not (is_range or PREFIX.search(before) or SUFFIX.match(text, end)):
                    marks.append(Mark(start, end, letter, by_letter=False, distinctive=_is_distinctive(wording)))
    for initials, letter in _initials(options).items():
        marks += [Mark(*match.span(), letter, by_letter=False) for match in re.finditer(rf"\b{initials}\b", text)]
    for words, letter in ((words, letter) for letter, words in options.items() if IDEOGRAPHS.fullmatch(words)):
        marks += [Mark(*match.span(), letter, by_letter=False) for match in re.finditer(words, text)]
    inner: set[tuple[int, int]] = set()
    reached = 0
    for start, end in sorted({(mark.start, mark.end) for mark in marks}, key=lambda place: (place[0], -place[1])):
        if end <= reached:
            inner.add((start, end))
        reached = max(reached, end)
    return [mark for mark in marks if (mark.start, mark.end) not in inner]


def _corrected(tokens: Sequence[Token], known: AbstractSet[str]) -> list[Token]:
    """Replace a long word that no option has by the only one of theirs that differs from it by one letter."""
    long = sorted(word for word in known if len(word) >= LONG)
    read: list[Token] = []
    for token in tokens:
        if len(token.word) >= LONG - 1 and token.word not in known:
            meant = [word for word in long if word[0] == token.word[0] and _is_misspelt(token.word, word)]
            read.append(token._replace(word=meant[0]) if len(meant) == 1 else token)
        else:
            read.append(token)
    return read


def _is_misspelt(written: str, meant: str) -> bool:
    """Whether a letter is missing, doubled or another vowel, or two are exchanged."""
    if abs(len(written) - len(meant)) > 1:
        return False
    same = next((at for at, pair in enumerate(zip(written, meant, strict=False)) if pair[0] != pair[1]), len(meant))
    rests = written[same:], meant[same:]
    missing = rests[0] == rests[1][1:] or rests[0][1:] == rests[1]
    exchanged = rests[0][:2] == rests[1][:2][::-1] and rests[0][2:] == rests[1][2:]
    vowel = {*rests[0][:1], *rests[1][:1]} <= set("aeiou") and rests[0][1:] == rests[1][1:] and len(meant) > LONG + 1
    return missing or exchanged or vowel


def _initials(options: Mapping[str, str]) -> dict[str, str]:
    """Return the initials of at least three words that one option alone has, and its letter."""
    read = {letter: "".join(re.findall(r"\b[^\W\d_]", words.upper())) for letter, words in options.items()}
    own = {
        letter: initials
        for letter, initials in read.items()
        if RESTATED <= len(initials) <= LONG
        and re.fullmatch(r"[^\W\d_ -][^\W\d_ -]*(?:[ -][^\W\d_]+)*", options[letter].strip())
    }
    return {initials: letter for letter, initials in own.items() if list(own.values()).count(initials) == 1}


def _is_distinctive(wording: Sequence[str]) -> bool:
    """Whether the words are long enough, or a number with its unit, not to occur by chance."""
    joined = "".join(wording)
    return sum(map(str.isalpha, joined)) >= DISTINCTIVE or (len(wording) > 1 and any(map(str.isdigit, joined)))


def _unambiguous(options: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    """Return the options' wordings, as folded words, that belong to one option only, and the option's letter."""
    letters: dict[tuple[str, ...], set[str]] = {}
    for letter, words in options.items():
        for wording in _wordings(words):
            if folded := tuple(token.word for token in tokens_of(wording)):
                letters.setdefault(folded, set()).add(letter)
                if folded[0] in ROUTES:
                    letters.setdefault((*folded[1:], folded[0]), set()).add(letter)
    return {wording: owners.pop() for wording, owners in letters.items() if len(owners) == 1}


def tokens_of(text: str) -> Iterator[Token]:
    """Yield the words of a text but its articles."""
    for match in TOKEN.finditer(text):
        # "Crohn's disease" is also written 'Crohn disease'.
        owner = match[0] == "s" and text[max(0, match.start() - 1) : match.start()] == "'"
        if match[0] not in ARTICLES and not owner:
            yield Token(match.start(), match.end(), fold(match[0].lower()))


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """Return a word in one spelling, without accents and the ending of the plural."""
    word = "".join(part for part in normalize("NFKD", word) if not combining(part)) or word
    for spelling, folded in SPELLINGS:
        word = spelling.sub(folded, word)
    return word


def _wordings(words: str) -> set[str]:
    """Return an option's words; if they end in brackets, also without these, and any abbreviation inside them."""
    bare = re.sub(r"^(?:the|a|an)\s+", "", words.strip(" .;,\\\n"), flags=re.IGNORECASE)
    wordings = {bare}
    if inner := re.fullmatch(r"(.*\S)\s*\(([^()]+)\)", bare):
        wordings |= {inner[1]} | ({inner[2]} if re.fullmatch(r"[A-Z][A-Za-z0-9\-]*[A-Z0-9]s?", inner[2]) else set())
    wordings |= {re.sub(r"(?<=[^\W\d_])-(?=[^\W\d_])", "", wording) for wording in wordings}
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
        between, before = text[first.end : second.start], text[max(0, first.start - NEAR) : first.start]
        if first.letter == second.letter or (PREFERRED.search(before) and "," in between):
            continue
        together = JOINT.fullmatch(re.sub(r"\s+", " ", between)) and not NEW_CLAUSE.match(text, second.end)
        # In 'B, and A is wrong' the second letter begins a new clause.
        if together or SPAN.fullmatch(between) or (THROUGH.fullmatch(between) and SPAN_OF.search(before)):
            joined |= {first, second}
    return joined


def _restated_marks(text: str, letters: Sequence[Mark], words: Sequence[Mark]) -> set[Mark]:
    """Return the letters and words of option lists that the text repeats."""
    starts = [mark.start for mark in words]
    entries = [(letter, words[bisect_left(starts, letter.end)]) for letter in letters if letter.followed_by_words]
    runs: list[list[tuple[Mark, Mark]]] = []
    for entry in entries:
        is_new = not runs or entry[0].letter in {letter.letter for letter, _ in runs[-1]}
        near = not is_new and not re.search(r"[\w✗✘❌✖×☒❎✓✔✅☑🥇🥈🥉]", text[runs[-1][-1][1].end : entry[0].start])
        if near:
            runs[-1].append(entry)
        else:
            runs.append([entry])
    return {
        mark for run in runs if len({letter.letter for letter, _ in run}) >= RESTATED for entry in run for mark in entry
    }
