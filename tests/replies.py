"""Replies with the answer that a person reads in them, and their reading as a saved output or as a case's answer.

The files are in tests/text/replies. No rule was tuned on those of `*_held.jsonl`; the rules were tuned on the others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from equipoise.studies.cases.judged import read_output
from equipoise.studies.cases.rows import Case
from equipoise.text.answer import Answer, AnswerKind
from equipoise.text.diagnoses import load_diagnoses
from equipoise.text.written import read_written

FOLDER = Path(__file__).parent / "text/replies"
DIAGNOSES = load_diagnoses(Path(__file__).parents[1] / "data/diagnoses.yaml")
OPPOSITE = {"expected": "stereotyped", "stereotyped": "expected"}


def read_replies(name: str) -> list[dict[str, Any]]:
    """Read the replies of a file, by its stem."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


def reading(row: dict[str, str]) -> str:
    """Read a row's response as that of a saved output; what is neither answer is `other`."""
    case = Case(
        key=row["id"], prompt="p", feature="f", features={"": "f"}, role="marginalised", source="s", licence="l",
        label=row["stereotyped"], expected=row["expected"],
    )  # fmt: skip
    kind = read_output(row["response"], case, DIAGNOSES)[0].kind
    return kind if kind in OPPOSITE else "other"


def written(row: dict[str, str]) -> str:
    """Read a row's response as the study `vignettes` does; what is neither answer is `other`."""
    kinds: tuple[AnswerKind, AnswerKind] = ("expected", "stereotyped")
    answers = {kind: (Answer(label=row[kind], synonyms=(row[kind],)),) for kind in kinds}
    kind = read_written(row["response"], answers, DIAGNOSES).kind
    return kind if kind in OPPOSITE else "other"
