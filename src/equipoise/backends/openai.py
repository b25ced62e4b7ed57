"""The backend of servers with OpenAI's chat completions API: concurrent conversations, greedy if possible.

The key is read from the environment when the backend is opened, and sent only to the server: it is removed from every
message and every reply. Each reply is cached as soon as it arrives, so that no answered request is sent again. The
client library retries only until a response begins. A stream that breaks off, a truncated body and a body that is not a
completion are faults of the same kind, so all of them are retried here, from one budget of attempts.
"""

from __future__ import annotations

import asyncio
import email.utils
import os
import random
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.backends.base import Backend
from equipoise.core.cache import ContentCache
from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import digest, fault
from equipoise.core.prompts import Prompt, Response
from equipoise.core.row import Frozen
from equipoise.models.readiness import NO_CLIENT, key_fault
from equipoise.models.registry import ApiEntry
from equipoise.text.reasoning import strip_thinking
from equipoise.text.sentences import first_sentence
from equipoise.text.thinking import tagged

try:
    import httpx2
    import openai
except ImportError:
    raise EquipoiseError(NO_CLIENT) from None

_Task = asyncio.Task[Response]
NO_KEY = "none"
"""The key sent to a server that needs none, because the client must send one."""
Message = dict[str, str]

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
"""Seconds before the second attempt, doubled with each further attempt, and the longest wait."""
PATIENCE = 600.0
"""Longest wait, in seconds, that a server may request."""
LARGEST = 16 * 2**20
"""Largest reply that is read, in bytes."""
TRANSIENT = frozenset({408, 409, 425, 429})
"""Statuses below 500 that may be temporary."""
NO_CREDIT = "insufficient_quota"
"""The code of a 429 that waiting does not resolve."""
FILTERED = frozenset({"content_filter", "content_policy_violation"})
"""Codes of a 400 that refuses a conversation for its content."""
SNAPSHOT = re.compile(r"[-@:_](\d[\d.-]*|latest|main)")
"""Suffix that a server may add to a requested model's name: the date or the version that it runs."""
LONGEST_QUOTE = 200
KEPT = "finished answers are kept"


class Reply(Frozen):
    """One reply of a server, from the model that it names; token counts are 0 if the server does not report them.

    `ending` is the reason why the reply ended: "stop" if the model ended it, else the server's own reason (such as
    "length", "content_filter" or "tool_calls"), or "empty" without content and without such a reason.
    """

    text: str
    ending: str = "stop"
    model: str = ""
    reasoning: str = ""
    prompt_tokens: int = 0
    generated_tokens: int = 0


TURN = "turn with ending and model"
"""Version of a cached reply's fields. New fields require a new name here, so that replies are asked again."""


class TurnCache(ContentCache[Reply]):
    """Cache of servers' replies, each saved before the next turn of its conversation is asked."""

    _noun = "turn"


class UnansweredError(EquipoiseError):
    """A request without an answer after all attempts; another request may succeed."""


class _Read(BaseModel):
    """The part of a server's JSON that is read; the rest is ignored."""

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
    prompt_tokens: Annotated[int, Field(ge=0, lt=2**53)] = 0
    completion_tokens: Annotated[int, Field(ge=0, lt=2**53)] = 0


class _Completion(_Read):
    choices: tuple[_Choice, ...]
    model: str | None = None
    usage: _Usage | None = None


class _PieceChoice(_Read):
    delta: _Message = _Message()
    finish_reason: str | None = None


class _Piece(_Read):
    choices: tuple[_PieceChoice, ...] = ()
    model: str | None = None
    usage: _Usage | None = None


class _MalformedError(Exception):
    """The reply is not a completion."""


class _Bounded(httpx2.AsyncByteStream):
    """A body of at most `LARGEST` bytes."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for part in self._body:
            length += len(part)
            if length > LARGEST:
                raise UnansweredError(f"the reply is longer than {LARGEST >> 20} MiB: check the server")
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


class Server:
    """A server, as addressed by a registry entry."""

    def __init__(self, name: str, entry: ApiEntry, pause: Callable[[float], Awaitable[None]]) -> None:
        """Read the key and create the client; `pause` waits for a number of seconds.

        Raises:
            EquipoiseError: The environment has no key, or one that cannot be sent.
        """
        self._entry, self._pause = entry, pause
        self._where = f"models/{name}.yaml: {entry.base_url}"
        self._key = os.environ.get(entry.key_env, "") if entry.key_env else ""
        if entry.key_env and (problem := key_fault(entry.key_env, self._key)):
            raise EquipoiseError(f"models/{name}.yaml: {problem}")
        self._client = openai.AsyncOpenAI(
            base_url=entry.base_url,
            api_key=self._key or NO_KEY,
            timeout=entry.timeout,
            max_retries=0,
            # A compressed reply could have any length once decompressed.
            default_headers={"Accept-Encoding": "identity"},
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [self._admit]}),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _admit(self, response: httpx2.Response) -> None:
        """Refuse a response that redirects or is compressed, and limit the body of any other."""
        if response.is_redirect:
            target = self._quote(response.headers.get("location", "another address"))
            raise EquipoiseError(
                f"{self._where}: the server redirects to {target}, which is not followed: "
                "if you trust that address, set the field base_url to it"
            )
        if response.headers.get("content-encoding", "identity") != "identity":
            raise _MalformedError("the reply is compressed, although that was not asked for")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(response.stream)

    async def reply(self, messages: list[Message], limit: int, sample: int = 0) -> Reply:
        """Request the next message of a conversation, of at most `limit` tokens; each `sample` has its own seed.

        Raises:
            UnansweredError: Every attempt met a temporary fault, or the reply is too long.
            EquipoiseError: The server permanently refuses the request, or is not the intended one.
        """
        reason = ""
        for attempt in range(self._entry.attempts):
            wait = min(FIRST_WAIT * 2.0**attempt, LONGEST_WAIT) * random.uniform(1, 1.25)  # noqa: S311  (no secret)
            try:
                async with asyncio.timeout(self._entry.timeout):
                    return self._read(*await self._attempt(messages, limit, sample))
            except UnansweredError as error:
                raise UnansweredError(f"{self._where}: {error}") from None
            except EquipoiseError:
                raise
            except openai.APIStatusError as error:
                if error.status_code == 400 and str(error.code) in FILTERED:  # noqa: PLR2004
                    return Reply(text="", ending="content_filter")
                reason = self._describe(error)
                self._require_transient(error, reason)
                wait = max(wait, requested_wait(error.response.headers) or 0.0)
                if wait > PATIENCE:
                    message = f"{self._where}: it asks to wait {wait:.0f} s ({reason}): run again then; {KEPT}"
                    raise EquipoiseError(message) from None
            except TimeoutError:
                reason = f"no reply within {self._entry.timeout:g} s"
            except Exception as error:  # noqa: BLE001  (any error of the client and its transport may contain the key)
                reason = self._failure(error)
            if attempt + 1 < self._entry.attempts:
                await self._pause(wait)
        raise UnansweredError(f"{self._where}: {self._entry.attempts} attempts, the last of them met: {reason}")

    async def _attempt(
        self, messages: list[Message], limit: int, sample: int
    ) -> tuple[_Message, str, str | None, _Usage | None]:
        """Send a request; return the message, why it ended, the model that the server names, and its token counts."""
        request: dict[str, Any] = {"model": self._entry.model, "messages": messages, self._entry.limit: limit}
        if self._entry.temperature is not None:
            request["temperature"] = self._entry.temperature
        if self._entry.seed is not None:
            request["seed"] = self._entry.seed + sample
        if self._entry.extra_body:
            request["extra_body"] = self._entry.extra_body
        if self._entry.stream:
            return await self._read_stream(request)
        raw = await self._client.chat.completions.with_raw_response.create(**request)
        try:
            completion = _Completion.model_validate_json(raw.text)
        except ValidationError as error:
            raise _MalformedError(f"the reply is not a completion: {fault(error)}") from None
        if not completion.choices:
            raise _MalformedError("the reply has no choices")
        choice = completion.choices[0]
        return choice.message, choice.finish_reason, completion.model, completion.usage

    async def _read_stream(self, request: dict[str, Any]) -> tuple[_Message, str, str | None, _Usage | None]:
        """Assemble a streamed reply; a stream that ends without a finish reason broke off."""
        whole = _Message(content="", refusal="", reasoning_content="", reasoning="")
        finish_reason, model, usage = None, None, None
        stream = await self._client.chat.completions.create(
            **request, stream=True, stream_options={"include_usage": True}
        )
        async with stream:
            async for chunk in stream:
                try:
                    piece = _Piece.model_validate(chunk)
                except ValidationError as error:
                    raise _MalformedError(f"a chunk of the reply is not a completion chunk: {fault(error)}") from None
                usage, model = piece.usage or usage, piece.model or model
                for choice in piece.choices[:1]:
                    finish_reason = choice.finish_reason or finish_reason
                    parts = {name: text for name, text in choice.delta if text}
                    whole = whole.model_copy(update={name: getattr(whole, name) + text for name, text in parts.items()})
        if finish_reason is None:
            raise _MalformedError("the reply broke off")
        return whole, finish_reason, model, usage

    def _read(self, message: _Message, finish_reason: str, model: str | None, usage: _Usage | None) -> Reply:
        """Convert the server's message to a reply without the key; a reply of another model is refused."""
        if model and not is_same_model(self._entry.model, model) and model != self._entry.served_as:
            raise EquipoiseError(
                f"{self._where}: the server answered as {self._quote(model)!r}, not as {self._entry.model!r}: correct "
                "the field model, or set the field served_as to that name if it is the same model"
            )
        text = message.content or message.refusal or ""
        reasoning = message.reasoning_content or message.reasoning or ""
        counted = usage or _Usage()
        return Reply(
            text=self._hide_key(text),
            ending="empty" if finish_reason == "stop" and not text else self._quote(finish_reason),
            model=self._quote(model or ""),
            reasoning=self._hide_key(reasoning),
            prompt_tokens=counted.prompt_tokens,
            generated_tokens=counted.completion_tokens,
        )

    def _describe(self, error: openai.APIStatusError) -> str:
        """Describe a server's error in one line: its status, and its message if it has one."""
        body = error.body
        detail = body.get("message") if isinstance(body, dict) else body
        return f"{error.status_code} {self._quote(detail or error.response.reason_phrase)}".strip()

    def _failure(self, error: Exception) -> str:
        """Describe a client's error in one line, with its cause; a refused certificate is permanent.

        Raises:
            EquipoiseError: The server's certificate is not trusted, or it does not speak TLS.
        """
        causes: list[BaseException] = [error]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) and cause not in causes:
            causes.append(cause)
        if tls := next((one for one in causes if isinstance(one, ssl.SSLError)), None):
            failure = f"TLS failure ({self._quote(one_line(tls))})"
            if isinstance(tls, ssl.SSLEOFError | ssl.SSLZeroReturnError):  # the connection broke
                return failure
            fix = "check the field base_url, or name the authority's certificate in SSL_CERT_FILE"
            raise EquipoiseError(f"{self._where}: {failure}: {fix}") from None
        has_cause = isinstance(error, openai.APIConnectionError) and len(causes) > 1
        return self._quote(f"{error} ({one_line(causes[-1])})" if has_cause else str(error) or type(error).__name__)

    def _quote(self, words: object) -> str:
        """Return foreign text as one line, without the key, cut to a maximum length."""
        text = " ".join(self._hide_key(str(words)).split())
        return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"

    def _hide_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _require_transient(self, error: openai.APIStatusError, reason: str) -> None:
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


def is_same_model(requested: str, reported: str) -> bool:
    """Whether the model that a server reports is the requested one: the same name, perhaps with a version.

    Case is ignored, and so is everything before the last slash, such as the organisation.
    """
    requested, reported = (name.casefold().rpartition("/")[2] for name in (requested, reported))
    return reported == requested or (
        reported.startswith(requested) and bool(SNAPSHOT.fullmatch(reported[len(requested) :]))
    )


def requested_wait(headers: Mapping[str, str]) -> float | None:
    """Read the wait that a response requests, in seconds: `retry-after-ms`, else `Retry-After` (RFC 9110, 10.2.3)."""
    for header, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[header]) / unit
        except (KeyError, ValueError):
            continue
        if isfinite(seconds):
            return max(0.0, seconds)
    try:
        until = email.utils.parsedate_to_datetime(headers["retry-after"])
        # -0000 means UTC without a stated place, and is parsed as a time without a zone.
        return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (KeyError, ValueError, TypeError, IndexError, OverflowError):
        return None


class ApiBackend(Backend):
    """A server of a registry entry, with up to `concurrency` requests at once."""

    def __init__(
        self,
        name: str,
        entry: ApiEntry,
        turns: Path | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Create the client, and open the cache of turns, if any; `pause` waits between attempts."""
        self._name, self._entry = name, entry
        self._server = Server(name, entry, pause)
        self._turns = TurnCache(turns, Reply) if turns else None
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        """Return the backend."""
        # A request's failure is reported with its prompt; leftovers of interrupted requests are ignored.
        self._runner.get_loop().set_exception_handler(lambda *_: None)
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel requests in progress, and close the connections."""
        with self._runner:
            self._runner.run(self._close())
        if self._turns:
            self._turns.__exit__()

    async def _close(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._server.close()

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, each as soon as its last reply arrives. See `Backend.answer`.

        Prompts without an answer are reported at the end: the first of them is raised. A refusal, or as many
        consecutive failures as there are requests at once, ends the asking early; requests in progress are awaited, and
        finished responses are yielded. An interruption loses only requests in progress: the replies are in the cache.
        """
        waiting = iter(prompts)
        pending: set[_Task] = set()
        tally = _Tally(self._entry.concurrency)
        while not tally.ended or pending:
            self._runner.run(self._advance(waiting, pending, tally))
            if not pending:
                break
            done = {task for task in pending if task.done()}
            pending -= done
            yield from tally.responses(done)
        tally.require_all_answered()

    async def _advance(self, waiting: Iterator[Prompt], pending: set[_Task], tally: _Tally) -> None:
        """Begin as many conversations as there is room for, and wait until one is done."""
        while not tally.ended and len(pending) < self._entry.concurrency and (prompt := next(waiting, None)):
            pending.add(asyncio.create_task(self._converse(prompt), name=prompt.key))
        if pending:
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)

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
        for content, given_reply in zip_longest(prompt.turns[:-1], prompt.given):
            messages.append({"role": "user", "content": content})
            if given_reply is None:
                replies.append(await self._reply(prompt, messages, generation.reasoning_tokens))
            text = replies[-1].text if given_reply is None else strip_thinking(given_reply)[0]
            messages.append({"role": "assistant", "content": text})
        messages.append({"role": "user", "content": self._last_turn(prompt)})
        last = await self._reply(prompt, messages, prompt.limit or generation.answer_tokens)
        replies.append(remove_prefix(last, prompt))
        return Response(
            key=prompt.key,
            study=prompt.study,
            replies=tuple(map(whole_text, replies)),
            finished=tuple(reply.ending == "stop" for reply in replies),
            endings=tuple(reply.ending for reply in replies),
            models=tuple(reply.model for reply in replies),
            log_likelihood={},
            prompt_tokens=sum(reply.prompt_tokens for reply in replies),
            generated_tokens=sum(reply.generated_tokens for reply in replies),
        )

    async def _reply(self, prompt: Prompt, messages: list[Message], limit: int) -> Reply:
        """Request the next message of a prompt's conversation, unless an interrupted run left it in the cache."""
        if self._turns is None:
            return await self._server.reply(messages, limit, prompt.sample)
        request = prompt.model_dump(mode="json", exclude={"key", "study"})
        server = [self._entry.base_url, self._entry.model, self._entry.settings]
        key = digest([TURN, server, request, messages, limit])
        if (reply := self._turns.find(key)) is None:
            reply = await self._server.reply(messages, limit, prompt.sample)
            self._turns.keep({key: reply})
        return reply

    def _last_turn(self, prompt: Prompt) -> str:
        if not prompt.prefix or self._entry.prefix is None:
            return prompt.turns[-1]
        return f"{prompt.turns[-1]}\n\n{self._entry.prefix.replace('{prefix}', prompt.prefix)}"


class _Tally:
    """Outcomes of conversations: responses, failures that another attempt may resolve, and a refusal."""

    def __init__(self, bound: int) -> None:
        """Start empty; `bound` consecutive failures end the asking."""
        self._bound = bound
        self._in_a_row = 0
        self._failures: list[str] = []
        self._refusal: EquipoiseError | None = None

    @property
    def ended(self) -> bool:
        """Whether to stop asking."""
        return self._refusal is not None or self._in_a_row >= self._bound

    def responses(self, tasks: Iterable[_Task]) -> Iterator[Response]:
        """Yield the responses of finished conversations, and count failures."""
        for task in tasks:
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


def remove_prefix(reply: Reply, prompt: Prompt) -> Reply:
    """Remove the prompt's prefix from the beginning of a reply.

    If one sentence was requested, a reply that begins with the prefix is cut after that sentence. Any other reply is
    left whole, since its first sentence need not be the answer.
    """
    begun = re.match(rf"\s*{re.escape(prompt.prefix)}[\s:]*", reply.text, re.IGNORECASE) if prompt.prefix else None
    text = reply.text[begun.end() :] if begun else reply.text
    sentence = first_sentence(text) if begun and prompt.sentence else None
    return reply.model_copy(update={"text": sentence, "ending": "stop"} if sentence else {"text": text})


def whole_text(reply: Reply) -> str:
    """Join a reply with the reasoning that the server returned separately, in the form `think`."""
    return tagged(reply.reasoning, reply.text.strip())
