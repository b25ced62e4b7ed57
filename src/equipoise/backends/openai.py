"""The backend of servers that speak OpenAI's chat completions: conversations held side by side, greedily if they can.

The key is read from the environment when the backend is opened, and goes nowhere but to the server.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from equipoise.backends.server import KEPT, Message, Server, UnansweredError
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from equipoise.backends.server import Reply
    from equipoise.core.records import Prompt
    from equipoise.models.registry import ApiEntry

_Task = asyncio.Task[Response]
NO_KEY = "none"
"""What is sent to a server that needs no key: the client must send something."""


class ApiBackend:
    """A server of a registry entry, asked by up to `concurrency` requests at once."""

    def __init__(self, name: str, entry: ApiEntry, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Read the key and make the client; `pause` waits some seconds between attempts."""
        try:
            from openai import AsyncOpenAI
        except ImportError:
            message = "the client of OpenAI-compatible servers is not installed: run `pip install 'equipoise[api]'`"
            raise EquipoiseError(message) from None
        self._name, self._entry = name, entry
        key = os.environ.get(entry.key_env, "") if entry.key_env else NO_KEY
        if not key:
            message = f"models/{name}.yaml: the environment variable {entry.key_env} is not set: export it with the key"
            raise EquipoiseError(message)
        self._client = AsyncOpenAI(base_url=entry.base_url, api_key=key, timeout=entry.timeout, max_retries=0)
        self._server = Server(name, entry, self._client, key if entry.key_env else "", pause)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        """Give the open backend."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what is in progress, and close the connections."""
        with self._runner:
            self._runner.run(self._close())

    async def _close(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.close()

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, each as soon as its last reply is there. See `Backend.answer`.

        A prompt without an answer is left for the end, where the first of them is raised. A refusal, or as many
        failures in a row as there are requests at once, ends the asking sooner. What is in progress is awaited,
        unless the user interrupts; what is finished is given in any case.
        """
        waiting = iter(prompts)
        pending: set[_Task] = set()
        tally = _Tally(self._entry.concurrency)
        loop = self._runner.get_loop()
        stop = loop.create_future()
        with heard(lambda: loop.call_soon_threadsafe(stop.cancel)) as interrupted:
            while not tally.ended or pending:
                self._runner.run(self._advance(waiting, pending, tally, stop))
                if not pending:
                    break
                done = {task for task in pending if task.done()}
                pending -= done
                yield from tally.responses(done)
                if interrupted.is_set():
                    yield from tally.responses(pending)
                    raise KeyboardInterrupt
        tally.require_all_answered()

    async def _advance(
        self, waiting: Iterator[Prompt], pending: set[_Task], tally: _Tally, stop: asyncio.Future[None]
    ) -> None:
        """Begin conversations as far as there is room, and wait until one is done, or for `stop`."""
        while not tally.ended and len(pending) < self._entry.concurrency and (prompt := next(waiting, None)):
            pending.add(asyncio.create_task(self._converse(prompt), name=prompt.key))
        awaited: set[asyncio.Future[Any]] = {*pending, stop}
        if pending:
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)

    async def _converse(self, prompt: Prompt) -> Response:
        """Hold one conversation."""
        if not prompt.reply:
            message = (
                f"prompt {prompt.key!r} asks only how likely its candidates are, and models/{self._name}.yaml gives no "
                "likelihoods: set the answering of its study to generate"
            )
            raise EquipoiseError(message)
        generation = self._entry.generation
        messages: list[Message] = [{"role": "system", "content": prompt.system}] if prompt.system else []
        replies: list[Reply] = []
        for content in prompt.turns[:-1]:
            messages.append({"role": "user", "content": content})
            replies.append(await self._server.reply(messages, generation.reasoning_tokens))
            messages.append({"role": "assistant", "content": replies[-1].text})
        messages.append({"role": "user", "content": self._last_turn(prompt)})
        last = await self._server.reply(messages, prompt.limit or generation.answer_tokens)
        replies.append(last._replace(text=without_prefix(last.text, prompt.prefix)))
        return Response(
            key=prompt.key,
            study=prompt.study,
            replies=tuple(map(whole_text, replies)),
            finished=tuple(reply.finished for reply in replies),
            log_likelihood={},
            prompt_tokens=sum(reply.prompt_tokens for reply in replies),
            generated_tokens=sum(reply.generated_tokens for reply in replies),
        )

    def _last_turn(self, prompt: Prompt) -> str:
        if not prompt.prefix or self._entry.prefix is None:
            return prompt.turns[-1]
        return f"{prompt.turns[-1]}\n\n{self._entry.prefix.replace('{prefix}', prompt.prefix)}"


class _Tally:
    """Outcomes of conversations: responses, failures that another attempt may resolve, and a refusal."""

    def __init__(self, bound: int) -> None:
        """Begin with none; `bound` failures in a row end the asking."""
        self._bound = bound
        self._in_a_row = 0
        self._failures: list[str] = []
        self._refusal: EquipoiseError | None = None

    @property
    def ended(self) -> bool:
        """Whether to ask no more."""
        return self._refusal is not None or self._in_a_row >= self._bound

    def responses(self, tasks: Iterable[_Task]) -> Iterator[Response]:
        """Give the responses of conversations that are done, and count the others; those not done are left alone."""
        for task in tasks:
            if not task.done():
                continue
            try:
                response = task.result()
            except UnansweredError as error:
                self._failures.append(f"{task.get_name()!r}: {error}")
                self._in_a_row += 1
            except EquipoiseError as error:
                self._refusal = self._refusal or error
            else:
                self._in_a_row = 0
                yield response

    def require_all_answered(self) -> None:
        """Raise the refusal, or report the first failure."""
        if self._refusal:
            raise self._refusal
        if self._failures:
            message = f"prompts without an answer: {len(self._failures)}, first {self._failures[0]}: run again; {KEPT}"
            raise EquipoiseError(message)


def without_prefix(text: str, prefix: str) -> str:
    """Remove the words that a reply was asked to begin with: what follows them is the reply."""
    return re.sub(rf"\A\s*{re.escape(prefix)}[\s:]*", "", text, flags=re.IGNORECASE) if prefix else text


def whole_text(reply: Reply) -> str:
    """Join a reply with the reasoning that the server kept apart, in the form `think`."""
    text = reply.text.strip()
    return f"<think>\n{reply.reasoning.strip()}\n</think>\n\n{text}" if reply.reasoning.strip() else text


@contextmanager
def heard(wake: Callable[[], object]) -> Iterator[threading.Event]:
    """Hold back Ctrl-C and give the event that it sets; `wake` is called then, to end a wait.

    A second Ctrl-C is a KeyboardInterrupt on the spot. Outside the main thread, which alone gets signals, nothing is
    held back.
    """
    requested = threading.Event()

    def hear(*_: object) -> None:
        if requested.is_set():
            raise KeyboardInterrupt
        requested.set()
        wake()

    if threading.current_thread() is not threading.main_thread():
        yield requested
        return
    before = signal.signal(signal.SIGINT, hear)
    try:
        yield requested
    finally:
        signal.signal(signal.SIGINT, before)
