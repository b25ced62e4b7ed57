"""Whatever a file holds, the readers give rows or one clear error, never another exception."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from equipoise.core import jsonl, params, tables, yamlfile
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Response
from equipoise.core.row import Row
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import OnnxEntry

DEEP, LONG = "[" * 100_000, "9" * 5_000
TEXTS = [
    "",
    DEEP,
    LONG,
    f'{{"key": {DEEP}',
    f'{{"key": {LONG}}}',
    '{"key": "\\ud800"}',
    '{"key": NaN}',
    "\ufeff{}",
    "\x00",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(["key", "study", "text", "replies", "spans", "log_likelihood", "finished", "prompt_tokens"])
OBJECTS = st.dictionaries(FIELDS | st.text(max_size=3), JSON, max_size=6)
CONTENTS = (
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.lists(JSON | OBJECTS, max_size=4).map(lambda rows: "\n".join(map(json.dumps, rows)).encode())
)
YAML = (
    CONTENTS
    | st.lists(
        st.sampled_from([*"[]{}:,-?!&*|>'\"#% \n\t1ax", "!!int ", "!!float ", "!!bool ", "!!timestamp ", "&a ", "*a "])
    )
    .map("".join)
    .map(str.encode)
    | st.sampled_from(
        ["\\ud800", "2026-99-99", "!!binary x", "!!set {a, b}", "<<: 3", "? [a]\n: b", "1e999", LONG]
    ).map(lambda text: f'a: "{text}"\nb: {text}'.encode())
)


def read_or_refused(read: Callable[[Path], object], path: Path, content: bytes) -> None:
    """Read a file with some content: an EquipoiseError of one line is as good as a result."""
    path.write_bytes(content)
    refused = f"{path}"
    try:
        read(path)
    except EquipoiseError as error:
        refused = str(error)
    assert str(path) in refused
    assert "\n" not in refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for every example: the files in it are written again."""
    return tmp_path_factory.mktemp("untrusted")


def with_examples(test: Callable[..., None]) -> Callable[..., None]:
    """Try the hostile texts too."""
    for text in TEXTS:
        test = example(content=text.encode())(test)
    return test


@pytest.mark.parametrize("kind", [Row, Vignette, Response])
@with_examples
@given(content=CONTENTS)
def test_rows(folder: Path, kind: type[Row], content: bytes) -> None:
    """A data file has rows of its kind, or is refused."""
    read_or_refused(lambda path: jsonl.read(path, kind), folder / "rows.jsonl", content)
    read_or_refused(lambda path: jsonl.read_one(path, kind), folder / "one.json", content)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
@with_examples
@given(content=CONTENTS)
def test_tables(folder: Path, ending: str, content: bytes) -> None:
    """A third party's table has rows, or is refused."""
    read_or_refused(lambda path: list(tables.table_rows(path)), folder / f"table{ending}", content)


@settings(max_examples=60)
@given(content=YAML)
def test_yaml(folder: Path, content: bytes) -> None:
    """A YAML file has values, settings or an entry of the registry, or is refused."""
    path = folder / "file.yaml"
    read_or_refused(yamlfile.read_yaml, path, content)
    read_or_refused(params.load, path, content)
    read_or_refused(lambda path: yamlfile.load_yaml(path, OnnxEntry), path, content)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"key": "a", "key": "b"}', "duplicate name 'key' in one object: fix the value"),
        ('{"key": NaN}', "NaN is not JSON: write null for a missing value: fix the value"),
        ('{"key": "\\ud800"}', "half of a surrogate pair"),
        (f'{{"key": {DEEP}', "nested too deeply: give flatter values"),
        (f'{{"key": {LONG}}}', "Exceeds the limit (4300 digits) for integer string conversion"),
        (
            '{"key": "a\\nb", "study": "vignettes"}',
            "field key: Value error, holds the character U+000A, which is not printable",
        ),
        (
            '{"key": "a\\u202eb", "study": "vignettes"}',
            "field key: Value error, holds the character U+202E, which is not printable",
        ),
    ],
)
def test_what_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    """What readers of JSON disagree on, and what would break a line elsewhere, is refused with the row and the fix."""
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"key": "first", "study": "vignettes"}}\n{text}\n', encoding="utf-8")

    with pytest.raises(EquipoiseError) as caught:
        jsonl.read(path, Row)

    assert str(caught.value).startswith(f"{path}, row 2: {problem}")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    """JSONL, CSV and YAML begin with the first character after it; a whole surrogate pair is a character."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"key": "\\ud83d\\ude00", "study": "vignettes"}\n')

    assert [row.key for row in jsonl.read(path, Row)] == ["\N{GRINNING FACE}"]
    assert [row for _, row in tables.json_rows(path)] == [{"key": "\N{GRINNING FACE}", "study": "vignettes"}]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """Otherwise the second would silently be taken."""
    path = tmp_path / "table.csv"
    path.write_text("id,text,id\n1,a,2\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"table\.csv: duplicate column 'id': rename one of them"):
        list(tables.csv_rows(path))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no umask")
def test_files_are_as_private_as_the_user_asks(tmp_path: Path) -> None:
    """Under umask 077 nobody else can read what is written."""
    before = os.umask(0o077)
    try:
        jsonl.write_text(tmp_path / "private.txt", "text")
    finally:
        os.umask(before)
    jsonl.write_text(tmp_path / "public.txt", "text")

    assert (tmp_path / "private.txt").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "public.txt").stat().st_mode & 0o777 == 0o666 & ~before
