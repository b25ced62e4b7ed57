"""The caches: finished answers on disk, keyed by content, so that an interrupted run loses none of them.

They live in `.cache/` of the original repository (DVC sets DVC_ROOT to it in every kind of run), outside DVC's own
cache.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Manifest, Prompt, Response, digest, dumps, parse

M = TypeVar("M", bound=BaseModel)
CONTENT = "response with candidate_tokens"
"""What a kept response holds. A response that comes to hold more gets a new name here, so that it is asked again."""


def root() -> Path:
    """Find the original repository, also from a temporary or queued DVC run."""
    return Path(os.environ.get("DVC_ROOT", "."))


def folder() -> Path:
    """Find the folder of everything that is costly, rebuildable and not tracked."""
    return root() / ".cache"


def response_key(prompt: Prompt, manifest: Manifest, generation: BaseModel) -> str:
    """Name a response by all that it depends on: what is asked, of which weights, with which settings.

    The prompt's own key is left out: the same words asked in two cases are one question.
    """
    asked = prompt.model_dump(mode="json", exclude={"key", "study"})
    return digest([CONTENT, asked, manifest.identity, generation.model_dump(mode="json")])


class ContentCache(Generic[M]):
    """Finished results of one kind in an SQLite file, by key; each is safe on disk as soon as `keep` returns."""

    _noun: ClassVar[str]
    """What one result is called: in messages, and as the name of its table."""

    def __init__(self, path: Path, kind: type[M]) -> None:
        """Open or make the file; a place that cannot be written is an EquipoiseError."""
        self._path = path
        self._kind = kind
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=60, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._unopened(error) from error
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute(
                f"CREATE TABLE IF NOT EXISTS {self._noun} (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
            )
        except sqlite3.Error as error:
            self._database.close()
            raise self._unopened(error) from error

    def _unopened(self, error: Exception) -> EquipoiseError:
        fix = "fix the permissions of its folder or free space; if the file is damaged, delete it to start afresh"
        return EquipoiseError(f"{self._path}: the {self._noun} cache cannot be opened ({error}): {fix}")

    def find(self, key: str) -> M | None:
        """Find a finished result."""
        try:
            row = self._database.execute(f"SELECT value FROM {self._noun} WHERE key = ?", (key,)).fetchone()  # noqa: S608  (a constant of the class)
        except sqlite3.Error as error:
            message = f"{self._path}: the {self._noun} cache cannot be read ({error}): delete the file to start afresh"
            raise EquipoiseError(message) from error
        if row is None:
            return None
        return parse(f"{self._path}, {self._noun} {key[:12]} (delete the file to start afresh)", row[0], self._kind)

    def keep(self, results: Mapping[str, M]) -> None:
        """Keep finished results, all or none; a full disk is an EquipoiseError, and what was kept before stays."""
        rows = [(key, self._text(result)) for key, result in results.items()]
        try:
            with self._database:  # commits, or rolls back
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany(f"INSERT OR REPLACE INTO {self._noun} VALUES (?, ?)", rows)  # noqa: S608  (a constant of the class)
        except sqlite3.Error as error:
            fix = "free space, then run again; finished answers are safe"
            message = f"{self._path}: a {self._noun} cannot be kept ({error}): {fix}"
            raise EquipoiseError(message) from error

    def _text(self, result: M) -> str:
        """Write a result as JSON, its numbers in full."""
        return result.model_dump_json()

    def __enter__(self) -> Self:
        """Give the open cache."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._database.close()


class ResponseCache(ContentCache[Response]):
    """Finished responses."""

    _noun = "response"

    def __init__(self, path: Path) -> None:
        """Open or make the file; a place that cannot be written is an EquipoiseError."""
        super().__init__(path, Response)

    @classmethod
    def open(cls) -> Self:
        """Open the cache of this repository."""
        return cls(folder() / "responses.sqlite")

    def get(self, key: str, prompt: Prompt) -> Response | None:
        """Find a finished response and give it the key of the prompt that asks now."""
        kept = self.find(key)
        return kept and kept.model_copy(update={"key": prompt.key, "study": prompt.study})

    def put(self, key: str, response: Response) -> None:
        """Keep a finished response; a full disk is an EquipoiseError, and what was kept before stays."""
        self.keep({key: response})

    def _text(self, result: Response) -> str:
        """Write a response as data files are written, so that a fresh and a kept one give the same bytes."""
        return dumps(result.model_dump(mode="json"))
