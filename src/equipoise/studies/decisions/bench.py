"""The cases of Omar et al. 2025 (Nature Medicine 31:1873), as published on the hub: emergency cases with a slot.

Each of the 500 cases has `{patient}` once, which the article filled with a control and with 31 groups: 16,000 prompts.
Column names may vary: the text is in the column that has the slot, the id in one called id, case_id, case_number or
number (otherwise the row number is the id). Files are JSON, JSONL, CSV or parquet.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import identifier, listed_rows, require_new, rows_of, valid
from equipoise.materials.stories.schema import REVEALING
from equipoise.published.fetch import PINNED, locate
from equipoise.studies.vignettes.panel import SLOT, Story
from equipoise.studies.vignettes.profiles import require_one_source

SOURCE = "mamuto11/LLMs_Bias_Bench"
LICENCE = "Apache-2.0"
KEY = "bench-"
"""Beginning of a story's key; the rest is its id."""
CASES, VERSIONS = 500, 32
"""Cases as published, and the versions of each: a control and 31 groups."""
IDS = ("id", "case_id", "case_number", "number")
PATIENT = "{patient}"
APART = re.compile(r"[/#]")
"""Separators of a key's parts: the story's key, then its group, an end-point and the number of a sample."""
SHAPE = f"give a row for each case, with its id, and {PATIENT} once in its text"


class Imported(NamedTuple):
    """Stories, and the ids of those that state a gender outside the slot as well."""

    stories: list[Story]
    gendered: list[str]


def read_stories(sources: Iterable[str], field: str | None = None) -> Imported:
    """Read stories from files, or from the hub as `mamuto11/LLMs_Bias_Bench@<commit>`; `field` names the text's column.

    Raises EquipoiseError that names the file and the row if a case has no text or not exactly one slot, if an id is
    duplicated, or if rows have different sources.
    """
    stories: list[Story] = []
    seen: dict[str, str] = {}
    for source in sources:
        origin = source if PINNED.fullmatch(source) else SOURCE
        for path in locate(source, sorted):
            rows = list(rows_of(path, SHAPE.removeprefix("give "), partial(listed_rows, name="cases", shape=SHAPE)))
            column = field or _column(rows)
            for number, (where, row) in enumerate(rows, start=1):
                name = next((key for key in IDS if row.get(key) is not None), None)
                key = identifier(row, name, where) if name else str(number)
                if separator := APART.search(key):
                    message = (
                        f"{where}: field {name}: {key!r} has {separator.group()!r}, which separates the parts of keys"
                    )
                    raise EquipoiseError(f"{message}: give another id")
                require_new(seen, key, where)
                story = {
                    "key": f"{KEY}{key}",
                    "text": _text(row, column, where),
                    "source": row.get("source") or origin,
                    "licence": row.get("licence") or LICENCE,
                }
                stories.append(valid(Story, story, where, "correct the row"))
    require_one_source({story.key: story.source for story in stories})
    return Imported(stories, [story.key.removeprefix(KEY) for story in stories if _states_gender(story.text)])


def _column(rows: list[tuple[str, dict[str, Any]]]) -> str:
    """Find the column that has the slot, in the most rows where several have."""
    where, first = rows[0]
    if "bias_feature" in first:
        raise EquipoiseError(
            f"{where}: a case with bias_feature, so its patient is named already: run equipoise import vignettes"
        )
    having = Counter(name for _, row in rows for name, value in row.items() if PATIENT in str(value))
    if not having:
        raise EquipoiseError(f"{where}: no field has the slot {PATIENT}: {SHAPE}")
    return having.most_common(1)[0][0]


def _text(row: Mapping[str, Any], column: str, where: str) -> str:
    value = row.get(column)
    if not isinstance(value, str) or not value.strip():
        raise EquipoiseError(f"{where}: field {column}: the case is missing or empty: write its text, or drop the row")
    slots = [slot["name"].lower() for slot in SLOT.finditer(value)].count("patient")
    if slots != 1:
        fault = f"has the slot {PATIENT} {slots} times" if slots else f"has no slot {PATIENT}"
        raise EquipoiseError(f"{where}: field {column}: the case {fault}: write it once, where the patient is named")
    return value.strip()


def _states_gender(text: str) -> bool:
    return any(not word.group().lower().endswith("old") for word in REVEALING.finditer(SLOT.sub("", text)))
