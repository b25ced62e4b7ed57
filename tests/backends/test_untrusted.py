"""What a server may do to us: nothing that it sends, and no key, does harm or passes for what it is not."""

from __future__ import annotations

import email.utils
import json
import logging
import re
import shutil
import ssl
import subprocess
import threading
import time
import traceback
from itertools import repeat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from builders import prompt
from equipoise.backends import openai as server
from equipoise.backends.openai import ApiBackend, TurnCache, is_same_model
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt, Response
from equipoise.models.readiness import key_fault
from servers import KEY, FaultyServer, RawServer, Waits, ask, completion, entry, raw, run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONTENT = {"content": "Pneumonia."}


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ("sk-geheim-é-und-lang", "another character that no key has"),
        ("sk-with-a-line-break\n", "another character that no key has"),
        ("sk-with a space", "another character that no key has"),
        ("sk-with-\x7f-delete", "another character that no key has"),
        ("short", "fewer than 8 characters"),
        ("", "is not set"),
    ],
)
def test_a_key_that_cannot_be_one_is_refused_before_it_is_used(
    key: str, fault: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The line names the variable and the problem, and nothing of the value; no request is sent."""
    monkeypatch.setenv("TEST_KEY", key)
    with FaultyServer() as api, pytest.raises(EquipoiseError) as caught:
        ask(entry(api.url), [prompt("a")])

    line = str(caught.value)
    assert re.fullmatch(rf"models/some\.yaml: the environment variable TEST_KEY .*{fault}.*: export .*", line)
    assert not key or key.strip() not in "".join(traceback.format_exception(caught.value)) + caplog.text
    assert api.requests == []
    assert key_fault("TEST_KEY", key) == line.removeprefix("models/some.yaml: ")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", [ValueError, RuntimeError, UnicodeEncodeError])
def test_whatever_the_client_raises_is_told_without_the_key(
    kind: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    *,
    stream: bool,
) -> None:
    """An exception that holds the headers is one line, and no log, not asyncio's either, has the key."""
    caplog.set_level(logging.DEBUG)
    header = f"Bearer {KEY}"

    async def fails(*_: object, **__: object) -> None:
        raise kind("ascii", header, 0, 1, "no") if kind is UnicodeEncodeError else kind(header)

    with ApiBackend("some", entry("http://127.0.0.1:1/v1", stream=stream), pause=Waits()) as backend:
        monkeypatch.setattr(backend._server._client, "_send_request", fails)
        with pytest.raises(EquipoiseError, match=r"4 attempts, the last of them met: ") as caught:
            list(backend.answer([prompt("a"), prompt("b")]))

    told = "".join(traceback.format_exception(caught.value))
    assert not any(KEY in text for text in (told, caplog.text, *capfd.readouterr()))


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_an_answer_echoes_is_kept_nowhere(tmp_path: Path, *, stream: bool) -> None:
    """It is taken out of the reply before that is cached, sent again in the next turn or written."""
    say = {"content": f"You sent Bearer {KEY}.", "reasoning": f"The key is {KEY}."}
    with FaultyServer(say=lambda _: say) as api:
        rows = run(entry(api.url, stream=stream), [prompt("a", "Why?", "What?")], tmp_path / "cache")
    jsonl.write(tmp_path / "responses.jsonl", rows)

    reply = "<think>\nThe key is [key].\n</think>\n\nYou sent Bearer [key]."
    assert rows[0].replies == (reply, reply)
    assert KEY not in json.dumps([body for body, _ in api.requests])
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("message", "finish_reason", "text"),
    [
        ({"content": None}, "stop", ""),
        ({"content": None, "tool_calls": [{"id": "1", "function": {"name": "look_up"}}]}, "tool_calls", ""),
        ({"content": None}, "content_filter", ""),
        ({"content": "The patient"}, "length", "The patient"),
    ],
)
def test_what_is_no_answer_is_told_apart(message: dict[str, Any], finish_reason: str, text: str) -> None:
    """A reply without content, a tool that is called, a filter and the limit each have an ending of their own."""
    with RawServer(completion(message, finish_reason)) as api:
        response = ask(entry(api.url), [prompt("a")])["a"]

    ending = "empty" if finish_reason == "stop" else finish_reason
    assert (response.replies, response.finished, response.endings) == ((text,), (False,), (ending,))


@pytest.mark.parametrize("stream", [False, True])
def test_the_model_that_replied_is_recorded(tmp_path: Path, *, stream: bool) -> None:
    """Each reply has the name that the server gives; a model that runs here has none in its rows."""
    told = [{"choices": [{"delta": CONTENT, "finish_reason": "stop"}], "model": "some-model-2026-11-01"}]
    events = "".join(f"data: {json.dumps(event)}\n\n" for event in told).encode() + b"data: [DONE]\n\n"
    streamed = raw(events, headers={"Content-Type": "text/event-stream"})
    with RawServer(streamed if stream else completion(CONTENT, model="some-model-2026-11-01")) as api:
        row = ask(entry(api.url, stream=stream), [prompt("a")])["a"]
    jsonl.write(tmp_path / "rows.jsonl", [row, row.model_copy(update={"key": "b", "models": (), "endings": ()})])
    served, local = map(json.loads, (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines())

    assert (served["models"], served["endings"]) == (["some-model-2026-11-01"], ["stop"])
    assert served.keys() - local.keys() == {"models", "endings"}
    assert jsonl.read(tmp_path / "rows.jsonl", Response)[0] == row


def test_another_model_is_refused() -> None:
    """The line names both and the field that says that they are the same, which is then believed."""
    with RawServer(completion(CONTENT, model="cheap-model")) as api:
        with pytest.raises(
            EquipoiseError,
            match=r"^models/some\.yaml: \S+: the server answered as 'cheap-model', not as 'some-model': correct",
        ):
            ask(entry(api.url), [prompt("a")])
        response = ask(entry(api.url, served_as="cheap-model"), [prompt("a")])["a"]

    assert (len(api.requests), response.models) == (2, ("cheap-model",))


@pytest.mark.parametrize(
    ("asked", "named", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4", "gpt-4-0613", True),
        ("gpt-4", "gpt-4o", False),
        ("gpt-4", "gpt-4-turbo", False),
        ("gemini-2.0-flash", "models/gemini-2.0-flash", True),
        ("meta-llama/Llama-3.1-8B", "Llama-3.1-8b", True),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B@main", True),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B", False),
        ("qwen3", "qwen3:latest", True),
        ("qwen3", "qwen3:8b", False),
        ("qwen3:latest", "qwen3", True),
        ("claude-opus-4", "claude-opus-4-20250514", True),
        ("claude-opus-4", "claude-opus-4-1", False),
        ("claude-opus-4", "claude-opus-4-1-20250805", False),
        ("claude-opus-4-1", "claude-opus-4-1-20250805", True),
        ("claude-3-5-sonnet", "claude-3-5-sonnet@20240620", True),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", True),
        ("claude-3-5-sonnet", "anthropic/claude-3-5-sonnet-latest", True),
        ("mistral-large", "mistral-large-2411", True),
        ("mistral-large", "mistral-large-2", False),
        ("command-r", "command-r-08-2024", True),
        ("gemini-1.5-pro", "gemini-1.5-pro-002", True),
        ("gemini-2.5-flash-preview", "gemini-2.5-flash-preview-04-17", True),
        ("gpt-4", "gpt-4-32k", False),
        ("gpt-4", "gpt-4-1", False),
        ("gpt-4", "gpt-4.1-2025-04-14", False),
        ("llama-2", "llama-2-70", False),
        ("llama", "llama-405", False),
        ("x", "x-2024-13-45", False),
    ],
)
def test_a_model_may_be_named_with_its_date(asked: str, named: str, *, same: bool) -> None:
    """A date or a revision behind the name, and an organisation before it, are the same model; a version is not."""
    assert is_same_model(asked, named) is same


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_a_redirect_is_not_followed(status: str, *, stream: bool) -> None:
    """Neither the key nor a prompt goes to the address that the server names; the line does."""
    with (
        FaultyServer() as other,
        RawServer(raw(b"", status, {"Location": f"{other.url}/chat/completions"})) as api,
        pytest.raises(
            EquipoiseError,
            match=rf"^models/some\.yaml: {api.url}: the server redirects to {other.url}\S+, which is not followed: if",
        ),
    ):
        ask(entry(api.url, stream=stream), [prompt("a")])

    assert (len(api.requests), other.requests) == (1, [])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
def test_a_body_without_an_end_is_cut(status: str, monkeypatch: pytest.MonkeyPatch, *, stream: bool) -> None:
    """No more than the limit is read, once, of whatever is sent."""
    monkeypatch.setattr(server, "LARGEST", 2**20)
    kind = "text/event-stream" if stream else "application/json"
    endless = (part for part in (raw(b"", status, {"Content-Type": kind}), *repeat(b"x" * 65536, 10_000)))
    refused = r"'a': models/some\.yaml: \S+ the reply is longer than 1 MiB: check"
    with RawServer(endless) as api, pytest.raises(EquipoiseError, match=refused):
        ask(entry(api.url, stream=stream), [prompt("a")])

    assert len(api.requests) == 1
    assert api.sent < 64 * 2**20


def test_a_reply_that_was_compressed_unasked_is_refused() -> None:
    """A few kilobytes could become gigabytes."""
    with (
        RawServer(raw(b"\x1f\x8b", headers={"Content-Encoding": "gzip"})) as api,
        pytest.raises(EquipoiseError, match="the reply is compressed, although that was not asked for"),
    ):
        ask(entry(api.url, attempts=1), [prompt("a")])

    assert b"accept-encoding: identity" in api.requests[0].lower()


@pytest.mark.parametrize("count", ["-1", "1" + "0" * 30, "1" * 5000])
def test_counts_that_cannot_be_are_refused(count: str) -> None:
    """A negative or an absurd number of tokens is a malformed reply, and the line names the field."""
    counted = completion(CONTENT, usage={"prompt_tokens": "COUNT"}).replace(b'"COUNT"', count.encode())
    with (
        RawServer(counted) as api,
        pytest.raises(EquipoiseError, match=r"the reply is not a completion: field .*"),
    ):
        ask(entry(api.url, attempts=1), [prompt("a")])


def test_a_server_that_does_not_speak_tls_is_told() -> None:
    """The line says TLS, and it is not tried again."""
    refused = r"^models/some\.yaml: \S+ TLS failure \(\[SSL: .*\): check the field base_url, or"
    with FaultyServer() as api, pytest.raises(EquipoiseError, match=refused):
        ask(entry(api.url.replace("http", "https")), [prompt("a")])


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes the certificate, is not here")
def test_a_certificate_that_nobody_signed_is_told(tmp_path: Path) -> None:
    """The line says what is wrong with it and where the authority's may be named."""
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "certificate"), "-subj", "/CN=127.0.0.1"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    with (
        RawServer(completion(CONTENT), context) as api,
        pytest.raises(EquipoiseError, match=r"TLS failure \(.*certificate verify failed.*\): check .* SSL_CERT_FILE"),
    ):
        ask(entry(api.url), [prompt("a")])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("Sat, 21 Nov 1926 00:00:00 -0000", 0.0),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("", None),
        ("Sat, 99 Nov 2026 00:00:00 GMT", None),
        ("Sat, 21 Nov 99999 00:00:00 GMT", None),
        ("Mon", None),
    ],
)
def test_an_odd_wait_is_understood_or_left_alone(value: str, seconds: float | None) -> None:
    """A date without a zone is one of UTC; anything but a date or a number of seconds asks for nothing."""
    assert server.requested_wait({"retry-after": value}) == seconds


def test_a_wait_until_a_time_without_a_zone_is_waited_for() -> None:
    """-0000 means UTC: a server that asks for it in ten seconds gets them."""
    assert server.requested_wait({"retry-after": "Sat, 21 Nov 2026 00:00:00 -0000"}) is not None
    ahead = email.utils.formatdate(time.time() + 10)
    waits = Waits()
    with RawServer(raw(b"{}", "429 Too Many Requests", {"Retry-After": ahead})) as api:
        assert ahead.endswith("-0000")
        with pytest.raises(EquipoiseError, match="2 attempts, the last of them met: 429"):
            ask(entry(api.url, attempts=2), [prompt("a")], waits)

    assert len(waits.seconds) == 1
    assert 7 < waits.seconds[0] <= 10


def conversations(count: int) -> list[Prompt]:
    """Build conversations of two turns."""
    return [prompt(f"{number:02}", f"Why {number}?", f"What {number}?") for number in range(count)]


def test_a_turn_that_was_answered_is_never_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty conversations, interrupted after every single one of their forty answers, cost forty requests."""
    keep = TurnCache.keep

    def keeps_and_is_interrupted(self: TurnCache, results: Mapping[str, server.Reply]) -> None:
        keep(self, results)
        raise KeyboardInterrupt

    interruptions = 0
    with FaultyServer() as api:
        model = entry(api.url, concurrency=1)
        while True:
            with monkeypatch.context() as patch:
                patch.setattr(TurnCache, "keep", keeps_and_is_interrupted)
                try:
                    responses = run(model, conversations(20), tmp_path / "cache")
                except KeyboardInterrupt:
                    interruptions += 1
                else:
                    break

    assert interruptions == 40
    assert list(api.answered.values()) == [1] * 40
    assert [row.replies for row in responses] == [(f"WHY {number}?", f"WHAT {number}?") for number in range(20)]


def test_two_runs_at_once_ask_each_prompt_once(tmp_path: Path) -> None:
    """Whichever comes first asks; both have the same answers at the end."""
    responses: dict[int, list[Response]] = {}
    with FaultyServer() as api:

        def work(number: int) -> None:
            responses[number] = run(entry(api.url), conversations(20), tmp_path / "cache")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert list(api.answered.values()) == [1] * 40
    assert responses[0] == responses[1]
    assert len(responses[0]) == 20


def test_what_another_run_gives_up_is_taken_over(tmp_path: Path) -> None:
    """A run that waits for the answers of another asks for them itself once that one has failed."""
    with FaultyServer({"a": ["hangs"]}) as api:
        model = entry(api.url, attempts=1, timeout=2.0)
        failed: list[EquipoiseError] = []

        def fails() -> None:
            try:
                run(model, [prompt("a")], tmp_path / "cache")
            except EquipoiseError as error:
                failed.append(error)

        first = threading.Thread(target=fails)
        first.start()
        while not api.requests:
            time.sleep(0.01)
        responses = run(model, [prompt("a")], tmp_path / "cache")
        first.join()

    assert "no reply within 2 s" in str(failed[0])
    assert [row.replies for row in responses] == [("A",)]
    assert api.turns() == ["a", "a"]


NAMES = ("choices", "message", "delta", "content", "finish_reason", "usage", "prompt_tokens", "model", "error", "code")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["stop", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
ODD = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, VALUES))
CHOICES = st.lists(st.fixed_dictionaries({"message": ODD, "delta": ODD, "finish_reason": VALUES}), max_size=2)
BODIES = st.binary(max_size=64) | st.builds(
    lambda value, end: json.dumps(value).encode()[:end],
    VALUES
    | st.fixed_dictionaries({"error": ODD})
    | st.fixed_dictionaries({"choices": CHOICES | VALUES, "usage": ODD | VALUES, "model": VALUES}),
    st.just(None) | st.integers(0, 40),
)
EVENTS = st.lists(BODIES, max_size=3).map(lambda parts: b"".join(b"data: " + part + b"\n\n" for part in parts))
TEXTS = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=30)
HEADERS = st.fixed_dictionaries(
    {"Content-Type": st.sampled_from(["application/json", "text/event-stream", "text/html", ""])},
    optional={
        "Retry-After": TEXTS | st.integers().map(str) | st.floats().map(str),
        "Location": TEXTS,
        "Content-Length": st.sampled_from(["-1", "0", "5", "many"]),
        "Content-Encoding": st.sampled_from(["identity", "gzip", "x"]),
    },
)
STATUSES = st.sampled_from([200] * 6 + [204, 206, 301, 304, 400, 401, 404, 408, 413, 418, 429, 500, 503, 599, 999])


def test_no_reply_is_another_exception() -> None:
    """Whatever status, headers and bytes a server sends: an answer, or an EquipoiseError of one line."""
    with RawServer() as api:
        model = entry(api.url, attempts=1, timeout=10.0, concurrency=1)
        with ApiBackend("some", model) as whole, ApiBackend("some", model.model_copy(update={"stream": True})) as parts:

            @example(
                body=b'{"error": {"message": "\\ud800"}}',  # half of a pair, which no terminal can print
                headers={"Content-Type": "application/json"},
                status=200,
                backend=whole,
            )
            @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
            @given(body=BODIES | EVENTS, headers=HEADERS, status=STATUSES, backend=st.sampled_from([whole, parts]))
            def takes(body: bytes, headers: dict[str, str], status: int, backend: ApiBackend) -> None:
                api.answer = raw(b"", f"{status} So", headers).decode().encode("latin-1") + body
                lines: list[str] = []
                try:
                    (row,) = backend.answer([prompt("a")])
                except EquipoiseError as error:
                    lines.append(str(error))
                else:
                    lines.append(jsonl.dumps(row.model_dump(mode="json")))

                assert "\n" not in lines[0].encode().decode()

            takes()
