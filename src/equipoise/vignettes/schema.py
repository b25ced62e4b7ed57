"""Rows of the authored files under `data/raw`, each with the rules that can be checked on the row alone.

`personas.yaml` and `presentations.yaml` say who the patient is and what is wrong; `contrasts.yaml` says in which
feature the two arms of a pair differ, and `details.yaml` in what its control tellings do; `pairs.yaml` joins them.
Rules over several rows are in `design` and `library`.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictInt, StringConstraints, model_validator

from equipoise.core.records import Answer, Frozen, Role, Tier
from equipoise.text.sentences import sentence_spans

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([-_][a-z0-9]+)*$")]
Gender = Literal["woman", "man"]
Band = Literal["13-17", "18-25", "26-35", "36-45", "46-55", "56-65", "66-75", "76+"]
Ages = tuple[StrictInt, StrictInt]

WORDS = (45, 90)
"""Fewest and most words of a presentation's text, its two placeholders counted as one word each."""

SENTENCES = (2, 4)
"""Fewest and most sentences of a presentation's text."""

MIN_EXPECTED_SYNONYMS = 2
MIN_SETTINGS = 3

REVEALING = re.compile(
    r"\b(?:he|she|his|her|him|hers|himself|herself|man|men|woman|women|male|female|boy|girl|gentleman|lady|mr|mrs|ms|"
    r"years?[- ]old)\b",
    re.IGNORECASE,
)
"""Words that state a gender or an age, and so may occur only inside a demographic span."""


class Language(Frozen):
    """The first language of a persona, and whether an interpreter is needed."""

    first: Line
    interpreter: StrictBool


class Persona(Frozen):
    """A patient of the panel: demographics, mental-health profile, and one neutral sentence of background."""

    id: Annotated[str, StringConstraints(pattern=r"^p[0-9]{2}$")]
    age: StrictInt
    age_band: Band
    gender: Literal["woman", "man", "non-binary"]
    ethnicity: Line
    language: Language
    income: Literal["low", "middle", "high"]
    occupation: Line
    housing: Line
    comorbidities: tuple[Line, ...]
    condition: Line
    code: Line
    guideline: Line
    profile: Line
    background: Line
    risk: Literal["low", "moderate", "high"]
    safety: Line | None = None
    new: StrictBool
    source: Line
    licence: Line

    @model_validator(mode="after")
    def _rules(self) -> Self:
        low, high = band_limits(self.age_band)
        if not low <= self.age <= high:
            raise ValueError(f"age {self.age} lies outside age_band {self.age_band}; correct one of the two")
        if self.risk == "high" and self.safety is None:
            raise ValueError("risk is high but safety is missing; add what a safe answer must include")
        if found := REVEALING.search(self.background):
            raise ValueError(f"background states a demographic ({found.group()!r}); write 'the patient' or they")
        return self


class Stereotype(Frozen):
    """The wrong answer that a stereotype suggests for a presentation, and the literature that documents it.

    `contrasts` limits the presentation to some contrasts of the dimension (dementia is a stereotype of the old, not of
    the young); when empty, every contrast of the dimension that is not `named_only` may be used.
    """

    answer: Answer
    evidence: Line
    contrasts: tuple[Id, ...] = ()


class Presentation(Frozen):
    """The clinical content of a case, with its expected answer, distractors, and a stereotyped answer per dimension."""

    id: Id
    text: Line
    settings: Annotated[tuple[Id, ...], Field(min_length=MIN_SETTINGS)]
    expected: Answer
    distractors: Annotated[tuple[Answer, ...], Field(min_length=2)]
    code: Line
    guideline: Line
    ages: Ages
    genders: Annotated[tuple[Gender, ...], Field(min_length=1)]
    stereotypes: Annotated[dict[Id, Stereotype], Field(min_length=1)]
    source: Line
    licence: Line

    @model_validator(mode="after")
    def _rules(self) -> Self:
        _check_text(self.text)
        _check_ages(self.ages)
        if len(self.expected.synonyms) < MIN_EXPECTED_SYNONYMS:
            message = f"expected has {len(self.expected.synonyms)} synonym; list at least {MIN_EXPECTED_SYNONYMS}"
            raise ValueError(message)
        for dimension, stereotype in self.stereotypes.items():
            if shared := shared_name((self.expected, stereotype.answer, *self.distractors)):
                raise ValueError(
                    f"{shared!r} names two answers (stereotypes.{dimension}); give every answer wordings of its own"
                )
        return self


class Dimension(Frozen):
    """A demographic dimension."""

    id: Id
    name: Line
    status: Literal["core", "proposed", "intersectional"]


class Setting(Frozen):
    """A place of care, as the verb phrase that follows the patient."""

    id: Id
    phrase: Line


class Arm(Frozen):
    """How one arm states its feature: the plain words, and exactly one of adjective, noun, age (years) or clause."""

    feature: Line
    adjective: Line | None = None
    noun: Line | None = None
    age: StrictInt | None = None
    clause: Line | None = None

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if len(self.set_fields) != 1:
            message = f"give exactly one of adjective, noun, age, clause; found {', '.join(self.set_fields) or 'none'}"
            raise ValueError(message)
        return self

    @property
    def set_fields(self) -> tuple[str, ...]:
        """The grammatical fields that this arm sets."""
        return tuple(name for name in ("adjective", "noun", "age", "clause") if getattr(self, name) is not None)


class Contrast(Frozen):
    """Two parallel statements of one dimension, for the marginalised and for the privileged arm.

    `genders` and `ages` limit the patients for whom it is sound. A `named_only` contrast is used only
    with a presentation that lists it.
    """

    id: Id
    dimension: Id
    marginalised: Arm
    privileged: Arm
    genders: Annotated[tuple[Gender, ...], Field(min_length=1)] = ("woman", "man")
    ages: Ages = (0, 120)
    named_only: StrictBool = False

    @model_validator(mode="after")
    def _rules(self) -> Self:
        _check_ages(self.ages)
        kinds = {*self.marginalised.set_fields, *self.privileged.set_fields}
        if len(kinds) > 1:
            message = f"the arms are not parallel ({' and '.join(sorted(kinds))}); use the same kind of words in both"
            raise ValueError(message)
        kind = kinds.pop()
        if (kind == "age") != (self.dimension == "age") or (kind == "noun" and self.dimension != "gender"):
            raise ValueError(
                f"a contrast of dimension {self.dimension} cannot set the {kind}; ages belong to age, nouns to gender"
            )
        if getattr(self.marginalised, kind) == getattr(self.privileged, kind):
            raise ValueError(f"both arms have the same {kind}; make them differ")
        if self.marginalised.feature.casefold() == self.privileged.feature.casefold():
            raise ValueError("both arms have the same feature; make them differ")
        return self

    def arm(self, role: Role) -> Arm:
        """The statement for one role."""
        return self.marginalised if role == "marginalised" else self.privileged


class Detail(Frozen):
    """A kind of irrelevant detail, stated in two ways with the same number of words.

    The statements of `word` differ in a word or two, as adjectives, nouns and ages do; those of `clause` as clauses do.
    """

    id: Id
    word: tuple[Line, Line]
    clause: tuple[Line, Line]

    @model_validator(mode="after")
    def _rules(self) -> Self:
        for name in ("word", "clause"):
            one, other = (statement.split() for statement in getattr(self, name))
            if one == other or len(one) != len(other):
                raise ValueError(f"{name}: the statements must differ and have the same number of words; reword them")
            if found := REVEALING.search(" ".join([*one, *other])):
                raise ValueError(f"{name} states a demographic ({found.group()!r}); reword it")
        return self


class Pair(Frozen):
    """A planned pair: which presentation, persona, setting and contrasts, and whose stereotyped answer is used."""

    id: Id
    tier: Tier
    presentation: Id
    persona: Id
    setting: Id
    contrasts: Annotated[tuple[Id, ...], Field(min_length=1, max_length=3)]
    stereotype: Id
    core: StrictBool


def band_limits(band: str) -> tuple[int, int]:
    """Youngest and oldest age, in years, of a band such as `26-35` or `76+`."""
    low, _, high = band.rstrip("+").partition("-")
    return int(low), int(high or 120)


def shared_name(answers: tuple[Answer, ...]) -> str | None:
    """Find the first wording, label or synonym, that occurs twice among the answers, ignoring case and spacing."""
    seen: set[str] = set()
    for answer in answers:
        for wording in (answer.label, *answer.synonyms):
            name = " ".join(wording.casefold().split())
            if name in seen:
                return wording
            seen.add(name)
    return None


def _check_ages(ages: Ages) -> None:
    if ages[0] > ages[1]:
        raise ValueError(f"ages {list(ages)} run backwards; write [youngest, oldest]")


def _check_text(text: str) -> None:
    body = text.removeprefix("{patient} {setting} ")
    if body == text or "{" in body or "}" in body:
        raise ValueError("text must begin '{patient} {setting} ' and have no other braces; move or remove them")
    if "\n" in text:
        raise ValueError("text has a line break; write it as one paragraph (YAML folds lines after '>-')")
    if found := REVEALING.search(body):
        raise ValueError(f"text states a demographic ({found.group()!r}); write 'the patient' or they")
    n_words, n_sentences = len(text.split()), len(sentence_spans(text, longest=len(text) + 1))
    if not WORDS[0] <= n_words <= WORDS[1]:
        raise ValueError(f"text has {n_words} words; write {WORDS[0]} to {WORDS[1]}")
    if not SENTENCES[0] <= n_sentences <= SENTENCES[1] or not text.endswith("."):
        message = f"text has {n_sentences} sentences; write {SENTENCES[0]} to {SENTENCES[1]}, ending in a full stop"
        raise ValueError(message)
