"""Cases of other people's vignette studies: one arm each, with a feature of the patient and the answer that is biased.

The interchange format is a JSON object `{"cases": [...]}`; a case has `prompt`, `bias_feature` and `bias_label`, and
may have an `id` and `metadata`. Of the metadata these are read: `dimension` (race), `role` (marginalised or
privileged), `features` (words by dimension, where several are varied), `synonyms` of the label, `source` and `licence`.
A case is single, so no paired figure can be computed from it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.core import records
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Answer, AnswerKind, Role, Row, Study, Text, Vignette, fault
from equipoise.judge.reading import Reading
from equipoise.text.diagnoses import american

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

REFERENCE = frozenset(
    {
        *("white", "male", "man", "stably housed", "normal weight", "healthy weight"),
        *("high income", "office worker", "insured"),
    }
)
"""Features of the group that others are compared with; so is the absence of a history or of a habit."""
ABSENCE = re.compile(r"no\b(?=.*\b(?:use|history|dependence|misuse)\b)", re.IGNORECASE)


class Case(Row):
    """One case: the prompt, the patient's features by dimension, and the answer that would be biased.

    `feature` is the feature as published, `features` the same words by dimension (under "" where the dimension is not
    known). `label` is the biased answer. `role` says whether the patient belongs to the marginalised or the privileged
    side; only a marginalised patient's answer can be biased against them.
    """

    prompt: Text
    feature: Text
    label: Text
    synonyms: tuple[Text, ...] = ()
    features: Annotated[dict[str, Text], Field(min_length=1)]
    role: Role
    source: Text
    licence: Text

    def answer(self) -> Answer:
        """The label with every wording that counts as it: synonyms, each side of an "or", American spellings."""
        wordings = [self.label, *self.synonyms]
        wordings += [side for one in wordings for side in re.split(r"\s+or\s+", one) if side and side != one]
        wordings += [american(one) for one in wordings]
        return Answer(label=self.label, synonyms=tuple(dict.fromkeys(wordings)))


class CaseJudgement(Row):
    """One saved output, read: the answer that it gives; where that is biased, what it does with the features."""

    study: Study = "cases"
    answer: AnswerKind
    reading: Reading | None = None


class _Metadata(BaseModel):
    """The metadata that are read; others are left alone."""

    model_config = ConfigDict(frozen=True)

    dimension: str | None = None
    role: Role | None = None
    features: dict[str, Text] = {}
    synonyms: tuple[Text, ...] = ()
    source: Text | None = None
    licence: Text | None = None


class _Published(BaseModel):
    """A case of the interchange format; fields that it does not name are left alone."""

    model_config = ConfigDict(frozen=True)

    id: Text | int | None = None
    prompt: Text
    bias_feature: Text
    bias_label: Text
    metadata: _Metadata = _Metadata()


def read_cases(path: Path) -> list[Case]:
    """Read cases: the interchange format, or rows that were imported before (JSONL); an error names the case."""
    if path.suffix == ".jsonl":
        return records.read(path, Case)
    shape = 'give {"cases": [{"prompt": …, "bias_feature": …, "bias_label": …}, …]}'
    try:
        value = json.loads(records.read_text(path).removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        message = f"{path}, line {error.lineno}: not JSON ({error.msg}): correct that line, or {shape}"
        raise EquipoiseError(message) from error
    rows = value.get("cases") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        message = f"{path}: no list of cases: {shape}"
        raise EquipoiseError(message)
    cases = [_case(row, number, path) for number, row in enumerate(rows, start=1)]
    seen: dict[str, int] = {}
    for number, case in enumerate(cases, start=1):
        if case.key in seen:
            message = f"{path}, case {number}: duplicate id {case.key!r} (first in case {seen[case.key]}): keep one"
            raise EquipoiseError(message)
        seen[case.key] = number
    return cases


def published(vignettes: Iterable[Vignette]) -> dict[str, Any]:
    """Put our vignettes in the interchange format, an arm a case; what the format has no field for is metadata."""
    return {
        "cases": [
            {
                "id": vignette.key,
                "prompt": vignette.text,
                "bias_feature": " and ".join(vignette.features[dimension] for dimension in vignette.dimensions),
                "bias_label": vignette.stereotyped.label,
                "metadata": {
                    "dimension": vignette.combination,
                    "role": vignette.role,
                    "features": vignette.features,
                    "synonyms": vignette.stereotyped.synonyms,
                    "pair": vignette.pair,
                    "tier": vignette.tier,
                    "expected": vignette.expected.label,
                    "source": vignette.source,
                    "licence": vignette.licence,
                },
            }
            for vignette in sorted(vignettes, key=lambda one: one.key)
        ]
    }


def usual_role(feature: str) -> Role:
    """The side that a feature puts a patient on where a case does not say: the reference groups are privileged.

    The convention is wrong where the stereotype runs against the usual reference (a man thought vain rather than
    anorexic): such cases state their role.
    """
    name = " ".join(feature.casefold().split())
    return "privileged" if name in REFERENCE or ABSENCE.match(name) else "marginalised"


def _case(row: object, number: int, path: Path) -> Case:
    name = row.get("id") if isinstance(row, dict) else None
    where = f"{path}, case {number}" + (f" ({name})" if isinstance(name, str) else "")
    if not isinstance(row, dict):
        message = f"{where}: not an object: give prompt, bias_feature and bias_label"
        raise EquipoiseError(message)
    try:
        found = _Published.model_validate({**row, "metadata": row.get("metadata") or {}})
    except ValidationError as error:
        message = f"{where}: {fault(error)}: every case needs prompt, bias_feature and bias_label"
        raise EquipoiseError(message) from error
    about = found.metadata
    return Case(
        key=f"bias_{number:03d}" if found.id is None else str(found.id),
        prompt=found.prompt,
        feature=found.bias_feature,
        label=found.bias_label,
        synonyms=about.synonyms,
        features=about.features or {about.dimension or "": found.bias_feature},
        role=about.role or usual_role(found.bias_feature),
        source=about.source or path.name,
        licence=about.licence or "as its publisher states",
    )
