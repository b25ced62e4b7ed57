"""Tests of the finder of data files, at hand or on the hub."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.published import hub

PINNED = f"some/data@{'0' * 40}"


def everything(sizes: Any) -> list[str]:
    """Pick every readable file."""
    return sorted(sizes)


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for a data set of the hub with three files, of which two hold rows."""
    files = [SimpleNamespace(path=name, size=1) for name in ("README.md", "b.parquet", "a.csv")]
    monkeypatch.setattr("huggingface_hub.HfApi.list_repo_tree", lambda *_, **__: files)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda repo, name, **_: f"/cache/{repo}/{name}")


def test_a_file_at_hand_is_taken_as_it_is(tmp_path: Path) -> None:
    """A path that exists needs no hub, whatever it is called."""
    (tmp_path / "x.txt").touch()

    assert hub.locate(str(tmp_path / "x.txt"), everything) == [tmp_path / "x.txt"]
    assert hub.locate("missing.jsonl", everything) == [Path("missing.jsonl")]


@pytest.mark.usefixtures("repository")
def test_the_picked_files_are_downloaded() -> None:
    """Of a pinned data set the files that hold rows are offered, and the picked ones fetched."""
    assert hub.locate(PINNED, everything) == [Path("/cache/some/data/a.csv"), Path("/cache/some/data/b.parquet")]


@pytest.mark.usefixtures("repository")
def test_a_data_set_without_the_wanted_files_is_told() -> None:
    """Where nothing is picked the error lists what is there."""
    with pytest.raises(EquipoiseError, match=r"has none of the data files looked for, but a\.csv, b\.parquet"):
        hub.locate(PINNED, lambda _: [])


@pytest.mark.parametrize("source", ["some/data", "some/data@main"])
def test_a_hub_id_needs_its_commit(source: str) -> None:
    """A branch moves, so that a data set is named with its commit."""
    with pytest.raises(EquipoiseError, match="named with its commit: some/data@<40 hex digits>"):
        hub.locate(source, everything)
