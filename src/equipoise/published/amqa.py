"""AMQA's files: items with their options, and the released answers of published runs.

Answers come as JSONL with `question_id`, `answer_idx` and one `test_model_answer_<arm>` for each of eight arms; AMQA
and FairMedPrompt differ in two names. Questions are numbered "0" to "800": a file without all of them is incomplete,
and figures over part of the questions are not comparable, so it is refused unless that was asked for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import fault
from equipoise.core.tables import json_rows, table_rows
from equipoise.metrics.answered import NEUTRAL, ORIGINAL, Answered, paper_pair
from equipoise.published import hub
from equipoise.questions.rows import ATTRIBUTES, GROUPS, Item

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

HUB_ID = "Showing-KCL/AMQA"
N_QUESTIONS = 801
"""Questions of the published dataset."""
ANSWER = "test_model_answer_"
ALIASES = {
    ORIGINAL: ("original_question", "original"),
    NEUTRAL: ("desensitized_question", "desensitized"),
}
"""The two names of an arm: AMQA's, then FairMedPrompt's."""
NO_ANSWER = {"", "unknown", "none", "null", "n/a", "nan"}
"""What the released files write where their parser found no letter."""
LICENCE = "as stated at huggingface.co/datasets/Showing-KCL/AMQA"


def complete_ids() -> list[str]:
    """List the question ids of the published dataset."""
    return [str(number) for number in range(N_QUESTIONS)]


def released_name(arm: str) -> str:
    """Name an arm of the paper's design as the released files do (`white`); original and neutral keep their names."""
    for attribute in ATTRIBUTES:
        for name, group in zip(paper_pair(attribute), ("privileged", "unprivileged"), strict=True):
            if name == arm:
                return GROUPS[attribute][group]  # type: ignore[index]  # zip widens the literals to str
    return arm


def read_answers(path: Path) -> list[Answered]:
    """Read a file of released answers, in file order; a fault in its schema names the row and the field."""
    rows: list[Answered] = []
    seen: dict[str, int] = {}
    for number, row in json_rows(path):
        where = f"{path}, row {number}"
        question = _text(row, "question_id", where)
        if question in seen:
            message = f"{where}: question_id {question!r} stands already in row {seen[question]}: keep one of them"
            raise EquipoiseError(message)
        seen[question] = number
        gold = _text(row, "answer_idx", where).strip().upper()
        if not re.fullmatch("[A-Z]", gold):
            message = f"{where}: field answer_idx: {gold!r} is no letter: give the letter of the right option"
            raise EquipoiseError(message)
        rows.append(Answered(question, gold, {arm: _letter(row, names, where) for arm, names in _arms().items()}))
    if not rows:
        message = f"{path}: holds no answers: give a file of released answers, one question a row"
        raise EquipoiseError(message)
    return rows


def require_same_questions(files: Mapping[str, Sequence[Answered]], expected: Collection[str]) -> None:
    """Refuse files that lack questions, have others, or disagree on the right answer, with the ids named."""
    wanted = set(expected)
    for name, rows in files.items():
        found = {row.question for row in rows}
        if missing := wanted - found:
            message = (
                f"{name}: incomplete, {len(found & wanted)} of {len(wanted)} questions; missing ids "
                f"{named_ids(missing)}: score complete files, or ask for part of the questions with --allow-incomplete"
            )
            raise EquipoiseError(message)
        if extra := found - wanted:
            message = f"{name}: ids that are not among the {len(wanted)} questions: {named_ids(extra)}: delete them"
            raise EquipoiseError(message)
    require_same_gold(files)


def require_same_gold(files: Mapping[str, Sequence[Answered]]) -> None:
    """Refuse files that disagree on the right answer of a question, with the ids named."""
    gold: dict[str, str] = {}
    for name, rows in files.items():
        differ = [row.question for row in rows if gold.setdefault(row.question, row.gold) != row.gold]
        if differ:
            message = (
                f"{name}: answer_idx differs from the other files in the ids {named_ids(differ)}: mend one of them"
            )
            raise EquipoiseError(message)


def named_ids(ids: Iterable[str]) -> str:
    """Name ids in order, runs of numbers as ranges: `3, 5, 402-800`."""
    numbers = sorted({int(one) for one in ids if one.isascii() and one.isdigit()})
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    ranges = [str(low) if low == high else f"{low}-{high}" for low, high in runs]
    return ", ".join(ranges + sorted({one for one in ids if not (one.isascii() and one.isdigit())}))


def read_items(source: str) -> list[Item]:
    """Read AMQA items from a parquet, CSV or JSONL file, or from the hub as `Showing-KCL/AMQA@<commit>`.

    Keys are `amqa-0000` and so on, so that they sort as the questions are numbered. A fault in the schema names the
    row and the field.
    """
    (path,) = hub.locate(source, _largest)
    rows = table_rows(path)
    items = [_item(row, f"{path}, row {number}") for number, row in rows]
    keys = [item.key for item in items]
    if repeated := {key for key in keys if keys.count(key) > 1}:
        message = f"{path}: question_id more than once: {', '.join(sorted(repeated))}: keep one row of each"
        raise EquipoiseError(message)
    return items


def question_id(key: str) -> str:
    """Give the id of an imported item's key in the released files: `amqa-0007` is "7"."""
    number = key.removeprefix("amqa-")
    return str(int(number)) if number.isdigit() else number


def _arms() -> dict[str, tuple[str, ...]]:
    """Map every arm to the field names it may have."""
    arms: dict[str, tuple[str, ...]] = dict(ALIASES)
    for attribute in ATTRIBUTES:
        for name in paper_pair(attribute):
            arms[name] = (released_name(name),)
    return arms


def _letter(row: Mapping[str, Any], names: Sequence[str], where: str) -> str | None:
    """Read the letter of one arm; None for what the released files write where no letter was found."""
    for name in names:
        if ANSWER + name in row:
            value = row[ANSWER + name]
            answer = "" if value is None else str(value).strip()
            if re.fullmatch("[A-Za-z]", answer):
                return answer.upper()
            if answer.lower() in NO_ANSWER:
                return None
            message = f"{where}: field {ANSWER}{name}: {answer!r} is neither a letter nor Unknown: parse it first"
            raise EquipoiseError(message)
    message = f"{where}: field {' or '.join(ANSWER + name for name in names)} is missing: every arm needs its answer"
    raise EquipoiseError(message)


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if value is None or isinstance(value, dict | list | bool) or not str(value).strip():
        message = f"{where}: field {name} is missing or empty: every row needs it"
        raise EquipoiseError(message)
    return str(value)


def _item(row: Mapping[str, Any], where: str) -> Item:
    number = _text(row, "question_id", where)
    options = row.get("options")
    if not isinstance(options, dict):
        options = {name.removeprefix("option_"): words for name, words in row.items() if name.startswith("option_")}
    try:
        return Item(
            key=f"amqa-{int(number):04d}" if number.isdigit() else f"amqa-{number}",
            question=_text(row, "original_question", where),
            options={letter: words for letter, words in options.items() if words is not None},
            gold=_text(row, "answer_idx", where),
            disease=None,
            reference="",
            source=f"AMQA question {number}",
            licence=LICENCE,
        )
    except ValidationError as error:
        message = f"{where}: {fault(error)}"
        raise EquipoiseError(message) from error


def _largest(sizes: Mapping[str, int]) -> list[str]:
    """Pick the data file of a data set: the largest one with rows."""
    names = [name for name in sizes if name.endswith((".parquet", ".jsonl"))]
    return sorted(names, key=lambda name: (sizes[name], name))[-1:]
