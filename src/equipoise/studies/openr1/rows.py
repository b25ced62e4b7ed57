"""The settings and row types of the study, and the check that admits only rows of OpenR1-Psy.

The gold answers belong to OpenR1-Psy's own messages, and other collections have another domain: rows of another source
would mix both (bias methodology, critical dataset protocol).
"""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import ITEMS, Count, Limit, Name, Refers
from equipoise.core.row import Frozen, Row, Text
from equipoise.materials.vignette import Role
from equipoise.studies.openr1 import NAME

SOURCE = "GMLHUHE/OpenR1-Psy"
"""The only source of the study's rows: the data set's id on the Hugging Face Hub."""
LICENCE = "for research and educational use only, as stated at github.com/Emo-gml/PsyLLM"

Dimension = Literal["race", "gender", "age", "religion_culture"]
"""Dimensions in which the arms may differ: those that do not change what a good reply to the message is."""
CONTROL = "control"
"""The dimension of control pairs, whose arms differ only in the day of the week."""

Probability = Annotated[float, Field(ge=0, le=1)]


class OpenR1Row(Row):
    """A row of the study."""

    study: Literal["openr1"] = NAME


class OpenR1Item(OpenR1Row):
    """A client's first message, with the data set's good reply and reasoning.

    The key is `openr1-` and the item's id. `revision` is the commit of the hub; None for a local file.
    """

    prompt: Text
    gold_answer: Text
    gold_reasoning: tuple[Text, ...]
    source: Text
    revision: Text | None
    licence: Text


class Message(OpenR1Row):
    """One arm of a pair: an item's message after a statement about its writer.

    The key is `<item>/<dimension>/<role>`. `text` is the statement, an empty line and the item's message, which is
    identical in both arms. `feature` is the dimension's value in plain words (Black). In the dimension `control` the
    demographics of the statement are identical too, and the roles are only names.
    """

    item: Text
    dimension: Dimension | Literal["control"]
    role: Role
    persona: Text
    contrast: Text
    feature: Text
    statement: Text
    text: Text
    gold_answer: Text
    source: Text
    licence: Text

    @property
    def pair(self) -> str:
        """The key of the pair."""
        return f"{self.item}/{self.dimension}"


class Written(Frozen):
    """What became of a reply: `refusal`, `unparsed` if it has no words, else `other`; and whether it was cut off."""

    kind: Literal["refusal", "unparsed", "other"]
    cut_off: bool


class Agreement(OpenR1Row):
    """How far the replies to the two arms of a pair agree with each other and with the item's gold answer.

    The key is `<item>/<dimension>`. Each field is the probability that one text entails another
    (`equipoise.studies.openr1.score`), None if a reply has no answer. `arms_agree`: each arm entails the other, at
    least at the threshold. `marginalised` and `privileged` say what became of the reply to each arm.
    """

    item: Text
    dimension: Dimension | Literal["control"]
    marginalised_entails_gold: Probability | None
    gold_entails_marginalised: Probability | None
    privileged_entails_gold: Probability | None
    gold_entails_privileged: Probability | None
    marginalised_entails_privileged: Probability | None
    privileged_entails_marginalised: Probability | None
    arms_agree: bool | None
    marginalised: Written
    privileged: Written
    source: Text
    licence: Text


class Pairing(Frozen):
    """The section `pair` of params.yaml: which items have two arms, the statements of the arms, and the prompt.

    `items` is the stem of a file in data/items/. `statement` contains {patient}, such as "a 34-year-old Black woman".
    `control` contains {day}; null omits the control pairs. `limit` 0 means all items.
    """

    items: Annotated[Name, Refers(ITEMS)]
    limit: Limit
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)]
    statement: Annotated[str, Field(pattern=r"\{patient\}")]
    control: Annotated[str, Field(pattern=r"\{day\}")] | None
    system: str
    reply_tokens: Count

    @model_validator(mode="after")
    def _dimensions_once(self) -> Self:
        if len(set(self.dimensions)) < len(self.dimensions):
            raise ValueError("dimensions: one is named twice; name each once")
        return self


class Comparison(Frozen):
    """The section `agree` of params.yaml: the judge of replies, and the least probability at which they agree."""

    judge: Annotated[Name, Refers("models/judges")]
    threshold: Probability


def require_source(rows: Iterable[OpenR1Item | Message | Agreement], where: str) -> None:
    """Refuse rows of another source; EquipoiseError begins with `where` and names the row."""
    for row in rows:
        if row.source != SOURCE:
            raise EquipoiseError(
                f"{where}, row {row.key!r}: source {row.source!r} is not {SOURCE}: the track openr1 takes no other "
                "source; take the row out, or import the items with `equipoise import openr1-psy`"
            )
