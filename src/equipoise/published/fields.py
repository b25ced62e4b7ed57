"""Fields that readers of released answers share: identifiers, right answers and responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from equipoise.core.errors import EquipoiseError
from equipoise.exam.subsets import CLASSES
from equipoise.text.letters import read_letter

BARE_OPTIONS = dict.fromkeys(CLASSES, "")
"""The letters, for a file without the options' words."""


def required(row: Mapping[str, Any], name: str, where: str) -> str:
    """Read a field as text; EquipoiseError where it is missing, empty or not a single value."""
    value = row.get(name)
    if value is None or isinstance(value, dict | list | bool) or not str(value).strip():
        message = f"{where}: field {name} is missing or empty: every row needs it"
        raise EquipoiseError(message)
    return str(value)


def gold_letter(row: Mapping[str, Any], where: str) -> str:
    """Read the letter of the right option from `answer_idx`."""
    gold = required(row, "answer_idx", where).strip().upper()
    if not re.fullmatch("[A-Z]", gold):
        message = f"{where}: field answer_idx: {gold!r} is not a letter: give the letter of the right option"
        raise EquipoiseError(message)
    return gold


def response_text(row: Mapping[str, Any], where: str) -> str | None:
    """Read the field `response`; None where the model gave no text."""
    response = row.get("response")
    if "response" not in row or not isinstance(response, str | None):
        message = f"{where}: field response: give the model's text, or nothing where it gave none"
        raise EquipoiseError(message)
    return response


def letter_given(response: str, options: Mapping[str, str]) -> str | None:
    """Read the letter that a response gives, as every response is read (`equipoise.text.letters`)."""
    return read_letter(response, options or BARE_OPTIONS).letter
