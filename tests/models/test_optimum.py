from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.models import optimum

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without optimum's packages."""
    folder = tmp_path / "optimum"
    monkeypatch.setattr(optimum, "store", lambda: folder)
    return folder


def test_packages_are_installed_once_for_all_who_ask(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several that ask at once, one installs, and all get the same folder."""
    installed: list[str] = []

    def install(_: Sequence[str], folder: str, **__: str) -> str:
        installed.append(folder)
        return ""

    monkeypatch.setattr(optimum, "_failure", install)
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(lambda _: optimum.packages(), range(4)))

    assert len(installed) == 1
    assert folders == {path for path in store.iterdir() if path.is_dir()}


def test_without_an_index_one_line_says_how_to_provide_the_packages(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pip finds no file, nothing is left behind, and the error names the lock and the fix."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    fault = (
        r"optimum\.txt: optimum cannot be installed \(ERROR: [^\n]*\): connect to a package index, or set PIP_NO_INDEX"
    )
    with pytest.raises(EquipoiseError, match=fault):
        optimum.packages()
    assert [path.name for path in store.iterdir()] == ["lock"]


class Unwritten:
    """A model that is not written, with the configuration that is given."""

    def __init__(self, **config: Any) -> None:
        """Take the fields of its configuration."""
        self.config = SimpleNamespace(model_type="tiny", **config)

    def save_pretrained(self, folder: str) -> None:
        """Write nothing."""


@pytest.mark.usefixtures("store")
def test_a_full_disk_is_an_error_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up while optimum writes is not taken for a fault of the model."""
    made = tmp_path / "made"
    made.mkdir()
    monkeypatch.setattr(optimum, "packages", lambda: tmp_path)
    monkeypatch.setattr(optimum, "_failure", lambda *_, **__: "OSError: [Errno 28] No space left on device")
    model: Any = Unwritten()

    with pytest.raises(OSError, match="No space left") as error:
        optimum.export_encoder(model, made, "fill-mask", "nothing helps")
    assert error.value.errno == errno.ENOSPC


def test_rotary_positions_are_refused(tmp_path: Path) -> None:
    """The transformers of optimum would read other angles than the model has, and the graph would differ a little."""
    model: Any = Unwritten(rope_parameters={"rope_theta": 160000.0})

    fault = r"^a tiny model cannot be exported to ONNX \(optimum does not read its rotary positions\): use torch$"
    with pytest.raises(EquipoiseError, match=fault):
        optimum.export_encoder(model, tmp_path, "fill-mask", "use torch")


def test_a_killed_process_says_what_it_usually_lacks(tmp_path: Path) -> None:
    """The system's kill for memory leaves no message of its own."""
    reason = optimum._failure(("-c", "import os; os.kill(os.getpid(), 9)"), str(tmp_path))

    assert reason == "the process was stopped by signal 9; 9 is usually a lack of memory"


def test_the_versions_are_those_of_both_processes() -> None:
    """An export names the transformers that loaded the model and the one that optimum read it with."""
    named = optimum.exporters()

    assert int(named["transformers"].partition(".")[0]) >= 5
    assert named["optimum/transformers"].startswith("4.57.")
    assert {"onnx", "torch", "optimum/optimum", "optimum/optimum-onnx"} <= named.keys()
