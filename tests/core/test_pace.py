"""Tests of the pace of a run: what is timed, and what is kept of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from equipoise.core import pace
from equipoise.core.manifest import Manifest

MODEL = Manifest(model="made", repo="made/up", revision="1", licence="Apache-2.0")
OTHER = MODEL.model_copy(update={"revision": "2"})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the pace in a folder of the test, and let every look at the clock be ten seconds later."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    seconds = iter(range(0, 1000, 10))
    monkeypatch.setattr(pace, "perf_counter", lambda: float(next(seconds)))
    return tmp_path


def ask(prompts: Sequence[str], cached: int = 0) -> list[tuple[int, int]]:
    """Ask prompts, so many of which are in the cache; return the progress that was reported."""
    told: list[tuple[int, int]] = []
    clock = pace.Clock("study", MODEL, lambda done, total: told.append((done, total)))

    def answers(asked: Sequence[str]) -> Iterator[str]:
        for done in range(cached, len(asked) + 1):
            clock.moved(done, len(asked))
        return iter(asked)

    assert list(clock.timed(answers)(prompts)) == list(prompts)
    return told


def test_the_seconds_of_new_answers_are_kept() -> None:
    """Four prompts in ten seconds; progress is passed on."""
    assert ask(["a", "b", "c", "d"]) == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    record = pace.read("study", MODEL)

    assert record is not None
    assert (record.prompts, record.seconds, record.per_prompt) == (4, 10.0, 2.5)


def test_answers_in_the_cache_take_no_time() -> None:
    """Of four prompts three were known: one in ten seconds; a call that asks nothing leaves the pace as it is."""
    ask(["a", "b", "c", "d"], cached=3)
    ask(["a", "b", "c", "d"], cached=4)
    record = pace.read("study", MODEL)

    assert record is not None
    assert (record.prompts, record.seconds) == (1, 10.0)


def test_calls_add_up() -> None:
    """Two calls of two and four prompts: six in twenty seconds."""
    ask(["a", "b"])
    ask(["c", "d", "e", "f"])
    record = pace.read("study", MODEL)

    assert record is not None
    assert (record.prompts, record.seconds) == (6, 20.0)


def test_the_pace_of_another_model_is_not_this_ones(cache: Path) -> None:
    """Nor is one that is damaged, or that was never kept."""
    ask(["a", "b"])

    assert pace.read("study", OTHER) is None
    assert pace.read("other", MODEL) is None
    (cache / ".cache/pace/study.json").write_text("{", encoding="utf-8")
    assert pace.read("study", MODEL) is None
