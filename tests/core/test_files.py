"""Tests of what is read and replaced where a file is expected: links, devices, pipes, and text that is not UTF-8."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.overwriting import require_own
from equipoise.core.row import Row
from equipoise.core.sheets import csv_rows
from equipoise.core.tables import json_rows
from equipoise.core.yamlfile import read_yaml

ROW = Row(key="a", study="vignettes")
WRITERS: dict[str, Callable[[Path], None]] = {
    "write": lambda path: jsonl.write(path, [ROW]),
    "write_text": lambda path: jsonl.write_text(path, "a"),
    "write_bytes": lambda path: jsonl.write_bytes(path, b"a"),
    "write_json": lambda path: jsonl.write_json(path, {"a": 1}),
}
READERS: dict[str, Callable[[Path], object]] = {
    "read_text": jsonl.read_text,
    "read": lambda path: jsonl.read(path, Row),
    "Rows": lambda path: jsonl.Rows(path, Row),
    "json_rows": lambda path: [*json_rows(path)],
    "csv_rows": lambda path: [*csv_rows(path)],
    "read_yaml": read_yaml,
    "sha256": jsonl.sha256,
}
NO_FILE = "not a regular file: save what it gives to a file, and name that$"


@pytest.mark.parametrize("name", WRITERS)
def test_the_file_behind_a_link_is_replaced(tmp_path: Path, name: str) -> None:
    """A link stays one, also a link to a link, and one whose file is not there yet."""
    (tmp_path / "there").mkdir()
    target, link, outer = tmp_path / "there" / "file", tmp_path / "link", tmp_path / "outer"
    link.symlink_to("there/file")
    outer.symlink_to(link)

    for before in (None, b"old"):
        target.unlink(missing_ok=True)
        if before:
            target.write_bytes(before)
        WRITERS[name](outer)
        assert (outer.readlink(), link.readlink()) == (link, Path("there/file"))
        assert target.is_file()
        assert target.read_bytes() != before
    assert [target] == list(target.parent.iterdir())


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, name: str, *, linked: bool) -> None:
    """A pipe, a socket's or device's place in the file system, a folder and a circle of links stay what they are."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to("circle")
    places = {"pipe": "not a regular file", "folder": "a folder", "circle": "not a regular file"}
    for place, fault in places.items():
        path = tmp_path / place
        if linked:
            path = tmp_path / f"to {place}"
            path.symlink_to(place)
        before = (path.lstat().st_ino, path.lstat().st_mode)
        with pytest.raises(EquipoiseError, match=f"^{path}: {fault}: name another file$"):
            WRITERS[name](path)
        for force in (False, True):
            with pytest.raises(EquipoiseError, match=f"^{path}: {fault}: name another file$"):
                require_own(path, lambda _: True, force=force)
        assert (path.lstat().st_ino, path.lstat().st_mode) == before
    assert len(list(tmp_path.iterdir())) == (6 if linked else 3)


def test_standard_output_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--out -` makes no file of that name."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(EquipoiseError, match=r"^-: this command writes a file, not standard output: name another file"):
        require_own(Path("-"), lambda _: True, force=True)


@pytest.mark.parametrize("name", READERS)
def test_what_never_ends_is_not_read(tmp_path: Path, name: str) -> None:
    """A pipe that nobody writes and an endless device are refused at once, also behind a link."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "linked").symlink_to("pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")

    for place in ("pipe", "linked", "zero"):
        with pytest.raises(EquipoiseError, match=f"^{tmp_path / place}: {NO_FILE}"):
            READERS[name](tmp_path / place)


@pytest.mark.parametrize("name", ["read_text", "read", "json_rows", "read_yaml"])
def test_what_a_command_pipes_is_read(name: str) -> None:
    """The shell's `<(command)` is a pipe without a name: it is read as a file, with a byte order mark or without."""
    line = ROW.model_dump_json().encode()
    for mark in (b"", b"\xef\xbb\xbf"):
        reading, writing = os.pipe()
        os.write(writing, mark + line)
        os.close(writing)
        try:
            assert READERS[name](Path(f"/dev/fd/{reading}"))
        finally:
            os.close(reading)


def test_standard_input_is_read(tmp_path: Path) -> None:
    """It may be a pipe, a file, or a device such as a terminal."""
    code = "from pathlib import Path; from equipoise.core.jsonl import read_text; print(read_text(Path('/dev/stdin')))"
    (tmp_path / "file").write_text("piped", encoding="utf-8")

    with (tmp_path / "file").open("rb") as file:
        for given in ({"input": b"piped"}, {"stdin": file}):
            done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, **given)  # type: ignore[call-overload]
            assert done.stdout == b"piped\n"
    none = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert none.stdout == b"\n"


@pytest.mark.parametrize("reads", [jsonl.read_text, lambda path: jsonl.read(path, Row)])
def test_what_is_piped_without_an_end_has_a_limit(
    monkeypatch: pytest.MonkeyPatch, reads: Callable[[Path], object]
) -> None:
    """No more is held than of a file: here 100 bytes, of a line or of all."""
    monkeypatch.setattr(jsonl, "LARGEST", 100)
    monkeypatch.setattr(jsonl, "PART", 10)
    reading, writing = os.pipe()
    try:
        os.write(writing, b"x" * 200)
        with pytest.raises(EquipoiseError, match=r"more than the 2 GiB that are read at once: split it"):
            reads(Path(f"/dev/fd/{reading}"))
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("name", ["read_text", "read", "json_rows", "read_yaml"])
@pytest.mark.parametrize(
    ("content", "line", "byte"),
    [
        (b"caf\xe9\n", 1, "0xe9"),
        (b"\n\n\xff", 3, "0xff"),
        ("a: é\n".encode("utf-16"), 1, "0xff"),
        (b"\n\xc3", 2, "0xc3"),
    ],
)
def test_text_that_is_not_utf8_names_line_byte_and_fix(
    tmp_path: Path, name: str, content: bytes, line: int, byte: str
) -> None:
    """Code page 1252, UTF-16 and a character that is cut off are named alike in JSON lines, YAML and other text."""
    path = tmp_path / "file"
    path.write_bytes(content)

    with pytest.raises(EquipoiseError) as caught:
        READERS[name](path)
    assert str(caught.value) == f"{path}, line {line}: not UTF-8 (byte {byte}): save the file as UTF-8"


@pytest.mark.parametrize("name", ["read_text", "read", "json_rows", "csv_rows", "read_yaml"])
def test_a_path_that_the_system_refuses_is_named_once_with_the_fix(tmp_path: Path, name: str) -> None:
    """A circle of links and too long a name are one line without the number of an error."""
    (tmp_path / "circle").symlink_to("circle")
    long = tmp_path / ("a" * 300)
    for path, problem in ((tmp_path / "circle", "Too many levels of symbolic links"), (long, "File name too long")):
        with pytest.raises(EquipoiseError) as caught:
            READERS[name](path)
        assert str(caught.value) == f"{path}: cannot be read ({problem}): correct the path or its permissions"


IN_PLACE = {
    # In a temporary folder, or a file beside the one that it is renamed to.
    "core/jsonl.py": 1,
    "report/evidence.py": 1,
    "report/packing.py": 1,
    "studies/stigma/limited.py": 1,
    # Downloads, which go on where they ended.
    "models/hub.py": 1,
    "models/places.py": 1,
    # Into memory.
    "compare/archive.py": 2,
}
"""How many calls of a module write into a file in place, and why they may. Any other goes through `core.jsonl`."""


def writes_in_place(node: ast.AST) -> bool:
    """Whether a piece of code writes into a file in place: by a method of a path, by `open`, or by a copy over it."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="jsonl"))):
            return False
        case ast.Call(func=ast.Attribute(attr="write_text" | "write_bytes")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="shutil"), attr=name)):
            return name.startswith(("copy", "move"))
        case ast.Call(func=ast.Attribute(attr="open") | ast.Name(id="open"), args=args, keywords=keywords):
            modes = [*args, *(word.value for word in keywords if word.arg == "mode")]
            return any(
                isinstance(mode, ast.Constant) and re.fullmatch("[rbt]*[wxa+][bt+]*", str(mode.value)) for mode in modes
            )
    return False


def test_files_are_replaced_as_a_whole() -> None:
    """A write that fails half-way leaves half a file, so that only `core.jsonl` writes, and renames what is whole."""
    package = Path(jsonl.__file__).parents[1]
    counts = Counter(
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if writes_in_place(node)
    )

    assert counts == IN_PLACE


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("path.write_text('a')", True),
        ("Path('a').write_bytes(b'a')", True),
        ("open('a', 'w')", True),
        ("path.open(mode='ab')", True),
        ("path.open('r+b')", True),
        ("shutil.copyfile(a, b)", True),
        ("jsonl.write_text(path, 'a')", False),
        ("write_text(path, 'a')", False),
        ("path.open('rb')", False),
        ("open('www')", False),
    ],
)
def test_a_write_in_place_is_recognised(code: str, *, expected: bool) -> None:
    """By its call, whatever the path is called."""
    assert any(writes_in_place(node) for node in ast.walk(ast.parse(code))) == expected
