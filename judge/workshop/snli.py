"""Premise-hypothesis pairs with a gold label, as the Stanford Natural Language Inference corpus releases them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.judge.model import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from equipoise.judge.model import Label
    from equipoise.judge.passages import Manner, Treatment

NO_CONSENSUS = "-"
"""The gold label of a pair on which fewer than three of five annotators agreed; the corpus says to omit it."""


class Pair(NamedTuple):
    """Two texts and their label: premise and hypothesis, passage and question, or sentence and fact."""

    premise: str
    hypothesis: str
    label: Label | Treatment | Manner


def read_snli(path: Path) -> list[Pair]:
    """Read the pairs with a gold label, in file order, each distinct pair once (Bowman et al. 2015).

    Raises:
        EquipoiseError: A row is not JSON, lacks a field or has an unknown label; the message names file, row and field.
    """
    pairs: dict[tuple[str, str], Pair] = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                label, premise, hypothesis = row["gold_label"], row["sentence1"].strip(), row["sentence2"].strip()
            except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
                message = f"{path}, row {number}: not an SNLI pair ({error!r}); fetch the corpus again"
                raise EquipoiseError(message) from error
            if label == NO_CONSENSUS:
                continue
            if label not in LABELS:
                message = f"{path}, row {number}, gold_label: {label!r} is none of {', '.join(LABELS)}"
                raise EquipoiseError(message)
            pairs.setdefault((premise, hypothesis), Pair(premise, hypothesis, label))
    return list(pairs.values())


def write_snli(path: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs in the format of the corpus."""
    rows = (dict(zip(("sentence1", "sentence2", "gold_label"), pair, strict=True)) for pair in pairs)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
