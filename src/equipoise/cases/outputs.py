"""Saved outputs of a model in the benchmark's released form, JSONL: one case a row, with the model's whole text.

A row has `id` and `output_text`, and may have `status` (ok, unless it says otherwise), `mode`, `model_name`,
`bias_feature`, `bias_label` and `extracted_diagnosis`; other fields are left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Response
from equipoise.core.tables import json_rows
from equipoise.text.reasoning import split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from equipoise.cases.rows import Case

NOTE = re.compile(r"\s*\[Repetitive content removed\]\s*$")
"""What the benchmark's cleaning wrote at the end of an output that it shortened; no word of the model."""
SHOWN = 5
"""Ids that a message names before it counts the rest."""


class Output(NamedTuple):
    """One saved output; `text` is as released, `ok` says whether the run gave one."""

    id: str
    text: str
    ok: bool = True
    mode: str = ""
    model: str = ""
    feature: str | None = None
    label: str | None = None
    diagnosis: str = ""

    @property
    def said(self) -> str:
        """The model's own words: the text without the note of the benchmark's cleaning."""
        return NOTE.sub("", self.text)


def read_outputs(path: Path) -> list[Output]:
    """Read a file of outputs, in file order; an error names the row and the field."""
    rows: list[Output] = []
    seen: dict[tuple[str, str], int] = {}
    for number, row in json_rows(path):
        where = f"{path}, row {number}"
        output = _output(row, where)
        key = (output.id, output.mode)
        if key in seen:
            message = f"{where}: duplicate id {output.id!r} (first in row {seen[key]}): keep one of them"
            raise EquipoiseError(message)
        seen[key] = number
        rows.append(output)
    if not rows:
        message = f"{path}: no outputs: give one row a case, with id and output_text"
        raise EquipoiseError(message)
    return rows


def require_cases(name: str, outputs: Iterable[Output], cases: Mapping[str, Case]) -> None:
    """Refuse outputs of other cases: an unknown id, or another feature or label than the case has."""
    outputs = list(outputs)
    if unknown := [output.id for output in outputs if output.id not in cases]:
        message = f"{name}: ids that are not among the {len(cases)} cases: {_named(unknown)}: give the cases asked"
        raise EquipoiseError(message)
    for output in outputs:
        case = cases[output.id]
        for field, here, there in (
            ("bias_feature", output.feature, case.feature),
            ("bias_label", output.label, case.label),
        ):
            if here is not None and here.strip().lower() != there.strip().lower():
                message = f"{name}, id {output.id}: {field} {here!r} is {there!r} in the cases: give the cases asked"
                raise EquipoiseError(message)


def saved(output: Output) -> Response:
    """Put an output in the form of a response to its case: the whole text is one reply, and a failed run gave none.

    The diagnosis that somebody's program extracted is not the model's words, and is left out.
    """
    return Response(
        key=output.id,
        study="cases",
        replies=(output.text,) if output.ok else (),
        finished=(split(output.said).finished,) if output.ok else (),
        log_likelihood={},
        prompt_tokens=0,
        generated_tokens=0,
    )


def outputs_of(responses: Iterable[Response]) -> Iterator[Output]:
    """Give the outputs among responses: those of the study `cases`; the inverse of `saved`."""
    for one in responses:
        if one.study == "cases":
            yield Output(id=one.key, text="".join(one.replies), ok=bool(one.replies))


def _output(row: Mapping[str, Any], where: str) -> Output:
    name = row.get("id")
    if not isinstance(name, str | int) or isinstance(name, bool) or not str(name).strip():
        message = f"{where}: field id is missing or empty: every row needs the id of its case"
        raise EquipoiseError(message)
    texts: dict[str, str | None] = {}
    for field in ("status", "mode", "model_name", "bias_feature", "bias_label", "extracted_diagnosis", "output_text"):
        value = row.get(field)
        if value is not None and not isinstance(value, str):
            message = f"{where}: field {field}: {value!r} is not text: correct the row"
            raise EquipoiseError(message)
        texts[field] = value
    ok = (texts["status"] or "ok") == "ok"
    if ok and texts["output_text"] is None:
        message = f"{where}: field output_text is missing: give the model's text, or a status other than ok"
        raise EquipoiseError(message)
    return Output(
        id=str(name),
        text=texts["output_text"] or "",
        ok=ok,
        mode=texts["mode"] or "",
        model=texts["model_name"] or "",
        feature=texts["bias_feature"],
        label=texts["bias_label"],
        diagnosis=texts["extracted_diagnosis"] or "",
    )


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(ids[:SHOWN]) + more
