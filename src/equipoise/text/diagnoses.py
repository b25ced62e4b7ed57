"""Reduce names of diagnoses to their meanings, with the lexicon data/diagnoses.yaml."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from equipoise.core.row import Frozen, Text
from equipoise.core.yamlfile import load_yaml
from equipoise.text.patterns import normalize_unicode
from equipoise.text.translating import Translator

FILE = "data/diagnoses.yaml"
"""Path of the lexicon, from the repository's root."""

WORD = re.compile(r"[^\W_]+")
PREFIX = re.compile(r"\b(non|pre|post|anti|co|sub)-(?=\w)", re.IGNORECASE)
POSSESSIVE = re.compile(r"(?<=\w)['\N{RIGHT SINGLE QUOTATION MARK}](?:s\b)?", re.IGNORECASE)
COMMON = frozenset(
    """
    a active acute advanced an and as associated at attack attacks behavior behaviour bilateral by cause caused
    chronic classic combined complicated condition conditions controlled diagnosis disease diseases disorder
    disorders due early episode episodes essential established event exacerbation exacerbations first flare
    flares for from her his idiopathic illness illnesses in induced into its late left likely linked mainly
    manifestation mild moderate most new newly nonspecific of on onset or other patient patients poorly possible
    possibly predominantly presentation primary probable probably process recurrent refractory related right
    secondary severe sided simple suspected syndrome syndromes the their this to type typical uncomplicated
    uncontrolled underlying undiagnosed unspecified untreated up variant very wall with without worsening young
    """.split()  # noqa: SIM905  (a list of words, a line of quotation marks shorter)
)
"""Words that do not change which diagnosis a name means."""
ENDINGS = (
    *("ations", "ation", "ities", "ity", "ical", "ious", "ions", "isms", "ives", "ial", "iac", "ics", "ias", "ion"),
    *("ism", "ive", "ous", "ia", "ic", "al", "ed", "es", "ing", "s", "e", "y", "a"),
)
AMERICAN = {
    "aem": "em",
    "aesth": "esth",
    "paed": "ped",
    "gynaec": "gynec",
    "oedem": "edem",
    "oesoph": "esoph",
    r"(?<=n)oea\b": "ea",
    r"(?<=rh)oea\b": "ea",
    r"(?<=behavi)our": "or",
    r"(?<=tum)our": "or",
}
"""British spellings of medicine (haemorrhage, dyspnoea, behaviour) and their American ones."""
SPELLINGS = (
    (re.compile(r"[ao]e"), "e"),
    (re.compile(r"(?<=i)s(?=(?:e[ds]?|ing|ations?)$)|(?<=ly)s(?=(?:e[ds]?|ing)$)"), "z"),
    (re.compile(r"(?<=[a-z]{3})our"), "or"),
    (re.compile("sulph"), "sulf"),
)
"""British spellings and their American forms; a word of neither kind changes in the same way in every text."""
SHORTEST_STEM = 4
LONGEST_ABBREVIATION = 5
KEPT = 4096
"""Texts whose meaning is kept."""
CUES = "cues"
"""Row of a language's phrases that tell that a text is in it."""


Wordings = Annotated[tuple[Text, ...], Field(min_length=2)]


class Meaning(NamedTuple):
    """The meaning of a text: its concepts (groups of the lexicon, stems of other words) and its words in lower case.

    `groups` are the first wordings of all groups in the text, including those with several concepts.
    """

    concepts: frozenset[str]
    groups: frozenset[str]
    words: str


class Diagnoses(Frozen):
    """The lexicon: wordings with one meaning, broader diagnoses, and words that exclude each other.

    Names listed under `apart` contain the words of another diagnosis but do not name it. `translations` and `phrases`
    are names and connecting phrases of other languages, by their English wording.
    """

    version: Literal[1]
    groups: Annotated[tuple[Wordings, ...], Field(min_length=1)]
    words: tuple[Wordings, ...] = ()
    apart: tuple[Text, ...] = ()
    kinds: dict[Text, Annotated[tuple[Text, ...], Field(min_length=1)]] = {}
    opposites: tuple[Wordings, ...] = ()
    translations: dict[Text, tuple[Text, ...]] = {}
    phrases: dict[Text, dict[Text, tuple[Text, ...]]] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        seen: dict[tuple[str, ...], str] = {}
        for group in (*self.groups, *self.words):
            for wording in group:
                first = seen.setdefault(_key(wording), group[0])
                if first != group[0] or sum(_key(other) == _key(wording) for other in group) > 1:
                    message = f"duplicate wording {wording!r}, in {first!r} and in {group[0]!r}: keep one of them"
                    raise ValueError(message)
        names = {group[0] for group in self.groups} | self.kinds.keys() | set(self.apart)
        for place, name in [
            *(("apart", diagnosis) for diagnosis in self.apart),
            *(("kinds", diagnosis) for diagnosis in self.kinds),
        ]:
            if (first := seen.get(_key(name), name)) != name:
                message = f"{place}, {name!r}: is a wording of {first!r}: give that, or remove it from the group"
                raise ValueError(message)
        for broader, narrower in self.kinds.items():
            for name in narrower:
                if name not in names:
                    message = f"kinds, {broader!r}: {name!r} does not begin a group: give a group's first wording"
                    raise ValueError(message)
            if broader in self._narrower_names(broader):
                raise ValueError(f"kinds, {broader!r}: is below itself: remove it there")
        return self

    @model_validator(mode="after")
    def _translated(self) -> Self:
        names = {group[0] for group in self.groups}
        for name in self.translations:
            if name not in names:
                raise ValueError(f"translations, {name!r}: does not begin a group: give a group's first wording")
        for language, rows in self.phrases.items():
            if CUES not in rows:
                raise ValueError(f"phrases, {language!r}: has no {CUES!r}: give phrases that tell the language")
        return self

    def meaning(self, text: str) -> Meaning:
        """Read a text: the longest wordings first, then the stems of the remaining words."""
        return self._read_once(text)

    def are_opposed(self, first: Meaning, second: Meaning) -> bool:
        """Whether two meanings have words that exclude each other: acute and chronic, bacterial and viral."""
        rows = zip(self._sides(first.words), self._sides(second.words), strict=True)
        return any(
            first_sides and second_sides and first_sides.isdisjoint(second_sides) for first_sides, second_sides in rows
        )

    def are_related(self, first: Meaning, second: Meaning) -> bool:
        """Whether one of two meanings names a diagnosis that includes a diagnosis of the other."""
        return self.is_narrower(first, second) or self.is_narrower(second, first)

    def is_narrower(self, first: Meaning, second: Meaning) -> bool:
        """Whether the first meaning names a diagnosis that is included in a diagnosis of the second."""
        return any(
            not first.groups.isdisjoint(self._narrower[name]) for name in second.groups if name in self._narrower
        )

    def share_diagnosis(self, first: Meaning, second: Meaning) -> bool:
        """Whether two meanings name a diagnosis in common; a word such as `renal` does not count."""
        return bool(self.diagnoses_in(first) & second.groups)

    def may_gloss(self, head: Meaning, gloss: Meaning) -> bool:
        """Whether a gloss can be another name of a head, which is unknown to the lexicon or related to the gloss."""
        return not head.groups or self.share_diagnosis(head, gloss) or self.are_related(head, gloss)

    def diagnoses_in(self, meaning: Meaning) -> frozenset[str]:
        """Return the first wordings of the diagnoses that a meaning names; a word such as `renal` does not count."""
        return meaning.groups - self._word_groups

    def wordings(self, name: str) -> tuple[str, ...]:
        """Return all wordings of the diagnosis with this name; empty if the lexicon does not have the name."""
        first = self._wordings.get(_key(name))
        return next((group for group in self.groups if group[0] == first), ())

    def to_english(self, text: str) -> str:
        """Rewrite the names of diagnoses in other languages, and the phrases around them."""
        return self._translator.to_english(text)

    @cached_property
    def _read_once(self) -> Callable[[str], Meaning]:
        """Read a text, and keep what was read: a reply is compared with each answer, an answer with each reply."""
        return lru_cache(maxsize=KEPT)(partial(self._read, within=""))

    @cached_property
    def _sides(self) -> Callable[[str], list[frozenset[int]]]:
        """Return the places of each row of opposites whose words are in a text."""

        def sides(words: str) -> list[frozenset[int]]:
            return [frozenset(place for place, word in enumerate(row) if word in words) for row in self._opposites]

        return lru_cache(maxsize=KEPT)(sides)

    @cached_property
    def _translator(self) -> Translator:
        return Translator(self.translations, self.phrases, CUES)

    def _narrower_names(self, name: str) -> set[str]:
        """Return all narrower diagnoses, recursively."""
        names: set[str] = set()
        waiting = list(self.kinds.get(name, ()))
        while waiting:
            narrower = waiting.pop()
            if narrower not in names:
                names.add(narrower)
                waiting += self.kinds.get(narrower, ())
        return names

    @cached_property
    def _narrower(self) -> dict[str, set[str]]:
        """Map each broader diagnosis to all narrower ones."""
        return {name: self._narrower_names(name) for name in self.kinds}

    @cached_property
    def _word_groups(self) -> frozenset[str]:
        return frozenset(group[0] for group in self.words)

    @cached_property
    def _wordings(self) -> dict[tuple[str, ...], str]:
        """Map the words of each wording to its group's first wording; a diagnosis only in `kinds` is its own group."""
        listed = {_key(name): name for name in (*self.kinds, *self.apart)}
        return listed | {_key(wording): group[0] for group in (*self.groups, *self.words) for wording in group}

    @cached_property
    def _stems(self) -> dict[str, str]:
        """The same for one-word wordings, by stem; the shorter of two with the same stem (alcohol, alcoholism)."""
        single = [key[0] for key in self._wordings if len(key) == 1 and key[0].islower()]
        return {_stem(word): self._wordings[word,] for word in sorted(single, key=len, reverse=True)}

    @cached_property
    def _longest_lengths(self) -> dict[str, int]:
        """Map a word to the number of words of the longest wording that begins with it."""
        lengths: dict[str, int] = {}
        for key in self._wordings:
            lengths[key[0]] = max(len(key), lengths.get(key[0], 0))
        return lengths

    @cached_property
    def _compositions(self) -> dict[str, Meaning]:
        """Map each group to the concepts of its first wording: shorter diagnoses and other words, else itself."""
        meanings: dict[str, Meaning] = {}
        words = {f"<{group[0]}>" for group in self.words}
        for name in set(self._wordings.values()):
            inner = self._read(name, name)
            whole = Meaning(frozenset({f"<{name}>"}), frozenset(), inner.words)
            # `Chronic kidney disease` is more than the word `kidney`, which also occurs in `kidney stone`.
            only_place = len(inner.concepts) == 1 and inner.concepts <= words
            meanings[name] = inner if inner.groups and not only_place and name not in self.apart else whole
        return meanings

    @cached_property
    def _opposites(self) -> list[list[str]]:
        return [[f" {' '.join(_key(word))} " for word in row] for row in self.opposites]

    def _read(self, text: str, within: str) -> Meaning:
        """Read a text; a wording of the group `within` is split into its shorter parts."""
        words = _words(text)
        concepts: set[str] = set()
        groups: set[str] = set()
        plain: list[str] = []
        place = 0
        while place < len(words):
            length, name = self._longest_at(words, place, within)
            if name is None:
                word = words[place].lower()
                plain.append(word)
                if word not in COMMON:
                    concepts.add(_stem(word))
            else:
                groups.add(name)
                # The words as written distinguish stable from unstable angina.
                plain += [token.lower() for token in words[place : place + length]]
                if within:
                    concepts.add(f"<{name}>")
                else:
                    inner = self._compositions[name]
                    concepts |= inner.concepts
                    groups |= inner.groups
                    plain += inner.words.split()
            place += length
        if within:
            # Parts of a first wording may themselves be composed.
            parted = [name for name in groups if name not in self.apart]
            deeper = [self._read(name, name) for name in parted]
            for name, part in zip(parted, deeper, strict=True):
                if part.groups:
                    concepts = (concepts - {f"<{name}>"}) | part.concepts
            groups = groups.union(*(part.groups for part in deeper))
        return Meaning(frozenset(concepts), frozenset(groups), f" {' '.join(plain)} ")

    def _longest_at(self, words: Sequence[str], place: int, within: str) -> tuple[int, str | None]:
        """Return the length in words and the group of the longest wording at a place; 1 and None if there is none."""
        begins = max(self._longest_lengths.get(word, 0) for word in (words[place], words[place].lower()))
        for length in range(min(begins, len(words) - place), 0, -1):
            stretch = words[place : place + length]
            key = tuple(stretch) if tuple(stretch) in self._wordings else tuple(word.lower() for word in stretch)
            name = self._wordings.get(key)
            if name is not None and name != within:
                return length, name
        word = words[place].lower()
        name = None if word in COMMON else self._stems.get(_stem(word))
        return 1, None if name == within else name


def load_diagnoses(path: Path) -> Diagnoses:
    """Read the lexicon; raises EquipoiseError that names the faulty entry and the fix."""
    return load_yaml(path, Diagnoses)


def is_abbreviation(wording: str) -> bool:
    """Whether a wording is an abbreviation, which is read as written: up to five capitals and digits."""
    return len(wording) <= LONGEST_ABBREVIATION and wording.isupper() and wording.isalnum()


def _key(wording: str) -> tuple[str, ...]:
    return (wording,) if is_abbreviation(wording) else tuple(word.lower() for word in _words(wording))


def _words(text: str) -> list[str]:
    """Split a text into words: case kept, American spelling, singular, without possessives."""
    plain = "".join(character for character in normalize_unicode(text, "NFKD") if not unicodedata.combining(character))
    return [_read_word(word) for word in WORD.findall(PREFIX.sub(r"\1", POSSESSIVE.sub("", plain)))]


@lru_cache(maxsize=4096)
def _read_word(word: str) -> str:
    if is_abbreviation(word):
        return word
    if is_abbreviation(word[:-1]) and word[-1] == "s":
        return word[:-1]
    return _singular(_normalize_spelling(to_american(word.lower())))


def to_american(wording: str) -> str:
    """Convert a British wording to American spelling."""
    for british, spelling in AMERICAN.items():
        wording = re.sub(british, spelling, wording)
    return wording


def _normalize_spelling(word: str) -> str:
    """Map British, American and mixed spellings to one spelling: `caecal`, `generalised`, `tumour`."""
    for variant, spelling in SPELLINGS:
        word = variant.sub(spelling, word)
    return word


def _singular(word: str) -> str:
    keeps = len(word) < SHORTEST_STEM or word.endswith(("ss", "us", "is", "as"))
    return word if keeps or not word.endswith("s") else word[:-1]


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    """Remove a word's ending: `alcoholic` and `alcohol`, `infected` and `infection` have the same stem."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word
