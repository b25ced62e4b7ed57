"""The neutral form of every question, and the rules that exclude a question."""

from collections.abc import Callable, Sequence

from equipoise.core.params import Limit
from equipoise.core.row import Frozen
from equipoise.materials.questions import Item
from equipoise.studies.questions.rows import Neutralized
from equipoise.text.neutral.lexicon import Lexicon
from equipoise.text.neutral.neutralize import neutralize, select

KEPT = {"key", "question", "options", "gold", "disease", "acuity", "exclude"}
"""Fields of an item that its neutral form has too."""


class Neutralize(Frozen):
    """The section `neutralize` of params.yaml: the number of items, spread over the file; 0 for all."""

    limit: Limit = 0


def spread(items: Sequence[Item], limit: int) -> list[Item]:
    """Choose at most `limit` items (0: all) at equal distances, so that every part of the file has its share."""
    most = min(limit or len(items), len(items))
    return [items[place * len(items) // most] for place in range(most)]


def neutralize_items(
    items: Sequence[Item],
    lexicon: Lexicon,
    progress: Callable[[int, int], object] = lambda *_: None,
) -> list[Neutralized]:
    """Neutralise every item, telling `progress` (done, total); one that a rule excludes has that rule's id."""
    rows = []
    for number, item in enumerate(items, start=1):
        neutral = neutralize(item.question, lexicon)
        row = Neutralized(
            **item.model_dump(include=KEPT),
            neutral=neutral.text,
            excluded=select(item.question, item.options, lexicon),
            changes=neutral.changes,
        )
        rows.append(row)
        progress(number, len(items))
    return rows
