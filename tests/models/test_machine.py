from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import huggingface_hub
import pytest
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

from equipoise.models import machine
from equipoise.models.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable


def test_this_machine_has_memory_disk_and_modules(tmp_path: Path) -> None:
    """The figures are in GB; a folder that is still to be made has the disk of its parent."""
    here = Machine()

    assert (here.memory() or 1.0) > 0.1
    assert here.gpu_memory() >= 0
    assert here.disk(tmp_path / "to" / "be" / "made") > 0
    assert (here.has_module("json"), here.has_module("no_such_module_xyz")) == (True, False)
    assert (here.package_version("pytest"), here.package_version("no-such-package")) == (pytest.__version__, None)


@pytest.mark.parametrize(("told", "gigabytes"), [("2000000000\n", 2.0), ("max\n", 4.096)])
def test_a_containers_memory_is_what_it_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, gigabytes: float
) -> None:
    """Of 4.096 GB (4096 bytes a page, a million pages) the container may use 2, or all."""
    (tmp_path / "memory.max").write_text(told, encoding="ascii")
    monkeypatch.setattr(machine, "CGROUP", tmp_path / "memory.max")
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1_000_000}.__getitem__)

    assert Machine().memory() == gigabytes


def test_a_variable_without_a_value_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty key is none."""
    monkeypatch.setenv("SOME_KEY", "")
    before = Machine().is_set("SOME_KEY")
    monkeypatch.setenv("SOME_KEY", "x")

    assert (before, Machine().is_set("SOME_KEY")) == (False, True)


def test_a_server_listens_or_does_not() -> None:
    """A port with a server takes connections; once it is closed, it does not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        before = Machine().listens("127.0.0.1", port)

    assert (before, Machine().listens("127.0.0.1", port)) == (True, False)


def test_fetched_weights_are_looked_for_without_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot with safetensors is there; one without, or none, is not."""
    asked = []

    def find(repo: str, *, revision: str, local_files_only: bool) -> str:
        asked.append((revision, local_files_only))
        if repo == "none":
            raise FileNotFoundError
        return str(tmp_path / repo)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", find)
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    (tmp_path / "with" / "model.safetensors").touch()

    assert [Machine().has_fetched(repo, "abc") for repo in ("with", "without", "none")] == [True, False, False]
    assert asked == [("abc", True)] * 3


def answers(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], Any]) -> list[str]:
    """Let the hub's client answer, and note what it is asked."""
    asked = []

    class Api:
        """The hub's client."""

        def model_info(self, repo: str, *, revision: str, timeout: float) -> Any:
            """Tell of a model, in time."""
            asked.append(f"{repo}@{revision}")
            assert timeout <= 30
            return answer()

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    return asked


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (
            GatedRepoError,
            "the hub gives some/model only to accounts that accepted its terms: accept them and set HF_TOKEN",
        ),
        (
            RepositoryNotFoundError,
            "the hub has no some/model, or hides it from this account: check the id and HF_TOKEN",
        ),
        (RevisionNotFoundError, "the hub refuses some/model (No such commit): check the id and the commit"),
    ],
)
def test_what_the_hub_refuses_is_told(monkeypatch: pytest.MonkeyPatch, kind: Any, told: str) -> None:
    """A gated, a missing and a misnamed model each have their line."""

    def refuse() -> None:
        message = "No such commit"
        raise kind(message, response=SimpleNamespace(headers={}, request=None))

    answers(monkeypatch, refuse)

    assert Machine().hub_fault("some/model", "abc") == told


def test_a_hub_that_cannot_be_reached_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many models are looked up in a row: only the first waits for the network."""

    def fail() -> None:
        raise ConnectionError

    asked = answers(monkeypatch, fail)
    here = Machine()
    told = "the Hugging Face Hub cannot be reached (ConnectionError): check the network and HF_ENDPOINT"

    assert [here.hub_fault(repo, "abc") for repo in ("a/a", "b/b")] == [told, told]
    assert asked == ["a/a@abc"]


def test_a_model_that_the_hub_gives_has_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is missing."""
    answers(monkeypatch, lambda: None)

    assert Machine().hub_fault("some/model", "abc") is None
