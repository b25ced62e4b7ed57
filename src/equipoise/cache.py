"""The response cache: finished answers on disk, keyed by content, so that an interrupted run loses none of them.

It lives in `.cache/` of the original repository (DVC sets DVC_ROOT to it in every kind of run), outside DVC's own
cache.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Self

from equipoise.errors import EquipoiseError
from equipoise.records import Response, digest, dumps, parse

if TYPE_CHECKING:
    from types import TracebackType

    from equipoise.records import Manifest, Prompt
    from equipoise.registry import Generation


def root() -> Path:
    """Find the original repository, also from a temporary or queued DVC run."""
    return Path(os.environ.get("DVC_ROOT", "."))


def folder() -> Path:
    """Find the folder of everything that is costly, rebuildable and not tracked."""
    return root() / ".cache"


def response_key(prompt: Prompt, manifest: Manifest, generation: Generation) -> str:
    """Name a response by all that it depends on: what is asked, of which weights, with which settings.

    The prompt's own key is left out: the same words asked in two cases are one question.
    """
    asked = prompt.model_dump(mode="json", exclude={"key", "study"})
    return digest([asked, manifest.identity, generation.model_dump(mode="json")])


class ResponseCache:
    """Finished responses in an SQLite file; each is safe on disk as soon as `put` returns."""

    def __init__(self, path: Path) -> None:
        """Open or make the file; a place that cannot be written is an EquipoiseError."""
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=60, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._unopened(error) from error
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute("CREATE TABLE IF NOT EXISTS response (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        except sqlite3.Error as error:
            self._database.close()
            raise self._unopened(error) from error

    def _unopened(self, error: Exception) -> EquipoiseError:
        mend = "mend the permissions of its folder or free space; if the file is damaged, delete it to start anew"
        return EquipoiseError(f"{self._path}: the response cache cannot be opened ({error}): {mend}")

    @classmethod
    def open(cls) -> Self:
        """Open the cache of this repository."""
        return cls(folder() / "responses.sqlite")

    def get(self, key: str, prompt: Prompt) -> Response | None:
        """Find a finished response and give it the key of the prompt that asks now."""
        try:
            row = self._database.execute("SELECT value FROM response WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            message = f"{self._path}: the response cache cannot be read ({error}): delete the file to start anew"
            raise EquipoiseError(message) from error
        if row is None:
            return None
        kept = parse(f"{self._path}, response {key[:12]} (delete the file to start anew)", row[0], Response)
        return kept.model_copy(update={"key": prompt.key, "study": prompt.study})

    def put(self, key: str, response: Response) -> None:
        """Keep a finished response; a full disk is an EquipoiseError, and what was kept before stays."""
        try:
            value = dumps(response.model_dump(mode="json"))
            self._database.execute("INSERT OR REPLACE INTO response VALUES (?, ?)", (key, value))
        except sqlite3.Error as error:
            mend = "free space, then run again; finished answers are safe"
            message = f"{self._path}: a response cannot be kept ({error}): {mend}"
            raise EquipoiseError(message) from error

    def __enter__(self) -> Self:
        """Give the open cache."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._database.close()
