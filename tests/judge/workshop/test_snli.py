from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from equipoise.core.errors import EquipoiseError
from workshop.snli import Pair, read_snli

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, *rows: dict[str, object]) -> Path:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def row(label: str, premise: str = "A man sleeps.", hypothesis: str = "A man rests.") -> dict[str, object]:
    """A row as the corpus has it."""
    return {"gold_label": label, "sentence1": premise, "sentence2": hypothesis, "pairID": "1"}


def test_pairs_with_a_gold_label_once(tmp_path: Path) -> None:
    """Pairs without consensus are left out, and a repeated pair is read once."""
    path = write(
        tmp_path / "s.jsonl", row("entailment"), row("-", "It rains."), row("entailment"), row("neutral", "Hm. ")
    )

    expected = [Pair("A man sleeps.", "A man rests.", "entailment"), Pair("Hm.", "A man rests.", "neutral")]
    assert expected == read_snli(path)


def test_unknown_label_is_named(tmp_path: Path) -> None:
    """A label that is none of the three is refused with file, row and field."""
    path = write(tmp_path / "s.jsonl", row("neutral"), row("maybe"))

    with pytest.raises(EquipoiseError, match=r"s\.jsonl, row 2, gold_label: 'maybe' is none of entailment"):
        read_snli(path)


@pytest.mark.parametrize(
    "line", ["not json", "{}", "[]", '{"gold_label": "neutral", "sentence1": 3, "sentence2": "x"}']
)
def test_malformed_row_is_named(tmp_path: Path, line: str) -> None:
    """A row that is not an SNLI pair is refused with file and row."""
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(row("neutral")) + "\n" + line + "\n", "utf-8")

    with pytest.raises(EquipoiseError, match=r"s\.jsonl, row 2: not an SNLI pair"):
        read_snli(path)
