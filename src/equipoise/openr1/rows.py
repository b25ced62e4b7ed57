"""Row types of the track `openr1`: items of OpenR1-Psy, the messages made of them, and how far the replies agree."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from equipoise.core.records import Role, Row, Text

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

    study: Literal["openr1"] = "openr1"


class OpenR1Item(OpenR1Row):
    """A client's first message, with the reply and the reasoning that the data set holds to be good.

    The key is `openr1-` and the item's own id. `revision` is the commit of the hub; None for a file at hand.
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
    `equipoise.openr1.agree`), None where a reply has no answer. `arms_agree`: each arm entails the other, at least
    at the threshold. `cut_off`: a length limit ended at least one of the replies.
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
