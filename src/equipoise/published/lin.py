"""Lin et al. (2022): readers of the released files, and of files in their form.

rq1 CSV     `probability`, `gender`, `diagnosis`, `prompt`: one row for each sentence, condition and gender.
rq2 CSV     `female_prob`, `male_prob`, `diagnosis`, `sequence`, `stigma_category`: one row for each sentence and
            condition. The files have no unspecified share; we give what is left of 1 (see `aggregate.attribute_ends`).
steps CSV   `diagnosis`, `stigma_category`, `sequence`, `probability`: one row for each path that ended in a gendered
            word, before it was summed. A sentence without a row had no such path: both its shares are 0. (A template
            without any row cannot be distinguished from one that was not asked, and gets no Fill.)
tokens log  Among the lines of a run of rq1, Python lists of predictions, each with `score`, `token_str` and `sequence`,
            the filled sentence. Templates and conditions are known by the sentences.

Each gives `Fill` rows in the order of the file. A template that occurs must occur with all conditions of a set, since
figures over part of them are not comparable. An error names the file, the row and the fix.

The sentences differ from the paper's appendix in three ways, all of them kept: three sentences that the paper has in
another form, three misspelt words in earlier files, and `<mask>` and `[diagnosis]` for the two places.
"""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_text
from equipoise.stigma.aggregate import THRESHOLD, Lexicon, Shares, Token, attribute_ends, attribute_words, remainder
from equipoise.stigma.library import CONDITION, MASK, Gender, Library, Template
from equipoise.stigma.rows import Aggregation, ConditionSet, Fill, Question

RELEASED_ONLY = (
    Template(
        key="struggles-with", question="rq1", group="diagnosis", polarity=1, text="{mask} struggles with {condition}"
    ),
    Template(
        key="is-going-to-therapy",
        question="rq1",
        group="action",
        polarity=1,
        text="{mask} is going to therapy for {condition}",
    ),
    # The released runs asked this in place of "I would interview": it words avoidance itself, so its polarity is 1.
    Template(
        key="not-interview",
        question="rq2",
        group="avoidance",
        polarity=1,
        text="If I were an employer, I would not interview a {mask} with {condition}.",
    ),
)
"""Sentences of the released runs that the paper's appendix has in another form."""
MISSPELT = {"treament": "treatment", "emploer": "employer", "nieghbors": "neighbors"}
"""Words of earlier files, corrected by their authors and run again; read as the sentences they were meant to be."""
PLACES = {"<mask>": MASK, "[MASK]": MASK, "[diagnosis]": CONDITION}
GENDERS = {"female": "female", "male": "male", "ambig": "unspecified", "unspecified": "unspecified"}
"""The names that the released files give to the three shares, in lower case."""


class Place(NamedTuple):
    """The parts of a sentence: its template, its condition, and the phrase in the place of the subject.

    `glued` says that there is no space between the phrase and the words before it ("aman with depression").
    """

    template: Template
    condition: str
    phrase: str
    glued: bool


class Wordings:
    """Finds templates and conditions by the text of the released files; `sets` gives each condition's set."""

    def __init__(self, library: Library) -> None:
        """Take the library's templates and conditions, and the sentences that only the released files have."""
        templates = (*library.templates, *RELEASED_ONLY)
        self.sets: dict[str, ConditionSet] = {one.name: one.condition_set for one in library.conditions}
        self._by_text = {template.text: template for template in templates}
        self._edges: dict[tuple[Question, str], list[tuple[Template, str, str]]] = {}
        for template, condition in product(templates, self.sets):
            before, after = template.about(condition).split(MASK)
            self._edges.setdefault((template.question, condition), []).append((template, before.rstrip(), after))

    def template(self, text: str, question: Question) -> Template | None:
        """Find a template by its text, in which `<mask>` and `[diagnosis]` are the places of subject and condition."""
        text = _corrected(text.strip())
        for name, place in PLACES.items():
            text = text.replace(name, place)
        found = self._by_text.get(text)
        return found if found is not None and found.question == question else None

    def place(self, sentence: str, question: Question, condition: str | None = None) -> Place | None:
        """Split a filled sentence; without `condition` every condition is tried. None where no template fits."""
        sentence = _corrected(sentence)
        fitting = [
            Place(template, name, *phrase)
            for name in ([condition] if condition is not None else self.sets)
            for template, before, after in self._edges[question, name]
            if (phrase := _phrase(sentence, before, after))
        ]
        # The shortest phrase belongs to the template that says the most.
        return min(fitting, key=lambda place: len(place.phrase), default=None)


def _phrase(sentence: str, before: str, after: str) -> tuple[str, bool] | None:
    """Cut out what is between two texts, and say whether it is glued to the first; None where they do not fit."""
    if not (sentence.startswith(before) and sentence.endswith(after)):
        return None
    phrase = sentence[len(before) : max(len(before), len(sentence) - len(after))]
    return (phrase.strip(), bool(before) and not phrase.startswith(" ")) if phrase.strip() else None


def _corrected(text: str) -> str:
    for wrong, right in MISSPELT.items():
        text = text.replace(wrong, right)
    return text


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
            message = f"{where}: field gender: {row['gender']!r} is none of {', '.join(GENDERS)}: correct it"
            raise EquipoiseError(message)
        found = shares.setdefault((template.key, condition), {})
        if gender in found:
            message = f"{where}: {gender} of {row['prompt']!r}, {condition} is a duplicate of an earlier row: keep one"
            raise EquipoiseError(message)
        found[gender] = probability(row, "probability", where)
        templates[template.key] = template
    for (key, condition), found in shares.items():
        if missing := [gender for gender in dict.fromkeys(GENDERS.values()) if gender not in found]:
            message = f"{path}: {templates[key].text!r}, {condition}: no row with gender {missing[0]}: add it"
            raise EquipoiseError(message)
    summed = {
        place: Shares(found["female"], found["male"], found["unspecified"], {}) for place, found in shares.items()
    }
    return _fills(path, summed, templates, wordings)


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
            message = f"{where}: {row['sequence']!r}, {condition} is a duplicate of an earlier row: keep one"
            raise EquipoiseError(message)
        female, male = (probability(row, name, where) for name in ("female_prob", "male_prob"))
        if female + male > 1 + 1e-6:
            message = f"{where}: female_prob and male_prob add up to {female + male:.6f}, more than 1: correct them"
            raise EquipoiseError(message)
        shares[template.key, condition] = Shares(female, male, remainder(female, male), {})
        templates[template.key] = template
    return _fills(path, shares, templates, wordings)


def read_steps(path: Path, wordings: Wordings, lexicon: Lexicon, aggregation: Aggregation = "words") -> list[Fill]:
    """Read the paths of rq2 and sum them, in their order, by the gender of the word that ended each."""
    ended: dict[tuple[str, str], list[tuple[Gender | None, str, float]]] = {}
    templates: dict[str, Template] = {}
    for number, row in _csv_rows(path, ("diagnosis", "stigma_category", "sequence", "probability")):
        where = f"{path}, row {number}"
        condition = _condition(row["diagnosis"], wordings, where)
        place = wordings.place(row["sequence"], "rq2", condition)
        if place is None:
            message = f"{where}: field sequence: {row['sequence']!r} fits no template with {condition}: correct it"
            raise EquipoiseError(message)
        _require_dimension(row, place.template, where)
        word, gender, whole = phrase_end(place.phrase, lexicon, glued=place.glued)
        if gender is None:
            message = f"{where}: field sequence: no gendered word in {place.phrase!r}: correct it or the word lists"
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

    The other words of a phrase have no gender, or the path would have ended with them; so where no whole word has
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
                message = (
                    f"{path}, row {reader.line_num}: {len(fields)} fields instead of {len(header)}: correct the row"
                )
                raise EquipoiseError(message)
            empty = False
            yield reader.line_num, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        message = f"{path}, row {reader.line_num}: not CSV ({error}): correct the row"
        raise EquipoiseError(message) from error
    if empty:
        message = f"{path}: no rows under the header: give the whole file"
        raise EquipoiseError(message)


def _template(text: str, question: Question, wordings: Wordings, where: str) -> Template:
    found = wordings.template(text, question)
    if found is None:
        message = f"{where}: {text!r} is not a template of {question}: correct it, or add it to templates.yaml"
        raise EquipoiseError(message)
    return found


def _condition(text: str, wordings: Wordings, where: str) -> str:
    condition = text.strip()
    if condition not in wordings.sets:
        message = (
            f"{where}: field diagnosis: {text!r} is not a condition of conditions.yaml: correct it, or add it there"
        )
        raise EquipoiseError(message)
    return condition


def _require_dimension(row: Mapping[str, str], template: Template, where: str) -> None:
    if row["stigma_category"].strip().lower() != template.group:
        said = row["stigma_category"]
        message = f"{where}: field stigma_category: {said!r}, but the sentence is of {template.group}: correct it"
        raise EquipoiseError(message)


def probability(row: Mapping[str, Any], name: str, where: str) -> float:
    """Read a field as a probability."""
    try:
        value = float(row[name])
    except (KeyError, TypeError, ValueError):
        value = float("nan")
    if not 0 <= value <= 1 + 1e-6:
        message = f"{where}: field {name}: {row.get(name)!r} is not a probability between 0 and 1: correct it"
        raise EquipoiseError(message)
    return value


def _fills(
    path: Path, found: Mapping[tuple[str, str], Shares], templates: Mapping[str, Template], wordings: Wordings
) -> list[Fill]:
    """Build the rows of a file; one in which a template lacks a condition of the sets that occur is refused."""
    sets = {wordings.sets[condition] for _, condition in found}
    for condition, condition_set in wordings.sets.items():
        for key, template in templates.items():
            if condition_set in sets and (key, condition) not in found:
                message = (
                    f"{path}: incomplete: {template.text!r} is missing for {condition}: give the whole file, every "
                    f"sentence with every condition of the {condition_set} set"
                )
                raise EquipoiseError(message)
    return [fill(templates[key], condition, wordings, shares) for (key, condition), shares in found.items()]


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


def read_tokens(
    path: Path,
    wordings: Wordings,
    lexicon: Lexicon,
    aggregation: Aggregation = "words",
    *,
    threshold: float = THRESHOLD,
) -> list[Fill]:
    """Read the predictions that a run of rq1 logged, and sum them by gender."""
    shares: dict[tuple[str, str], Shares] = {}
    templates: dict[str, Template] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.startswith("[["):
            continue
        where = f"{path}, row {number}"
        for predictions in _lists(line, where):
            tokens = [_token(one, where) for one in predictions]
            places = {_whose(one, wordings, where) for one in predictions}
            if len(places) != 1:
                message = f"{where}: one list of predictions is about {len(places)} sentences: give a list for each"
                raise EquipoiseError(message)
            template, condition = places.pop()
            if (template.key, condition) in shares:
                message = f"{where}: {template.text!r}, {condition} is a duplicate of an earlier list: keep one"
                raise EquipoiseError(message)
            summed = attribute_words(tokens, lexicon, aggregation, threshold=threshold)
            shares[template.key, condition] = summed
            templates[template.key] = template
    if not shares:
        message = f"{path}: no list of predictions: give the log of a run, with its lines that begin with [["
        raise EquipoiseError(message)
    return _fills(path, shares, templates, wordings)


def _lists(line: str, where: str) -> list[list[Any]]:
    """Read one line's lists of predictions, however deeply they are nested."""
    try:
        value = ast.literal_eval(line)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        message = f"{where}: not a list of predictions: correct or delete the row"
        raise EquipoiseError(message) from error
    found: list[list[Any]] = []
    pending = [value]
    while pending:
        one = pending.pop(0)
        if isinstance(one, list) and one and not isinstance(one[0], list):
            found.append(one)
        elif isinstance(one, list):
            pending = one + pending
        else:
            message = f"{where}: {one!r} where a list of predictions was expected: correct or delete the row"
            raise EquipoiseError(message)
    return found


def _token(prediction: Any, where: str) -> Token:  # noqa: ANN401  (a value of the file)
    if not isinstance(prediction, dict) or not all(
        isinstance(prediction.get(name), str) for name in ("token_str", "sequence")
    ):
        message = f"{where}: {str(prediction)[:80]}: a prediction has score, token_str and sequence: correct the row"
        raise EquipoiseError(message)
    # The mask begins the sentence and a space follows it, so that every token there is a word of its own.
    return Token(prediction["token_str"], probability(prediction, "score", where))


def _whose(prediction: Mapping[str, Any], wordings: Wordings, where: str) -> tuple[Template, str]:
    place = wordings.place(prediction["sequence"], "rq1")
    if place is None:
        message = (
            f"{where}: {prediction['sequence']!r} fits no template of rq1: correct it, or add it to templates.yaml"
        )
        raise EquipoiseError(message)
    return place.template, place.condition
