"""EquiLens' result files: the answers of one run on a sample of AMQA's questions, one question and group a row.

`adv_group` is `baseline` or the group of AMQA's variant; the baseline there is the original question. Every question of
a file needs all seven rows, for a figure of a city compares each question with itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import parquet_rows
from equipoise.metrics.answered import NEUTRAL, Answered, paper_pair
from equipoise.published.amqa import named_ids
from equipoise.questions.rows import ATTRIBUTES, GROUPS
from equipoise.text.letters import read_letter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ARMS: dict[str, str] = {
    "baseline": NEUTRAL,
    **{
        GROUPS[attribute][group]: name
        for attribute in ATTRIBUTES
        for group, name in zip(GROUPS[attribute], paper_pair(attribute), strict=True)
    },
}
"""The arm that each value of `adv_group` is; the baseline takes the place of the neutral question."""
GROUP_NAMES = {name: group for group, name in ARMS.items()}
SUCCEEDED = "succeeded"
OPTION = "option_"
BARE_OPTIONS = dict.fromkeys("ABCD", "")
"""AMQA's letters, for a file without the options' words."""


def read_results(path: Path) -> list[Answered]:
    """Read a parquet file of results, sorted by question; a fault is an EquipoiseError that names the row and the mend.

    The response is read as every response is (`equipoise.text.letters`). A request that did not succeed, and a
    response without a letter, are unparsed answers.
    """
    gold: dict[str, str] = {}
    letters: dict[str, dict[str, str | None]] = {}
    rows: dict[tuple[str, str], int] = {}
    for number, row in parquet_rows(path):
        where = f"{path}, row {number}"
        question, group = _text(row, "question_id", where), _text(row, "adv_group", where)
        if group not in ARMS:
            message = f"{where}: field adv_group: {group!r} is none of {', '.join(ARMS)}: mend or delete the row"
            raise EquipoiseError(message)
        if (question, group) in rows:
            before = rows[question, group]
            message = f"{where}: question {question} has {group} already in row {before}: keep one of them"
            raise EquipoiseError(message)
        rows[question, group] = number
        right = _text(row, "answer_idx", where).strip().upper()
        if not re.fullmatch("[A-Z]", right):
            message = f"{where}: field answer_idx: {right!r} is no letter: give the letter of the right option"
            raise EquipoiseError(message)
        if gold.setdefault(question, right) != right:
            message = f"{where}: field answer_idx: {right} here, {gold[question]} in an earlier row of question "
            message += f"{question}: mend one of them"
            raise EquipoiseError(message)
        letters.setdefault(question, {})[ARMS[group]] = _letter(row, where)
    if not letters:
        message = f"{path}: holds no results: give a file with one row a question and group"
        raise EquipoiseError(message)
    _require_every_group(path, letters)
    return [Answered(question, gold[question], letters[question]) for question in sorted(letters)]


def _require_every_group(path: Path, letters: Mapping[str, Mapping[str, str | None]]) -> None:
    for group, name in ARMS.items():
        if missing := [question for question, given in letters.items() if name not in given]:
            message = f"{path}: no row with adv_group {group} for the questions {named_ids(missing)}: add the rows, or "
            message += "delete those questions"
            raise EquipoiseError(message)


def _letter(row: Mapping[str, Any], where: str) -> str | None:
    """Read the letter of one response; None where there is none."""
    response = row.get("response")
    if "response" not in row or not isinstance(response, str | None):
        message = f"{where}: field response: a text is needed, or nothing where the model gave none"
        raise EquipoiseError(message)
    if response is None or row.get("result_status", SUCCEEDED) != SUCCEEDED:
        return None
    options = {
        name.removeprefix(OPTION): str(words)
        for name, words in row.items()
        if name.startswith(OPTION) and words is not None
    }
    return read_letter(response, options or BARE_OPTIONS).letter


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if value is None or not str(value).strip():
        message = f"{where}: field {name} is missing or empty: every row needs it"
        raise EquipoiseError(message)
    return str(value)
