from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.published.anchors import fetch
from equipoise.published.anchors.catalogue import Catalogue, load_catalogue
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
    """What is fetched is named by repository, commit and name, checked by its sha256, and lies as in the folder."""
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
    [(ValueError("hash"), "has not the sha256 111111111111…"), (OSError("net"), "go online, or set")],
)
def test_a_failed_fetch_is_told(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, error: Exception, fault: str
) -> None:
    """Other bytes, and no net, are one line with the address and the mend."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("pooch.retrieve", fail)

    with pytest.raises(EquipoiseError, match=fault):
        fetch.fetch(catalogue)


def test_what_cannot_be_fetched_is_said(catalogue: Catalogue) -> None:
    """A source without a known commit is named with the reason."""
    assert fetch.unfetchable(catalogue) == {"fsd": "nobody released it"}
