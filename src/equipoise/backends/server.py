"""One request to a server that speaks OpenAI's chat completions: what is sent, what counts as a reply, what is retried.

The client library retries too, but only until a response begins. A stream that breaks off, a body cut short and one
that is no completion are faults of the same kind, so all of them are retried here, from one budget of attempts.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import fault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from openai import APIStatusError, AsyncOpenAI

    from equipoise.models.registry import ApiEntry

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
    """What came back is no completion."""


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
                reason = self._told(error)
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
        message = f"{self._where}: {self._entry.attempts} attempts, the last of them met: {reason}"
        raise UnansweredError(message)

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
            message = f"the reply is no completion: {fault(error)}"
            raise _MalformedError(message) from None
        if not completion.choices:
            message = "the reply has no choices"
            raise _MalformedError(message)
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
                    message = f"a piece of the reply is none: {fault(error)}"
                    raise _MalformedError(message) from None
                usage = piece.usage or usage
                for choice in piece.choices[:1]:
                    finish_reason = choice.finish_reason or finish_reason
                    told = {name: text for name, text in choice.delta if text}
                    whole = whole.model_copy(update={name: getattr(whole, name) + text for name, text in told.items()})
        if finish_reason is None:
            message = "the reply broke off"
            raise _MalformedError(message)
        return _reply(whole, finish_reason, usage)

    @property
    def _where(self) -> str:
        return f"models/{self._name}.yaml: {self._entry.base_url}"

    def _told(self, error: APIStatusError) -> str:
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
                mend = f"set {self._entry.key_env} to a key that this server accepts"
                mend = mend if self._entry.key_env else "name the key's environment variable in the field key_env"
            case 404:
                mend = "check the fields base_url and model"
            case 429:
                mend = "add credit to the account"
            case _:
                mend = "check the fields temperature, seed, limit and extra_body, and the length of the prompt"
        message = f"{self._where}: the request is refused ({reason}): {mend}"
        raise EquipoiseError(message) from None


KEPT = "finished answers are kept"


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
