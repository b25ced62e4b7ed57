"""Row types and their canonical JSONL: the only reader and writer of data files.

Every row has a `key`, unique in its file, and the name of its `study`. A file is canonical: rows sorted by key,
object keys sorted, LF, UTF-8, floats rounded to six places, no NaN. Equal content therefore gives equal bytes, and
equal hashes in DVC.
"""

import codecs
import hashlib
import json
import math
import os
import re
import secrets
import stat
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ValidationError

from equipoise.core.errors import EquipoiseError, nearest
from equipoise.core.row import Row
from equipoise.core.shipped import PIPELINE

DECIMALS = 6
"""Decimal places to which every float is rounded on writing."""
HELD = 2**24
"""Bytes of unsorted rows held in memory (16 MiB); beyond that they are buffered on disk."""

DEPTH = 100
"""Levels of a JSON value: rows and manifests have fewer than ten."""
LARGEST = 2**31
"""Bytes of a file that is read whole, or of a line (2 GiB)."""
PART = 2**24
"""Bytes that are read at a time (16 MiB)."""
STREAMS = ("/dev/fd/", "/proc/")
"""Where pipes are that have no name of their own."""


R = TypeVar("R", bound=Row)
M = TypeVar("M", bound=BaseModel)


def canonical(value: Any) -> Any:  # noqa: ANN401  (any JSON value)
    """Round every float of a JSON value to six places; a non-finite float raises a ValueError."""
    match value:
        case float():
            if not math.isfinite(value):
                raise ValueError(f"non-finite number {value}")
            return round(value, DECIMALS) + 0.0  # turns -0.0 into 0.0
        case dict():
            return {name: canonical(item) for name, item in value.items()}
        case list() | tuple():
            return [canonical(item) for item in value]
        case _:
            return value


def dumps(value: Any) -> str:  # noqa: ANN401
    """Serialise a JSON value canonically: sorted keys, rounded floats, no ASCII escapes."""
    return json.dumps(canonical(value), sort_keys=True, ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:  # noqa: ANN401
    """Compute the sha256 of a JSON value's canonical text, in hexadecimal."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def sha256(path: Path) -> str:
    """Compute a file's sha256, in hexadecimal; a device or a pipe is refused."""
    require_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically: to a temporary file beside it, flushed to disk, then renamed.

    The target of a link is replaced. An existing path that is not a regular file raises an EquipoiseError.
    """
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically, as `write_text` does."""
    with _writing(path):
        _replace(path, (content,))


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as canonical JSONL; a duplicate key raises an EquipoiseError, and nothing is written.

    Rows may come in any order, and only one is held at a time: their lines are buffered in an anonymous file and
    sorted from there. A file without rows has one blank line: DVC warns of an output that is empty.
    """
    places: dict[str, int] = {}
    end = 0
    with _writing(path):
        require_replaceable(path)
        path = Path(os.path.realpath(path))
        path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.SpooledTemporaryFile(HELD, dir=str(path.parent)) as waiting:
        for row in rows:
            if row.key in places:
                raise EquipoiseError(f"{path}: duplicate key {row.key!r}: keys must be unique within a file")
            line = f"{dumps(row.model_dump(mode='json'))}\n".encode()
            places[row.key] = end
            with _writing(path):
                end += waiting.write(line)
        with _writing(path):
            lines = (_line_at(waiting, places[key]) for key in sorted(places))
            _replace(path, lines if places else (b"\n",))


def _line_at(file: IO[bytes], place: int) -> bytes:
    file.seek(place)
    return file.readline()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn an OSError on writing into one line."""
    try:
        yield
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror}): free space or fix its permissions, then run again"
        raise EquipoiseError(message) from error


def require_replaceable(path: Path, instead: str = "name another file") -> None:
    """Refuse to replace a folder, a device, a pipe, a link that leads to one, or a circle of links."""
    if path.exists() or Path(os.path.realpath(path)).is_symlink():
        if path.is_dir():
            raise EquipoiseError(f"{path}: a folder: {instead}")
        if not path.is_file():
            raise EquipoiseError(f"{path}: not a regular file: {instead}")


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    """Write a temporary file and rename it; on failure leave nothing behind."""
    require_replaceable(path)
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not from `tempfile`: that would be readable by its owner alone, whatever the user's umask allows.
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with fresh.open("xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401
    """Write one JSON value with floats rounded and key order kept, indented for reading and for diffs."""
    write_text(path, json.dumps(canonical(value), ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def read_text(path: Path) -> str:
    """Read a UTF-8 text file, without a byte order mark; one that is missing, too large or undecodable is refused."""
    return decoded(path, read_bytes(path))


def decoded(path: Path, content: bytes) -> str:
    """Decode the content of a file as `read_text` does: line ends become LF."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _not_utf8(f"{path}, line {line}", error) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path) -> bytes:
    """Read a file whole, or what a command pipes; one that is missing, too large or not a file is refused."""
    content = bytearray()
    try:
        require_size(path, piped=True)
        with path.open("rb") as file:
            while part := file.read(PART):
                content += part
                if len(content) > LARGEST:
                    raise _too_large(path, len(content))
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        raise _unread(path, error) from error
    return bytes(content)


def require_size(path: Path, *, piped: bool = False) -> None:
    """Refuse a file that is too large to hold in memory, and anything that `require_file` refuses."""
    require_file(path, piped=piped)
    if (size := path.stat().st_size) > LARGEST:
        raise _too_large(path, size)


def require_file(path: Path, *, piped: bool = False) -> None:
    """Refuse what may never end: a device, or a pipe that has a name; an OSError of the path passes.

    Standard input and the pipe of a command, as the shell makes it of `<(…)`, may be read once, if `piped`.
    """
    status = path.stat()
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return
    if piped and stat.S_ISFIFO(status.st_mode) and os.path.realpath(path).startswith(STREAMS):
        return
    with suppress(OSError):
        if piped and os.path.samestat(status, os.fstat(0)):
            return
    raise EquipoiseError(f"{path}: not a regular file: save what it gives to a file, and name that")


def _too_large(path: Path, size: int) -> EquipoiseError:
    return EquipoiseError(f"{path}: {size / 2**30:.1f} GiB, more than the 2 GiB that are read at once: split it")


def _missing(path: Path) -> EquipoiseError:
    restored = "; `dvc repro` restores the output of a stage" if Path(PIPELINE).is_file() else ""
    return EquipoiseError(f"{path}: no such file: check the path{restored}")


def _unread(path: Path, error: OSError) -> EquipoiseError:
    if isinstance(error, IsADirectoryError):
        return EquipoiseError(f"{path}: a folder: name a file")
    return EquipoiseError(f"{path}: cannot be read ({error.strerror or error}): correct the path or its permissions")


def _not_utf8(where: str, error: UnicodeDecodeError) -> EquipoiseError:
    byte = f"byte 0x{error.object[error.start]:02x}"
    return EquipoiseError(f"{where}: not UTF-8 ({byte}): save the file as UTF-8")


def fault(error: ValidationError) -> str:
    """Format the first error of a pydantic ValidationError in one line: the field, then the problem.

    An unknown field comes before a missing one, which it may be meant to be.
    """
    errors = error.errors(include_url=False)
    first = next((unknown for unknown in errors if unknown["type"] == "extra_forbidden"), errors[0])
    missing = [str(lack["loc"][-1]) for lack in errors if lack["type"] == "missing"]
    hint = nearest(str(first["loc"][-1]), missing).strip() if first["type"] == "extra_forbidden" else ""
    problem = f"{first['msg']}: {hint}" if hint else first["msg"]
    return f"field {'.'.join(map(str, first['loc'])) or '(row)'}: {problem}"


def json_value(where: str, text: str, *, lenient: bool = False) -> Any:  # noqa: ANN401  (any JSON value)
    """Parse one JSON text; invalid input raises an EquipoiseError that begins with `where`.

    It also refuses what Python's parser accepts although JSON does not define it, or readers disagree on it: a name
    given twice in one object, NaN and infinities (read as None if `lenient`), half of a surrogate pair, integers of
    more digits than Python reads (4,300), and values nested deeper than `DEPTH`.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=(lambda _: None) if lenient else _no_constant
        )
        _require_flat(value, text)
        if ESCAPED.search(text) or SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text.strip() else ""
        problem = f"not JSON ({error.msg} at {line}column {error.colno}): fix or delete the row"
    except RecursionError:
        problem = "nested too deeply: give flatter values"
    except UnicodeEncodeError:
        problem = "half of a surrogate pair (\\ud800 to \\udfff): write the character itself"
    except ValueError as error:
        problem = f"{str(error).partition(';')[0]}: fix the value"
    else:
        return value
    raise EquipoiseError(f"{where}: {problem}")


ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape of half of a surrogate pair: with the other half beside it, it is a character."""
SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which no UTF-8 file can hold."""


def _require_flat(value: Any, text: str) -> None:  # noqa: ANN401  (any JSON value)
    layer: list[Any] = [value] if text.count("[") + text.count("{") > DEPTH else []
    for _ in range(DEPTH):
        if not layer:
            return
        layer = [
            inner for container in layer for inner in (container.values() if isinstance(container, dict) else container)
        ]
        layer = [element for element in layer if isinstance(element, dict | list)]
    if layer:
        raise RecursionError


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate name {next(name for name in names if names.count(name) > 1)!r} in one object")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON: write null for a missing value")


def parse(where: str, text: str, kind: type[M]) -> M:
    """Parse one JSON text as a model; invalid input raises an EquipoiseError that begins with `where`."""
    value = json_value(where, text)
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise EquipoiseError(f"{where}: {fault(error)}") from error


def read(path: Path, kind: type[R]) -> list[R]:
    """Read a JSONL file as rows of one kind, in file order; an error names the line of an invalid or duplicate row."""
    return list(each(path, kind))


def each(path: Path, kind: type[R]) -> Iterator[R]:
    """Read a JSONL file lazily, row by row, for files too large to hold in memory; otherwise as `read`."""
    seen: dict[str, int] = {}
    for number, (_, line) in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        row = parse(f"{path}, row {number}", _text(f"{path}, line {number}", line), kind)
        if row.key in seen:
            message = f"{path}, row {number}: duplicate key {row.key!r} (first in row {seen[row.key]}): keep one"
            raise EquipoiseError(message)
        seen[row.key] = number
        yield row


class Rows(Sequence[R]):
    """The rows of a JSONL file too large for memory: each is read when taken. Iterating checks them as `read` does."""

    def __init__(self, path: Path, kind: type[R]) -> None:
        """Find the rows of a file, without parsing them."""
        self._path, self._kind = path, kind
        if path.exists():
            require_file(path)
        self._places = array("q", (place for place, line in _lines(path) if line.strip()))

    def __len__(self) -> int:
        """Count the rows."""
        return len(self._places)

    def __iter__(self) -> Iterator[R]:
        """Read the rows in file order."""
        return each(self._path, self._kind)

    def __getitem__(self, number: int) -> R:  # type: ignore[override]  # no slices: these would be held
        """Read one row; the first has number 0."""
        with self._path.open("rb") as file:
            line = _line_at(file, self._places[number])
        where = f"{self._path}, row {number + 1}"
        return parse(where, _text(where, line), self._kind)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Read lines lazily, each with its place in bytes, and without a byte order mark.

    Unlike `splitlines`, this does not split at U+2028 and the like, which JSON leaves unescaped.
    """
    place = 0
    try:
        require_file(path, piped=True)
        with path.open("rb") as file:
            while line := file.readline(LARGEST + 1):
                if len(line) > LARGEST:
                    raise _too_large(path, len(line))
                mark = len(codecs.BOM_UTF8) if place == 0 and line.startswith(codecs.BOM_UTF8) else 0
                yield place + mark, line[mark:]
                place += len(line)
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        raise _unread(path, error) from error


def _text(where: str, line: bytes) -> str:
    try:
        return line.rstrip(b"\r\n").decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(where, error) from error


def read_one(path: Path, kind: type[M]) -> M:
    """Read a JSON file that holds one object."""
    return parse(str(path), read_text(path), kind)
