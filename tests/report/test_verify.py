"""Tests of evidence packs: what is computed again, which changes are found, and what a hostile file may not do."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from equipoise.cli.app import app
from equipoise.core.errors import EquipoiseError
from equipoise.report import evidence, verify

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import mutations
import mutations_run

if TYPE_CHECKING:
    from collections.abc import Mapping

STUDY = "exam"
MODEL = "phantom_silent"
SAMPLE = (
    "two rows exchanged",
    "rows dropped",
    "order",
    "a figure",
    "a margin or a level",
    "the report",
    "a date or the code",
)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The pack of a phantom's run of the smallest study, whose plan was frozen before it."""
    return mutations_run.packed(tmp_path_factory.mktemp("run"), MODEL, (STUDY,))


@pytest.fixture
def files(packed: bytes) -> mutations.Files:
    """Its files by name."""
    return mutations.files_of(packed)


def written(path: Path, content: Mapping[str, bytes]) -> Path:
    """Write a ZIP file of any names."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return path


def test_a_pack_is_what_its_rows_say(packed: bytes, tmp_path: Path) -> None:
    """The command says so, exits with 0, and needs nothing of the folder that it runs in."""
    (tmp_path / "run.zip").write_bytes(packed)
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "run.zip"), "--json"])
    result = json.loads(done.output.splitlines()[-1])

    assert done.exit_code == 0
    assert (result["verified"], result["seconds"] < 120) == (True, True)


def test_the_figure_that_differs_is_named(files: mutations.Files, tmp_path: Path) -> None:
    """With its study and field, and what it is against what it was changed to; the exit code is 1."""
    value = json.loads(files[f"metrics/{STUDY}.json"])
    was = value["dublin"]["accuracy"]["estimate"]
    value["dublin"]["accuracy"]["estimate"] = round(was - 0.1, 3)
    before = json.loads(files[evidence.LIST])["files"]
    changed = {**files, f"metrics/{STUDY}.json": (json.dumps(value, indent=2) + "\n").encode()}
    anew = mutations.renewed(changed, before)
    path = tmp_path / "run.zip"
    path.write_bytes(evidence.write(anew.pack, anew.files))
    done = CliRunner().invoke(app, ["verify", str(path)])

    assert done.exit_code == 1
    assert f"differs: {STUDY}: dublin.accuracy: estimate: packed {was - 0.1:.3f}, recomputed {was}" in done.output


@pytest.mark.parametrize("kind", SAMPLE)
@pytest.mark.parametrize("number", range(2))
def test_a_mutation_is_found_with_every_sha256_written_anew(files: mutations.Files, kind: str, number: int) -> None:
    """What is computed again finds it, without the list of sha256."""
    trial = mutations.trial(number, kind, (files, files), seed=7)

    assert (trial.kept != "", trial.renewed != "") == (True, True), trial.change


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_half_a_pack_is_refused(packed: bytes, tmp_path: Path, share: float) -> None:
    """One line says that it is truncated."""
    path = tmp_path / "run.zip"
    path.write_bytes(packed[: int(share * len(packed))])

    with pytest.raises(EquipoiseError, match="truncated, damaged or no pack"):
        evidence.read(path)


@pytest.mark.parametrize("name", ["../escape", "/etc/escape", "data/../../escape", "C:\\escape", "a//b", "data/", "."])
def test_a_name_that_leads_out_of_the_pack_is_refused(files: mutations.Files, tmp_path: Path, name: str) -> None:
    """Nothing is written, here or elsewhere."""
    path = written(tmp_path / "run.zip", {**files, name: b""})

    with pytest.raises(EquipoiseError, match="points outside the pack"):
        evidence.read(path)


def test_a_name_that_is_there_twice_is_refused(packed: bytes, tmp_path: Path) -> None:
    """So that no two readers take different ones."""
    path = tmp_path / "run.zip"
    path.write_bytes(packed)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("Params.yaml", b"")

    with pytest.raises(EquipoiseError, match=r"Params\.yaml is there twice"):
        evidence.read(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """300 MiB of zeros take 300 kB."""
    path = written(tmp_path / "run.zip", {"data/zeros": bytes(300 * 2**20)})

    assert path.stat().st_size < 2**20
    with pytest.raises(EquipoiseError, match="unpacks to more than 256 MiB"):
        evidence.read(path)


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)),
        "a: &a [*a]",
        "[" * 200_000,
    ],
)
def test_yaml_that_would_fill_the_memory_or_the_stack_is_refused(
    files: mutations.Files, tmp_path: Path, text: str
) -> None:
    """2^30 values behind aliases, a circle, and a nesting that overflows the parser's stack."""
    path = written(tmp_path / "run.zip", {**files, "params.yaml": text.encode()})

    with pytest.raises(EquipoiseError, match=r"params\.yaml: (nested too deeply|malformed)"):
        evidence.read(path)


def test_a_later_format_is_named(files: mutations.Files, tmp_path: Path) -> None:
    """The line says how to read it, although the format has fields that this version does not know."""
    head = {**json.loads(files[evidence.LIST]), "schema": 2, "proof": "new"}
    path = written(tmp_path / "run.zip", {**files, evidence.LIST: json.dumps(head).encode()})

    with pytest.raises(EquipoiseError, match=r"format 2, and this version of equipoise reads 1: pip install --upgrade"):
        evidence.read(path)


def test_a_missing_file_is_named(files: mutations.Files, tmp_path: Path) -> None:
    """By its name in the list."""
    del files[f"data/{STUDY}/responses.jsonl"]

    with pytest.raises(EquipoiseError, match=rf"data/{STUDY}/responses\.jsonl is missing: pack\.json lists it"):
        evidence.read(written(tmp_path / "run.zip", files))


def test_a_setting_that_names_a_file_elsewhere_reads_nothing(files: mutations.Files) -> None:
    """Settings of a stranger name files of the pack alone."""
    text = files["params.yaml"].decode().replace("items: authored", "items: passwords")
    before = json.loads(files[evidence.LIST])["files"]
    message = mutations.said(partial(mutations.renewed, {**files, "params.yaml": text.encode()}, before))

    assert message.startswith("error: params.yaml: data/items/passwords.jsonl is named there, and is not in the pack")


def test_a_number_at_the_edge_of_its_last_digit_may_round_either_way() -> None:
    """0.0005 is 0.001 on one machine and 0.0 on another; 0.002 is neither."""
    made = [{"estimate": 0.0}, {"estimate": 0.001}]

    assert [*verify._leaves("exam", "file", {"estimate": 0.001}, made)] == []
    assert [str(difference) for difference in verify._leaves("exam", "file", {"estimate": 0.002}, made)] == [
        "exam: file: estimate: packed 0.002, recomputed 0.0"
    ]


def test_equal_contents_give_equal_packs(packed: bytes) -> None:
    """Neither the time nor the machine is in the archive besides what pack.json states."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        dates = {member.date_time for member in archive.infolist()}
    files = mutations.files_of(packed)
    pack = evidence.Pack.model_validate_json(files.pop(evidence.LIST))

    assert dates == {(1980, 1, 1, 0, 0, 0)}
    assert evidence.write(pack, files) == packed
