"""Detection of input files that hold the same values under different names.

A released file of one model is a copy of another model's. Two models, or two sets of conditions, never agree in every
digit of hundreds of probabilities, so that agreement means one input given twice, or one that bears the wrong name.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from equipoise.core.records import sha256

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from equipoise.stigma.rows import Fill

TOLERANCE = 1e-9
"""Probabilities that differ by no more are one number: released ones have 16 digits, sums of them lose the last two."""

WRONG_NAMES = {
    # attribute_recursive_3steps_TOPK_10_BEAM_10_roberta_non_result.csv, as released
    "30d3ba83786cd9a0d808910662c16e15af546d5b88c7aef86e6aaf359f5a7cbe": (
        "mentalroberta",
        "the bytes of MentalRoBERTa's …_mentalroberta_non_result.csv; RoBERTa's own are in …_roberta_nonmh_result.csv",
    ),
}
"""Released files known to be another model's: what the name of a rightly named copy holds, and what they are."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two files with values in common.

    `kind` is `bytes` (the files are the same), `values` (all rows agree within the tolerance) or `some` (the same model
    run again: `equal` of the `rows` compared agree, at least half of them).
    """

    first: Path
    second: Path
    kind: Literal["bytes", "values", "some"]
    equal: int
    rows: int


def duplicates(tables: Mapping[Path, Sequence[Fill]], tolerance: float = TOLERANCE) -> list[Duplicate]:
    """Find every two files that agree, by sentence and condition or, whatever their rows are named, by position."""
    digests = {path: sha256(path) for path in tables}
    found = []
    for first, second in combinations(tables, 2):
        rows = min(len(tables[first]), len(tables[second]))
        equal = _agreeing(tables[first], tables[second], tolerance)
        if digests[first] == digests[second]:
            found.append(Duplicate(first, second, "bytes", equal, rows))
        elif rows and equal == rows == max(len(tables[first]), len(tables[second])):
            found.append(Duplicate(first, second, "values", equal, rows))
        elif rows and 2 * equal >= rows:
            found.append(Duplicate(first, second, "some", equal, rows))
    return found


def wrong_name(path: Path) -> str | None:
    """Say what a released file really holds, where it is known to be another model's; else None."""
    model, truth = WRONG_NAMES.get(sha256(path), ("", ""))
    return truth if truth and model not in path.name.lower() else None


def _agreeing(first: Sequence[Fill], second: Sequence[Fill], tolerance: float) -> int:
    """Count the rows that agree: by key or by position, whichever gives more."""
    by_key = {fill.key: fill for fill in second}
    keyed = [(fill, by_key[fill.key]) for fill in first if fill.key in by_key]
    placed = list(zip(first, second, strict=False))
    return max(sum(_same(one, other, tolerance) for one, other in pairs) for pairs in (keyed, placed))


def _same(one: Fill, other: Fill, tolerance: float) -> bool:
    return all(
        abs(getattr(one, share) - getattr(other, share)) <= tolerance for share in ("female", "male", "unspecified")
    )
