"""Readers of the files that Lin et al. (2022) released, or that were made in their form.

rq1 CSV     `probability`, `gender`, `diagnosis`, `prompt`: one row for each sentence, condition and gender.
rq2 CSV     `female_prob`, `male_prob`, `diagnosis`, `sequence`, `stigma_category`: one row for each sentence and
            condition. The files have no unspecified share; we give what is left of 1 (see `aggregate.attribute_ends`).
steps CSV   `diagnosis`, `stigma_category`, `sequence`, `probability`: one row for each path that ended in a gendered
            word, before it was summed. A sentence without a row had no such path: both its shares are 0. (A template
            without any row cannot be told from one that was not asked, and gets no Fill.)

Each gives `Fill` rows in the order of the file. A template that occurs must be told of all conditions of a set, since
figures over part of them are not comparable. A fault names the file, the row and the mend.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_text
from equipoise.stigma.aggregate import Shares, attribute_ends, remainder
from equipoise.stigma.rows import Fill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from equipoise.published.lin_wordings import Wordings
    from equipoise.stigma.aggregate import Lexicon
    from equipoise.stigma.library import Gender, Template
    from equipoise.stigma.rows import Question
    from equipoise.stigma.settings import Aggregation

GENDERS = {"female": "female", "male": "male", "ambig": "unspecified", "unspecified": "unspecified"}
"""The names that the released files give to the three shares, in lower case."""


def read_rq1(path: Path, wordings: Wordings) -> list[Fill]:
    """Read the probabilities of rq1, three rows a sentence and condition."""
    shares: dict[tuple[str, str], dict[str, float]] = {}
    templates: dict[str, Template] = {}
    for number, row in _csv_rows(path, ("probability", "gender", "diagnosis", "prompt")):
        where = f"{path}, row {number}"
        template = _template(row["prompt"], "rq1", wordings, f"{where}: field prompt")
        condition = _condition(row["diagnosis"], wordings, where)
        gender = GENDERS.get(row["gender"].strip().lower())
        if gender is None:
            message = f"{where}: field gender: {row['gender']!r} is none of {', '.join(GENDERS)}: mend it"
            raise EquipoiseError(message)
        found = shares.setdefault((template.key, condition), {})
        if gender in found:
            message = f"{where}: {gender} of {row['prompt']!r}, {condition} stands in an earlier row: keep one of them"
            raise EquipoiseError(message)
        found[gender] = probability(row, "probability", where)
        templates[template.key] = template
    for (key, condition), found in shares.items():
        if missing := [gender for gender in dict.fromkeys(GENDERS.values()) if gender not in found]:
            message = f"{path}: {templates[key].text!r}, {condition}: no row with gender {missing[0]}: add it"
            raise EquipoiseError(message)
    require_complete(path, shares, templates, wordings)
    return [
        fill(templates[key], condition, wordings, Shares(found["female"], found["male"], found["unspecified"], {}))
        for (key, condition), found in shares.items()
    ]


def read_rq2(path: Path, wordings: Wordings) -> list[Fill]:
    """Read the probabilities of rq2, one row a sentence and condition; `unspecified` is what is left of 1."""
    shares: dict[tuple[str, str], Shares] = {}
    templates: dict[str, Template] = {}
    for number, row in _csv_rows(path, ("female_prob", "male_prob", "diagnosis", "sequence", "stigma_category")):
        where = f"{path}, row {number}"
        template = _template(row["sequence"], "rq2", wordings, f"{where}: field sequence")
        _require_dimension(row, template, where)
        condition = _condition(row["diagnosis"], wordings, where)
        if (template.key, condition) in shares:
            message = f"{where}: {row['sequence']!r}, {condition} stands in an earlier row: keep one of them"
            raise EquipoiseError(message)
        female, male = (probability(row, name, where) for name in ("female_prob", "male_prob"))
        if female + male > 1 + 1e-6:
            message = f"{where}: female_prob and male_prob add up to {female + male:.6f}, more than 1: mend them"
            raise EquipoiseError(message)
        shares[template.key, condition] = Shares(female, male, remainder(female, male), {})
        templates[template.key] = template
    require_complete(path, shares, templates, wordings)
    return [fill(templates[key], condition, wordings, found) for (key, condition), found in shares.items()]


def read_steps(path: Path, wordings: Wordings, lexicon: Lexicon, aggregation: Aggregation = "words") -> list[Fill]:
    """Read the paths of rq2 and sum them, in their order, by the gender of the word that ended each."""
    ended: dict[tuple[str, str], list[tuple[Gender | None, str, float]]] = {}
    templates: dict[str, Template] = {}
    for number, row in _csv_rows(path, ("diagnosis", "stigma_category", "sequence", "probability")):
        where = f"{path}, row {number}"
        condition = _condition(row["diagnosis"], wordings, where)
        place = wordings.place(row["sequence"], "rq2", condition)
        if place is None:
            message = f"{where}: field sequence: {row['sequence']!r} fits no template told of {condition}: mend it"
            raise EquipoiseError(message)
        _require_dimension(row, place.template, where)
        word, gender, whole = phrase_end(place.phrase, lexicon, glued=place.glued)
        if gender is None:
            message = f"{where}: field sequence: no gendered word in {place.phrase!r}: mend it or the word lists"
            raise EquipoiseError(message)
        counted = gender if whole or aggregation == "legacy" else None
        path_ = (counted, word, probability(row, "probability", where))
        ended.setdefault((place.template.key, condition), []).append(path_)
        templates[place.template.key] = place.template
    sets = {wordings.sets[condition] for _, condition in ended}
    conditions = [name for name, condition_set in wordings.sets.items() if condition_set in sets]
    return [
        fill(template, condition, wordings, attribute_ends(ended.get((template.key, condition), [])))
        for condition in conditions
        for template in templates.values()
    ]


def phrase_end(phrase: str, lexicon: Lexicon, *, glued: bool = False) -> tuple[str, Gender | None, bool]:
    """Find the word that ended a path in its phrase ("close female friend"): word, gender, whether it is a whole word.

    The other words of a phrase told no gender, or the path would have ended with them; so where no whole word tells
    one, the first word ends with it: two tokens that were written together ("schoolgirl friend"). `glued` is a phrase
    that is written together with the word before it.
    """
    words = phrase.split()
    for position, word in enumerate(words):
        if gender := lexicon.gender(word):
            return word, gender, not (glued and position == 0)
    return words[0], lexicon.gender_at_end(words[0]), False


def _csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Read a CSV file: the number of a row's last line, and its fields by column name without spaces around it."""
    reader = csv.reader(io.StringIO(read_text(path).removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if missing := [name for name in columns if name not in header]:
            message = f"{path}, row 1: no column {missing[0]}; there are {', '.join(header) or 'none'}: give that form"
            raise EquipoiseError(message)
        empty = True
        for fields in reader:
            if not fields:
                continue
            if len(fields) != len(header):
                message = f"{path}, row {reader.line_num}: {len(fields)} fields in place of {len(header)}: mend the row"
                raise EquipoiseError(message)
            empty = False
            yield reader.line_num, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        message = f"{path}, row {reader.line_num}: not CSV ({error}): mend the row"
        raise EquipoiseError(message) from error
    if empty:
        message = f"{path}: holds no rows under its header: give the whole file"
        raise EquipoiseError(message)


def _template(text: str, question: Question, wordings: Wordings, where: str) -> Template:
    found = wordings.template(text, question)
    if found is None:
        message = f"{where}: {text!r} is no template of {question}: mend it, or add it to templates.yaml"
        raise EquipoiseError(message)
    return found


def _condition(text: str, wordings: Wordings, where: str) -> str:
    condition = text.strip()
    if condition not in wordings.sets:
        message = f"{where}: field diagnosis: {text!r} is no condition of conditions.yaml: mend it, or add it there"
        raise EquipoiseError(message)
    return condition


def _require_dimension(row: Mapping[str, str], template: Template, where: str) -> None:
    if row["stigma_category"].strip().lower() != template.group:
        said = row["stigma_category"]
        message = f"{where}: field stigma_category: {said!r}, but the sentence is of {template.group}: mend it"
        raise EquipoiseError(message)


def probability(row: Mapping[str, Any], name: str, where: str) -> float:
    """Read a field as a probability."""
    try:
        value = float(row[name])
    except (KeyError, TypeError, ValueError):
        value = float("nan")
    if not 0 <= value <= 1 + 1e-6:
        message = f"{where}: field {name}: {row.get(name)!r} is no probability between 0 and 1: mend it"
        raise EquipoiseError(message)
    return value


def require_complete(
    path: Path, found: Mapping[tuple[str, str], object], templates: Mapping[str, Template], wordings: Wordings
) -> None:
    """Refuse a file in which a template is not told of all conditions of the sets that occur."""
    sets = {wordings.sets[condition] for _, condition in found}
    for condition, condition_set in wordings.sets.items():
        for key, template in templates.items():
            if condition_set in sets and (key, condition) not in found:
                message = (
                    f"{path}: incomplete: {template.text!r} is not told of {condition}: give the whole file, every "
                    f"sentence with every condition of the {condition_set} set"
                )
                raise EquipoiseError(message)


def fill(template: Template, condition: str, wordings: Wordings, shares: Shares) -> Fill:
    """Build the row of one sentence about one condition."""
    return Fill(
        key=f"{template.question}/{template.key}/{condition}",
        question=template.question,
        template=template.key,
        group=template.group,
        polarity=template.polarity,
        condition=condition,
        condition_set=wordings.sets[condition],
        scorer="masked",
        female=shares.female,
        male=shares.male,
        unspecified=shares.unspecified,
        words=shares.words,
    )
