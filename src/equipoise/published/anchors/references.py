"""Figures of the anchors' data that others computed: a second count of them, and the scores that were released."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_text
from equipoise.published.anchors.catalogue import leaves, source_of
from equipoise.published.anchors.verdict import Reference
from equipoise.published.equilens_exam import read_questions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from equipoise.published.anchors.catalogue import Catalogue

EXPECTED = "expected.json"
"""The second count, made outside the project."""
SCORES = "equilens/scores/{study}/claude-sonnet-4-6/{city}.json"
QUESTIONS = "equilens/medmcqa_questions/medmcqa_{city}.parquet"
CITIES = ("london", "edinburgh", "dublin")
SECTIONS = {"fsd_legacy_silent_bias": "fsd", "city_closed_form_amqa_d2": "cities"}
"""Our names of its sections."""
NAMES = {
    "original_question": "original",
    "desensitized_question": "neutral",
    "desensitized": "neutral",
    "white|black": "race",
    "high_income|low_income": "ses",
    "male|female": "gender",
    "original_question|desensitized_question": "original_neutral",
    "original|desensitized": "original_neutral",
    "answer_counts_neutral": "letters",
    "ethnicity": "race",
    "SES": "ses",
}
"""Our names of arms, pairs and attributes."""
SIX_PLACES, FOUR_PLACES = 5.1e-7, 5.1e-5
"""Half a unit of the last place that figures are rounded to, with room for a tie."""
SMALL = {"p": 1e-6, "p_exact": 1e-9, "p_chi2_cc": 1e-9}
"""Relative tolerance of p-values, which are given in full."""
PUT_IN = {"equilens": ("composition", "assigned_questions", "random_seed"), "medmcqa": ()}
"""What a file of scores says of what went in, beside what came out."""


def references(folder: Path, catalogue: Catalogue) -> dict[str, Reference]:
    """Read every figure there is to compare with, by its id: of the second count, of released files, and printed."""
    found: dict[str, Reference] = {}
    for table in catalogue.tables:
        found |= {name: Reference(value, table.tolerance) for name, value in leaves(table.values, table.id)}
    if (folder / EXPECTED).exists():
        found |= {name: _recounted(name, value) for name, value in _expected(folder / EXPECTED)}
    for city in ("agnostic", *CITIES):
        found |= _scored(folder / SCORES.format(study="amqa", city=city), "equilens")
        found |= _scored(folder / SCORES.format(study="medmcqa", city=city), "medmcqa")
        found |= _sizes(folder / QUESTIONS.format(city=city), city)
    return found


def assigned_questions(folder: Path, city: str) -> dict[str, dict[str, list[str]]]:
    """Read which questions the release put in which group of a city, by attribute."""
    metrics = _json(folder / SCORES.format(study="amqa", city=city))["metrics"]
    return {_name(attribute): found["assigned_questions"] for attribute, found in metrics.items()}


def _expected(path: Path) -> Iterator[tuple[str, float]]:
    """Give every number of the second count under our names."""
    for section, value in _json(path).items():
        yield from leaves(_renamed(value), SECTIONS.get(section, section))


def _renamed(value: Any) -> Any:  # noqa: ANN401  (nested scalars)
    """Give arms, pairs and attributes our names, split compound keys, and name the ends of intervals."""
    if isinstance(value, list):
        return dict(zip(("low", "high"), value, strict=True))
    if isinstance(value, dict):
        return {_name(name): _renamed(item) for name, item in value.items()}
    return value


def _name(name: str) -> str:
    parts = name.removesuffix(".jsonl").split("/")
    return "/".join(NAMES.get(part, part) for part in parts)


def _recounted(name: str, value: float) -> Reference:
    if isinstance(value, int):
        return Reference(value, 0)
    relative = SMALL.get(name.rsplit("/", maxsplit=1)[-1])
    return Reference(value, SIX_PLACES if relative is None else relative * abs(value))


def _scored(path: Path, source: str) -> dict[str, Reference]:
    """Give every released score of a city; counts are exact. Empty without the file."""
    if not path.exists():
        return {}
    scores = _json(path)
    place = f"{source}/{scores['city']}"
    put_in = PUT_IN[source]
    metrics = {
        group: {name: value for name, value in found.items() if name not in put_in}
        for group, found in scores["metrics"].items()
    }
    found: dict[str, Reference] = {}
    for name, value in leaves(_renamed({"n_samples": scores["n_samples"], **metrics}), place):
        four = source == "equilens" or name.endswith("/composition")
        found[name] = Reference(value, 0 if isinstance(value, int) else FOUR_PLACES if four else SIX_PLACES)
    for attribute, group in scores["metrics"].items():
        # Every question is to lie in the group that the release put it in.
        if "assigned_questions" in group:
            found[f"{place}/{_name(attribute)}/questions_in_their_group"] = Reference(scores["n_samples"], 0)
    return found


def _sizes(path: Path, city: str) -> dict[str, Reference]:
    """Count the questions about each disease in a city's released set. Empty without the file."""
    if not path.exists():
        return {}
    counted = Counter(row.disease for row in read_questions(path).values())
    return {f"medmcqa/sizes/{city}/{disease}": Reference(n, 0) for disease, n in counted.items()}


def require_computed(found: dict[str, Reference], ours: dict[str, float], computed: set[str]) -> None:
    """Refuse a figure to compare with, of a source that was computed, that we compute no figure for."""
    if missing := [name for name in found if source_of(name) in computed and name not in ours]:
        message = f"{missing[0]}: no figure is computed for it ({len(missing)} in all): mend its name, or compute it"
        raise EquipoiseError(message)


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        message = f"{path}, row {error.lineno}: not JSON ({error.msg}): give the file as it was released"
        raise EquipoiseError(message) from error
    if not isinstance(value, dict):
        message = f"{path}: not a JSON object: give the file as it was released"
        raise EquipoiseError(message)
    return value
