"""The cases that a model's saved outputs answer, and the outputs."""

from collections.abc import Iterator
from pathlib import Path

from equipoise.backends.replay import Saved
from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.models.registry import AnyEntry, ReplayEntry
from equipoise.models.weights import verify_answers, verify_cases
from equipoise.studies.cases import NAME


def saved_cases(name: str, entry: AnyEntry, root: Path) -> tuple[str, Iterator[Response]]:
    """Give the text of the file of the cases that a model's saved outputs answer, and the outputs.

    The prompts of these cases are not asked. The result is empty for a model without saved outputs to cases.
    """
    if not isinstance(entry, ReplayEntry) or (cases := verify_cases(name, entry, root)) is None:
        return "", iter(())
    rows = jsonl.each(verify_answers(name, entry, root), Saved)
    return jsonl.read_text(cases), (
        Response.model_validate(row.model_dump(exclude={"asked"})) for row in rows if row.study == NAME
    )
