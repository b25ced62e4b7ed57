"""Multiple-choice questions: items with their options and the right letter, and the option that a model chooses."""

from collections.abc import Mapping
from itertools import combinations
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from equipoise.core.row import Frozen, Row, Sparse, Text
from equipoise.text.answer import AnswerKind

Attribute = Literal["race", "gender", "ses"]
Group = Literal["privileged", "unprivileged"]
Direction = Literal["favourable", "unfavourable"]
Disease = Literal["cancer", "cardiovascular", "dementia_neuro", "respiratory", "mental_health", "other"]
Difficulty = Literal["finals", "membership"]
"""The examination for which an item is hard enough: medical finals in Britain, or membership of a college after it."""
Acuity = Literal["acute", "subacute", "stable"]
"""How urgent a patient's illness is: in danger or distress now; to be treated within days; neither."""
Letter = Annotated[str, Field(pattern=r"^[A-Z]$")]
Options = Annotated[dict[Letter, Text], Field(min_length=2)]
Orders = Annotated[int, Field(ge=1, le=26)]
"""The most cyclic orders of a question's options in which it is asked."""

ATTRIBUTES: tuple[Attribute, ...] = ("race", "gender", "ses")
GROUPS: dict[Attribute, dict[Group, str]] = {
    "race": {"privileged": "white", "unprivileged": "black"},
    "gender": {"privileged": "male", "unprivileged": "female"},
    "ses": {"privileged": "high_income", "unprivileged": "low_income"},
}
"""The group of each attribute as AMQA's released files name it."""


class Choices(Row):
    """A row with the options of a multiple-choice question by letter, and the right letter."""

    options: Options
    gold: Letter

    @model_validator(mode="after")
    def _one_option_is_right(self) -> Self:
        if self.gold not in self.options:
            raise ValueError(f"gold {self.gold!r} is not one of the options {', '.join(self.options)}")
        if alike := same_text(self.options):
            raise ValueError(f"options {' and '.join(alike)} have the same text")
        return self


def same_text(options: Mapping[str, str]) -> tuple[str, str] | None:
    """Find two options with the same text but for spaces and capitals: their letters would mean the same."""
    plain = {letter: " ".join(text.split()).casefold() for letter, text in options.items()}
    return next((pair for pair in combinations(plain, 2) if plain[pair[0]] == plain[pair[1]]), None)


class Question(Choices):
    """A multiple-choice question: the vignette with its final question, the options and the right letter.

    `acuity` is how urgent the illness is, None if not stated. `exclude` names the attributes on which the right answer,
    or its probability, depends: the question has no variants about them.
    """

    question: Text
    disease: Disease | None = None
    acuity: Acuity | None = None
    exclude: tuple[Attribute, ...] = ()

    @model_validator(mode="after")
    def _an_attribute_is_excluded_once(self) -> Self:
        if len(set(self.exclude)) < len(self.exclude):
            raise ValueError(f"exclude names an attribute twice: {', '.join(self.exclude)}")
        return self


class Disparity(Frozen):
    """A group in which the illness of an item is documented to be missed, mistaken or undertreated, with its source."""

    group: Text
    source: Text


class Item(Question):
    """One question as authored or imported, demographics included; `reference` is the source of the medical fact."""

    reference: str
    source: Text
    licence: Text
    difficulty: Difficulty | None = None
    disparity: Disparity | None = None


class Order(Sparse):
    """The answer to a question whose options were shown in one cyclic order.

    The option at place i (from 0) of n was shown at place (i + shift) mod n, with the letter of that place.
    `probabilities` are those of the options, by their letters in the question as written: 1 for the option that a reply
    chooses; empty if no letter could be read. `refused` says whether a reply without a letter declines to answer.
    """

    rare: ClassVar = ("refused",)

    shift: Annotated[int, Field(ge=0)]
    probabilities: dict[Letter, Annotated[float, Field(ge=0, le=1)]]
    refused: bool = False

    @property
    def written(self) -> AnswerKind:
        """Whether the answer is refused, not read, or some option."""
        return "other" if self.probabilities else "refusal" if self.refused else "unparsed"


class Choice(Row):
    """The option chosen over all orders, by its letter in the question as written; None if no letter was read."""

    letter: Letter | None
    orders: tuple[Order, ...] = ()
