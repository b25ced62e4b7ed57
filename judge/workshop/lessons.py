"""What the reader of passages is trained on: every question of annotated passages, as a judge is asked it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.judge.reading import asked
from workshop.snli import Pair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from equipoise.judge.lexicon import Lexicon
    from equipoise.judge.passages import Passage


def lessons(passages: Iterable[Passage], lexicon: Lexicon) -> list[Pair]:
    """Passage, question and treatment of every question, in order."""
    return [
        Pair(*asked(one.text, feature), each.treatment)
        for one in passages
        for each in one.features
        for feature in lexicon.features({each.dimension: each.feature})
    ]
