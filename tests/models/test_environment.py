"""The environment of a run: what of it is recorded, and that nothing is computed in another one."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import projects
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.models import environment
from equipoise.models.environment import FILE, Environment, require_recorded

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]


@pytest.fixture
def upgrade(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Let a package seem to have another version."""
    true = metadata.version

    def change(name: str, version: str) -> None:
        monkeypatch.setattr(metadata, "version", lambda other: version if other == name else true(other))

    return change


def recorded(data: Path, **changes: Any) -> None:
    """Record this process's environment, with changes."""
    jsonl.write_json(data / FILE, Environment.current().model_copy(update=changes).model_dump(mode="json"))


def test_the_recorded_environment_is_accepted(tmp_path: Path) -> None:
    """What the lock requires does not matter to a process, and neither does a project without a record."""
    require_recorded(tmp_path)
    recorded(tmp_path, required={"numpy": ("==1",)})
    require_recorded(tmp_path)


def test_another_version_is_refused_with_both(tmp_path: Path, upgrade: Callable[[str, str], None]) -> None:
    """The message names the package, its versions, and the command that records the new one."""
    recorded(tmp_path)
    before = metadata.version("numpy")
    upgrade("numpy", "99.1")
    message = rf"numpy {before} -> 99\.1\): run `make repro`, or remove the file and run `dvc repro`$"
    with pytest.raises(EquipoiseError, match=message):
        require_recorded(tmp_path)


@pytest.mark.parametrize("name", environment.VARIABLES)
def test_a_variable_that_changes_arithmetic_is_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Set in one process and not in another, it makes two environments."""
    monkeypatch.delenv(name, raising=False)
    recorded(tmp_path)
    monkeypatch.setenv(name, "1")
    with pytest.raises(EquipoiseError, match=f"{name} absent -> 1"):
        require_recorded(tmp_path)


def test_a_move_to_a_gpu_is_another_environment(tmp_path: Path) -> None:
    """Kernels differ, and so may answers."""
    recorded(tmp_path, accelerator="other")
    with pytest.raises(EquipoiseError, match="accelerator other -> "):
        require_recorded(tmp_path)


def test_which_gpu_it_is_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice among GPUs changes nothing; one of none is a machine without any."""
    monkeypatch.setattr(environment, "has_driver", lambda: True)
    accelerators = {}
    for visible in ("0", "1", "", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        accelerators[visible] = Environment.current().accelerator

    assert accelerators == {"0": "cuda", "1": "cuda", "": "none", "-1": "none"}


def test_what_the_project_requires_is_recorded() -> None:
    """Pins of the lock and bounds of pyproject.toml, of the libraries that can change a figure alone."""
    required = Environment.of_project(ROOT).required

    assert required.keys() <= set(environment.PACKAGES)
    assert {"numpy", "scipy", "torch", "transformers"} <= required.keys()
    assert any(spec.startswith("==") for spec in required["numpy"])
    assert any(spec.startswith(">=") for spec in required["numpy"])


def test_nothing_of_the_machine_is_recorded() -> None:
    """Its name, paths, cores and the patch of Python differ where figures are equal."""
    current = Environment.of_project(ROOT)

    assert current.python.count(".") == 1
    assert current.model_dump().keys() == {"python", "packages", "accelerator", "variables", "required"}


def test_what_quantises_is_recorded_for_quantised_weights_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed for tests or not, bitsandbytes makes no other environment of a model of full precision."""
    installed = Environment.current().model_copy(update={"packages": {"bitsandbytes": "1", "numpy": "2"}})
    monkeypatch.setattr(Environment, "current", classmethod(lambda _: installed))
    model = (ROOT / "models/qwen3_8b.yaml").read_text("utf-8").replace("backend: vllm", "backend: torch")
    settings = projects.committed("params.yaml").replace("model: smollm2", "model: mine")
    (tmp_path / "models").mkdir()
    (tmp_path / "params.yaml").write_text(settings, encoding="utf-8")
    environments = {}
    for bits in ("", "bits: 8\n"):
        (tmp_path / "models/mine.yaml").write_text(model + bits, encoding="utf-8")
        environments[bits] = Environment.of_project(tmp_path)

    assert environments[""].packages == {"numpy": "2"}
    assert environments["bits: 8\n"].packages == installed.packages
    assert environments[""].differences(installed) == []
    without = installed.model_copy(update={"packages": {"numpy": "2"}})
    assert environments["bits: 8\n"].differences(without) == ["bitsandbytes 1 -> absent"]
