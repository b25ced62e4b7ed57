"""Tests of copies of a backend, each in a process of its own."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

import pytest

from builders import prompt
from equipoise.backends.replicas import Replicas
from equipoise.core.errors import EquipoiseError
from fakes import Copy

if TYPE_CHECKING:
    from equipoise.core.records import Response


def ask(*keys: str) -> list[Response]:
    """Answer prompts with two copies, on one and on two devices."""
    with Replicas(Copy, ["0", "1,2"]) as backend:
        return list(backend.answer(map(prompt, keys)))


def test_every_prompt_is_answered_once_by_one_of_the_copies() -> None:
    """Five prompts: three of the first copy, two of the second, each copy one process with its own devices."""
    found = ask(*"abcde")

    assert sorted(response.key for response in found) == list("abcde")
    where = {response.key: response.replies for response in found}
    assert [where[key][0] for key in "abcde"] == ["0", "1,2", "0", "1,2", "0"]
    assert len(set(where.values())) == 2
    assert multiprocessing.active_children() == []


def test_no_more_copies_than_prompts_are_opened() -> None:
    """One prompt needs one copy, and no prompt needs none."""
    assert [response.replies[0] for response in ask("a")] == ["0"]
    assert ask() == []


@pytest.mark.parametrize(
    ("key", "line"),
    [("raise", "^a fault$"), ("die", "^a replica of the model ended with code -9: run again; finished")],
)
def test_a_copy_that_breaks_ends_the_run(key: str, line: str) -> None:
    """Its error comes through, a death is told, what it had answered is given, and the other copy is ended."""
    running = Replicas(Copy, ["0", "1"]).answer(map(prompt, ("a", "wait", key)))

    # The second copy waits for ten minutes, unless it is ended.
    assert next(running).key == "a"
    with pytest.raises(EquipoiseError, match=line):
        next(running)
    assert multiprocessing.active_children() == []


def test_a_run_that_is_left_ends_the_copies() -> None:
    """After the first answer, nothing runs on."""
    running = Replicas(Copy, ["0", "1"]).answer(map(prompt, ("a", "wait")))

    assert next(running).key == "a"
    running.close()
    assert multiprocessing.active_children() == []
