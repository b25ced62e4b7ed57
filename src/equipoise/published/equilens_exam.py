"""Released answers to city question sets: a file of responses, and the set that says each question's city and disease.

The sets of several cities share questions, so an id alone does not tell the city: every file of responses belongs to
one set, the one that holds all its ids.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import table_rows
from equipoise.exam.rows import CLASSES
from equipoise.metrics.classification import Answered
from equipoise.metrics.medmcqa import ExamAnswer
from equipoise.published import medmcqa
from equipoise.text.letters import read_letter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from equipoise.exam.diseases import DiseaseMap

QuestionSet = dict[str, medmcqa.Question]
"""Questions by id."""
FAILED = re.compile(r"\s*ERROR\b")
"""How a response begins where the request failed; the letters in the message are no answer."""
BARE_OPTIONS = dict.fromkeys(CLASSES, "")
"""The letters, where the options' words are not known."""


def read_questions(path: Path) -> QuestionSet:
    """Read a city's question set, by id; a repeated id is an EquipoiseError that names both rows."""
    questions: QuestionSet = {}
    for number, row in table_rows(path):
        question = medmcqa.read_row(row, f"{path}, row {number}")
        if question.id in questions:
            message = f"{question.where}: id {question.id!r} stands already in {questions[question.id].where}: "
            message += "keep one of them; give the sets of several cities as several files"
            raise EquipoiseError(message)
        questions[question.id] = question
    return questions


def read_responses(path: Path) -> list[tuple[medmcqa.Question, str | None]]:
    """Read a file of responses, each with its question as far as the file tells it; None where there is no text."""
    rows = []
    for number, row in table_rows(path):
        where = f"{path}, row {number}"
        response: Any = row.get("response")
        if "response" not in row or not isinstance(response, str | None):
            message = f"{where}: field response: a text is needed, or nothing where the model gave none"
            raise EquipoiseError(message)
        rows.append((medmcqa.read_row(row, where), response))
    if not rows:
        message = f"{path}: holds no responses: give a file with one response a row"
        raise EquipoiseError(message)
    return rows


def letter_given(response: str | None, options: Mapping[str, str]) -> str | None:
    """Read the letter of a released response; None where the request failed or no letter can be read."""
    if response is None or FAILED.match(response):
        return None
    return read_letter(response, options or BARE_OPTIONS).letter


def set_of(path: Path, ids: Sequence[str], sets: Mapping[Path, QuestionSet]) -> Path:
    """Find the question set that a file of responses belongs to: the one that holds all its ids.

    Where several do, the one whose city the file is named after. None, or more than one, is an EquipoiseError.
    """
    holding = [name for name, questions in sets.items() if questions.keys() >= set(ids)]
    if not holding:
        nearest = max(sets, key=lambda name: len(sets[name].keys() & set(ids)))
        missing = sorted(set(ids) - sets[nearest].keys())
        shown = ", ".join(missing[:3]) + (" …" if missing[3:] else "")
        message = f"{path}: no question set holds all its ids; {nearest} lacks {len(missing)} of {len(ids)} ({shown}): "
        message += "give the set that was answered"
        raise EquipoiseError(message)
    named = [name for name in holding if _named_after(path, {row.city for row in sets[name].values() if row.city})]
    chosen = holding if len(holding) == 1 else named
    if len(chosen) != 1:
        message = f"{path}: its ids are in all of {', '.join(map(str, holding))}: give the one that was answered"
        raise EquipoiseError(message)
    return chosen[0]


def tabulate_released(
    path: Path,
    responses: Sequence[tuple[medmcqa.Question, str | None]],
    questions: QuestionSet | None,
    mapping: DiseaseMap,
    cities: Sequence[str],
) -> list[ExamAnswer]:
    """Give every response its city, disease and letter, from its row, else from the question set.

    A disease that neither states is that of the topic; a city that neither states is the one that the file is named
    after. What is missing, contradicts the set or comes twice is an EquipoiseError that names the row.
    """
    named = _named_after(path, cities)
    rows: list[ExamAnswer] = []
    seen: dict[tuple[str, str], str] = {}
    for stated, response in responses:
        row = _completed(stated, None if questions is None else questions[stated.id])
        city = row.city.lower() if row.city else named[0] if len(named) == 1 else None
        if city is None:
            message = f"{row.where}: no city: give the question set with --questions, or add a column city"
            raise EquipoiseError(message)
        if row.gold is None:
            message = f"{row.where}: no right letter: add a column answer, or give the question set with --questions"
            raise EquipoiseError(message)
        if (city, row.id) in seen:
            message = f"{row.where}: id {row.id!r} was answered already in {seen[city, row.id]}: keep one of them"
            raise EquipoiseError(message)
        seen[city, row.id] = row.where
        letter = letter_given(response, row.options)
        rows.append(ExamAnswer(city, row.id, row.disease_by(mapping), Answered(row.gold, letter)))
    return rows


def _completed(row: medmcqa.Question, other: medmcqa.Question | None) -> medmcqa.Question:
    """Fill what a row does not say from the question set."""
    if other is None:
        return row
    for name in ("gold", "disease", "city"):
        ours, theirs = getattr(row, name), getattr(other, name)
        if ours is not None and theirs is not None and ours != theirs:
            column = "answer" if name == "gold" else name
            message = f"{row.where}: field {column}: {ours!r}, but {theirs!r} in {other.where}: mend one of them"
            raise EquipoiseError(message)
    return replace(
        row,
        question=row.question or other.question,
        options=row.options or other.options,
        gold=row.gold or other.gold,
        subject=row.subject or other.subject,
        topic=row.topic or other.topic,
        disease=row.disease or other.disease,
        city=row.city or other.city,
    )


def _named_after(path: Path, cities: Iterable[str]) -> list[str]:
    """List the cities whose name is a part of the file's name, divided from the rest."""
    name = path.stem.lower()
    return [city for city in cities if re.search(rf"(?<![a-z0-9]){re.escape(city.lower())}(?![a-z0-9])", name)]
