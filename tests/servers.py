"""A server that speaks OpenAI's chat completions on the loopback interface and fails on request, and its client."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter, defaultdict
from functools import partial
from http.server import BaseHTTPRequestHandler
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING, Any, Literal, Self

from equipoise.backends.ask import answer_all
from equipoise.backends.base import answering
from equipoise.backends.openai import ApiBackend
from equipoise.core.cache import ResponseCache
from equipoise.models.export import describe
from equipoise.models.registry import ApiEntry, Generation
from loopback import Loopback

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from equipoise.backends.served import Form
    from equipoise.core.prompts import Prompt, Response

KEY = "sk-9f8e7d-never-to-be-seen"
Fault = Literal[
    "busy",
    "busy_until",
    "no_credit",
    "broken",
    "hangs",
    "cut_json",
    "cut_body",
    "no_json",
    "no_choices",
    "drops",
    "no_end",
]
STATUS = {"busy": 429, "busy_until": 429, "no_credit": 429, "broken": 500}


def echo(messages: list[dict[str, str]]) -> dict[str, Any]:
    """Answer a conversation by its last turn in capitals."""
    return {"content": messages[-1]["content"].upper()}


class FaultyServer(Loopback):
    """A server that meets the requests of a conversation with faults, one after the other, and then answers.

    `faults` names them by the last turn of a conversation. `requests` holds every request's body and headers,
    `answered` how often each conversation, as JSON, was answered.
    """

    def __init__(
        self,
        faults: Mapping[str, Sequence[Fault]] | None = None,
        say: Callable[[list[dict[str, str]]], dict[str, Any]] = echo,
        *,
        finish_reason: str = "stop",
        usage: bool = True,
        refuse: Callable[[Mapping[str, str]], tuple[int, dict[str, Any]] | None] = lambda _: None,
    ) -> None:
        """Hold what to do; `refuse` may answer a request's headers with a status and an error."""
        self.faults = defaultdict(list, {turn: list(told) for turn, told in (faults or {}).items()})
        self.say, self.finish_reason, self.usage, self.refuse = say, finish_reason, usage, refuse
        self.requests: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.answered: Counter[str] = Counter()
        self.most = 0
        self._open = 0
        self._lock = threading.Lock()
        super().__init__()

    @property
    def url(self) -> str:
        """The address, as a registry entry has it."""
        return f"{self.address}/v1"

    def turns(self) -> list[str]:
        """The last turn of every request so far."""
        return [body["messages"][-1]["content"] for body, _ in self.requests]

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Meet one request with the next fault of its conversation, or with an answer."""
        content = handler.rfile.read(int(handler.headers["Content-Length"]))
        if not content:  # the client was interrupted
            handler.close_connection = True
            return
        body = json.loads(content)
        with self._lock:
            self.requests.append((body, {name.lower(): value for name, value in handler.headers.items()}))
            self._open += 1
            self.most = max(self.most, self._open)
            waiting = self.faults[body["messages"][-1]["content"]]
            fault = waiting.pop(0) if waiting else None
        try:
            if refused := self.refuse(handler.headers):
                send(handler, refused[0], json.dumps({"error": refused[1]}))
            elif fault:
                self._err(handler, fault, stream=body.get("stream", False))
            else:
                self._answer(handler, body)
        finally:
            with self._lock:
                self._open -= 1

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        message = self.say(body["messages"])
        if body.get("stream"):
            send_events(handler, [*pieces(message), {"choices": [{"delta": {}, "finish_reason": self.finish_reason}]}])
        else:
            answer: dict[str, Any] = {
                "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}]
            }
            if self.usage:
                answer["usage"] = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
            send(handler, 200, json.dumps(answer))
        with self._lock:
            self.answered[json.dumps(body["messages"])] += 1

    def _err(self, handler: BaseHTTPRequestHandler, fault: Fault, *, stream: bool) -> None:
        match fault:
            case "busy" | "busy_until" | "no_credit" | "broken":
                headers = {"busy": {"Retry-After": "7"}, "busy_until": {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}}
                error = {"message": "not now", "code": "insufficient_quota" if fault == "no_credit" else "later"}
                send(handler, STATUS[fault], json.dumps({"error": error}), headers=headers.get(fault, {}))
            case "hangs":
                self.released.wait(120)
                handler.close_connection = True
            case "cut_json":
                send(handler, 200, '{"choices": [{"index": 0, "message": {"content": "UNFI')
            case "cut_body":
                send(handler, 200, '{"choices": [{"index": 0, "message": {"content": "UNFI', claimed=1000)
                handler.close_connection = True
            case "no_json":
                send(handler, 200, "<html>Welcome to the proxy</html>", kind="text/html")
            case "no_choices":
                send(handler, 200, '{"choices": "none", "usage": {}}')
            case "drops":
                handler.close_connection = True
            case "no_end":
                if stream:
                    send_events(handler, [{"choices": [{"delta": {"content": "UNFI"}}]}], end=False)
                else:
                    send(handler, 200, '{"choices": [{"index": 0, "message": {"content": "UNFI"}}]}')


def pieces(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Cut a message in pieces of three characters."""
    return [
        {"choices": [{"index": 0, "delta": {name: text[start : start + 3]}}]}
        for name, text in message.items()
        for start in range(0, len(text), 3)
    ]


def send(
    handler: BaseHTTPRequestHandler,
    status: int,
    text: str,
    *,
    headers: Mapping[str, str] | None = None,
    kind: str = "application/json",
    claimed: int | None = None,
) -> None:
    """Send a response, of a length that may be claimed wrongly."""
    content = text.encode()
    handler.send_response(status)
    for name, value in {
        "Content-Type": kind,
        "Content-Length": str(claimed or len(content)),
        **(headers or {}),
    }.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)


def send_events(handler: BaseHTTPRequestHandler, events: Sequence[dict[str, Any]], *, end: bool = True) -> None:
    """Send server-sent events; without `end` the connection is closed after the last of them."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Connection", "close")
    handler.end_headers()
    for event in events:
        handler.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
    if end:
        handler.wfile.write(b"data: [DONE]\n\n")
    handler.close_connection = True


def entry(url: str, **change: Any) -> ApiEntry:
    """Build a registry entry."""
    fields: dict[str, Any] = {
        "title": "A server",
        "licence": "none",
        "backend": "openai",
        "base_url": url,
        "model": "some-model",
        "key_env": "TEST_KEY",
        "concurrency": 4,
        "timeout": 60.0,
        "attempts": 4,
        "generation": Generation(reasoning_tokens=50, answer_tokens=20),
    }
    return ApiEntry.model_validate(fields | change)


class Waits:
    """A pause that notes how long it was asked to be, and takes no time."""

    def __init__(self) -> None:
        """Hold no wait yet."""
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        """Note a wait and go on."""
        self.seconds.append(seconds)
        await asyncio.sleep(0)


def ask(
    model: ApiEntry, prompts: Sequence[Prompt], pause: Waits | None = None, turns: Path | None = None
) -> dict[str, Response]:
    """Answer prompts, without waiting between attempts."""
    with ApiBackend("some", model, turns, pause or Waits()) as backend:
        return {response.key: response for response in backend.answer(prompts)}


def run(model: ApiEntry, prompts: Sequence[Prompt], path: Path, form: Form | None = None) -> list[Response]:
    """Answer prompts through a cache on disk, as the infer stage does."""
    manifest = describe("some", model, path.parent)
    with ResponseCache(path) as cache:
        return list(
            answer_all(
                prompts,
                manifest=manifest,
                generation=model.generation,
                cache=cache,
                make=partial(answering, lambda: ApiBackend("some", model, path.with_name("turns"), Waits(), form=form)),
                progress=lambda *_: None,
            )
        )


class RawServer:
    """A server that answers every request with the bytes that it is given, whatever they are, and then hangs up."""

    def __init__(self, answer: bytes | Iterable[bytes] = b"", context: ssl.SSLContext | None = None) -> None:
        """Hold the answer, which may be endless, and the TLS that is spoken."""
        self.answer, self._context = answer, context
        self.requests: list[bytes] = []
        self.sent = 0

    def __enter__(self) -> Self:
        """Listen on a free port."""
        outer = self

        class Handler(StreamRequestHandler):
            """One connection."""

            def handle(self) -> None:
                """Read one request, and answer."""
                head = b"".join(iter(self.rfile.readline, b"\r\n"))
                length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])  # type: ignore[index]
                outer.requests.append(head + self.rfile.read(length))
                for part in [outer.answer] if isinstance(outer.answer, bytes) else outer.answer:
                    self.wfile.write(part)
                    outer.sent += len(part)

        class Server(ThreadingTCPServer):
            """A server whose clients may hang up, or refuse its certificate."""

            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """Say nothing."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if self._context:
            self._server.socket = self._context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address, as a registry entry has it."""
        return f"http{'s' if self._context else ''}://127.0.0.1:{self._server.server_address[1]}/v1"


def raw(content: bytes, status: str = "200 OK", headers: Mapping[str, str] | None = None) -> bytes:
    """Put together the bytes of a response."""
    fields = {"Content-Type": "application/json", "Connection": "close", **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + content


def completion(message: dict[str, Any], finish_reason: str = "stop", **more: Any) -> bytes:
    """Put together the bytes of a completion."""
    return raw(json.dumps({"choices": [{"message": message, "finish_reason": finish_reason}], **more}).encode())
