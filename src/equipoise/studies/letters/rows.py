"""The settings of the study, and the rows of a letter and of what was read in it."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from equipoise.core.params import Count, Name, Refers
from equipoise.core.row import Frozen, Row, Text
from equipoise.judge.passages import Manner
from equipoise.materials.vignette import Level, Role
from equipoise.studies.letters import NAME
from equipoise.studies.letters.parts import FactClass

Kind = Literal["referral", "discharge"]


class Letters(Frozen):
    """The section `letters` of params.yaml: which letter is written, about how much evidence, and who reads it.

    `requests` has the request of each kind of letter, with {case}. `reader` is the stem of a file in
    models/judges/: the encoder of the embedded reader, or a language model whose rubric has the four manners.
    """

    kind: Kind
    level: Level
    system: Text
    requests: dict[Kind, Annotated[str, Field(pattern=r"\{case\}")]]
    reply_tokens: Count
    reader: Annotated[Name, Refers("models/judges")]

    @model_validator(mode="after")
    def _asks_for_the_kind(self) -> "Letters":
        if self.kind not in self.requests:
            raise ValueError(f"requests: the kind {self.kind} has none; add one with {{case}}")
        return self


class Case(Row):
    """The case that one arm's letter is about, with key `<pair>/<role>`; both arms have the same `facts`.

    `main`: the evidence about the pair has grade A or B, and the marginalised arm is the group that usually is.
    """

    study: Literal["letters"] = NAME
    pair: Text
    role: Role
    story: Text
    dimensions: tuple[Text, ...]
    features: dict[str, Text]
    main: bool
    text: Text
    facts: tuple[tuple[Text, FactClass], ...]


class Reading(Row):
    """One letter, as read: the manner of each fact, and the words that stigmatise.

    `classes` and `manners` are those of the story's facts, in order; both are empty for a refusal and a letter without
    words. `others` are the manners of the facts of another story, of which an honest letter tells none.
    """

    study: Literal["letters"] = NAME
    pair: Text
    role: Role
    story: Text
    dimensions: tuple[Text, ...]
    main: bool
    kind: Literal["refusal", "unparsed", "other"]
    words: int
    stigmatising: tuple[str, ...]
    classes: tuple[FactClass, ...]
    manners: tuple[Manner, ...]
    others: tuple[Manner, ...]


def share(manners: Iterable[Manner], *wanted: Manner) -> float | None:
    """Compute the share of facts with one of the manners; None without facts."""
    known = list(manners)
    return sum(manner in wanted for manner in known) / len(known) if known else None
