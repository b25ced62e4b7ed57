"""A faulty server: prompts are sent over HTTP to a server whose replies are broken, foreign or hostile, at random."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import random
import socket
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self
from unittest import mock

from faults_runs import ROOT, Draws, Outcome, last_line

from equipoise.core.errors import EquipoiseError

sys.path.insert(0, str(ROOT / "tests"))
from builders import prompt
from servers import KEY, FaultyServer, entry, run, send

OTHER = "other-model"
STATUSES = (400, 401, 403, 404, 408, 413, 429, 429, 500, 502, 503)
WAITS = (
    "Sat, 21 Nov 2026 00:00:00 -0000",
    "soon",
    "-5",
    "nan",
    "inf",
    "1e309",
    "9" * 400,
    "",
    "1",
    "Mon, 99 Foo 1 0:0:0",
)
WRONG: tuple[Any, ...] = ({}, [], [None], "text", 7, -1.5, True, {"a": 1}, None)
FAULTS = (
    *("garbage", "cut", "deep", "wrong_type", "null", "tool_call", "other_model", "redirect", "negative", "huge"),
    *("status", "status", "reset", "key_in_answer", "key_in_error", "surrogate"),
)
PROMPTS = tuple(prompt(f"p{n}", *turns) for n, turns in enumerate((("a", "b"), ("c",), ("d", "e"), ("f",), ("g",))))


class RandomServer(FaultyServer):
    """A server that meets about a third of the requests with a fault; which, depends on seed, request and attempt."""

    def __init__(self, seed: str, elsewhere: str) -> None:
        """Take the address to which it redirects."""
        super().__init__()
        self.seed, self.elsewhere, self.met = seed, elsewhere, Counter[str]()
        self.times: Counter[str] = Counter()
        self.sound = False

    def __enter__(self) -> Self:
        """Listen; suppress the server's own message about a connection that the client closed."""
        super().__enter__()
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        return self

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        turns = json.dumps(body["messages"])
        self.times[turns] += 1
        rng = random.Random(f"{self.seed}/{turns}/{self.times[turns]}")  # noqa: S311  (no secret)
        if self.sound or rng.random() < 2 / 3:
            super()._answer(handler, body)
            return
        fault = rng.choice(FAULTS)
        self.met[fault] += 1
        if fault == "reset":
            # With this linger time the connection is reset, not ended.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.close_connection = True
        elif fault == "redirect":
            send(handler, 307, "{}", headers={"Location": f"{self.elsewhere}/chat/completions"})
        elif fault in {"status", "key_in_error"}:
            error = {"message": f"not now {KEY if fault == 'key_in_error' else ''}", "code": rng.choice(WRONG)}
            send(
                handler, rng.choice(STATUSES), json.dumps({"error": error}), headers={"Retry-After": rng.choice(WAITS)}
            )
        else:
            send(handler, 200, odd_reply(fault, rng))


def odd_reply(fault: str, rng: random.Random) -> str:
    """Return the body of a reply with a fault."""
    message: dict[str, Any] = {"role": "assistant", "content": "ANSWER"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    reply = {"id": "1", "model": "some-model", "choices": [choice], "usage": usage}
    if fault == "garbage":
        return rng.randbytes(300).decode("latin-1")
    if fault == "deep":
        return "[" * 100_000
    match fault:
        case "wrong_type":
            holder, name = rng.choice([(held, name) for held in (reply, choice, message, usage) for name in held])
            holder[name] = rng.choice(WRONG)
        case "null":
            message["content"] = None
        case "tool_call":
            call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            choice |= {"message": message | {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
        case "other_model":
            reply["model"] = message["content"] = OTHER
        case "negative":
            usage |= dict.fromkeys(usage, -5)
        case "huge":
            message[rng.choice(("content", "extra"))] = "A" * rng.randrange(2**21, 2**23)
        case "key_in_answer" | "surrogate":
            message["content"] = f"ANSWER {KEY if fault == 'key_in_answer' else chr(0xD800)}"
    text = json.dumps(reply)
    return text[: rng.randrange(len(text))] if fault == "cut" else text


def server(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Send five prompts to a faulty server, then to a working one, with the same cache.

    A third of the requests get garbage, truncated or deeply nested JSON, wrong types, an empty answer, a tool call,
    another model's answer, a redirect to another host, negative counts, a reply of some MB, an unusual status or
    Retry-After, a reset, or the key.

    The result is answers or one line; nothing empty, of another model or negative is stored as an answer; no prompt
    goes to another host; the key is never shown or stored; afterwards the working server gives every answer.
    """
    for number, rng in draws:
        folder = place / f"server-{number}"
        folder.mkdir()
        with FaultyServer() as elsewhere, RandomServer(str(rng.random()), elsewhere.url) as faulty:
            first, problems = ask_all(faulty.url, folder)
            faulty.sound = True
            if second := ask_all(faulty.url, folder)[1]:
                problems += [f"then, of a sound server: {problem}" for problem in second]
            if elsewhere.requests:
                problems.append("prompts went to another host")
        met = ", ".join(f"{name} × {times}" if times > 1 else name for name, times in sorted(faulty.met.items()))
        yield Outcome(f"{met or 'no fault'}: {first}", problems)


def ask_all(url: str, folder: Path) -> tuple[str, list[str]]:
    """Ask every prompt; return the outcome and its problems."""
    printed, problems = io.StringIO(), []
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        mock.patch.dict(os.environ, TEST_KEY=KEY),
    ):
        try:
            responses = run(entry(url), PROMPTS, folder / "responses.sqlite")
            outcome = f"{len(responses)} answers"
            for response in responses:
                if min(response.prompt_tokens, response.generated_tokens) < 0:
                    problems.append("a negative count was kept")
                if any(done and not reply for reply, done in zip(response.replies, response.finished, strict=True)):
                    problems.append("an empty reply was kept as a finished one")
                if OTHER in response.replies and OTHER not in response.model_dump_json(exclude={"replies"}):
                    problems.append("another model's reply was kept without its name")
        except EquipoiseError as error:
            outcome = f"error: {error}"
        except Exception as error:  # noqa: BLE001  (any other would be a traceback)
            outcome = f"{type(error).__name__}: {error}"[:200]
            problems.append(f"a traceback: {outcome}")
        gc.collect()  # what tasks that nobody awaited have to say
    if "\n" in outcome or "Traceback" in printed.getvalue():
        problems.append(f"more than one line was printed, the last of them: {last_line(printed.getvalue())}")
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    if KEY in outcome or KEY in printed.getvalue() or KEY.encode() in written:
        problems.append("the key was shown or kept")
    return outcome.replace(url, "URL"), problems
