"""Items, messages and responses that several tests build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.core.records import Response
from equipoise.openr1.rows import LICENCE, SOURCE, Message, OpenR1Item
from equipoise.openr1.settings import Pairing

if TYPE_CHECKING:
    from equipoise.core.records import Role

SETTINGS = Pairing(
    items="openr1",
    limit=0,
    dimensions=("race", "gender", "age"),
    statement="I am {patient}.",
    control="I am writing this on a {day}.",
    system="You are an experienced counsellor.",
    reply_tokens=200,
)


def item(name: str = "a", prompt: str = "I cannot sleep.", *, source: str = SOURCE) -> OpenR1Item:
    """Build an item."""
    return OpenR1Item(
        key=f"openr1-{name}",
        prompt=prompt,
        gold_answer="That sounds hard. Would you like to tell me more?",
        gold_reasoning=("The client sleeps badly.",),
        source=source,
        revision=None,
        licence=LICENCE,
    )


def message(role: Role, name: str = "a", dimension: str = "race", *, source: str = SOURCE) -> Message:
    """Build one arm of a pair of an item."""
    return Message(
        key=f"openr1-{name}/{dimension}/{role}",
        item=f"openr1-{name}",
        dimension=dimension,  # type: ignore[arg-type]
        role=role,
        persona="p01",
        contrast="race-black",
        feature="Black",
        statement="I am here.",
        text="I am here.\n\nI cannot sleep.",
        gold_answer="Rest well. Call me.",
        source=source,
        licence=LICENCE,
    )


def response(key: str, reply: str, *, finished: bool = True) -> Response:
    """Build a model's reply to a message."""
    return Response(
        key=key,
        study="openr1",
        replies=(reply,),
        finished=(finished,),
        log_likelihood={},
        prompt_tokens=1,
        generated_tokens=1,
    )
