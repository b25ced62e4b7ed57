"""Selection: which questions can have a neutral form without losing their answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equipoise.questions.neutral.lexicon import Lexicon, SelectionRule


def select(question: str, options: Mapping[str, str], lexicon: Lexicon) -> str | None:
    """The id of the first rule that excludes a question, None where it stays (AMQA, section 3.1)."""
    chosen = " \n ".join(options.values())
    texts = {"question": question, "options": chosen, "both": f"{question} \n {chosen}"}
    return next((rule.id for rule in lexicon.selection.rules if _applies(rule, texts[rule.read])), None)


def _applies(rule: SelectionRule, text: str) -> bool:
    any_, also, absent = rule.patterns
    if absent is not None:
        return absent.search(text) is None
    return any_ is not None and any_.search(text) is not None and (also is None or also.search(text) is not None)
