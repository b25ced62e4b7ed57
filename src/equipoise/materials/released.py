"""What EquiLens' released files have in common: their cities, and how a response is read."""

from collections.abc import Mapping
from typing import Any

from equipoise.core.errors import EquipoiseError
from equipoise.text.letters import read_letter

CITIES = ("london", "edinburgh", "dublin")
RESAMPLES = 100
"""No published interval is compared, so as few resamples as possible are drawn."""
BARE_OPTIONS = dict.fromkeys("ABCD", "")
"""The letters, for a file without the options' words."""


def response_text(row: Mapping[str, Any], where: str) -> str | None:
    """Read the field `response`; None where the model gave no text."""
    response = row.get("response")
    if "response" not in row or not isinstance(response, str | None):
        raise EquipoiseError(f"{where}: field response: give the model's text, or nothing where it gave none")
    return response


def letter_given(response: str, options: Mapping[str, str]) -> str | None:
    """Read the letter that a response gives, as every response is read (`equipoise.text.letters`)."""
    return read_letter(response, options or BARE_OPTIONS).letter
