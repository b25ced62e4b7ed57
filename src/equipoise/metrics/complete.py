"""The guard that stops a run: every prompt that the model answers has one response, and nothing else has any.

A figure over some of the prompts would not be the figure that its name says. Two responses to one prompt are refused
where the rows are read (`equipoise.core.records.read`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from equipoise.core.records import Prompt, Study
    from equipoise.metrics.noted import Noted
    from equipoise.stigma.rows import Fill


class Asked(NamedTuple):
    """One prompt as guards need it: where it stands, and a digest of all that the model is given."""

    file: Path
    row: int
    study: Study
    key: str
    content: bytes


def asked(file: Path, prompts: Iterable[Prompt]) -> list[Asked]:
    """Note the prompts of a file, in file order."""
    return [Asked(file, row, one.study, one.key, _content(one)) for row, one in enumerate(prompts, start=1)]


def require_answered(prompts: Sequence[Asked], responses: Sequence[Noted], file: Path) -> None:
    """Refuse responses that are not those of the prompts, one each.

    `file` is that of the responses, which are in file order. EquipoiseError that names the file and the row of the
    first fault.
    """
    wanted = {one.key: one for one in prompts}
    given = {response.key for response in responses}
    for row, response in enumerate(responses, start=1):
        if response.key not in wanted:
            message = (
                f"{file}, row {row}: a response to {response.key!r}, which is not among the prompts of the study: "
                f"delete the row, or run `dvc repro infer@{response.study}`"
            )
            raise EquipoiseError(message)
    if missing := [one for one in prompts if one.key not in given]:
        first = missing[0]
        message = (
            f"{file}: {len(missing)} of {len(wanted)} prompts have no response, first {first.key!r} ({first.file}, row "
            f"{first.row}): run `dvc repro infer@{first.study}`, which asks what is missing"
        )
        raise EquipoiseError(message)


def require_whole(fills: Sequence[Fill], file: Path) -> None:
    """Refuse fills that lack a sentence: each template of a question needs each of its conditions.

    EquipoiseError that names the `file` and the first sentence that is missing.
    """
    told = {(fill.question, fill.template, fill.condition) for fill in fills}
    templates = sorted({(question, template) for question, template, _ in told})
    conditions = sorted({(question, condition) for question, _, condition in told})
    missing = [
        f"{question}/{template}/{condition}"
        for question, template in templates
        for other, condition in conditions
        if other == question and (question, template, condition) not in told
    ]
    if missing:
        message = (
            f"{file}: {len(missing)} of {len(missing) + len(told)} sentences are missing, first {missing[0]!r}: run "
            "`dvc repro score@stigma`"
        )
        raise EquipoiseError(message)


def _content(prompt: Prompt) -> bytes:
    """Digest all that the model is given: not the key, nor the beginning that prompts share, which is in the turns."""
    given = (prompt.system, prompt.prefix, prompt.turns, prompt.candidates, prompt.reply, prompt.limit)
    return hashlib.sha256(repr(given).encode(errors="surrogatepass")).digest()
