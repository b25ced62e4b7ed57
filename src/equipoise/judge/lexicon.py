"""The words that name a feature of the patient in a text: synonyms, euphemisms and, for ages, numbers.

data/features/ has one YAML file per dimension. A feature is given in plain words (`black`, `low income`); the lexicon
has its dimension, and the wordings that name it or its kind (`ethnicity`, `social circumstances`).
"""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Frozen
from equipoise.core.yamlfile import load_yaml
from equipoise.judge.reading import Feature
from equipoise.judge.wordings import NUMBER, Finder, Wording, literal

FOLDER = "data/features"
OLDEST = 130


Words = Annotated[str, Field(min_length=1)]


class Named(Frozen):
    """A feature: other plain words for it, and the wordings and numbers (inclusive range) that name it."""

    also: tuple[Words, ...] = ()
    wordings: Annotated[tuple[Wording, ...], Field(min_length=1)]
    numbers: tuple[int, int] | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.numbers and not 0 <= self.numbers[0] <= self.numbers[1] <= OLDEST:
            raise ValueError(f"numbers {list(self.numbers)} must rise, between 0 and {OLDEST}")
        return self


class Kind(Frozen):
    """A dimension: its name in hypotheses (`subject`), the wordings that name it, and its features."""

    dimension: str
    subject: Words
    kind: Annotated[tuple[Wording, ...], Field(min_length=1)]
    number_forms: tuple[Wording, ...] = ()
    features: Annotated[dict[str, Named], Field(min_length=1)]

    @model_validator(mode="after")
    def _words_are_distinct(self) -> Self:
        listed = [
            (normalize_words(word), name) for name, feature in self.features.items() for word in {name, *feature.also}
        ]
        for word, name in listed:
            if other := next(
                (other_name for other_word, other_name in listed if other_word == word and other_name != name), None
            ):
                raise ValueError(f"{word!r} names both {name!r} and {other!r}")
        if any(feature.numbers for feature in self.features.values()) != any(
            NUMBER in form.words for form in self.number_forms
        ):
            raise ValueError(f"features have numbers if and only if number_forms hold {NUMBER}")
        return self

    @model_validator(mode="after")
    def _compiles_together(self) -> Self:
        try:
            Finder(self.wordings())
        except ValueError as error:
            raise ValueError(f"the wordings are too long together ({error}): give fewer or shorter ones") from error
        return self

    @cached_property
    def by_words(self) -> dict[str, str]:
        """Map each plain wording, normalised by `normalize_words`, to its feature."""
        return {
            normalize_words(word): name for name, feature in self.features.items() for word in (name, *feature.also)
        }

    def wordings(self, name: str | None = None) -> tuple[Wording, ...]:
        """Return the wordings for the dimension and one of its features; without a name, for all of its features."""
        features = [self.features[name]] if name else list(self.features.values())
        numbers = [
            form.fill_number(range(feature.numbers[0], feature.numbers[1] + 1))
            for feature in features
            if feature.numbers
            for form in self.number_forms
        ]
        return (*self.kind, *(wording for feature in features for wording in feature.wordings), *numbers)


class Lexicon:
    """Every dimension's words."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        """Take the kinds, by dimension."""
        self._kinds = dict(kinds)
        self._finder = lru_cache(maxsize=256)(self._compile)

    @property
    def subjects(self) -> dict[str, str]:
        """The name of each dimension in hypotheses."""
        return {dimension: kind.subject for dimension, kind in self._kinds.items()}

    @property
    def listed(self) -> dict[str, tuple[str, ...]]:
        """The features of each dimension, by their names in the files."""
        return {dimension: tuple(kind.features) for dimension, kind in self._kinds.items()}

    def name(self, dimension: str, words: str) -> str | None:
        """Return the feature of a dimension with these plain words; None if the lexicon does not list them."""
        return self._kinds[dimension].by_words.get(normalize_words(words)) if dimension in self._kinds else None

    def touches(self, text: str, dimension: str) -> bool:
        """Whether a text has a word for a dimension or one of its features."""
        return self._finder(dimension, None).finds(text)

    def dimension(self, words: str) -> str | None:
        """Return the dimension of a feature given in plain words; None if no dimension has it.

        Unlisted words belong to a dimension if they match only that dimension's wordings.
        """
        name = normalize_words(words)
        for dimension, kind in self._kinds.items():
            if name in kind.by_words:
                return dimension
        matching = [dimension for dimension in self._kinds if self._finder(dimension, None).finds(words)]
        return matching[0] if len(matching) == 1 else None

    def features(self, words: Mapping[str, str]) -> tuple[Feature, ...]:
        """Return a patient's features for the judge, from plain words by dimension (sorted).

        For a feature under the dimension "", `dimension` finds the dimension. If there is none, or the lexicon does not
        have it, the judge decides where a text mentions the feature.
        """
        return tuple(self._feature(word, dimension) for dimension, word in sorted(words.items()))

    def _feature(self, words: str, dimension: str) -> Feature:
        known_dimension = dimension or self.dimension(words) or ""
        if known_dimension not in self._kinds:
            return Feature(known_dimension.replace("_", " ") or words, (words,))
        name = self._kinds[known_dimension].by_words.get(normalize_words(words))
        finder = self._finder(known_dimension, name)
        if not finder.finds(words):
            # The wordings of a listed feature exclude other senses of its words (black stools).
            finder = self._finder(known_dimension, name, words)
        return Feature(self._kinds[known_dimension].subject, (words,), finder)

    def _compile(self, dimension: str, name: str | None, words: str = "") -> Finder:
        """Compile the wordings for a feature and its kind, and plain words; without a name, all of the dimension."""
        wordings = self._kinds[dimension].wordings(name)
        return Finder((literal(words), *wordings) if words else wordings)


def normalize_words(words: str) -> str:
    """Normalise plain words: lower case, single spaces, no hyphens."""
    return " ".join(words.casefold().replace("-", " ").split())


def load_lexicon(folder: Path) -> Lexicon:
    """Read every file of the folder; errors name the file, the entry and the fault."""
    kinds = {path.stem: load_yaml(path, Kind) for path in sorted(folder.glob("*.yaml"))}
    if not kinds:
        raise EquipoiseError(f"{folder}: has no lexicon of features: run `git checkout -- {FOLDER}`")
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
