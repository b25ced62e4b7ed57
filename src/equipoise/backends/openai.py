"""The backend of servers that speak OpenAI's chat completions: concurrent conversations, greedy where they can be.

The key is read from the environment when the backend is opened, and sent to the server alone. The client library
retries only until a response begins. A stream that breaks off, a truncated body and one that is not a completion are
faults of the same kind, so all of them are retried here, from one budget of attempts.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import os
import random
import re
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from equipoise.backends.base import Backend
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Prompt, Response, fault
from equipoise.models.registry import ApiEntry

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

_Task = asyncio.Task[Response]
NO_KEY = "none"
"""What is sent to a server that needs no key: the client must send something."""
Message = dict[str, str]

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
"""Seconds before the second attempt, doubled with each further one, and their bound."""
PATIENCE = 600.0
"""The longest wait that a server may ask for, in seconds."""
TRANSIENT = frozenset({408, 409, 425, 429})
"""Statuses below 500 that may pass."""
NO_CREDIT = "insufficient_quota"
"""The code of a 429 that does not pass by waiting."""
FILTERED = frozenset({"content_filter", "content_policy_violation"})
"""Codes of a 400 that refuses the conversation for what it is about."""
LONGEST_QUOTE = 200
KEPT = "finished answers are kept"


class Reply(NamedTuple):
    """One reply of a server. `finished` says whether the model ended it by itself; tokens are 0 where not counted."""

    text: str
    finished: bool
    reasoning: str = ""
    prompt_tokens: int = 0
    generated_tokens: int = 0


class UnansweredError(EquipoiseError):
    """A request that found no answer in all its attempts; another may."""


class _Read(BaseModel):
    """What is read of a server's JSON; the rest is passed over."""

    model_config = ConfigDict(from_attributes=True)


class _Message(_Read):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(_Read):
    message: _Message
    finish_reason: str


class _Usage(_Read):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(_Read):
    choices: tuple[_Choice, ...]
    usage: _Usage | None = None


class _PieceChoice(_Read):
    delta: _Message = _Message()
    finish_reason: str | None = None


class _Piece(_Read):
    choices: tuple[_PieceChoice, ...] = ()
    usage: _Usage | None = None


class _MalformedError(Exception):
    """The reply is not a completion."""


class Server:
    """A server, as a registry entry addresses it."""

    def __init__(
        self, name: str, entry: ApiEntry, client: AsyncOpenAI, key: str, pause: Callable[[float], Awaitable[None]]
    ) -> None:
        """Hold the client, the key to keep out of messages, and the function that waits some seconds."""
        self._name, self._entry, self._client, self._key, self._pause = name, entry, client, key, pause

    async def reply(self, messages: list[Message], limit: int) -> Reply:
        """Ask for the next message of a conversation, of at most `limit` tokens.

        Raises:
            UnansweredError: Every attempt met a fault that may pass.
            EquipoiseError: The server refuses the request, and would again.
        """
        import httpx2
        import openai

        reason = ""
        for attempt in range(self._entry.attempts):
            wait = min(FIRST_WAIT * 2.0**attempt, LONGEST_WAIT) * random.uniform(1, 1.25)  # noqa: S311  (no secret)
            try:
                async with asyncio.timeout(self._entry.timeout):
                    return await self._attempt(messages, limit)
            except openai.APIStatusError as error:
                if error.status_code == 400 and error.code in FILTERED:  # noqa: PLR2004
                    return Reply("", finished=False)
                reason = self._described(error)
                self._require_transient(error, reason)
                wait = max(wait, asked_wait(error.response.headers) or 0.0)
                if wait > PATIENCE:
                    message = f"{self._where}: it asks to wait {wait:.0f} s ({reason}): run again then; {KEPT}"
                    raise EquipoiseError(message) from None
            except TimeoutError:
                reason = f"no reply within {self._entry.timeout:g} s"
            except (openai.APIError, httpx2.HTTPError, json.JSONDecodeError, _MalformedError) as error:
                reason = self._quoted(error)
            if attempt + 1 < self._entry.attempts:
                await self._pause(wait)
        raise UnansweredError(f"{self._where}: {self._entry.attempts} attempts, the last of them met: {reason}")

    async def _attempt(self, messages: list[Message], limit: int) -> Reply:
        request: dict[str, Any] = {"model": self._entry.model, "messages": messages, self._entry.limit: limit}
        for option in ("temperature", "seed"):
            if (value := getattr(self._entry, option)) is not None:
                request[option] = value
        if self._entry.extra_body:
            request["extra_body"] = self._entry.extra_body
        if self._entry.stream:
            return await self._streamed(request)
        raw = await self._client.chat.completions.with_raw_response.create(**request)
        try:
            completion = _Completion.model_validate_json(raw.text)
        except ValidationError as error:
            raise _MalformedError(f"the reply is not a completion: {fault(error)}") from None
        if not completion.choices:
            raise _MalformedError("the reply has no choices")
        choice = completion.choices[0]
        return _reply(choice.message, choice.finish_reason, completion.usage)

    async def _streamed(self, request: dict[str, Any]) -> Reply:
        """Put together a reply that comes in pieces; one that ends without its reason broke off."""
        whole = _Message(content="", refusal="", reasoning_content="", reasoning="")
        finish_reason, usage = None, None
        stream = await self._client.chat.completions.create(
            **request, stream=True, stream_options={"include_usage": True}
        )
        async with stream:
            async for chunk in stream:
                try:
                    piece = _Piece.model_validate(chunk)
                except ValidationError as error:
                    raise _MalformedError(f"a chunk of the reply is not a completion chunk: {fault(error)}") from None
                usage = piece.usage or usage
                for choice in piece.choices[:1]:
                    finish_reason = choice.finish_reason or finish_reason
                    found = {name: text for name, text in choice.delta if text}
                    whole = whole.model_copy(update={name: getattr(whole, name) + text for name, text in found.items()})
        if finish_reason is None:
            raise _MalformedError("the reply broke off")
        return _reply(whole, finish_reason, usage)

    @property
    def _where(self) -> str:
        return f"models/{self._name}.yaml: {self._entry.base_url}"

    def _described(self, error: APIStatusError) -> str:
        """Put what the server said in one line: its status, and its message if it has one."""
        body = error.body
        said = body.get("message") if isinstance(body, dict) else body
        return f"{error.status_code} {self._quoted(said or error.response.reason_phrase)}".strip()

    def _quoted(self, said: object) -> str:
        """Put words of others in one line, cut to a length, without the key."""
        text = " ".join(str(said).split())
        if self._key:
            text = text.replace(self._key, "[key]")
        return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"

    def _require_transient(self, error: APIStatusError, reason: str) -> None:
        status = error.status_code
        if (status in TRANSIENT or status >= 500) and error.code != NO_CREDIT:  # noqa: PLR2004
            return
        match status:
            case 401 | 403:
                fix = f"set {self._entry.key_env} to a key that this server accepts"
                fix = fix if self._entry.key_env else "name the key's environment variable in the field key_env"
            case 404:
                fix = "check the fields base_url and model"
            case 429:
                fix = "add credit to the account"
            case _:
                fix = "check the fields temperature, seed, limit and extra_body, and the length of the prompt"
        raise EquipoiseError(f"{self._where}: the request is refused ({reason}): {fix}") from None


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Read the seconds that a response asks to wait: of `retry-after-ms`, else `Retry-After` (RFC 9110, 10.2.3)."""
    for header, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[header]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        until = email.utils.parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _reply(message: _Message, finish_reason: str, usage: _Usage | None) -> Reply:
    counted = usage or _Usage()
    return Reply(
        text=message.content or message.refusal or "",
        finished=finish_reason == "stop",
        reasoning=message.reasoning_content or message.reasoning or "",
        prompt_tokens=counted.prompt_tokens,
        generated_tokens=counted.completion_tokens,
    )


class ApiBackend(Backend):
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
            raise EquipoiseError(
                f"prompt {prompt.key!r} asks only how likely its candidates are, and models/{self._name}.yaml gives no "
                "likelihoods: set the answering of its study to generate"
            )
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
