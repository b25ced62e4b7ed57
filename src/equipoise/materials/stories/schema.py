"""Rows of the authored files under `data/raw`, each with the rules that can be checked on a single row.

`personas.yaml` and the stories of `presentations/` say who the patient is and what is wrong; `contrasts.yaml` says in
which feature the two arms of a pair differ, and `details.yaml` in which details its controls differ; `pairs.yaml` joins
them. Rules over several rows are in `library` and `profiles`.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictInt, StringConstraints, model_validator

from equipoise.core.row import Frozen
from equipoise.materials.versions import CUES
from equipoise.materials.vignette import Grade, LogRatio, Role, Tier
from equipoise.text.answer import Answer
from equipoise.text.sentences import Span, sentence_spans

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([-_][a-z0-9]+)*$")]
Gender = Literal["woman", "man"]
Band = Literal["13-17", "18-25", "26-35", "36-45", "46-55", "56-65", "66-75", "76+"]
Ages = tuple[StrictInt, StrictInt]
Code = Annotated[str, StringConstraints(pattern=r"^ICD-11 [0-9A-X][A-Z][0-9][0-9A-Z](\.[0-9A-Z]{1,2})?$")]
HarmClass = Literal["time-critical", "serious", "moderate", "minor"]
PLACEHOLDER = re.compile(r"\{(.*?)\}")

WORDS = {"opening": (9, 28), "history": (30, 60), "background": (20, 50), "examination": (12, 36), "test": (6, 26)}
"""Fewest and most words of each part of a presentation, each placeholder counted as one word."""

MIN_LEANING, MAX_DECISIVE = 88, 165
"""Fewest words of a story without its confirmatory test, and most with it: notes of 90 to 185 words when composed."""

PRONOUNS = ("they", "them", "their", "They", "Their")
"""Placeholders for the patient's pronoun: he or she, or *the patient* where the arms differ in gender."""

MIN_EXPECTED_SYNONYMS = 2
MOST_LONGER = 2
"""The most words by which the statement of one arm may exceed that of the other."""
MIN_SETTINGS = 3

REVEALING = re.compile(
    r"\b(?:he|she|his|her|him|hers|himself|herself|man|men|woman|women|male|female|boy|girl|gentleman|lady|mr|mrs|ms|"
    r"years?[- ]old)\b",
    re.IGNORECASE,
)
"""Words that state a gender or an age, and may occur only inside a demographic span.

Composed texts also have the patient's pronouns outside it, where both arms have the same gender.
"""

GENERAL_WORDS = frozenset({"acute", "chronic", "disease", "disorder", "episode", "from", "illness", "syndrome", "with"})
"""Words of diagnoses that do not say which diagnosis."""

SOCIAL = 45
"""The most words of a persona's `social`."""


class Language(Frozen):
    """The first language of a persona, and whether an interpreter is needed."""

    first: Line
    interpreter: StrictBool


class Persona(Frozen):
    """A patient of the panel: demographics, mental-health profile, and the pair of the profile `personas` about them.

    `social` states the person's ethnicity, work, home, language and other illnesses in the words of a case note,
    without the dimension that `contrast` varies. `presentation` is a story of the person's own condition.
    """

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
    social: Line
    presentation: Id
    contrast: Id
    setting: Id
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
        _check_pronouns("social", self.social)
        if match := REVEALING.search(self.social):
            raise ValueError(f"social states a demographic ({match.group()!r}); write {{they}} or {{their}}")
        if (n := len(self.social.split())) > SOCIAL:
            raise ValueError(f"social has {n} words; write at most {SOCIAL}")
        return self


class Diagnosis(Answer):
    """A diagnosis with its ICD-11 code, and the other wordings that count as the same answer."""

    code: Code


class Evidence(Frozen):
    """The evidence that a group is given the documented error, with a grade of its directness.

    `comparison`: the paper compares the group with others; `error_named`: it says that this error was made. Grade A
    needs both; B: this group, another disparity or no comparison; C: extrapolated, or an uncertain source.
    """

    grade: Grade
    group: Id
    comparison: StrictBool
    error_named: StrictBool
    error: Line
    source: Line

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if self.grade == "A" and not (self.comparison and self.error_named):
            raise ValueError("grade A needs a comparison group and a paper that names the error; write B or C")
        return self


class Epidemiology(LogRatio):
    """A log ratio with its derivation and the source of its numbers.

    `second` is the value that a second hand derived without seeing the first. Where the two differ by more than 0.35
    nats, `value` is their mean and `first` the original; the bounds cover both.
    """

    note: Line
    source: Line
    first: float | None = None
    second: float | None = None


class Guideline(Frozen):
    """The guideline on the expected answer: its number, title and year, and why a title that does not name it fits."""

    id: Line
    title: Line
    year: Annotated[StrictInt, Field(ge=1990, le=2030)]
    why: Line | None = None

    def __str__(self) -> str:
        """Write number, title and year in a line."""
        return f"{self.id}, {self.title} ({self.year})"

    def names(self, answer: Answer) -> bool:
        """Whether the title has a word of an answer: of four letters or more, and not one of `GENERAL_WORDS`."""
        wordings = " ".join((answer.label, *answer.synonyms)).casefold()
        words = set(re.findall(r"[^\W\d_]{4,}", wordings)) - GENERAL_WORDS
        return any(word in self.title.casefold() for word in words)


class Mirror(Frozen):
    """Findings for which the stereotyped answer is right; the opening and the background are those of the story."""

    answer: Line
    history: Line
    examination: Line
    test: Line


class Stereotype(Frozen):
    """The wrong answer that a stereotype suggests for a presentation, and the literature that documents it.

    `dimension` is one dimension, or several joined by `+` if the literature is about their intersection. `contrasts`
    limits the presentation to some contrasts; if empty, it allows every contrast of a group that the evidence covers.
    """

    dimension: Line
    contrasts: tuple[Id, ...] = ()
    answer: Diagnosis
    evidence: Evidence
    log_ratio: Epidemiology
    mirror: Mirror | None = None

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if self.mirror and self.mirror.answer != self.answer.label:
            message = f"mirror.answer is {self.mirror.answer!r}, not the stereotyped answer {self.answer.label!r}"
            raise ValueError(f"{message}; write findings under which the stereotyped answer is right")
        return self


class Presentation(Frozen):
    """The clinical content of a case: its parts, its expected answer, distractors, and stereotyped answers.

    The opening says only who came, where and why, and is also the stub. `history` and `background` follow at every
    level of evidence, `examination` from `leaning` on, `test` at `decisive`.
    """

    id: Id
    opening: Line
    history: Line
    background: Line
    examination: Line
    test: Line
    settings: Annotated[tuple[Id, ...], Field(min_length=MIN_SETTINGS)]
    expected: Diagnosis
    distractors: Annotated[tuple[Diagnosis, ...], Field(min_length=2, max_length=3)]
    guideline: Guideline
    criteria: Line | None = None
    ages: Ages
    genders: Annotated[tuple[Gender, ...], Field(min_length=1)]
    stereotypes: Annotated[tuple[Stereotype, ...], Field(min_length=1)]
    source: Line
    licence: Line

    @model_validator(mode="after")
    def _rules(self) -> Self:
        _check_ages(self.ages)
        if len(self.expected.synonyms) < MIN_EXPECTED_SYNONYMS:
            message = f"expected has {len(self.expected.synonyms)} synonym; list at least {MIN_EXPECTED_SYNONYMS}"
            raise ValueError(message)
        for stereotype in self.stereotypes:
            answers = (self.expected, stereotype.answer, *self.distractors)
            if shared := shared_name(answers):
                place = f"stereotypes ({stereotype.dimension})"
                raise ValueError(f"{shared!r} names two answers, {place}; give every answer wordings of its own")
        self._check_stub([self.expected, *self.distractors, *(row.answer for row in self.stereotypes)])
        self._check_parts("", self)
        for stereotype in self.stereotypes:
            if stereotype.mirror:
                self._check_parts(f"stereotypes ({stereotype.dimension}): mirror.", stereotype.mirror)
        if not (self.guideline.why or self.guideline.names(self.expected)):
            message = f"guideline.title {self.guideline.title!r} has no word of {self.expected.label!r} or its synonyms"
            raise ValueError(f"{message}; cite a guideline on it, or say in guideline.why why this one applies")
        return self

    @property
    def words(self) -> str:
        """The text of the story and its mirrors, in lower case."""
        stories: list[Presentation | Mirror] = [self, *(row.mirror for row in self.stereotypes if row.mirror)]
        parts = [part for story in stories for part in (story.history, story.examination, story.test)]
        return " ".join((self.opening, self.background, *parts)).casefold()

    def _check_stub(self, answers: Sequence[Answer]) -> None:
        """Refuse an opening that contains findings or an answer, since alone it measures the model's base rate."""
        if sorted(PLACEHOLDER.findall(self.opening)) != ["patient", "setting"] or len(sentences(self.opening)) > 1:
            raise ValueError("opening must be one sentence with {patient} and {setting} once each; reword it")
        _check_words("opening", self.opening)
        if digit := re.search(r"\d", self.opening):
            raise ValueError(f"opening, the stub, has a finding ({digit.group()!r}); move it to the history")
        words = f" {' '.join(re.findall(r'[a-z]+', self.opening.casefold()))} "
        for answer in answers:
            for name in (answer.label, *answer.synonyms):
                if f" {' '.join(re.findall(r'[a-z]+', name.casefold()))} " in words:
                    raise ValueError(f"opening, the stub, names an answer ({name!r}); say in lay words why they came")

    def _check_parts(self, place: str, findings: Self | Mirror) -> None:
        """Refuse parts of the story or of a mirror that have the wrong length or state a demographic."""
        parts = {"history": findings.history, "background": self.background}
        parts |= {"examination": findings.examination, "test": findings.test}
        for name, text in parts.items():
            _check_words(f"{place}{name}", text)
            _check_pronouns(f"{place}{name}", text)
        total = sum(len(text.split()) for text in (self.opening, *parts.values()))
        fewest = total - len(findings.test.split())
        if fewest < MIN_LEANING or total > MAX_DECISIVE:
            message = f"{place}story has {fewest} words without the test and {total} with it"
            raise ValueError(f"{message}; write at least {MIN_LEANING} and at most {MAX_DECISIVE}")


class Dimension(Frozen):
    """A demographic dimension; `pairs` is the fewest pairs that vary only a proposed dimension, outside the core.

    The numbers of the core are those of the study's design (`library.CORE_SINGLES`).
    """

    id: Id
    name: Line
    status: Literal["core", "proposed"]
    pairs: Annotated[StrictInt, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if self.status == "proposed" and not self.pairs:
            raise ValueError("a proposed dimension needs pairs; add the fewest that vary it alone")
        if self.status == "core" and self.pairs:
            raise ValueError("the pairs of a core dimension are fixed by the design; remove the field")
        return self


class Combination(Frozen):
    """Dimensions that vary together outside the study's design: their tier, and the fewest pairs."""

    id: Id
    dimensions: Annotated[tuple[Id, ...], Field(min_length=2, max_length=3)]
    tier: Literal["tier1", "tier2", "tier3"]
    pairs: Annotated[StrictInt, Field(ge=1)]


class Setting(Frozen):
    """A place of care, as the verb phrase that follows the patient."""

    id: Id
    phrase: Line


class Cues(Frozen):
    """What implies the feature of an arm: full names by gender, a form of address, or clauses."""

    name: dict[Gender, Annotated[tuple[Line, ...], Field(min_length=1)]] | None = None
    title: Line | None = None
    area: Line | None = None
    interpreter: Line | None = None

    def by_kind(self) -> dict[str, Line | dict[Gender, tuple[Line, ...]]]:
        """Return the cues that are given, by kind."""
        return {kind: cue for kind in CUES if (cue := getattr(self, kind)) is not None}


class Arm(Frozen):
    """How one arm states its feature: the plain words, and exactly one of adjective, noun, age (years) or clause.

    `cues` imply the feature instead of stating it, by kind.
    """

    feature: Line
    cues: Cues = Cues()
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

    `groups` are the patient group, then those that contain it (black-caribbean, black): a stereotype applies only if
    its evidence is about one of them. In a `reverse` contrast the marginalised arm is that of the group that is usually
    favoured. `genders` and `ages` limit the patients for whom it is sound; a story with words of `conflicts`
    contradicts an arm.
    """

    id: Id
    dimension: Id
    groups: Annotated[tuple[Id, ...], Field(min_length=1)]
    reverse: StrictBool = False
    marginalised: Arm
    privileged: Arm
    genders: Annotated[tuple[Gender, ...], Field(min_length=1)] = ("woman", "man")
    ages: Ages = (0, 120)
    conflicts: tuple[Line, ...] = ()

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
        named = [{gender: len(names) for gender, names in (arm.cues.name or {}).items()} for arm in self.arms]
        if named[0] != named[1]:
            raise ValueError("the arms have different numbers of names; give as many to both, by gender")
        given, others = (arm.cues.by_kind() for arm in self.arms)
        if given.keys() != others.keys() or any(given[kind] == others[kind] for kind in given):
            raise ValueError("the arms have the same cue, or not the same kinds; give both their own of each kind")
        words = [len((getattr(arm, kind) or "").split()) for arm in self.arms] if kind != "age" else [1, 1]
        if abs(words[0] - words[1]) > MOST_LONGER:
            raise ValueError(f"the arms have {words[0]} and {words[1]} words; keep within {MOST_LONGER} of each other")
        return self

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """Both arms, the marginalised first."""
        return self.marginalised, self.privileged

    def arm(self, role: Role) -> Arm:
        """Return the statement for one role."""
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
            first, second = (statement.split() for statement in getattr(self, name))
            if first == second or len(first) != len(second):
                raise ValueError(f"{name}: the statements must differ and have the same number of words; reword them")
            if match := REVEALING.search(" ".join([*first, *second])):
                raise ValueError(f"{name} states a demographic ({match.group()!r}); reword it")
        return self


class Harm(Frozen):
    """A class of harm: what a delay of the expected answer does, and the answers, by label, of which it does that.

    `source` names the scale of severity on which it is built.
    """

    id: HarmClass
    delay: Line
    source: Line
    answers: Annotated[tuple[Line, ...], Field(min_length=1)]


class Pair(Frozen):
    """A planned pair: its presentation, persona, setting and contrasts, and the dimension of its stereotyped answer."""

    id: Id
    tier: Tier
    presentation: Id
    persona: Id
    setting: Id
    contrasts: Annotated[tuple[Id, ...], Field(min_length=1, max_length=3)]
    stereotype: Line
    core: StrictBool


def band_limits(band: str) -> tuple[int, int]:
    """Return the youngest and oldest age, in years, of a band such as `26-35` or `76+`."""
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


def sentences(text: str) -> list[Span]:
    """Return the spans of the sentences of a text."""
    return sentence_spans(text, longest=len(text) + 1)


def _check_pronouns(name: str, text: str) -> None:
    """Refuse placeholders other than pronouns, and text that does not end a sentence."""
    if set(PLACEHOLDER.findall(text)) - set(PRONOUNS) or not text.endswith((".", ".”", '."')):
        message = f"{name} may have no braces but {{{'}, {'.join(PRONOUNS)}}}"
        raise ValueError(f"{message}, and must end in a full stop; reword it")


def _check_words(name: str, text: str) -> None:
    if "\n" in text:
        raise ValueError(f"{name} has a line break; write it as one paragraph (YAML folds lines after '>-')")
    if match := REVEALING.search(PLACEHOLDER.sub("", text)):
        raise ValueError(f"{name} states a demographic ({match.group()!r}); write 'the patient' or they")
    n, (fewest, most) = len(text.split()), WORDS[name.rpartition(".")[2]]
    if not fewest <= n <= most:
        raise ValueError(f"{name} has {n} words; write {fewest} to {most}")
