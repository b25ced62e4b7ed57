"""Prompts shared out over a Ray cluster of two nodes on this machine, while workers and nodes are lost."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import builders
import fakes
from equipoise.backends import ask as asking
from equipoise.backends.ask import answer_all
from equipoise.backends.base import Cluster, answering
from equipoise.backends.ray import cluster as executor
from equipoise.backends.ray.cluster import Place, copies
from equipoise.core import jsonl
from equipoise.core.cache import ResponseCache, response_key
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Prompt, Response
from equipoise.models.registry import Generation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from conftest import Exported
    from equipoise.backends.base import Backend, Opening

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'equipoise[ray]'")
# Ray leaves its processes and sockets to the garbage collector.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.timeout(300),
]

MANIFEST = Manifest(model="m", repo="r", revision="v", licence="l")
GENERATION = Generation(reasoning_tokens=8, answer_tokens=4)
MEMORY = 80_000_000
"""Bytes of a further node's object store."""


def prompts(count: int) -> list[Prompt]:
    """Build prompts of one turn."""
    return [builders.prompt(f"{number:03}", f"word {number}") for number in range(count)]


class Asked:
    """The notes that the workers have made."""

    def __init__(self, folder: Path) -> None:
        """Hold the file."""
        self.log = folder / "asked"
        self.log.touch()

    def lines(self) -> list[tuple[int, str]]:
        """List process and prompt, in the order in which they were asked."""
        return [(int(line.split()[0]), line.split()[1]) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def backend(self, pause: float) -> Callable[[], Backend]:
        """Make what makes a copy."""
        return partial(fakes.Noting, str(self.log), pause)


def answered(
    asked: list[Prompt],
    backend: Opening[Prompt, Response],
    cache: ResponseCache,
    progress: Callable[[int, int], object] = lambda *_: None,
) -> list[Response]:
    """Answer prompts through a cache, as the infer stage does."""
    return list(
        answer_all(asked, manifest=MANIFEST, generation=GENERATION, cache=cache, make=backend, progress=progress)
    )


def on_nodes(make: Callable[[], Backend], cluster: Cluster, *, gpus: int, least: int) -> Opening[Prompt, Response]:
    """Make what opens copies of a backend on a cluster, as the infer stage does."""
    return partial(copies, partial(answering, make), cluster, gpus=gpus, least=least, noun="prompt", fix=asking.FIX)


def written(path: Path, rows: Iterable[Response]) -> bytes:
    """Give the bytes of a data file."""
    jsonl.write(path, rows)
    return path.read_bytes()


class Blow:
    """Something that happens half-way: what was answered by then, and how much the workers had noted."""

    def __init__(self, asked: list[Prompt], cache: ResponseCache, notes: Asked, strike: Callable[[], None]) -> None:
        """Hold what to look at, and what to do."""
        self._asked, self._cache, self._notes, self._strike = asked, cache, notes, strike
        self.kept: set[str] = set()
        self.noted = 0

    def __call__(self, done: int, total: int) -> None:
        """Strike once, when half of the prompts are answered."""
        if self.kept or done < total / 2:
            return
        keys = {prompt.key: response_key(prompt, MANIFEST, GENERATION) for prompt in self._asked}
        self.kept = {prompt.key for prompt in self._asked if self._cache.find(keys[prompt.key]) is not None}
        self._strike()
        self.noted = len(self._notes.lines())


def test_a_killed_worker_changes_no_byte_and_no_answer_is_asked_for_again(cluster: Cluster, tmp_path: Path) -> None:
    """Half-way one of two workers is killed: the others are asked only what had no answer yet, to the same bytes."""
    asked, local, spread = prompts(40), Asked(tmp_path), Asked(tmp_path)
    with ResponseCache(tmp_path / "local.sqlite") as cache:
        expected = written(tmp_path / "local.jsonl", answered(asked, partial(answering, local.backend(0)), cache))
    spread.log.write_text("", encoding="utf-8")

    def kill() -> None:
        os.kill(spread.lines()[0][0], signal.SIGKILL)

    with ResponseCache(tmp_path / "ray.sqlite") as cache:
        blow = Blow(asked, cache, spread, kill)
        backend = on_nodes(spread.backend(0.15), cluster, gpus=0, least=4)
        content = written(tmp_path / "ray.jsonl", answered(asked, backend, cache, blow))
    lines = [(process, key) for process, key in spread.lines() if key != "closed"]

    assert expected == content
    assert len(blow.kept) >= 20
    assert not blow.kept & {key for _, key in lines[blow.noted :]}
    assert {key for _, key in lines} == {prompt.key for prompt in asked}
    assert len({process for process, _ in lines}) >= 2


def test_a_lost_node_changes_no_byte(nodes: Any, cluster: Cluster, tmp_path: Path) -> None:
    """Half-way a third node goes, with its worker: the others answer what it had not."""
    asked, notes = prompts(45), Asked(tmp_path)
    third = nodes.add_node(num_cpus=1, object_store_memory=MEMORY)
    with ResponseCache(tmp_path / "ray.sqlite") as cache:
        blow = Blow(asked, cache, notes, lambda: nodes.remove_node(third, allow_graceful=False))
        backend = on_nodes(notes.backend(0.15), cluster, gpus=0, least=4)
        responses = answered(asked, backend, cache, blow)

    assert [(prompt.key, prompt.turns[0].upper()) for prompt in asked] == [
        (row.key, row.replies[0]) for row in responses
    ]
    assert not blow.kept & {key for _, key in notes.lines()[blow.noted :]}


def test_an_interrupted_run_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """Ctrl-C ends the workers, and the next run asks only what was not answered."""
    asked, notes = prompts(20), Asked(tmp_path)

    def interrupt() -> None:
        raise KeyboardInterrupt

    backend = on_nodes(notes.backend(0.1), cluster, gpus=0, least=4)
    with ResponseCache(tmp_path / "ray.sqlite") as cache:
        blow = Blow(asked, cache, notes, interrupt)
        with pytest.raises(KeyboardInterrupt):
            answered(asked, backend, cache, blow)
        assert not ray.is_initialized()
        notes.log.write_text("", encoding="utf-8")
        answered(asked, backend, cache)

    again = {key for _, key in notes.lines()} - {"closed"}
    assert again == {prompt.key for prompt in asked} - blow.kept


def test_a_prompt_that_ends_every_worker_is_an_error(
    cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is put to a few workers, not for ever; the others' answers are kept, and each loss is reported."""
    fatal = builders.prompt("999", "fatal")
    asked, notes = [*prompts(6), fatal], Asked(tmp_path)
    backend = on_nodes(notes.backend(0), cluster, gpus=0, least=1)
    with ResponseCache(tmp_path / "ray.sqlite") as cache:
        with pytest.raises(
            EquipoiseError, match=r"workers on the Ray cluster .* ended in a row before .*: lower infer"
        ):
            answered(asked, backend, cache)
        kept = [cache.find(response_key(prompt, MANIFEST, GENERATION)) for prompt in asked]

    assert [prompt.key for prompt, row in zip(asked, kept, strict=True) if row is None] == ["999"]
    assert "prompts go to others" in caplog.text


def test_a_client_answers_as_a_node_does(nodes: Any, tmp_path: Path) -> None:
    """Through ray://, from outside the cluster, the same answers come."""
    asked = prompts(6)
    backend = on_nodes(Asked(tmp_path).backend(0), Cluster(nodes.client), gpus=0, least=1)
    with ResponseCache(tmp_path / "ray.sqlite") as cache:
        responses = answered(asked, backend, cache)

    assert [(prompt.key, prompt.turns[0].upper()) for prompt in asked] == [
        (row.key, row.replies[0]) for row in responses
    ]


def test_an_error_of_a_backend_is_told_as_such(cluster: Cluster, tmp_path: Path) -> None:
    """The line that a backend gives comes from the node as it would come from here."""
    refused = [prompt.model_copy(update={"turns": ("refused",)}) for prompt in prompts(2)]
    backend = on_nodes(Asked(tmp_path).backend(0), cluster, gpus=0, least=1)

    with (
        ResponseCache(tmp_path / "ray.sqlite") as cache,
        pytest.raises(EquipoiseError, match=r"^the prompt is refused$"),
    ):
        answered(refused, backend, cache)


def test_no_room_is_told(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster without a GPU has no place for a model that needs one; and busy nodes are waited for in vain."""
    notes = Asked(tmp_path)
    with ResponseCache(tmp_path / "ray.sqlite") as cache:
        with pytest.raises(EquipoiseError, match="has no node with 2 GPUs for a worker: add one, or set"):
            answered(prompts(1), on_nodes(notes.backend(0), cluster, gpus=2, least=1), cache)
        busy = [Place("0" * 56, 64, 0)]
        monkeypatch.setattr(executor, "places", lambda *_: busy)
        monkeypatch.setattr(executor, "PATIENCE", 1.0)
        with pytest.raises(
            EquipoiseError, match=r"took a worker within 1 s \(it needs 64 cores and 0 GPUs\): wait until"
        ):
            answered(prompts(1), on_nodes(notes.backend(0), cluster, gpus=0, least=1), cache)


def test_a_real_model_answers_as_it_does_here(
    tiny_model: Exported, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tiny model in ONNX Runtime, through all that the infer stage does: the same bytes from a worker."""
    asked = [
        builders.prompt(
            f"case-{number}",
            f"A patient of {20 + number} has had chest pain. " * (1 + number % 3),
            "What is the diagnosis?",
            system="You are an experienced clinician.",
            prefix="The single most likely diagnosis is",
            candidates=("myocardial infarction", "panic attack"),
        )
        for number in range(8)
    ]
    contents = []
    for place, used in (("local", None), ("ray", cluster)):
        (tmp_path / place / ".cache").mkdir(parents=True)
        (tmp_path / place / ".cache" / "models").symlink_to(tiny_model.store)
        monkeypatch.setenv("DVC_ROOT", str(tmp_path / place))
        with ResponseCache.open() as kept:
            ask = asking.asker(
                tiny_model.manifest, tiny_model.root, kept, batch_size=8, progress=lambda *_: None, cluster=used
            )
            contents.append(written(tmp_path / f"{place}.jsonl", ask(asked)))

    assert contents[0] == contents[1]
