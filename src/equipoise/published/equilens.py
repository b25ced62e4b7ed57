"""EquiLens' release: readers that its files of results share, and its scores of each city.

Results are responses of a model, to AMQA's variants or to the MedMCQA questions of a city. A file of scores has the
figures of one city, with the inputs that they were computed from.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import valid
from equipoise.published.catalogue import FOUR_PLACES, SIX_PLACES, Reference, leaves, read_json, renamed, renamed_path
from equipoise.text.letters import read_letter

CITIES = ("london", "edinburgh", "dublin")
SCORES = "equilens/scores/{study}/claude-sonnet-4-6/{city}.json"
PUT_IN = {"equilens": ("composition", "assigned_questions", "random_seed"), "medmcqa": ()}
"""The inputs that a file of scores repeats among its results."""
RESAMPLES = 100
"""As few resamples as possible, since no published interval is compared."""
BARE_OPTIONS = dict.fromkeys("ABCD", "")
"""The letters, for a file without the options' words."""


def response_text(row: Mapping[str, Any], where: str) -> str | None:
    """Read the field `response`; None if the model gave no text."""
    response = row.get("response")
    if "response" not in row or not isinstance(response, str | None):
        raise EquipoiseError(f"{where}: field response: give the model's text, or nothing where it gave none")
    return response


def letter_given(response: str, options: Mapping[str, str]) -> str | None:
    """Read the letter that a response gives (`equipoise.text.letters`)."""
    return read_letter(response, options or BARE_OPTIONS).letter


class Scores(BaseModel):
    """A released file of a city's scores: figures and inputs, by attribute or group."""

    city: str
    n_samples: int
    metrics: dict[str, dict[str, Any]]


def read_scores(path: Path) -> Scores:
    """Read a released file of a city's scores."""
    return valid(Scores, read_json(path), str(path), "give the file as it was released")


def released_scores(path: Path, source: str) -> dict[str, Reference]:
    """Read every released score of a city; counts are exact. Empty without the file."""
    if not path.exists():
        return {}
    scores = read_scores(path)
    place = f"{source}/{scores.city}"
    put_in = PUT_IN[source]
    metrics = {
        group: {name: value for name, value in values.items() if name not in put_in}
        for group, values in scores.metrics.items()
    }
    known: dict[str, Reference] = {}
    for name, value in leaves(renamed({"n_samples": scores.n_samples, **metrics}), place):
        four = source == "equilens" or name.endswith("/composition")
        known[name] = Reference(value, 0 if isinstance(value, int) else FOUR_PLACES if four else SIX_PLACES)
    for attribute, group in scores.metrics.items():
        # Every question should be in the group that the release assigned it to.
        if "assigned_questions" in group:
            known[f"{place}/{renamed_path(attribute)}/questions_in_their_group"] = Reference(scores.n_samples, 0)
    return known
