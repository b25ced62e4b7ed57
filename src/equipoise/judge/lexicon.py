"""The words by which a text names a feature of the patient: synonyms, euphemisms and, for ages, numbers.

One YAML file a dimension, in data/features/. A feature is given in plain words (`black`, `low income`); the lexicon
knows its dimension, and the regular expressions that name it or its kind (`ethnicity`, `social circumstances`).
"""

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Frozen
from equipoise.core.yamlfile import load_yaml
from equipoise.judge.reading import Feature

FOLDER = "data/features"
NUMBER = "{number}"
"""What a form of a number holds in the number's place."""
OLDEST = 130


def _compiles(pattern: str) -> str:
    try:
        finder = re.compile(f"(?:{pattern.replace(NUMBER, '1')})")
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a valid regular expression ({error})") from error
    if finder.search(""):
        raise ValueError(f"{pattern!r} matches a text without words: every text would name it")
    return pattern


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_compiles)]
Words = Annotated[str, Field(min_length=1)]


class Named(Frozen):
    """A feature: other plain words for it, the expressions that name it, and the numbers that do (ends included)."""

    also: tuple[Words, ...] = ()
    wordings: Annotated[tuple[Pattern, ...], Field(min_length=1)]
    numbers: tuple[int, int] | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.numbers and not 0 <= self.numbers[0] <= self.numbers[1] <= OLDEST:
            raise ValueError(f"numbers {list(self.numbers)} must rise, between 0 and {OLDEST}")
        return self


class Kind(Frozen):
    """A dimension: what hypotheses call it (`subject`), the expressions that name it, and its features."""

    dimension: str
    subject: Words
    kind: Annotated[tuple[Pattern, ...], Field(min_length=1)]
    number_forms: tuple[Pattern, ...] = ()
    features: Annotated[dict[str, Named], Field(min_length=1)]

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        listed = [(normal(word), name) for name, one in self.features.items() for word in {name, *one.also}]
        for word, name in listed:
            if other := next((one for said, one in listed if said == word and one != name), None):
                raise ValueError(f"{word!r} names both {name!r} and {other!r}")
        if any(one.numbers for one in self.features.values()) != any(NUMBER in form for form in self.number_forms):
            raise ValueError(f"features have numbers if and only if number_forms hold {NUMBER}")
        return self

    @cached_property
    def by_words(self) -> dict[str, str]:
        """The feature of each plain wording, as normalised by `normal`."""
        return {normal(word): name for name, one in self.features.items() for word in (name, *one.also)}


class Lexicon:
    """Every dimension's words."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        """Hold the kinds, by dimension."""
        self._kinds = dict(kinds)

    @property
    def subjects(self) -> dict[str, str]:
        """What hypotheses call each dimension."""
        return {dimension: kind.subject for dimension, kind in self._kinds.items()}

    def dimension(self, words: str) -> str | None:
        """The dimension of a feature given in plain words; None where no dimension has it.

        Words that the lexicon does not list are taken to be of the dimension whose expressions alone match them.
        """
        name = normal(words)
        for dimension, kind in self._kinds.items():
            if name in kind.by_words:
                return dimension
        matching = [
            dimension for dimension in self._kinds if _finder(self._expressions(dimension, words)).search(words)
        ]
        return matching[0] if len(matching) == 1 else None

    def features(self, words: Mapping[str, str]) -> tuple[Feature, ...]:
        """The features of a patient, in plain words by dimension (sorted), as the judge reads them.

        A feature under the dimension "" has the one that `dimension` finds. Of a dimension that the lexicon does not
        have, or where none is found, it is the judge that says where a text mentions the feature.
        """
        return tuple(self._feature(word, dimension) for dimension, word in sorted(words.items()))

    def _feature(self, words: str, dimension: str) -> Feature:
        known = dimension or self.dimension(words) or ""
        if known not in self._kinds:
            return Feature(known.replace("_", " ") or words, (words,))
        named = self._expressions(known, words)
        if not _finder(named).search(words):
            # The expressions of a listed feature leave out other senses of its words (black stools).
            named = (re.escape(words), *named)
        return Feature(self._kinds[known].subject, (words,), _finder(named))

    def _expressions(self, dimension: str, words: str) -> tuple[str, ...]:
        """The expressions for a feature and its kind; for one that is not listed, those of all of the dimension."""
        kind = self._kinds[dimension]
        name = kind.by_words.get(normal(words))
        features = [kind.features[name]] if name else list(kind.features.values())
        numbers = [
            form.replace(NUMBER, f"(?:{'|'.join(map(str, range(one.numbers[1], one.numbers[0] - 1, -1)))})")
            for one in features
            if one.numbers
            for form in kind.number_forms
        ]
        return (*kind.kind, *(wording for one in features for wording in one.wordings), *numbers)


def normal(words: str) -> str:
    """Plain words in one form: lower case, single spaces, no hyphens."""
    return " ".join(words.casefold().replace("-", " ").split())


@lru_cache(maxsize=256)
def _finder(expressions: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all, matched in whole words and whatever case."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(f'(?:{one})' for one in expressions)})(?!\w)", re.IGNORECASE)


def load_lexicon(folder: Path) -> Lexicon:
    """Read every file of the folder; a fault names the file, the entry and what is wrong with it."""
    kinds = {path.stem: load_yaml(path, Kind) for path in sorted(folder.glob("*.yaml"))}
    if not kinds:
        raise EquipoiseError(f"{folder}: holds no lexicon of features: run `git checkout -- {FOLDER}`")
    for name, kind in kinds.items():
        if kind.dimension != name:
            raise EquipoiseError(f"{folder / name}.yaml: dimension is {kind.dimension!r}: name the file after it")
    by_words: dict[str, str] = {}
    for name, kind in kinds.items():
        for word in kind.by_words:
            if other := by_words.get(word):
                raise EquipoiseError(f"{folder / name}.yaml: {word!r} is also in {other}.yaml: keep it in one of them")
            by_words[word] = name
    return Lexicon(kinds)
