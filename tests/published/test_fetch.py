from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.published import fetch
from equipoise.published.catalogue import Catalogue, load_catalogue
from published import RUN, write

ADDRESS = f"https://raw.githubusercontent.com/a/b/{'0' * 40}/out%20put/run.jsonl"


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """The small catalogue, with a cache of its own."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    return load_catalogue(write(tmp_path)[1])


def test_a_file_is_asked_for_at_its_commit(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is fetched is named by repository, commit and name, verified, and put where the folder has it."""
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        "pooch.retrieve", lambda url, known_hash, fname, path: asked.append((url, known_hash, path / fname))
    )

    told: list[tuple[int, int]] = []

    assert fetch.fetch(catalogue, lambda done, total: told.append((done, total))) == tmp_path / ".cache/anchors"
    assert told == [(1, 1)]
    assert asked == [(ADDRESS, f"sha256:{'1' * 64}", tmp_path / ".cache/anchors" / RUN)]


@pytest.mark.parametrize(
    ("error", "fault"),
    [(ValueError("hash"), r"checksum mismatch \(expected 111111111111…\)"), (OSError("net"), "go online, or set")],
)
def test_a_failed_fetch_is_one_line(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, error: Exception, fault: str
) -> None:
    """Other bytes, and no net, are one line with the address and the fix."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("pooch.retrieve", fail)

    with pytest.raises(EquipoiseError, match=fault):
        fetch.fetch(catalogue)


def test_what_cannot_be_fetched_is_said(catalogue: Catalogue) -> None:
    """A source without a known commit is named with the reason."""
    assert fetch.unfetchable(catalogue) == {"fsd": "nobody released it"}


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

    assert fetch.locate(str(tmp_path / "x.txt"), everything) == [tmp_path / "x.txt"]
    assert fetch.locate("missing.jsonl", everything) == [Path("missing.jsonl")]


@pytest.mark.usefixtures("repository")
def test_the_picked_files_are_downloaded() -> None:
    """The files of a pinned data set that hold rows are offered, and the picked ones fetched."""
    assert fetch.locate(PINNED, everything) == [Path("/cache/some/data/a.csv"), Path("/cache/some/data/b.parquet")]


@pytest.mark.usefixtures("repository")
def test_a_data_set_without_the_wanted_files_is_refused() -> None:
    """Where nothing is picked the error lists what is there."""
    with pytest.raises(EquipoiseError, match=r"has none of the data files looked for, but a\.csv, b\.parquet"):
        fetch.locate(PINNED, lambda _: [])


@pytest.mark.parametrize("source", ["some/data", "some/data@main"])
def test_a_hub_id_needs_its_commit(source: str) -> None:
    """A branch moves, so that a data set is named with its commit."""
    with pytest.raises(EquipoiseError, match="named with its commit: some/data@<40 hex digits>"):
        fetch.locate(source, everything)
