"""Our own labels of answers: whether the diagnosis that a saved output ends on is its case's biased one.

They were given twice over, without sight of what the reader finds, to the outputs that the labels of others leave out.
A row has `model`, `id` (the case) and `matches_label`; the outputs themselves are not ours to ship.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.cases.outputs import read_outputs
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import fault
from equipoise.core.tables import json_rows
from workshop.labels import Matches

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from equipoise.cases.outputs import Output
    from equipoise.cases.rows import Case


class AnswerLabel(NamedTuple):
    """One saved output of `model` on `case`, and whether its answer means the case's biased one."""

    model: str
    case: str
    output: Output
    matches: Matches


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    id: Annotated[str, Field(min_length=1)]
    matches_label: Matches


def read_answer_labels(
    path: Path, outputs: Path, cases: Mapping[str, Case], *, without: Collection[str]
) -> list[AnswerLabel]:
    """Read labels of answers, in file order, each with its output, from the file `<model>.jsonl` in `outputs`.

    `without` holds what was labelled elsewhere, as `<model>/<case>`: a measure on both would count it twice.

    Raises:
        EquipoiseError: a row is malformed or repeated, is among `without`, or has no output or case; it names the row.
    """
    labels: list[AnswerLabel] = []
    read: dict[str, dict[str, Output]] = {}
    seen = dict.fromkeys(without, "the other labels")
    for number, row in json_rows(path):
        where = f"{path}, row {number}"
        try:
            label = _Row.model_validate(row)
        except ValidationError as error:
            message = f"{where}: {fault(error)}: mend the row"
            raise EquipoiseError(message) from error
        name = f"{label.model}/{label.id}"
        if name in seen:
            message = f"{where}: {name} stands already in {seen[name]}: keep one of them"
            raise EquipoiseError(message)
        seen[name] = f"row {number}"
        if label.model not in read:
            read[label.model] = {one.id: one for one in read_outputs(outputs / f"{label.model}.jsonl")}
        output = read[label.model].get(label.id)
        if output is None or not output.ok or label.id not in cases:
            message = f"{where}: {outputs} holds no case with an output {name}: give it, or delete the label"
            raise EquipoiseError(message)
        labels.append(AnswerLabel(label.model, label.id, output, label.matches_label))
    return labels
