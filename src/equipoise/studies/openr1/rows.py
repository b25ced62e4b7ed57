"""The track `openr1`: its settings, the types of its rows, and the gate that admits rows of OpenR1-Psy and no others.

The gold answers belong to OpenR1-Psy's own messages, and other collections bring another domain: rows of another source
would break both (bias methodology, critical dataset protocol).
"""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import Count, Limit, Name
from equipoise.core.row import Frozen, Row, Text
from equipoise.materials.vignette import Role
from equipoise.studies.openr1 import NAME

SOURCE = "GMLHUHE/OpenR1-Psy"
"""The one source of this track's rows: the data set's id on the Hugging Face Hub."""
LICENCE = "for research and educational use only, as stated at github.com/Emo-gml/PsyLLM"

Dimension = Literal["race", "gender", "age", "religion_culture"]
"""Dimensions in which the arms may differ: those that leave a good reply to a client's message what it is."""
CONTROL = "control"
"""In place of a dimension: arms that differ in the day of the week alone."""

Probability = Annotated[float, Field(ge=0, le=1)]


class OpenR1Row(Row):
    """A row of the track."""

    study: Literal["openr1"] = NAME


class OpenR1Item(OpenR1Row):
    """A client's first message, with the reply and the reasoning that the data set gives as good.

    The key is `openr1-` and the item's own id. `revision` is the commit of the hub; None for a local file.
    """

    prompt: Text
    gold_answer: Text
    gold_reasoning: tuple[Text, ...]
    source: Text
    revision: Text | None
    licence: Text


class Message(OpenR1Row):
    """One arm of a pair: an item's message after a statement of who writes it.

    The key is `<item>/<dimension>/<role>`. `text` is the statement, an empty line and the item's message, which both
    arms share to the letter. `feature` is what the statement says of the dimension in plain words (Black). In the
    dimension `control` the statement's demographics are shared as well; the roles are no more than two names there.
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


class Agreement(OpenR1Row):
    """How far the replies to the two arms of a pair agree with each other and with the item's gold answer.

    The key is `<item>/<dimension>`. Each field is a probability of entailment from one text to another (see
    `equipoise.studies.openr1.agree`), None where a reply has no answer. `arms_agree`: each arm entails the other, at
    least at the threshold. `cut_off`: a length limit ended at least one of the replies.
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
    cut_off: bool
    source: Text
    licence: Text


class Pairing(Frozen):
    """The section `pair` of params.yaml: which items are put in two arms, what the arms say, and how a model is asked.

    `items` is the stem of a file in data/items/. `statement` holds {patient}, such as "a 34-year-old Black woman".
    `control` holds {day}; null leaves the control pairs out. `limit` 0 takes all items.
    """

    items: Name
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
    """The section `agree` of params.yaml: the judge that compares replies, and from which probability on they agree."""

    judge: Name
    threshold: Probability


def require_source(rows: Iterable[OpenR1Item | Message | Agreement], where: str) -> None:
    """Refuse rows of which one has another source; EquipoiseError begins with `where` and names the row."""
    for row in rows:
        if row.source != SOURCE:
            raise EquipoiseError(
                f"{where}, row {row.key!r}: source {row.source!r} is not {SOURCE}: the track openr1 takes no other "
                "source; take the row out, or import the items with `equipoise import openr1-psy`"
            )
