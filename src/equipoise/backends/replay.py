"""The replay backend: saved answers, found by the prompt's words or by its key."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from equipoise.backends.base import Backend
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest, read
from equipoise.core.prompts import Prompt, Response
from equipoise.core.row import StudyName
from equipoise.models.registry import Sha256


class Saved(Response):
    """One saved answer: a response, with the digest of what it answers (`question`), if known.

    A row with a digest answers every prompt with those words, whatever its key, and no other; a row without one answers
    the prompt of its key. `study` may be left out: the response is of the study of the prompt.
    """

    study: StudyName = "saved"
    asked: Sha256 | None = None


def question(prompt: Prompt) -> str:
    """Return the digest of a prompt's words: the system text, the turns, the prefix and the given replies."""
    return digest([prompt.system, prompt.turns, prompt.prefix, *([prompt.given] if prompt.given else [])])


class ReplayBackend(Backend):
    """A file of saved answers in place of a model."""

    def __init__(self, path: Path) -> None:
        """Read a file that was checked against the registry; raises EquipoiseError that names a malformed row."""
        self._path = path
        rows = read(path, Saved)
        self._by_words = {row.asked: row for row in rows if row.asked}
        self._by_key = {row.key: row for row in rows if not row.asked}
        self._keys = {row.key for row in rows}

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt; if answers are missing, raise EquipoiseError that names them, and yield none."""
        batch = list(prompts)
        rows = {
            request.key: self._by_words.get(question(request)) or self._by_key.get(request.key) for request in batch
        }
        missing = [key for key, row in rows.items() if row is None]
        if missing:
            words = " (saved to other words)" if missing[0] in self._keys else ""
            raise EquipoiseError(
                f"{self._path}: {len(missing)} of {len(batch)} prompts have no saved answer, first "
                f"{missing[0]!r}{words}: ask what was asked when they were saved, or choose a model that can be asked"
            )
        for prompt in batch:
            if row := rows[prompt.key]:
                yield Response.model_validate(
                    row.model_dump(exclude={"asked"}) | {"key": prompt.key, "study": prompt.study}
                )
