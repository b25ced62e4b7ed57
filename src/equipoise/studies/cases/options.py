"""The options of multiple-choice samples in logs of others, and the words of what names an option by letter or number.

Options are looked up by the names and forms of published data sets: a list, letters with their texts, texts with their
labels, a column for each option (`opa`, `ending0`, `choice1`, `A`), or the last list in the prompt.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count, takewhile
from string import ascii_uppercase
from typing import Any

from equipoise.core.display import few
from equipoise.core.errors import EquipoiseError
from equipoise.core.shipped import shipped
from equipoise.core.tables import is_missing
from equipoise.studies.cases.rows import FEWEST, LISTED, Options, options_in, spelling
from equipoise.text.answer import Answer
from equipoise.text.answers import match_answer
from equipoise.text.diagnoses import FILE, Diagnoses, load_diagnoses
from equipoise.text.letters import read_letter
from equipoise.text.patterns import caseless

NAMES = ("choices", "options", "endings", "answer_choices", "answer_options", "candidates", "mc1_targets")
"""Names under which a sample or its document has all options."""
COLUMN = caseless(
    r"(?:(?:op|opt|option|choice|ending|sol|candidate|answer_choice|answer_option)[ _.-]?|(?:answer|ans)[ _.-])"
    r"([a-j]|\d)|([A-J])"
)
"""The name of a column that has one option: with its letter or number, or the letter alone."""
LABELS, TEXTS = ("label", "labels", "key", "keys", "letter"), ("text", "texts", "value", "content", "choices", "option")
"""Names of an option's letter and of its words."""
LABEL = caseless(r"[a-z]|\d")
"""A letter or a number as an option's label."""
BY_PLACE = caseless(r"\W*(?:(?:option|answer|choice)\W+)?(?:[a-j]|\d{1,2})\W*")
"""A text that is only the letter or the number of an option."""
FEWEST_LETTERS = 3
"""Fewest columns that are named by a letter alone."""
NO_OPTIONS = "none"
"""The value of the field `choices` for samples whose replies are free text."""


def options_of(row: Mapping[str, Any]) -> Options:
    """Find the options of a sample, in itself, its document or its metadata; empty if it has none."""
    doc, about = _table(row.get("doc")), _table(row.get("metadata"))
    for table in (row, doc, about, _table(doc.get("metadata"))):
        named = (table[name] for name in NAMES if name in table)
        if options := next(filter(None, map(as_options, named)), None) or _in_columns(table):
            return options
    return {}


def as_options(value: object) -> Options:
    """Read options in any of their forms; empty if the value has fewer than two."""
    if isinstance(value, str):
        texts = parsed(value)
        return as_options(texts) if isinstance(texts, list | dict) else options_in(value) or _separated(value)
    if isinstance(value, Mapping):
        labels, texts = _first(value, LABELS), _first(value, TEXTS)
        if isinstance(texts, list):
            return _numbered(texts, labels if isinstance(labels, list) else [])
        return _numbered([*value.values()], [*value]) if all(LABEL.fullmatch(str(key)) for key in value) else {}
    if not isinstance(value, Sequence):
        return {}
    if value and all(isinstance(option, Mapping) for option in value):
        return _numbered([_first(option, TEXTS) for option in value], [_first(option, LABELS) for option in value])
    return _numbered(value, [])


def words_of(named: str, options: Options, *, from_zero: bool) -> str | None:
    """Give the words of the option that a letter, a number or a text names; None if it names none of them.

    Numbers are places from 0 if `from_zero`; else they raise an EquipoiseError, unless they are labels.
    """
    label = re.sub(r"\W+", "", named).upper()
    if label in options:
        return options[label]
    if label.isdecimal():
        if not from_zero:
            raise EquipoiseError(
                f"{named!r} is a number, and options may count from 0 or from 1: give letters or words"
            )
        return dict(enumerate(options.values())).get(int(label))
    same = [words for words in options.values() if spelling(words) == spelling(named)]
    letter = read_letter(named, options).letter
    return same[0] if same else options[letter] if letter else None


def meant(named: str, synonyms: Sequence[str], options: Options, *, from_zero: bool) -> str:
    """Give the words of the one option that an answer names or means; else raise an EquipoiseError that lists them."""
    for wording in (named, *synonyms):
        if words := words_of(wording, options, from_zero=from_zero):
            return words
    answer = Answer(label=named, synonyms=(named, *synonyms))
    same = [words for words in options.values() if match_answer(words, answer, _diagnoses()) == "yes"]
    if len(same) != 1:
        several = f"{named!r} is {'several' if same else 'none'} of the options ({few([*options.values()], 8)})"
        raise EquipoiseError(f"{several}: give an option's words, or --set choices=none where replies are free text")
    return same[0]


def parsed(text: str) -> object:
    """Parse a list or table that a text holds, in JSON or as Python prints it; else give the text."""
    if not text.lstrip().startswith(("[", "{")):
        return text
    for read in (json.loads, ast.literal_eval):
        try:
            value: object = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        # An array of numpy prints without commas, which Python reads as one text.
        glued = re.findall(r"'[^']*'(?=\s+')|\"[^\"]*\"(?=\s+\")", text) if isinstance(value, list) else []
        return [quoted[1:-1] for quoted in re.findall(r"'[^']*'|\"[^\"]*\"", text)] if glued else value
    return text


@cache
def _diagnoses() -> Diagnoses:
    return load_diagnoses(shipped(FILE))


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _first(table: Mapping[str, Any], names: Sequence[str]) -> Any:  # noqa: ANN401  (whatever the sample has)
    return next((table[name] for name in names if name in table), None)


def _separated(text: str) -> Options:
    separator = next((mark for mark in "\n|;" if mark in text), None)
    return _numbered(text.split(separator), []) if separator else {}


def _in_columns(table: Mapping[str, Any]) -> Options:
    """Read the options that have a column each; the last ones may be empty."""
    groups: dict[str, dict[str, Any]] = {}
    for name, value in table.items():
        if match := COLUMN.fullmatch(str(name)):
            mark = match[1] or (match[2] if match[2].isupper() else "")
            if mark:
                groups.setdefault(str(name)[: -len(mark)].casefold(), {})[mark.upper()] = value
    for prefix, columns in groups.items():
        for marks in (iter(ascii_uppercase), map(str, count()), map(str, count(1))):
            options = _numbered([columns[mark] for mark in takewhile(columns.__contains__, marks)], [])
            if len(options) >= (FEWEST if prefix else FEWEST_LETTERS):
                return options
    return {}


def _numbered(texts: Sequence[object], labels: Sequence[object]) -> Options:
    """Give texts their labels, or letters; empty if any but the last ones is not a text."""
    plain = [None if isinstance(text, list | dict) else str(text).strip() for text in texts if text is not None]
    marks = [str(label).strip().upper() for label in labels]
    if len(plain) < FEWEST or not all(plain) or len(plain) > len(ascii_uppercase):
        return {}
    if len(set(marks)) != len(plain) or not all(map(LABEL.fullmatch, marks)):
        marks = [*ascii_uppercase[: len(plain)]]
    lettered = [LISTED.match(text or "") for text in plain]
    if all(match and match[1] == mark for match, mark in zip(lettered, marks, strict=True)):
        plain = [(text or "")[match.end() :] for text, match in zip(plain, lettered, strict=True) if match]
    return {mark: text or "" for mark, text in zip(marks, plain, strict=True)}


def by_place(value: object) -> bool:
    """Whether a value is only the letter or the number of an option."""
    return not is_missing(value) and bool(BY_PLACE.fullmatch(str(value)))
