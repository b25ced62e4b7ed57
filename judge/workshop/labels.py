"""Labelled texts for measuring a judge: how the reasoning of saved outputs treats a feature.

Labels are for measuring the judge and for choosing its settings. Training uses the labels on the explanations of some
exam questions (`fit` in params.yaml names them), and no figure is measured on these. Published labels are outside the
project, in the folder named by the environment variable EQUIPOISE_ANCHORS. Our own labels state whether the final
diagnosis of a saved output is its case's biased one: they were made twice, blind to the reader's findings, for the
outputs without published labels. A row has `model`, `id` (the case) and `matches_label`; we may not distribute the
outputs themselves.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import fault
from equipoise.core.tables import json_rows
from equipoise.materials.judgement import Consideration
from equipoise.studies.cases.rows import read_outputs, require_cases
from equipoise.text.grounds import grounds_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from equipoise.studies.cases.rows import Case, Output

VARIABLE = "EQUIPOISE_ANCHORS"
LABELS = "fsd/labels.jsonl"
CASES = "fsd/biased_vignettes_58.json"
IMPLIED = "walk_the_talk/explanations.jsonl"
"""Paths in that folder of the labels of outputs, their cases and the labels of explanations."""
Matches = Literal["yes", "partly", "no"]
M = TypeVar("M", bound=BaseModel)


class Labelled(NamedTuple):
    """One saved output with the labels of its reasoning by people or other annotators.

    `id` is `<model>/<case>`. `text` is the reasoning, everything except an answer that is bare or has a heading;
    `output` is the whole text, as released. `considered` is the reasoning's treatment of `feature`, `mentioned` whether
    it names it; `matches` is whether the answer means the case's biased one, if labelled.
    """

    id: str
    model: str
    case: str
    feature: str
    text: str
    mentioned: bool
    considered: Consideration
    output: Output
    matches: Matches | None = None


class Implied(NamedTuple):
    """One explanation of an answer to an exam question, and whether it implies that a feature mattered."""

    question: str
    dimension: str
    feature: str
    text: str
    implied: bool


class _Label(BaseModel):
    """The fields of a row of labels that are read; others are ignored."""

    model_config = ConfigDict(frozen=True)

    model: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    id: Annotated[str, Field(min_length=1)]
    mentioned: StrictBool
    considered: Consideration
    matches_label: Matches | None = None


class _Implied(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: Annotated[str, Field(min_length=1)]
    example: int
    dimension: Annotated[str, Field(min_length=1)]
    feature: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    implied: StrictBool


def anchors() -> Path:
    """Return the folder of labels and other published data; raises EquipoiseError if the environment names none."""
    named = os.environ.get(VARIABLE, "")
    folder = Path(named)
    if not named or not folder.is_dir():
        message = f"{VARIABLE}={named!r} is not a folder: set it to that of the labelled outputs, which are not shipped"
        raise EquipoiseError(message)
    return folder.resolve()


def read_labels(path: Path, cases: Mapping[str, Case]) -> list[Labelled]:
    """Read labels, in file order, each with its output, from the file `<model>.jsonl` beside `path`.

    Raises:
        EquipoiseError: A row is malformed or repeated, contradicts itself, or has no output or case; it names the row.
    """
    labels: list[Labelled] = []
    seen: dict[str, int] = {}
    outputs: dict[str, dict[str, Output]] = {}
    for number, label in _rows(path, _Label):
        where = f"{path}, row {number}"
        name = f"{label.model}/{label.id}"
        if name in seen:
            message = f"{where}: duplicate label {name!r} (first in row {seen[name]})"
            raise EquipoiseError(message)
        seen[name] = number
        if label.considered != "none" and not label.mentioned:
            message = f"{where}: considered {label.considered!r} but not mentioned: correct either field"
            raise EquipoiseError(message)
        file = path.with_name(f"{label.model}.jsonl")
        if label.model not in outputs:
            rows = read_outputs(file)
            require_cases(str(file), rows, cases)
            outputs[label.model] = {row.id: row for row in rows}
        output = outputs[label.model].get(label.id)
        if output is None or not output.ok:
            message = f"{where}: {file} has no output of {label.id!r}: give it, or delete the label"
            raise EquipoiseError(message)
        case = cases[label.id]
        labels.append(
            Labelled(
                id=name,
                model=label.model,
                case=label.id,
                feature=case.feature,
                text=grounds_of(output.words),
                mentioned=label.mentioned,
                considered=label.considered,
                output=output,
                matches=label.matches_label,
            )
        )
    return _require_rows(labels, path)


def read_implied(path: Path, without: Collection[str] = ()) -> list[Implied]:
    """Read explanations that are labelled with whether they imply that a feature mattered, in file order.

    Explanations of the questions `without` are omitted.

    Raises:
        EquipoiseError: A row is malformed; the message names it.
    """
    rows = [row for _, row in _rows(path, _Implied) if str(row.example) not in without]
    return _require_rows(
        [Implied(str(row.example), row.dimension, row.feature, row.text, row.implied) for row in rows], path
    )


def _rows(path: Path, kind: type[M]) -> Iterator[tuple[int, M]]:
    """Yield the rows of a JSONL file, each with its line number."""
    for number, row in json_rows(path):
        try:
            yield number, kind.model_validate(row)
        except ValidationError as error:
            message = f"{path}, row {number}: {fault(error)}: correct the row"
            raise EquipoiseError(message) from error


def _require_rows(rows: list[Any], path: Path) -> list[Any]:
    """Refuse a file without rows."""
    if not rows:
        message = f"{path}: has no labels: give one row a labelled text"
        raise EquipoiseError(message)
    return rows


class AnswerLabel(NamedTuple):
    """One saved output of `model` on `case`, and whether its answer means the case's biased one."""

    model: str
    case: str
    output: Output
    matches: Matches


class _AnswerLabel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    id: Annotated[str, Field(min_length=1)]
    matches_label: Matches


def read_answer_labels(
    path: Path, outputs: Path, cases: Mapping[str, Case], *, without: Collection[str]
) -> list[AnswerLabel]:
    """Read labels of answers, in file order, each with its output, from the file `<model>.jsonl` in `outputs`.

    `without` contains outputs labelled elsewhere, as `<model>/<case>`: a measure on both would count them twice.

    Raises:
        EquipoiseError: A row is malformed or repeated, is among `without`, or has no output or case; it names the row.
    """
    labels: list[AnswerLabel] = []
    read: dict[str, dict[str, Output]] = {}
    seen = dict.fromkeys(without, "the other labels")
    for number, row in json_rows(path):
        where = f"{path}, row {number}"
        try:
            label = _AnswerLabel.model_validate(row)
        except ValidationError as error:
            message = f"{where}: {fault(error)}: correct the row"
            raise EquipoiseError(message) from error
        name = f"{label.model}/{label.id}"
        if name in seen:
            message = f"{where}: duplicate label {name!r} (first in {seen[name]})"
            raise EquipoiseError(message)
        seen[name] = f"row {number}"
        if label.model not in read:
            read[label.model] = {
                saved_output.id: saved_output for saved_output in read_outputs(outputs / f"{label.model}.jsonl")
            }
        output = read[label.model].get(label.id)
        if output is None or not output.ok or label.id not in cases:
            message = f"{where}: {outputs} has no case with an output {name}: give it, or delete the label"
            raise EquipoiseError(message)
        labels.append(AnswerLabel(label.model, label.id, output, label.matches_label))
    return labels
