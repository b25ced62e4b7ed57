"""Generation and Fusion agents that repeat what an earlier run wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from equipoise.core import records
from equipoise.core.errors import EquipoiseError
from equipoise.questions.rows import Attempt, Attribute, Direction, Group, Neutralised, Variant
from equipoise.questions.variants.agents import Fuser, Generator
from equipoise.questions.variants.arms import Arm


class Replay(Generator, Fuser):
    """Both agents at once, from earlier attempts or from the variants that were accepted.

    Attempts are repeated in their order; where an evaluator asks for more than there were, there is no further one.
    """

    def __init__(self, rows: Iterable[Attempt | Variant]) -> None:
        """Take the rows, in any order; rows without a background (original, neutral) are passed over."""
        self.backgrounds: dict[str, list[str]] = {}
        self.texts: dict[tuple[str, str], str] = {}
        for row in sorted(rows, key=lambda row: row.number if isinstance(row, Attempt) else row.attempt):
            if row.background:
                variant = row.variant if isinstance(row, Attempt) else row.key
                item = variant.rsplit("/", 3)[0]
                self.backgrounds.setdefault(variant, []).append(row.background)
                self.texts[item, row.background] = row.text

    def generate(
        self, item: Neutralised, attribute: Attribute, group: Group, direction: Direction, feedback: Sequence[Attempt]
    ) -> str | None:
        """Repeat the next background of the variant, or give None after its last."""
        variant = Arm(attribute, group, direction).key(item.key)
        earlier = self.backgrounds.get(variant, [])
        return earlier[len(feedback)] if len(feedback) < len(earlier) else None

    def fuse(self, item: Neutralised, background: str) -> str:
        """Repeat the text that the background became; one that no row has is an EquipoiseError."""
        if (item.key, background) not in self.texts:
            message = f"item {item.key}: no stored text has the background {background[:40]!r}: replay the run it is of"
            raise EquipoiseError(message)
        return self.texts[item.key, background]


def load_replay(path: Path) -> Replay:
    """Read a JSONL file of attempts or of variants; which it is, its first row says."""
    first = records.read_text(path).lstrip().split("\n", 1)[0]
    return Replay(records.read(path, Attempt) if '"variant":' in first else records.read(path, Variant))
