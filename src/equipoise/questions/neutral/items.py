"""Items with their neutral form: what the stage `neutralize` makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from equipoise.questions.neutral.neutralise import neutralise
from equipoise.questions.neutral.selection import select
from equipoise.questions.rows import Neutralised

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equipoise.questions.neutral.lexicon import Lexicon
    from equipoise.questions.rows import Item


class Neutralize(BaseModel):
    """The section `neutralize` of params.yaml: how many items are taken, from the first; 0 takes all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: Annotated[int, Field(ge=0)] = 0


def neutralise_items(
    items: Sequence[Item],
    lexicon: Lexicon,
    progress: Callable[[int, int], object] = lambda done, total: None,  # noqa: ARG005  (names for the caller)
) -> list[Neutralised]:
    """Give every item its neutral form and, where a rule of selection keeps it out of the study, that rule's id.

    `progress` is told how many of how many items are done.
    """
    rows = []
    for number, item in enumerate(items, start=1):
        rows.append(_neutralised(item, lexicon))
        progress(number, len(items))
    return rows


def _neutralised(item: Item, lexicon: Lexicon) -> Neutralised:
    neutral = neutralise(item.question, lexicon)
    return Neutralised(
        key=item.key,
        question=item.question,
        options=item.options,
        gold=item.gold,
        disease=item.disease,
        neutral=neutral.text,
        excluded=select(item.question, item.options, lexicon),
        changes=neutral.changes,
    )
