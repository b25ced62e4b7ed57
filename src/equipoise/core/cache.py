"""The caches: finished answers on disk, keyed by content, so that an interrupted run loses none of them.

They live in `.cache/` of the original repository (DVC sets DVC_ROOT to it in every kind of run), outside DVC's own
cache. Every value is kept with a digest of itself and its key, checked whenever it is read: a damaged value is asked
again, and a damaged file is set aside and replaced by a new one that holds its intact values.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import count, islice
from pathlib import Path
from threading import Event, Thread
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar
from uuid import uuid4

from filelock import FileLock
from pydantic import BaseModel, ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest, dumps
from equipoise.core.manifest import Manifest
from equipoise.core.progress import say
from equipoise.core.prompts import Prompt, Response

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
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

    The prompt's own key is left out: the same words asked in two cases are one question. So are settings of the
    generation that it does not use: all of them where nothing is written, and the length of an answer that has a limit
    of its own, or that is not written.
    """
    content = prompt.model_dump(mode="json", exclude={"key", "study"})
    settings: dict[str, Any] = {}
    if prompt.n_replies:
        # The number of samples does not affect a single sample.
        unused = {"samples", *(["answer_tokens"] if prompt.limit or not prompt.reply else [])}
        settings = generation.model_dump(mode="json", exclude=unused, exclude_defaults=True)
    return digest([CONTENT, content, manifest.identity, settings])


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Take so many items at a time; the last batch may have fewer."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


COLUMNS = ("key", "value", "digest")
LEAST = 128
"""Bytes that a row takes at least: its digest has 64, and its key is stored twice."""
FLUSH = 0.5
"""Seconds between flushes to disk."""
LOOKED_UP = 1000
"""Keys in one query."""


def seal(key: str, value: str) -> str:
    """Digest a value together with its key, so that neither can change, nor be exchanged, unnoticed."""
    return hashlib.sha256(f"{key}\n{value}".encode()).hexdigest()


LEASE = 60.0
"""Seconds after which a lease that was not renewed expires: so long a process that stopped holds up others."""


class Leases:
    """Who works on which keys of a cache, so that two processes do not do the same work at once.

    The leases that one object holds are renewed by a thread of its own until they are released; those of a process of
    this machine that has died are free at once. They only save work: where their file cannot be used, every key is
    free.
    """

    def __init__(self, path: Path) -> None:
        """Take the file that all processes share; it is made when a key is claimed."""
        self._path, self._owner = path, f"{os.getpid()} {socket.gethostname()} {uuid4().hex}"
        self._released = Event()
        self._renewal: Thread | None = None

    def claim(self, keys: Iterable[str]) -> set[str]:
        """Lease the keys that no other owner holds, and give them."""
        wanted, now = list(keys), time.time()
        mine = {
            key
            for (key,) in self._execute(
                # One that lasts longer than any lease is from before the clock was set back.
                ("DELETE FROM lease WHERE expires NOT BETWEEN ? AND ? OR has_died(owner)", [(now, now + 2 * LEASE)]),
                ("INSERT OR IGNORE INTO lease VALUES (?, ?, ?)", [(key, self._owner, now + LEASE) for key in wanted]),
                query=("SELECT key FROM lease WHERE owner = ?", self._owner),
                otherwise=[(key,) for key in wanted],
            )
        }
        if self._renewal is None:
            self._renewal = Thread(target=self._renew, args=(self._released,), daemon=True)
            self._renewal.start()
        return mine.intersection(wanted)

    def release(self) -> None:
        """Give back all keys that this object leased."""
        if self._renewal is not None:
            self._released.set()
            self._renewal.join()
            self._execute(("DELETE FROM lease WHERE owner = ?", [(self._owner,)]))
            self._renewal, self._released = None, Event()

    def _renew(self, released: Event) -> None:
        """Renew the leases from time to time, until they are released."""
        while not released.wait(LEASE / 4):
            self._execute(("UPDATE lease SET expires = ? WHERE owner = ?", [(time.time() + LEASE, self._owner)]))

    def _execute(
        self,
        *statements: tuple[str, list[tuple[Any, ...]]],
        query: tuple[str, str] | None = None,
        otherwise: Iterable[tuple[str]] = (),
    ) -> Iterable[tuple[str]]:
        """Execute statements and a query in one transaction; `otherwise` is the result where that cannot be done."""
        try:
            with closing(sqlite3.connect(self._path, timeout=10, isolation_level=None)) as database, database:
                database.create_function("has_died", 1, _has_died)
                # Leases need not survive a loss of power.
                database.execute("PRAGMA synchronous = OFF")
                database.execute("BEGIN IMMEDIATE")
                database.execute("CREATE TABLE IF NOT EXISTS lease (key TEXT PRIMARY KEY, owner TEXT, expires REAL)")
                for statement, rows in statements:
                    database.executemany(statement, rows)
                return database.execute(query[0], (query[1],)).fetchall() if query else []
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                self._path.unlink(missing_ok=True)
            return otherwise


def _has_died(owner: str) -> bool:
    """Whether the owner of a lease is a process of this machine that is no longer there."""
    process, machine, _ = owner.split()
    return machine == socket.gethostname() and not is_running(int(process))


def is_running(process: int) -> bool:
    """Whether a process of this number runs on this machine; true where that cannot be determined."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # another user's, or not the number of a process
        return True
    return True


class ContentCache(Generic[M]):
    """Finished results of one kind in an SQLite file, by key; each outlives the process once `keep` returns."""

    _noun: ClassVar[str]
    """What one result is called: in messages, and as the name of its table and, in the plural, of its file."""
    _kind: type[M]

    def __init__(self, path: Path) -> None:
        """Open or make the file, a damaged one set aside first; where it cannot be written, an EquipoiseError."""
        self._path = path
        self._damaged = False
        self._flushed = -FLUSH
        self.leases = Leases(path.with_name(f".{path.name}.leases"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock():
                self._database = self._connect()
        except (OSError, sqlite3.Error) as error:
            fix = "fix the permissions of its folder or free space, then run again"
            raise EquipoiseError(f"{path}: the {self._noun} cache cannot be opened ({error}): {fix}") from error

    @classmethod
    def open(cls) -> Self:
        """Open the cache of this repository."""
        return cls(folder() / f"{cls._noun}s.sqlite")

    def _lock(self) -> FileLock:
        """Give the lock that a process holds while it opens, makes or replaces the file."""
        return FileLock(self._path.with_name(f".{self._path.name}.lock"))

    def _connect(self) -> sqlite3.Connection:
        """Open the file; a missing one is made, and one that is damaged is replaced."""
        if self._path.is_file():
            try:
                return self._opened()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                return self._replaced(str(error))
        self._make()
        return self._opened()

    def _opened(self) -> sqlite3.Connection:
        """Connect to a file that was made before; one that is not such a cache is an sqlite3.DatabaseError."""
        database = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        database.text_factory = _decoded
        self._inode = self._path.stat().st_ino
        try:
            # `_make` leaves no file without its table: an empty or foreign file is a damaged one.
            columns = [name for _, name, *_ in database.execute(f"PRAGMA table_info({self._noun})")]
            if columns != list(COLUMNS):
                problem = f"no table of {self._noun}s with digests"
                raise sqlite3.DatabaseError(problem)  # noqa: TRY301  (as for any file that is not such a cache)
            database.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            database.close()
            raise
        return database

    def _make(self, rows: Iterable[tuple[str, str, str]] = ()) -> None:
        """Make the file with some rows, complete before it gets its name."""
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        try:
            with closing(sqlite3.connect(fresh)) as database, database:
                columns = ", ".join(f"{name} TEXT NOT NULL" for name in COLUMNS)
                database.execute(f"CREATE TABLE {self._noun} ({columns}, PRIMARY KEY (key))")
                database.executemany(f"INSERT OR REPLACE INTO {self._noun} VALUES (?, ?, ?)", rows)  # noqa: S608  (a constant of the class)
            fresh.replace(self._path)
        finally:
            fresh.unlink(missing_ok=True)

    def _replaced(self, problem: str) -> sqlite3.Connection:
        """Set a damaged file aside, and open a new one with the values of the old that are intact."""
        names = (self._path.with_name(f"{self._path.name}.damaged-{number}") for number in count(1))
        old = next(name for name in names if not name.exists())
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                self._path.with_name(f"{self._path.name}{suffix}").rename(old.with_name(f"{old.name}{suffix}"))
        intact = {
            key: (key, value, mark) for key, value, mark in _salvaged(old, self._noun) if mark == seal(key, value)
        }
        self._make(intact.values())
        say(
            f"{self._path}: the {self._noun} cache is damaged ({problem}): set aside as {old.name}; its {len(intact)} "
            f"intact {self._noun}s are kept, any other is asked again"
        )
        return self._opened()

    def find(self, key: str) -> M | None:
        """Find a finished result; a damaged one, which is reported, counts as missing."""
        return self.find_all([key]).get(key)

    def find_all(self, keys: Iterable[str]) -> dict[str, M]:
        """Find the finished results of some keys; a damaged one, which is reported, counts as missing."""
        results = {}
        for some in batched(keys, LOOKED_UP):
            for key, value, mark in self._rows(some):
                if mark == seal(key, value):
                    with suppress(ValidationError):
                        results[key] = self._kind.model_validate_json(value)
                        continue
                if not self._damaged:
                    what = f"{self._noun} {key[:12]}"
                    say(f"{self._path}: {what} is damaged (checksum mismatch): any damaged {self._noun} is asked again")
                self._damaged = True
        return results

    def _rows(self, keys: Sequence[str]) -> list[tuple[str, str, str]]:
        """Read the rows of some keys, those that there are."""
        marks = ", ".join("?" * len(keys))
        query = f"SELECT key, value, digest FROM {self._noun} WHERE key IN ({marks})"  # noqa: S608  (a constant of the class)
        try:
            try:
                return self._database.execute(query, keys).fetchall()
            except sqlite3.DatabaseError as error:
                self._renew(error)
                return self._database.execute(query, keys).fetchall()
        except sqlite3.Error as error:
            raise EquipoiseError(f"{self._path}: the {self._noun} cache cannot be read ({error}): run again") from error

    def keep(self, results: Mapping[str, M]) -> None:
        """Keep finished results, all or none; a full disk is an EquipoiseError, and what was kept before stays."""
        rows = [(key, text := self._text(result), seal(key, text)) for key, result in results.items()]
        try:
            try:
                self._insert(rows)
            except sqlite3.DatabaseError as error:
                self._renew(error)
                self._insert(rows)
        except sqlite3.Error as error:
            fix = "free space, then run again; finished answers are safe"
            raise EquipoiseError(f"{self._path}: a {self._noun} cannot be kept ({error}): {fix}") from error

    def _insert(self, rows: Iterable[tuple[str, str, str]]) -> None:
        # Every transaction outlives the process. A flush, which takes milliseconds, makes all before it outlive a loss
        # of power as well: after one, at most the quick answers of FLUSH seconds are asked again.
        due = time.monotonic() - self._flushed >= FLUSH
        self._database.execute(f"PRAGMA synchronous = {'FULL' if due else 'NORMAL'}")
        with self._database:  # commits, or rolls back
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(f"INSERT OR REPLACE INTO {self._noun} VALUES (?, ?, ?)", rows)  # noqa: S608  (a constant of the class)
        if due:
            self._flushed = time.monotonic()

    def _renew(self, error: sqlite3.DatabaseError) -> None:
        """Replace a file whose pages turn out to be damaged, unless another process has done so already."""
        if not _is_damage(error):
            raise error
        self._database.close()
        with self._lock():
            replaced = self._path.is_file() and self._path.stat().st_ino != self._inode
            self._database = self._connect() if replaced else self._replaced(str(error))

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
    _kind = Response

    def _text(self, result: Response) -> str:
        """Write a response as data files are written, so that a fresh and a kept one give the same bytes."""
        return dumps(result.model_dump(mode="json"))


ENVIRONMENT = {
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
"""SQLite's codes of errors that are not the file's own."""


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether an error is of the file itself, such as a malformed page or a read beyond a truncated file's end."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB)
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF not in ENVIRONMENT  # the low byte: the primary code


def _decoded(raw: bytes) -> str:
    """Decode a stored text; a damaged one need not be UTF-8, and then does not match its digest."""
    return raw.decode(errors="replace")


def _salvaged(path: Path, table: str) -> Iterator[tuple[str, str, str]]:
    """Read every row of a damaged file that can be read: one at a time, since a scan ends at the first damaged page."""
    most = path.stat().st_size // LEAST
    query = f"SELECT key, value, digest FROM {table} WHERE rowid = ?"  # noqa: S608  (a constant of the class)
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as database:
        database.text_factory = _decoded
        for number in range(1, most + 1):
            with suppress(sqlite3.DatabaseError):
                yield from database.execute(query, (number,)).fetchall()


class Checked(NamedTuple):
    """The state of a cache file: how many values it holds, the keys of damaged ones, and what else is wrong."""

    values: int
    damaged: tuple[str, ...]
    fault: str = ""


def check_file(path: Path) -> Checked:
    """Check every value of a cache file, and the structure of the file, without changing either."""
    values, damaged = 0, []
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            database.text_factory = _decoded
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            if not tables:
                return Checked(0, (), "it holds no table")
            for table in tables:
                for key, value, mark in database.execute(f"SELECT key, value, digest FROM {table}"):  # noqa: S608  (of the file itself)
                    values += 1
                    if mark != seal(key, value):
                        damaged.append(key)
            (structure,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        return Checked(values, tuple(damaged), str(error))
    return Checked(values, tuple(damaged), "" if structure == "ok" else structure)
