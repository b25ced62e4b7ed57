"""Prompts that ask for the likelihoods of a few candidates and no reply, scored side by side, each on one core.

A step of a prompt's length is arithmetic alone, and cores that share it wait for one another at each of its operations:
as many prompts at once as there are cores, each worked out by one, are done sooner.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING

from equipoise.backends.conversation import Turned, held
from equipoise.backends.rows import Row, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from equipoise.backends.conversation import Chat
    from equipoise.core.records import Prompt, Response
    from equipoise.models.engine import Engine


LEAST = 4
"""Prompts of one stem that are worth working it out for."""


def shares(prompts: Sequence[Prompt], scorers: int) -> list[list[Prompt]]:
    """Part prompts into what one scorer does: adjacent ones with the same stem, which it works out once.

    Where few stems would leave a scorer idle, their prompts are parted further.
    """
    most = max(LEAST, len(prompts) // (4 * scorers))
    stems = groupby(prompts, key=lambda prompt: (prompt.system, prompt.stem or prompt.key))
    together = (list(group) for _, group in stems)
    return [group[first : first + most] for group in together for first in range(0, len(group), most)]


def score_all(prompts: Sequence[Prompt], chat: Chat, engine: Engine, *, scorers: int) -> Iterator[Response]:
    """Score prompts of one turn, as many side by side as there are scorers; each of these works in one thread.

    `engine` has one row, and one thread for a step. Responses come as they are done. Whoever stops listening waits for
    the prompts under way and for no others.
    """
    parts = shares(prompts, scorers)
    engines = [engine, *(engine.beside() for _ in parts[1:scorers])]
    free: SimpleQueue[Rows] = SimpleQueue()
    for one in engines:
        free.put(Rows(one))
    done: SimpleQueue[Response | BaseException] = SimpleQueue()
    stopped = Event()

    def score(share: Sequence[Prompt]) -> None:
        rows = free.get()
        try:
            for prompt in share:
                if stopped.is_set():
                    break
                done.put(held(chat.hold(prompt), lambda turn: Turned(rows.read(turn, Row(0))[0], ())))
        except BaseException as error:  # noqa: BLE001  (raised where the responses are listened for)
            done.put(error)
        finally:
            free.put(rows)

    pool = ThreadPoolExecutor(len(engines))
    try:
        for share in parts:
            pool.submit(score, share)
        for _ in prompts:
            response = done.get()
            if isinstance(response, BaseException):
                raise response
            yield response
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
