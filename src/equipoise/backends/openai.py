"""The backend of servers with OpenAI's chat completions API: concurrent conversations, greedy if possible.

The key is read from the environment when the backend is opened, and sent only to the server: it is removed from every
message and every reply. Each reply is cached as soon as it arrives, so that no answered request is sent again. The
client library retries only until a response begins. A stream that breaks off, a truncated body and a malformed
completion are faults of the same kind, so all of them are retried here, from one budget of attempts. What another
attempt cannot help ends the run at once. A prompt that a filter refuses has an answer: none.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import os
import random
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from equipoise.backends.base import Backend
from equipoise.backends.complaints import Complaint, read_complaint
from equipoise.backends.completions import UNKNOWN, Completion, Part, Piece, Whole, join_parts, whole
from equipoise.backends.served import (
    ANSWER,
    FORMS,
    PROBE,
    TOP,
    Form,
    Offer,
    Scored,
    Scores,
    Token,
    first_token_scores,
    prompt_score,
    unknown,
)
from equipoise.core import cache
from equipoise.core.cache import ContentCache
from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import SURROGATE, digest, fault
from equipoise.core.prompts import Prompt, Response
from equipoise.core.row import Frozen
from equipoise.models.readiness import NO_CLIENT, key_fault
from equipoise.models.registry import ApiEntry
from equipoise.models.template import read_template
from equipoise.text import thinking
from equipoise.text.reasoning import strip_thinking
from equipoise.text.sentences import first_sentence
from equipoise.text.thinking import tagged

try:
    import httpx2
    import openai
except ImportError:
    raise EquipoiseError(NO_CLIENT) from None

_Task = asyncio.Task[Response]
T = TypeVar("T")
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
NOT_IMPLEMENTED = 501
UNSUPPORTED = frozenset({400, 422, NOT_IMPLEMENTED})
"""Statuses of a request whose fields the server does not take."""
ABSENT = frozenset({404, 405})
"""Statuses of an address that the server does not have."""
NO_CREDIT = "insufficientquota"
"""The code of a 429 that waiting does not resolve, without punctuation."""
DATE = (
    r"(?:20\d\d-?(?:0[1-9]|1[0-2])(?:-?(?:0[1-9]|[12]\d|3[01]))?|(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])"
    r"|2\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])?|(?:0[1-9]|1[0-2])-20\d\d|00\d)"
)
"""A date as providers write it (2024-08-06, 20250805, 2411, 0613, 08-2024), or a release such as 001."""
SNAPSHOT = re.compile(rf"@[\w.-]+|[-:_](?:{DATE}|latest|main)(?:[-_]v?\d+:\d+)?")
"""Suffix that a server may add to a requested model's name: the date or the revision that it runs."""
FINISHED = frozenset({"stop", UNKNOWN})
"""Endings of a reply that counts as finished."""
LONGEST_QUOTE = 200
KEPT = "finished answers are kept"
DONE = b"[DONE]"
"""What ends a stream."""
ALONE = "Reply with the answer alone."
"""Asks for a reply whose first token is the answer's."""


class Reply(Frozen):
    """One reply of a server, from the model that it names; token counts are 0 if the server does not report them.

    `ending` is the reason why the reply ended: "stop" if the model ended it, "length", "content_filter", the server's
    own reason (such as "tool_calls"), "unknown" if it gives none, or "empty" without content and without such a reason.
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
    _kind = Reply


class UnansweredError(EquipoiseError):
    """A request without an answer after all attempts; another request may succeed."""


class RefusedError(EquipoiseError):
    """A request that the server permanently refuses, with its status if it has one."""

    def __init__(self, message: str, status: int | None) -> None:
        """Take the line, and the status."""
        super().__init__(message)
        self.status = status


class _MalformedError(Exception):
    """The reply is not a completion."""


class _ComplaintError(Exception):
    """The server answers with an error in the place of a reply."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__()
        self.complaint = complaint


class _Bounded(httpx2.AsyncByteStream):
    """A body of at most `LARGEST` bytes, with the last of them."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body
        self.tail = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for part in self._body:
            length += len(part)
            if length > LARGEST:
                raise UnansweredError(f"the reply is longer than {LARGEST >> 20} MiB: check the server")
            self.tail = (self.tail + part)[-64:]
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
        try:
            self._client = openai.AsyncOpenAI(
                base_url=entry.base_url,
                api_key=self._key or NO_KEY,
                timeout=entry.timeout,
                max_retries=0,
                # A compressed reply could have any length once decompressed.
                default_headers={"Accept-Encoding": "identity"},
                http_client=openai.DefaultAsyncHttpxClient(
                    follow_redirects=False, event_hooks={"response": [self._admit]}
                ),
            )
        except httpx2.InvalidURL as error:
            raise EquipoiseError(f"{self._where}: no address ({error}): correct the field base_url") from error

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
            message = f"{self._where}: the reply is compressed, although that was not asked for: check the server"
            raise EquipoiseError(message)
        # JSON is UTF-8. Decoding by another name could take hours (punycode), or no text at all (rot13).
        response.encoding = "utf-8"
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(response.stream)

    async def reply(self, messages: list[Message], limit: int, sample: int = 0) -> Reply:
        """Request the next message of a conversation, of at most `limit` tokens; each `sample` has its own seed.

        Raises:
            UnansweredError: Every attempt met a temporary fault, or the reply is too long.
            EquipoiseError: The server permanently refuses the request, or is not the intended one.
        """

        async def attempt() -> Reply:
            return self._read(await self._attempt(messages, limit, sample), limit)

        return await self._persist(attempt, messages) or Reply(text="", ending="content_filter")

    async def scored(
        self,
        request: dict[str, Any],
        messages: Sequence[Message],
        read: Callable[[Scored], T | None],
        *,
        is_probe: bool = False,
    ) -> T | None:
        """Send a request for log probabilities, of a text completion if it has a `prompt`, and `read` the reply.

        None if a filter refuses it. Where `read` finds none in it, that is the finding of a probe; for any other
        request it is a broken reply. The token that it generates is drawn at a temperature of 1, at which no server
        scales what it reports; a server that takes no temperature gets none. Raises the errors of `reply`.
        """
        body = {"model": self._entry.model, **request}
        if self._entry.temperature is not None:
            body["temperature"] = 1.0
        body["extra_body"] = {**self._entry.extra_body, **body.get("extra_body", {})}
        kind = self._client.completions if "prompt" in body else self._client.chat.completions

        async def attempt() -> T | None:
            raw = await kind.with_raw_response.create(**body)
            scored = self._read_scored(raw.http_response, await raw.http_response.aread())
            log_probabilities = read(scored)
            if log_probabilities is None and not (is_probe or scored.is_filtered):
                raise _MalformedError("the log probabilities that were asked for are missing or broken")
            return log_probabilities

        return await self._persist(attempt, messages)

    async def _persist(self, attempt: Callable[[], Awaitable[T]], messages: Sequence[Message]) -> T | None:
        """Attempt a request until it succeeds, as often as allowed; None if a provider's filter refuses it."""
        reason = ""
        for number in range(self._entry.attempts):
            wait = min(FIRST_WAIT * 2.0**number, LONGEST_WAIT) * random.uniform(1, 1.25)  # noqa: S311  (no secret)
            try:
                async with asyncio.timeout(self._entry.timeout):
                    return await attempt()
            except UnansweredError as error:
                raise UnansweredError(f"{self._where}: {error}") from None
            except EquipoiseError:
                raise
            except (_ComplaintError, openai.APIError) as error:
                complaint = _complaint(error)
                if complaint is None:
                    reason = self._failure(error)
                elif complaint.is_filter:
                    return None
                else:
                    reason = self._describe(error, complaint)
                    self._require_transient(complaint, reason, messages)
                    wait = max(wait, self._wait_of(error, reason))
            except TimeoutError:
                reason = f"no reply within {self._entry.timeout:g} s"
            except Exception as error:  # noqa: BLE001  (any error of the client and its transport may contain the key)
                reason = self._failure(error)
            if number + 1 < self._entry.attempts:
                await self._pause(wait)
        raise UnansweredError(f"{self._where}: {self._entry.attempts} attempts, the last of them met: {reason}")

    async def _attempt(self, messages: list[Message], limit: int, sample: int) -> Whole:
        """Send a request; return the complete reply."""
        request: dict[str, Any] = {"model": self._entry.model, "messages": messages, self._entry.limit: limit}
        if self._entry.temperature is not None:
            request["temperature"] = self._entry.temperature
        if self._entry.seed is not None:
            request["seed"] = self._entry.seed + sample
        if self._entry.extra_body:
            request["extra_body"] = self._entry.extra_body
        if self._entry.stream:
            request |= {"stream": True, "stream_options": {"include_usage": True}}
        raw = await self._client.chat.completions.with_raw_response.create(**request)
        response = raw.http_response
        if self._entry.stream and (_kind(response) == EVENTS or (await response.aread()).lstrip().startswith(FIELDS)):
            return await self._read_stream(raw.parse())
        return self._read_whole(response, await response.aread())

    def _read_whole(self, response: httpx2.Response, content: bytes) -> Whole:
        """Read a body that is a completion."""
        try:
            completion = Completion.model_validate_json(content.removeprefix(b"\xef\xbb\xbf"))
        except ValidationError as error:
            self._require_json(response, content)
            raise _MalformedError(f"the reply is not a completion: {fault(error)}") from None
        _require_unique_names(content)
        choice = completion.choices[0] if completion.choices else None
        message = choice.message if choice else None
        if (complaint := completion.error or (choice and choice.error)) and not (message and message.spoken):
            raise _ComplaintError(read_complaint(complaint))
        if choice is None:
            if (refused := read_complaint(content)).is_filter:
                raise _ComplaintError(refused)
            raise _MalformedError("the reply has no choices")
        text, thinking = (join_parts(message.spoken), join_parts(message.thoughts)) if message else ("", "")
        return whole(text, thinking, choice.finish_reason, completion.model, completion.usage)

    def _read_scored(self, response: httpx2.Response, content: bytes) -> Scored:
        """Read the log probabilities of a body that is a completion, by the intended model."""
        try:
            value = json.loads(content.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict) or "choices" not in value:
            self._require_json(response, content)
            raise _MalformedError("the reply is not a completion")
        _require_unique_names(content)
        if value.get("error"):
            raise _ComplaintError(read_complaint(value["error"]))
        if not value["choices"] and (refused := read_complaint(content)).is_filter:
            raise _ComplaintError(refused)
        self._require_model(str(value.get("model") or ""))
        try:
            return Scored.model_validate(value)
        except ValidationError:  # log probabilities in another form count as none
            return Scored()

    def _require_json(self, response: httpx2.Response, content: bytes) -> None:
        """Tell a body that is not a completion, and was never going to be one, from a damaged one.

        Raises:
            _ComplaintError: It is an error.
            EquipoiseError: It is a page, a stream, or JSON of another kind: the address is another's.
        """
        kind, text = _kind(response), content.decode(errors="replace").strip()
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            if kind == EVENTS or text.startswith("data:"):
                raise EquipoiseError(
                    f"{self._where}: the server streams its replies: set the field stream to true"
                ) from None
            if text.startswith("<") or (text and kind and "json" not in kind and not text.startswith("{")):
                description = f"not JSON but {kind or 'text'} ({self._quote(text)})"
                raise EquipoiseError(f"{self._where}: the reply is {description}: check the field base_url") from None
            return
        if isinstance(value, dict) and "choices" not in value:
            complaint = read_complaint(value)
            if complaint.messages or complaint.is_filter:
                raise _ComplaintError(complaint)
            names = self._quote(", ".join(value) or "nothing")
            raise EquipoiseError(
                f"{self._where}: the reply is not a chat completion (it has {names}): check the field base_url"
            )

    async def _read_stream(self, stream: openai.AsyncStream[Any]) -> Whole:
        """Assemble a streamed reply; a stream that ends without a finish reason, and without its end, broke off."""
        spoken, refused, thoughts = list[Part](), list[str](), list[Part]()
        reason, model, usage = None, None, None
        async with stream:
            async for chunk in stream:
                piece = _piece(chunk)
                usage, model = piece.usage or usage, piece.model or model
                for choice in piece.choices[:1]:
                    if choice.error:
                        raise _ComplaintError(read_complaint(choice.error))
                    reason = choice.finish_reason or (reason if choice.finish_reason is None else reason or "")
                    if choice.delta:
                        spoken += [part for part in choice.delta.content if not part.thinking]
                        refused.append(choice.delta.refusal or "")
                        thoughts += choice.delta.thoughts
        body = stream.response.stream
        if not reason and not (isinstance(body, _Bounded) and DONE in body.tail):
            raise _MalformedError("the reply broke off")
        text = "".join(part.text for part in spoken) or "".join(refused)
        return whole(text, "".join(part.text for part in thoughts), reason, model, usage)

    def _read(self, reply: Whole, limit: int) -> Reply:
        """Convert the server's reply to one without the key; a reply of another model is refused.

        A reply of unknown ending that has as many tokens as allowed was cut off.
        """
        model = reply.model
        self._require_model(model)
        if reply.ending == "error" and not reply.text:
            raise _MalformedError("the server ended the reply with an error")
        cut_off = reply.ending == UNKNOWN and reply.generated_tokens >= limit
        ending = "length" if cut_off else reply.ending
        return Reply(
            text=self._hide_key(reply.text),
            ending="empty" if ending in FINISHED and not reply.text else self._quote(ending),
            model=self._quote(model),
            reasoning=self._hide_key(reply.thinking),
            prompt_tokens=reply.prompt_tokens,
            generated_tokens=reply.generated_tokens,
        )

    def _require_model(self, model: str) -> None:
        """Refuse a reply of another model than the entry's; one whose server names none is taken for it."""
        if model and not is_same_model(self._entry.model, model) and model != self._entry.served_as:
            raise EquipoiseError(
                f"{self._where}: the server answered as {self._quote(model)!r}, not as {self._entry.model!r}: correct "
                "the field model, or set the field served_as to that name if it is the same model"
            )

    def _describe(self, error: Exception, complaint: Complaint) -> str:
        """Describe a server's error in one line: its status, and its message if it has one."""
        phrase = error.response.reason_phrase if isinstance(error, openai.APIStatusError) else "an error"
        words = next(iter(complaint.messages), "") or " ".join(sorted(complaint.codes)) or phrase
        return f"{complaint.status or 'an error:'} {self._quote(words)}".strip()

    def _wait_of(self, error: Exception, reason: str) -> float:
        """Return the wait that an error asks for, in seconds. Raises EquipoiseError if it is too long to wait for."""
        wait = requested_wait(error.response.headers) or 0.0 if isinstance(error, openai.APIStatusError) else 0.0
        if wait > PATIENCE:
            message = f"{self._where}: it asks to wait {wait:.0f} s ({reason}): run again then; {KEPT}"
            raise EquipoiseError(message) from None
        return wait

    def _failure(self, error: Exception) -> str:
        """Describe a client's error in one line, with its cause; a refused certificate is permanent.

        Raises:
            EquipoiseError: The server's certificate is not trusted, or it does not speak TLS.
        """
        causes: list[BaseException] = [error]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) and cause not in causes:
            causes.append(cause)
        if tls := next((exception for exception in causes if isinstance(exception, ssl.SSLError)), None):
            failure = f"TLS failure ({self._quote(one_line(tls))})"
            if isinstance(tls, ssl.SSLEOFError | ssl.SSLZeroReturnError):  # the connection broke
                return failure
            fix = "check the field base_url, or name the authority's certificate in SSL_CERT_FILE"
            raise EquipoiseError(f"{self._where}: {failure}: {fix}") from None
        has_cause = isinstance(error, openai.APIConnectionError) and len(causes) > 1
        return self._quote(f"{error} ({one_line(causes[-1])})" if has_cause else str(error) or type(error).__name__)

    def _quote(self, words: object) -> str:
        """Return foreign text as one line that can be printed, without the key, cut to a maximum length."""
        whole = SURROGATE.sub("\N{REPLACEMENT CHARACTER}", str(words))
        text = " ".join(self._hide_key(whole).split())
        return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"

    def _hide_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _require_transient(self, complaint: Complaint, reason: str, messages: Sequence[Message]) -> None:
        """Refuse to try again where that cannot help."""
        system = messages[0]["role"] == "system" and complaint.is_about_system
        status = complaint.status
        # An error without a status, in the place of a reply, may pass.
        passes = status is None or status in TRANSIENT or (status >= 500 and status != NOT_IMPLEMENTED)  # noqa: PLR2004
        if passes and not system and NO_CREDIT not in complaint.codes:
            return
        match status:
            case _ if system:
                fix = "the model takes no system text: leave it out (-S build.system=)"
            case 401 | 403:
                fix = f"set {self._entry.key_env} to a key that this server accepts"
                fix = fix if self._entry.key_env else "name the key's environment variable in the field key_env"
            case 404:
                fix = "check the fields base_url and model"
            case 405 | 410:
                fix = "check the field base_url"
            case 402 | 429 | None:
                fix = "add credit to the account"
            case _:
                fix = "check the fields temperature, seed, limit and extra_body, and the length of the prompt"
        raise RefusedError(f"{self._where}: the request is refused ({reason}): {fix}", status) from None


EVENTS = "text/event-stream"
FIELDS = (b"data:", b"event:", b":")
"""Beginnings of a stream of events, whatever its type is called."""


def _kind(response: httpx2.Response) -> str:
    """Return the content type of a response, without its parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _complaint(error: Exception) -> Complaint | None:
    """Return what the server says in an error; None if it is not the server's."""
    if isinstance(error, _ComplaintError):
        return error.complaint
    if isinstance(error, openai.APIStatusError):
        response = error.response
        content = response.content if response.is_stream_consumed else b""
        return read_complaint(content or error.body, error.status_code)
    body = error.body if isinstance(error, openai.APIError) else None
    return None if body is None else read_complaint(body)


def _piece(chunk: object) -> Piece:
    try:
        return Piece.model_validate(chunk)
    except ValidationError as error:
        raise _MalformedError(f"a chunk of the reply is not a completion chunk: {fault(error)}") from None


def _require_unique_names(content: bytes) -> None:
    """Refuse a body in which a field stands twice, since only one of them can be meant."""

    def unique(pairs: list[tuple[str, Any]]) -> None:
        if len({name for name, _ in pairs}) < len(pairs):
            raise _MalformedError("the reply is not a completion: a field stands twice in it")

    json.loads(content.removeprefix(b"\xef\xbb\xbf"), object_pairs_hook=unique)


def is_same_model(requested: str, reported: str) -> bool:
    """Whether a model that a server reports is the requested one, whatever its case, organisation, date or revision.

    A name that asks for the latest model may be answered by that of any date.
    """
    requested, reported = (name.casefold().rpartition("/")[2] for name in (requested, reported))
    base = re.sub(r"[-:@_]latest$", "", requested)
    return reported in {requested, base} or (
        reported.startswith(base) and bool(SNAPSHOT.fullmatch(reported[len(base) :]))
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
        *,
        form: Form | None = None,
    ) -> None:
        """Create the client, and open the cache of turns, if any; `pause` waits between attempts.

        `form` is that in which the server gives likelihoods; None asks for none.
        """
        self._name, self._entry, self._form = name, entry, form
        self._template = read_template(name, entry.title, cache.root() / entry.template) if entry.template else None
        self._server = Server(name, entry, pause)
        self._turns = TurnCache(turns) if turns else None
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

    def offer(self) -> Offer:
        """Find out, by a request of one token for each form, in which form the server gives likelihoods.

        The entry's field `likelihoods` limits the forms; a text completion needs its field `template`.

        Raises:
            EquipoiseError: The server cannot be asked, or does not give what the entry says.
        """
        try:
            return self._runner.run(self._find_offer())
        except UnansweredError as error:
            raise EquipoiseError(f"{error}: check the server, then run again") from None

    async def _find_offer(self) -> Offer:
        forms = [form for form in FORMS if form != "echo" or self._template]
        if self._entry.offers != "auto":
            forms = [form for form in forms if (form == "top_logprobs") == (self._entry.offers == "top")]
        faults: list[str] = []
        for form in forms:
            fault = await self._fault_of(form)
            if fault is None:
                kind = "top" if form == "top_logprobs" else "prompt"
                return Offer(likelihoods=kind, form=form, found="; ".join(faults) or "asked for, and given")
            faults.append(f"{form}: {fault}")
        reasons = "; ".join(faults)
        if self._entry.offers == "auto":
            return Offer(likelihoods="none", found=reasons)
        raise EquipoiseError(
            f"models/{self._name}.yaml: field likelihoods is {self._entry.offers}, which the server does not give "
            f"({reasons}): set it to auto or none"
        )

    async def _fault_of(self, form: Form) -> str | None:
        """Ask for one token in a form; say why that gives no likelihoods, None if it does."""
        messages: list[Message] = [{"role": "user", "content": PROBE}]
        try:
            if form == "top_logprobs":
                alternatives = await self._server.scored(
                    self._first_token(messages), messages, Scored.alternatives, is_probe=True
                )
                return None if alternatives else "asked for, and not given"
            tokens = await self._tokens(form, messages, ANSWER, is_probe=True)
        except RefusedError as error:
            if error.status in UNSUPPORTED or (form == "echo" and error.status in ABSENT):
                return f"refused ({error.status})"
            raise
        ending = [token.log_p for token in tokens[-2:]]  # the first token of a prompt has no probability
        given = ending and all(value is not None and isfinite(value) for value in ending)
        return None if given else "asked for, and not given"

    def _first_token(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Lay out a request for the alternatives to the first token of a reply."""
        return {"messages": messages, self._entry.limit: 1, "logprobs": True, "top_logprobs": TOP}

    async def _tokens(self, form: Form, messages: list[Message], begun: str, *, is_probe: bool = False) -> list[Token]:
        """Read a conversation whose reply begins with a text; none where a filter refuses it."""
        text, request = begun, dict[str, Any]()
        if form == "echo":
            assert self._template  # noqa: S101  (no such form without)
            text = f"{self._template.write(messages)}{begun}"
            request = {"prompt": text, "max_tokens": 1, "echo": True, "logprobs": 1}
        else:
            reply = [{"role": "assistant", "content": begun}] if begun else []
            more = {"prompt_logprobs": 0, "add_generation_prompt": not begun, "continue_final_message": bool(begun)}
            request = {"messages": [*messages, *reply], self._entry.limit: 1, "extra_body": more}
        return (
            await self._server.scored(request, messages, lambda scored: scored.prompt(form, text), is_probe=is_probe)
            or []
        )

    async def _scores(self, prompt: Prompt, messages: list[Message]) -> Scores:
        """Score the candidates after the last turn of a conversation; one whose score is not given has a bound."""
        if self._form is None or not prompt.candidates:
            return Scores({}, {})
        if self._form == "top_logprobs":
            last = {"role": "user", "content": f"{prompt.turns[-1]}\n\n{ALONE}"}
            asked = self._first_token([*messages[:-1], last])
            alternatives = await self._server.scored(asked, messages, Scored.alternatives)
            return first_token_scores(alternatives, prompt.candidates) if alternatives else unknown(prompt.candidates)
        begun = f"{self._skip_thinking()}{prompt.prefix}"
        before = await self._tokens(self._form, messages, begun)
        known = {}
        for candidate in prompt.candidates if before else ():
            # As for weights that run here: after a prefix it is the next word, else it begins the reply.
            joined = await self._tokens(
                self._form, messages, f"{begun} {candidate}" if prompt.prefix else begun + candidate
            )
            if (likelihood := prompt_score(before, joined)) is not None:
                known[candidate] = likelihood
        return Scores(known, unknown(text for text in prompt.candidates if text not in known).at_most)

    def _skip_thinking(self) -> str:
        """Write an empty thinking block for a model that thinks first, so that the reply begins after it."""
        if self._entry.reasoning not in ("think", "content"):
            return ""
        own = self._entry.marks
        begin, end = (own.open[0], own.close[0]) if own else (thinking.OPEN, thinking.CLOSE)
        return f"{begin}\n\n{end}\n\n"

    async def _converse(self, prompt: Prompt) -> Response:
        """Hold one conversation."""
        if not prompt.reply and self._form is None:
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
        scores = await self._scores(prompt, [*messages, {"role": "user", "content": prompt.turns[-1]}])
        if prompt.reply:
            messages.append({"role": "user", "content": self._last_turn(prompt)})
            last = await self._reply(prompt, messages, prompt.limit or generation.answer_tokens)
            replies.append(remove_prefix(last, prompt))
        return Response(
            key=prompt.key,
            study=prompt.study,
            replies=tuple(map(whole_text, replies)),
            finished=tuple(reply.ending in FINISHED for reply in replies),
            endings=tuple(reply.ending for reply in replies),
            models=tuple(reply.model for reply in replies),
            log_likelihood={candidate: likelihood.mean for candidate, likelihood in scores.known.items()},
            candidate_tokens={candidate: likelihood.tokens for candidate, likelihood in scores.known.items()},
            at_most=scores.at_most,
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
