"""MedMCQA's questions, in the form of the published data set or in EquiLens' form, turned into items.

The published form has the columns id, question, opa to opd, cop (0 to 3; -1 where the answer is withheld), subject_name
and topic_name. EquiLens' form has id, prompt (subject, topic, question and options in one text), answer (a letter), and
perhaps disease and city.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from pydantic import ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import fault
from equipoise.core.tables import table_rows
from equipoise.exam.rows import CLASSES
from equipoise.published import hub
from equipoise.questions.rows import Disease, Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from equipoise.exam.diseases import DiseaseMap

HUB_ID = "openlifescienceai/medmcqa"
LICENCE = f"as stated at huggingface.co/datasets/{HUB_ID}"
KEY = "medmcqa-"
"""Beginning of an item's key; the rest is the question's id."""
OPTION_COLUMNS = dict(zip(CLASSES, ("opa", "opb", "opc", "opd"), strict=True))
WITHHELD = -1
"""What the test split has in place of the right option."""
LABELLED = re.compile(r"(?:^|[/_-])(?:train|validation|dev)\b.*\.parquet$")
"""The files of the hub whose questions have their answers."""
PROMPT = re.compile(
    r"\s*(?:Subject: (?P<subject>.*?)\s*\|\s*Topic: (?P<topic>.*?)\n\s*)?Question:\n(?P<question>.*)\n\s*Options:\n"
    r"\s*A\. (?P<A>.*)\n\s*B\. (?P<B>.*)\n\s*C\. (?P<C>.*)\n\s*D\. (?P<D>.*?)(?:\n\s*Answer:)?\s*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `options` are empty, and the rest None, where the row does not say.

    `gold` is None where the answer is withheld. `where` names file and row.
    """

    where: str
    id: str
    question: str | None
    options: Mapping[str, str]
    gold: str | None
    subject: str | None
    topic: str | None
    disease: Disease | None
    city: str | None

    def disease_by(self, mapping: DiseaseMap) -> Disease | None:
        """Give the disease that the row states, else that of its topic and subject."""
        return self.disease or mapping.disease_of(self.topic, self.subject)


@dataclass(frozen=True, slots=True)
class Imported:
    """Items and what became of the rows read.

    Ids of rows left out because their answer is withheld or a text is empty, of questions that stand in more rows than
    one (kept once), and of questions with the same text and options as an earlier one (kept).
    """

    items: list[Item]
    withheld: list[str]
    empty: list[str]
    repeated: list[str]
    same_text: list[str]


def import_items(sources: Iterable[str], mapping: DiseaseMap) -> Imported:
    """Read items from files in either form, or from the hub as `openlifescienceai/medmcqa@<commit>`.

    The disease is the one that the row states, else that of its topic. A fault names the file, the row and the mend.
    """
    imported = Imported([], [], [], [], [])
    kept: dict[str, Question] = {}
    texts: set[tuple[str, ...]] = set()
    for row in _rows(sources):
        if row.gold is None:
            imported.withheld.append(row.id)
        elif row.question is None or any(letter not in row.options for letter in CLASSES):
            imported.empty.append(row.id)
        elif row.id in kept:
            _require_same(kept[row.id], row)
            imported.repeated.append(row.id)
        else:
            kept[row.id] = row
            text = (row.question, *(row.options[letter] for letter in CLASSES))
            if text in texts:
                imported.same_text.append(row.id)
            texts.add(text)
            imported.items.append(_item(row, row.question, row.gold, mapping))
    if not imported.items:
        message = f"{', '.join(sources)}: no question with its answer: give the train or validation split"
        raise EquipoiseError(message)
    return imported


def read_row(row: Mapping[str, Any], where: str) -> Question:
    """Read one row of either form; a fault is an EquipoiseError that begins with `where`."""
    options, gold = _published(row, where) if "opa" in row else ({}, None)
    asked = _text(row, "question")
    head: Mapping[str, str | None] = {}
    if "prompt" in row and (found := PROMPT.fullmatch(_text(row, "prompt") or "")):
        head = {name: (text or "").strip() or None for name, text in found.groupdict().items()}
        asked = asked or head["question"]
        options = options or {letter: words for letter in CLASSES if (words := head[letter])}
    if "answer" in row:
        gold = _letter(row, where)
    return Question(
        where=where,
        id=_required(row, "id", where),
        question=asked,
        options=options,
        gold=gold,
        subject=_text(row, "subject_name") or head.get("subject"),
        topic=_text(row, "topic_name") or head.get("topic"),
        disease=_disease(row, where),
        city=_text(row, "city"),
    )


def _rows(sources: Iterable[str]) -> Iterator[Question]:
    for source in sources:
        for path in hub.locate(source, lambda sizes: sorted(filter(LABELLED.search, sizes))):
            for number, row in table_rows(path):
                where = f"{path}, row {number}"
                if not {"question", "opa", "cop"} <= row.keys() and not {"prompt", "answer"} <= row.keys():
                    message = f"{where}: neither question, opa to opd and cop nor prompt and answer: give a file of "
                    message += "MedMCQA or EquiLens questions"
                    raise EquipoiseError(message)
                question = read_row(row, where)
                if "opa" not in row and not question.options:
                    message = f"{where}: field prompt: no question and options A to D in EquiLens' form: mend the row"
                    raise EquipoiseError(message)
                yield question


def _published(row: Mapping[str, Any], where: str) -> tuple[dict[str, str], str | None]:
    """Read options and right letter of the published form; an option without text is left out."""
    if missing := [column for column in OPTION_COLUMNS.values() if column not in row]:
        message = f"{where}: field {missing[0]} is missing: give the columns opa, opb, opc and opd"
        raise EquipoiseError(message)
    options = {letter: words for letter, column in OPTION_COLUMNS.items() if (words := _text(row, column))}
    value = row.get("cop")
    if value is None:
        return options, None
    try:
        place = float(value)
    except (TypeError, ValueError):
        place = float("nan")
    if place not in {WITHHELD, *range(len(CLASSES))}:
        message = (
            f"{where}: field cop: {value!r} is none of 0 to 3, nor -1 (withheld): give the form of "
            f"huggingface.co/datasets/{HUB_ID}; the first release counted from 1, so subtract 1 in every row"
        )
        raise EquipoiseError(message)
    return options, None if place == WITHHELD else CLASSES[int(place)]


def _letter(row: Mapping[str, Any], where: str) -> str:
    letter = _required(row, "answer", where).upper()
    if letter not in CLASSES:
        message = f"{where}: field answer: {row['answer']!r} is none of {', '.join(CLASSES)}: give the right letter"
        raise EquipoiseError(message)
    return letter


def _disease(row: Mapping[str, Any], where: str) -> Disease | None:
    named = _text(row, "disease")
    for disease in get_args(Disease):
        if named is not None and named.lower() == disease:
            return disease  # type: ignore[no-any-return]  # get_args gives Any
    if named is None:
        return None
    message = f"{where}: field disease: {named!r} is none of {', '.join(get_args(Disease))}: mend or delete it"
    raise EquipoiseError(message)


def _text(row: Mapping[str, Any], name: str) -> str | None:
    """Give a text without the white space around it; None where there is none."""
    value = row.get(name)
    return None if value is None else str(value).strip() or None


def _required(row: Mapping[str, Any], name: str, where: str) -> str:
    text = _text(row, name)
    if text is None or isinstance(row[name], dict | list | bool):
        message = f"{where}: field {name} is missing or empty: every row needs it"
        raise EquipoiseError(message)
    return text


def _require_same(first: Question, second: Question) -> None:
    if (first.question, first.options, first.gold) != (second.question, second.options, second.gold):
        message = f"{second.where}: id {second.id!r} is another question in {first.where}: keep one of them"
        raise EquipoiseError(message)


def _item(row: Question, question: str, gold: str, mapping: DiseaseMap) -> Item:
    try:
        return Item(
            key=f"{KEY}{row.id}",
            question=question,
            options=dict(row.options),
            gold=gold,
            disease=row.disease_by(mapping),
            reference="",
            source=", ".join(name for name in (f"MedMCQA question {row.id}", row.subject, row.topic) if name),
            licence=LICENCE,
        )
    except ValidationError as error:
        message = f"{row.where}: {fault(error)}"
        raise EquipoiseError(message) from error
