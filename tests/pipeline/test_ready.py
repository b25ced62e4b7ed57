"""What `make repro` does before DVC reads the checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from equipoise.core import jsonl
from equipoise.models.environment import FILE, Environment
from equipoise.pipeline.ready import FOLLOWED, refresh

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout whose environment was recorded by this process."""
    jsonl.write_json(tmp_path / "data" / FILE, Environment.of_project(tmp_path).model_dump(mode="json"))
    return tmp_path


def test_a_checkout_in_order_is_left_as_it_is(root: Path) -> None:
    """Nothing is reported, and nothing is removed; a folder without any run is in order too."""
    assert list(refresh(root)) == []
    assert (root / "data" / FILE).is_file()
    (root / "data" / FILE).unlink()
    assert list(refresh(root)) == []


def test_another_library_lets_its_stage_run(root: Path) -> None:
    """The record goes, so that DVC runs `check`, although none of its dependencies has changed."""
    file = root / "data" / FILE
    jsonl.write_json(file, Environment.current().model_copy(update={"python": "2.7"}).model_dump(mode="json"))
    (message,) = refresh(root)

    assert "what computes has changed (Python 2.7 -> 3." in message
    assert not file.exists()


def test_a_link_to_a_file_that_is_gone_is_removed(root: Path) -> None:
    """DVC would stop at it; links to files that are there stay."""
    folder = root / FOLLOWED / "mine"
    folder.mkdir(parents=True)
    (root / "there.yaml").write_text("{}\n", encoding="utf-8")
    for name in ("there.yaml", "gone.yaml"):
        (folder / name).symlink_to(root / name)
    (message,) = refresh(root)

    assert message == f"{folder / 'gone.yaml'}: removed, since {root / 'gone.yaml'} is gone"
    assert [path.name for path in folder.iterdir()] == ["there.yaml"]
