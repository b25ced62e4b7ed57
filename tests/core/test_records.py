from __future__ import annotations

import errno
import json
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import prompt
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Fidelity, Manifest
from equipoise.core.prompts import Prompt, Response
from equipoise.core.row import Row
from equipoise.figures.effects import Effect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
KEYS = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1)
RESPONSES = st.lists(
    st.builds(
        Response,
        key=KEYS,
        study=st.just("vignettes"),
        replies=st.lists(st.text(), min_size=1).map(tuple),
        finished=st.lists(st.booleans()).map(tuple),
        log_likelihood=st.dictionaries(st.text(), FLOATS),
        prompt_tokens=st.integers(),
        generated_tokens=st.integers(),
    ),
    unique_by=lambda response: response.key,
)
VALID = {"key": "k", "study": "vignettes", "family": "f", "group": "g", "measure": "x", "n": 3}
"""The fields of an effect that have no default."""


def effect(key: str, **fields: Any) -> Effect:
    """Build an effect with the given key and fields, the rest arbitrary."""
    return Effect.model_validate(VALID | {"key": key} | fields)


def read_line(folder: Path, line: str, *, lines_before: int = 0) -> list[Effect]:
    """Read a file of valid rows followed by one more line."""
    sound = [jsonl.dumps(effect(f"row-{number}").model_dump(mode="json")) for number in range(lines_before)]
    path = folder / "effects.jsonl"
    path.write_text("".join(text + "\n" for text in [*sound, line]), encoding="utf-8")
    return jsonl.read(path, Effect)


def line_of(**fields: Any) -> str:
    """Write an effect's row by hand, valid except for the given fields."""
    return json.dumps(VALID | fields)


def test_a_file_is_canonical(tmp_path: Path) -> None:
    """Rows are sorted by key and names alphabetically, floats have six places, text is UTF-8, lines end in LF."""
    path = tmp_path / "new" / "rows.jsonl"
    jsonl.write(path, [effect("b", group="é", estimate=1 / 3), effect("a", estimate=-1e-9, ci_low=2.0)])

    # 1/3 to six places is 0.333333; -1e-9 rounds to -0.0, which is written as 0.0.
    nothing = '"ci_high": null, "ci_low": null, "coverage": null'
    rest = (
        '"n": 3, "neg_log10_p": null, "neg_log10_p_bh": null, "neg_log10_p_bonferroni": null, '
        '"neg_log10_p_holm": null, "primary": false, "study": "vignettes"}\n'
    )
    expected = (
        '{"ci_high": null, "ci_low": 2.0, "coverage": null, "estimate": 0.0, '
        '"family": "f", "group": "g", "key": "a", "measure": "x", '
        f"{rest}"
        f'{{{nothing}, "estimate": 0.333333, "family": "f", "group": "é", "key": "b", "measure": "x", '
        f"{rest}"
    )
    assert expected.encode() == path.read_bytes()


def test_no_rows_give_a_blank_line(tmp_path: Path) -> None:
    """A file without rows is not empty, of which DVC would warn, and is read as no rows."""
    path = tmp_path / "rows.jsonl"
    jsonl.write(path, [])

    assert (path.read_bytes(), jsonl.read(path, Row)) == (b"\n", [])


@given(rows=RESPONSES, data=st.data())
def test_bytes_do_not_depend_on_the_order_of_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Response], data: st.DataObject
) -> None:
    """Equal content gives equal bytes, in whatever order it comes."""
    folder = tmp_path_factory.mktemp("rows")
    jsonl.write(folder / "one", rows)
    jsonl.write(folder / "two", data.draw(st.permutations(rows)))

    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()


@given(rows=RESPONSES)
def test_what_is_read_is_what_was_written(tmp_path_factory: pytest.TempPathFactory, rows: list[Response]) -> None:
    """Any text and number comes back, rounded, and is written again as the same bytes."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    jsonl.write(path, rows)
    first = path.read_bytes()
    responses = jsonl.read(path, Response)
    jsonl.write(path, responses)

    rounded = [
        row.model_copy(update={"log_likelihood": {name: round(x, 6) for name, x in row.log_likelihood.items()}})
        for row in sorted(rows, key=lambda row: row.key)
    ]
    assert rounded == responses
    assert first == path.read_bytes()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | FLOATS | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_canonical_text_is_its_own_canonical_text(value: Any) -> None:
    """Reading canonical text and writing it again changes nothing, whatever the value."""
    text = jsonl.dumps(value)

    assert text == jsonl.dumps(json.loads(text))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_no_number_that_is_not_finite(number: float) -> None:
    """NaN and infinities are rejected on creating a row and on writing a value."""
    with pytest.raises(ValidationError, match="finite"):
        effect("a", estimate=number)
    with pytest.raises(ValidationError, match="finite"):
        Response(
            key="a",
            study="vignettes",
            replies=("",),
            finished=(),
            log_likelihood={"x": number},
            prompt_tokens=0,
            generated_tokens=0,
        )
    with pytest.raises(ValueError, match="non-finite number"):
        jsonl.dumps([{"x": number}])


def test_two_rows_with_one_key_are_not_written(tmp_path: Path) -> None:
    """A duplicate key is rejected by name, and no file is written."""
    path = tmp_path / "rows.jsonl"

    with pytest.raises(EquipoiseError, match=r"rows\.jsonl: duplicate key 'a'"):
        jsonl.write(path, [effect("a"), effect("b"), effect("a", n=4)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (line_of(n="many"), "field n: Input should be a valid integer"),
        (line_of(estimate=float("nan")), "NaN is not JSON: write null for a missing value"),
        (line_of(mean=1), "field mean: Extra inputs are not permitted"),
        (line_of(key=""), "field key: String should have at least 1 character"),
        (line_of(study="Other study"), "field study: String should match pattern"),
        ('{"key": "k"}', "field study: Field required"),
        ("[]", r"field \(row\): Input should be a valid dictionary"),
        ('{"key": ', r"not JSON \(Expecting value at column 9\): fix or delete the row"),
    ],
)
def test_a_malformed_row_is_named(tmp_path: Path, line: str, fault: str) -> None:
    """The message gives file, row and field in one line."""
    with pytest.raises(EquipoiseError, match=rf"^\S*effects\.jsonl, row 3: {fault}.*$") as raised:
        read_line(tmp_path, line, lines_before=2)
    assert "\n" not in str(raised.value)


def test_a_repeated_key_in_a_file_is_named_with_both_rows(tmp_path: Path) -> None:
    """The message gives the key and the two rows that have it."""
    with pytest.raises(EquipoiseError, match=r"effects\.jsonl, row 3: duplicate key 'row-0' \(first in row 1\)"):
        read_line(tmp_path, line_of(key="row-0"), lines_before=2)


def test_blank_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    """A blank line is not a row, but counts, so that row numbers are an editor's line numbers."""
    with pytest.raises(EquipoiseError, match=r"effects\.jsonl, row 3: not JSON"):
        read_line(tmp_path, "\n \nnothing")


@pytest.mark.parametrize("start", ["", "\ufeff", "\n \n"])
def test_rows_are_taken_from_the_file_one_by_one(tmp_path: Path, start: str) -> None:
    """Each row is found by its number, whatever the line ends, blank lines, and a mark of the byte order."""
    path = tmp_path / "rows.jsonl"
    lines = [line_of(key=key) for key in ("é", "a b", "c")]
    path.write_bytes(f"{start}{lines[0]}\r\n\n{lines[1]}\n{lines[2]}".encode())
    rows = jsonl.Rows(path, Effect)

    assert list(rows) == [rows[number] for number in range(3)] == jsonl.read(path, Effect)
    assert len(rows) == 3


def test_a_missing_file_is_named_with_the_fix(tmp_path: Path) -> None:
    """The error for a missing file names the command that restores it."""
    for reader in (jsonl.read, jsonl.Rows):
        with pytest.raises(EquipoiseError, match=r"gone\.jsonl: no such file: .*`dvc repro` restores"):
            reader(tmp_path / "gone.jsonl", Row)


def test_a_folder_is_named(tmp_path: Path) -> None:
    """A folder in place of a file is rejected in one line, without the number of an error."""
    with pytest.raises(EquipoiseError, match=rf"^{tmp_path}: a folder: name a file$"):
        jsonl.read(tmp_path, Row)


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    """A file in another encoding is rejected in one line."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes("é".encode("latin-1"))

    with pytest.raises(EquipoiseError, match=r"rows\.jsonl, line 1: not UTF-8 \(byte 0xe9\): save the"):
        jsonl.read(path, Row)


def test_writing_leaves_only_the_file_and_anyone_may_read_it(tmp_path: Path) -> None:
    """No temporary file stays, and the temporary file's private permissions do not either."""
    path = tmp_path / "rows.jsonl"
    jsonl.write(path, [effect("a")])
    jsonl.write(path, [effect("b")])

    assert [path] == list(tmp_path.iterdir())
    assert path.stat().st_mode & 0o777 == 0o644


@given(rows=RESPONSES)
def test_rows_that_wait_on_the_disk_are_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Response]
) -> None:
    """Rows that do not fit in memory are sorted from an anonymous file, which is removed."""
    folder = tmp_path_factory.mktemp("rows")
    jsonl.write(folder / "held", rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "HELD", 1)
        jsonl.write(folder / "waiting", rows)

    assert (folder / "held").read_bytes() == (folder / "waiting").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["held", "waiting"]


def test_no_more_than_one_row_is_held(tmp_path: Path) -> None:
    """When the next row is requested, only the previous row is still held."""
    alive: list[weakref.ref[Effect]] = []

    def rows() -> Iterator[Effect]:
        for number in range(9):
            assert sum(reference() is not None for reference in alive) <= 1
            row = effect(f"{9 - number}")
            alive.append(weakref.ref(row))
            yield row
            del row

    jsonl.write(tmp_path / "rows.jsonl", rows())

    assert len(alive) == len(jsonl.read(tmp_path / "rows.jsonl", Effect)) == 9


@pytest.mark.parametrize("error", [EquipoiseError("no answer"), KeyboardInterrupt(), OSError("the network is down")])
def test_rows_that_break_off_keep_the_old_file(tmp_path: Path, error: BaseException) -> None:
    """An error raised by the row generator passes through unchanged, and nothing is written."""
    path = tmp_path / "rows.jsonl"
    jsonl.write(path, [effect("old")])
    old = path.read_bytes()

    def rows() -> Iterator[Effect]:
        yield effect("new")
        raise error

    with pytest.raises(type(error)) as caught:
        jsonl.write(path, rows())
    assert caught.value is error
    assert (old, [path]) == (path.read_bytes(), list(tmp_path.iterdir()))


def test_a_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full the old file is left intact, no temporary file remains, and the message is one line."""
    path = tmp_path / "rows.jsonl"
    jsonl.write(path, [effect("old")])
    old = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(EquipoiseError, match=r"rows\.jsonl: cannot be written \(No space left on device\): free space"):
        jsonl.write(path, [effect("new")])
    assert (old, [path]) == (path.read_bytes(), list(tmp_path.iterdir()))


def test_an_interruption_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of writing leaves the old file and no temporary one."""
    path = tmp_path / "rows.jsonl"
    jsonl.write(path, [effect("old")])
    old = path.read_bytes()

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        jsonl.write(path, [effect("new")])
    assert (old, [path]) == (path.read_bytes(), list(tmp_path.iterdir()))


def test_a_place_that_takes_no_files_is_named(tmp_path: Path) -> None:
    """A path below a file, and a path that is a folder, are rejected in one line."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()

    for name, fault in (("file/rows.jsonl", "cannot be written .* run again"), ("folder", "a folder: name another")):
        with pytest.raises(EquipoiseError, match=f"{name}: {fault}"):
            jsonl.write(tmp_path / name, [effect("a")])


def test_one_json_value_keeps_its_order(tmp_path: Path) -> None:
    """A JSON file is indented, rounded and in the order in which it was made."""
    path = tmp_path / "value.json"
    jsonl.write_json(path, {"b": 2 / 3, "a": ["é"]})

    # 2/3 to six places is 0.666667.
    assert '{\n  "b": 0.666667,\n  "a": [\n    "é"\n  ]\n}\n'.encode() == path.read_bytes()


def test_a_faulty_json_file_names_the_field(tmp_path: Path) -> None:
    """A nested field is named by its path."""
    path = tmp_path / "fidelity.json"
    path.write_text('{"probes": 3, "letters": 1, "tokens": "all", "max_abs_logit": 0}', encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"fidelity\.json: field tokens: Input should be a valid number"):
        jsonl.read_one(path, Fidelity)


def test_digest_does_not_depend_on_the_order_of_names() -> None:
    """The digest is the sha256 of the canonical text."""
    # printf '{"a": 1.0, "b": 2}' | sha256sum
    expected = "3feb810a05b094f900b42681440f3236b4f767b0ec721090f36ba57518cb06cb"
    assert expected == jsonl.digest({"b": 2, "a": 1.0})


def test_the_identity_of_a_model_leaves_out_how_well_it_was_checked() -> None:
    """A manifest's identity changes with its files, and not with the fidelity that was measured."""
    fidelity = Fidelity(probes=1, letters=1, tokens=1, max_abs_logit=0)
    manifest = Manifest(
        model="m",
        repo="r",
        revision="v",
        licence="l",
        weights={},
        folder="f",
        files={"model.onnx": "0"},
        opset=18,
        precision="fp32",
        provider="CPUExecutionProvider",
        versions={},
        fidelity=fidelity,
    )
    looser = manifest.model_copy(update={"fidelity": fidelity.model_copy(update={"max_abs_logit": 1.0})})
    other = manifest.model_copy(update={"files": {"model.onnx": "1"}})

    assert manifest.identity == looser.identity
    assert manifest.identity != other.identity


@pytest.mark.parametrize(
    ("turns", "given", "reply", "written"),
    [(1, 0, True, 1), (2, 0, True, 2), (2, 0, False, 1), (2, 1, True, 1), (2, 1, False, 0), (1, 0, False, 0)],
)
def test_a_model_replies_where_no_reply_is_given(turns: int, given: int, written: int, *, reply: bool) -> None:
    """Each turn has one reply, given or written, except a last turn for which only the likelihoods are asked."""
    asked = prompt("a", *("Why?",) * turns, given=("Because.",) * given, reply=reply)

    assert asked.n_replies == written
    assert ("given" in asked.model_dump()) == bool(given)


def test_the_last_turn_is_left_to_the_model(tmp_path: Path) -> None:
    """A prompt that gives a reply to every turn asks nothing, and is refused with its row."""
    row = prompt("a", "Why?").model_dump() | {"given": ["Because."]}
    path = tmp_path / "prompts.jsonl"
    path.write_text(f"{json.dumps(row)}\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"row 1.*given has 1 replies to 1 turns; leave the last to the model"):
        jsonl.read(path, Prompt)
