"""The sentences, conditions and words of the stigma study, which only this module reads from `data/sentences`.

Source of the published part: Lin et al. (2022), EMNLP 2022, appendices A and B, and its release (MIT).
"""

import re
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, RootModel, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Frozen, Text
from equipoise.core.yamlfile import load_yaml
from equipoise.studies.stigma.rows import ConditionSet, Question

MASK, CONDITION = "{mask}", "{condition}"
"""The places of the subject and of the condition in a template."""
SENTENCES = "data/sentences"
QUESTIONS: tuple[Question, ...] = get_args(Question)
CONDITION_SETS: tuple[ConditionSet, ...] = get_args(ConditionSet)

Gender = Literal["female", "male"]
TextList = Annotated[tuple[Text, ...], Field(min_length=1)]
Key = Annotated[str, Field(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]


class Sentence(Frozen):
    """A template as written, by question, group and key; `polarity` is -1 if it says the opposite of its dimension."""

    text: Text
    polarity: Literal[-1, 1] = 1

    @model_validator(mode="after")
    def _places(self) -> Self:
        for place in (MASK, CONDITION):
            if self.text.count(place) != 1:
                raise ValueError(f"{place} occurs {self.text.count(place)} times in {self.text!r}: write it once")
        if stray := re.search(r"[{}]", self.text.replace(MASK, "").replace(CONDITION, "")):
            raise ValueError(f"stray {stray[0]!r} in {self.text!r}: braces are for {MASK} and {CONDITION} alone")
        return self


class Template(Sentence):
    """A sentence with a place for its subject and one for the condition.

    `group` is the phase of seeking care (rq1) or the dimension of stigma (rq2). `key` is unique within its question.
    """

    key: Key
    question: Question
    group: Text

    @property
    def name(self) -> str:
        """The question and the key: unique in the study."""
        return f"{self.question}/{self.key}"

    def about(self, condition: str, subject: str = MASK) -> str:
        """Return the sentence about a condition, with its subject if given."""
        return subject.join(part.replace(CONDITION, condition) for part in self.text.split(MASK))


class Condition(Frozen):
    """A condition as named in the sentences, and its set."""

    name: Text
    condition_set: ConditionSet


class Subjects(Frozen):
    """Candidate subjects of the causal scorer; `female[i]` and `male[i]` are counterparts."""

    female: TextList
    male: TextList
    unspecified: TextList

    @model_validator(mode="after")
    def _counterparts(self) -> Self:
        if len(self.female) != len(self.male):
            raise ValueError(
                f"{len(self.female)} female and {len(self.male)} male subjects: give every subject its counterpart, "
                "in the same place of the other list"
            )
        _refuse_repeated((*self.female, *self.male, *self.unspecified))
        return self


class GenderedWords(Frozen):
    """Lower-case words of either gender, none of them in both lists."""

    female: TextList
    male: TextList

    @model_validator(mode="after")
    def _lower_and_apart(self) -> Self:
        words = (*self.female, *self.male)
        if raised := [word for word in words if word != word.lower().strip()]:
            message = f"{raised[0]!r} is not in lower case or has a space around it: words are compared in lower case"
            raise ValueError(message)
        _refuse_repeated(words)
        return self


class NameList(Frozen):
    """The address of a list of first names, and the sha256 of its file."""

    url: Annotated[str, Field(pattern=r"^https?://\S+$")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class NameLists(Frozen):
    """The two lists of first names."""

    female: NameList
    male: NameList


class Words(Frozen):
    """Words that show a subject's gender: `short` for rq1, `nouns` for rq2, `names` for the lists of first names."""

    short: GenderedWords
    nouns: GenderedWords
    names: NameLists


class Library(Frozen):
    """The sentences, conditions, words and subjects of the study."""

    templates: tuple[Template, ...]
    conditions: tuple[Condition, ...]
    words: Words
    subjects: dict[Question, Subjects]

    def of_question(self, question: Question) -> list[Template]:
        """List the templates of one question, in the order of the file."""
        return [template for template in self.templates if template.question == question]


class _Templates(Frozen):
    rq1: Annotated[dict[Text, dict[Key, Sentence]], Field(min_length=1)]
    rq2: Annotated[dict[Text, dict[Key, Sentence]], Field(min_length=1)]


class _Conditions(Frozen):
    mental: TextList
    control: TextList

    @model_validator(mode="after")
    def _apart(self) -> Self:
        _refuse_repeated((*self.mental, *self.control))
        return self


class _Subjects(RootModel[dict[Question, Subjects]]):
    @model_validator(mode="after")
    def _complete(self) -> Self:
        if missing := [question for question in QUESTIONS if question not in self.root]:
            message = f"no subjects for {missing[0]}: add female, male and unspecified subjects under {missing[0]}"
            raise ValueError(message)
        return self


def load_library(folder: Path) -> Library:
    """Read and check the four files of `folder` (`data/sentences`); EquipoiseError names the first error."""
    conditions = load_yaml(folder / "conditions.yaml", _Conditions)
    return Library(
        templates=_templates(folder / "templates.yaml"),
        conditions=tuple(
            Condition(name=name, condition_set=condition_set)
            for condition_set in CONDITION_SETS
            for name in getattr(conditions, condition_set)
        ),
        words=load_yaml(folder / "words.yaml", Words),
        subjects=load_yaml(folder / "subjects.yaml", _Subjects).root,
    )


def _templates(path: Path) -> tuple[Template, ...]:
    content = load_yaml(path, _Templates)
    templates: list[Template] = []
    taken: dict[str, str] = {}
    for question in QUESTIONS:
        for group, sentences in getattr(content, question).items():
            for key, sentence in sentences.items():
                where = f"{question}.{group}.{key}"
                if question == "rq1" and not sentence.text.startswith(f"{MASK} "):
                    message = f"{path}: {where}: field text: {sentence.text!r}: begin sentences of rq1 with {MASK}"
                    raise EquipoiseError(message)
                for name in (f"{question}/{key}", sentence.text):
                    if name in taken:
                        raise EquipoiseError(f"{path}: {where}: duplicate {name!r} (first in {taken[name]})")
                    taken[name] = where
                templates.append(Template(key=key, question=question, group=group, **sentence.model_dump()))
    return tuple(templates)


def _refuse_repeated(words: tuple[str, ...]) -> None:
    if repeated := next((word for word in words if words.count(word) > 1), None):
        raise ValueError(f"duplicate {repeated!r}: keep one of them")
