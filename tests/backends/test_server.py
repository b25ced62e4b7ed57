from __future__ import annotations

import json
import logging
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from builders import prompt
from equipoise.backends import openai as server
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.models.export import describe
from servers import KEY, Fault, FaultyServer, Waits, ask, entry, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TRANSIENT: tuple[Fault, ...] = (
    "busy",
    "broken",
    "hangs",
    "cut_json",
    "cut_body",
    "no_choices",
    "drops",
)
STREAMED: tuple[Fault, ...] = (*TRANSIENT, "no_end")
"""A stream without a finish reason broke off; a whole body without one does not say how the reply ended."""


@pytest.mark.parametrize(
    ("fault", "stream"), [*((fault, False) for fault in TRANSIENT), *((fault, True) for fault in STREAMED)]
)
def test_a_fault_that_passes_costs_one_attempt(fault: Fault, *, stream: bool) -> None:
    """Each kind of fault, in either turn, is tried again, and an answered turn is not asked again."""
    faults: Mapping[str, Sequence[Fault]] = {"Why?": [fault], "What?": [fault, fault]}
    with FaultyServer(faults) as api:
        # A busy machine must not make a sound request late.
        model = entry(api.url, stream=stream, timeout=1.0 if fault == "hangs" else 60.0)
        response = ask(model, [prompt("a", "Why?", "What?")])["a"]

    assert response.replies == ("WHY?", "WHAT?")
    assert api.turns() == ["Why?"] * 2 + ["What?"] * 3
    assert list(api.answered.values()) == [1, 1]


def test_waits_double_and_a_server_may_ask_for_longer_ones() -> None:
    """The wait is 1, 2, 4 … 60 seconds and up to a quarter more; Retry-After is waited for where it is longer."""
    waits = Waits()
    faults: list[Fault] = ["broken", "broken", "broken", "busy", "broken", "broken", "broken", "broken"]
    with FaultyServer({"a": faults}) as api:
        ask(entry(api.url, attempts=9), [prompt("a")], waits)

    # The fourth wait would be 8 to 10 s, which is longer than the 7 s that the server asks for.
    least = [1, 2, 4, 8, 16, 32, 60, 60]
    assert all(low <= wait <= 1.25 * low for low, wait in zip(least, waits.seconds, strict=True))

    waits = Waits()
    with FaultyServer({"a": ["busy"]}) as api:
        ask(entry(api.url), [prompt("a")], waits)
    assert waits.seconds == [7.0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "1500", "retry-after": "3"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds and dates are understood; a time that has passed is a wait of 0."""
    assert server.requested_wait(headers) == seconds


def test_a_server_that_asks_for_too_long_a_wait_ends_the_run() -> None:
    """Nobody waits for a year: the line says how long the server wants."""
    with (
        FaultyServer({"a": ["busy_until"]}) as api,
        pytest.raises(EquipoiseError, match=r"it asks to wait \d+ s \(429"),
    ):
        ask(entry(api.url), [prompt("a")])


@pytest.mark.parametrize(
    ("status", "fix"),
    [
        (401, "set TEST_KEY to a key that this server accepts"),
        (403, "set TEST_KEY to a key that this server accepts"),
        (404, "check the fields base_url and model"),
        (400, "check the fields temperature, seed, limit and extra_body"),
        (422, "check the fields temperature, seed, limit and extra_body"),
    ],
)
def test_a_refusal_is_not_tried_again(status: int, fix: str) -> None:
    """What would be refused again ends the run in one line with the fix; what is under way may end first."""
    prompts = [prompt(f"{number:02}") for number in range(20)]
    with (
        FaultyServer(refuse=lambda _: (status, {"message": "No."})) as api,
        pytest.raises(
            EquipoiseError, match=rf"^models/some\.yaml: \S+ the request is refused \({status} No\.\): {fix}"
        ),
    ):
        ask(entry(api.url), prompts)

    assert len(api.requests) <= 4


def test_a_key_that_is_asked_for_and_not_named_is_told() -> None:
    """Without key_env, a server that wants a key is answered with the field to write."""
    with (
        FaultyServer(refuse=lambda _: (401, {"message": "Who are you?"})) as api,
        pytest.raises(EquipoiseError, match="name the key's environment variable in the field key_env"),
    ):
        ask(entry(api.url, key_env=None), [prompt("a")])


def test_an_account_without_credit_is_told_at_once() -> None:
    """That 429 does not pass by waiting."""
    with FaultyServer({"a": ["no_credit"]}) as api, pytest.raises(EquipoiseError, match="add credit to the account"):
        ask(entry(api.url), [prompt("a")])

    assert len(api.requests) == 1


def test_only_what_the_server_accepts_is_sent() -> None:
    """A null temperature or seed is left out, the limit has the server's name, and the rest goes as it is written."""
    model = entry(
        "http://x", temperature=None, seed=None, limit="max_completion_tokens", prefix=None, extra_body={"top_k": 1}
    )
    with FaultyServer() as api:
        ask(model.model_copy(update={"base_url": api.url}), [prompt("a", "Name it.", prefix="It is", limit=3)])

    assert api.requests[0][0] == {
        "model": "some-model",
        "messages": [{"role": "user", "content": "Name it."}],
        "max_completion_tokens": 3,
        "top_k": 1,
    }


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("message", "finish_reason", "reply", "finished"),
    [
        ({"content": "The patient"}, "length", "The patient", False),
        ({"content": "The patient"}, "content_filter", "The patient", False),
        ({"refusal": "I cannot say."}, "stop", "I cannot say.", True),
        ({"content": ""}, "stop", "", False),
        ({}, "stop", "", False),
    ],
)
def test_a_reply_that_the_model_did_not_end_is_unfinished(
    message: dict[str, str], finish_reason: str, reply: str, *, finished: bool, stream: bool
) -> None:
    """The length limit or a filter cut it; a refusal is a reply, and silence is not."""
    with FaultyServer(say=lambda _: message, finish_reason=finish_reason, usage=False) as api:
        response = ask(entry(api.url, stream=stream), [prompt("a")])["a"]

    assert (response.replies, response.finished) == ((reply,), (finished,))
    assert (response.prompt_tokens, response.generated_tokens) == (0, 0)


def test_a_conversation_that_a_filter_refuses_has_an_empty_reply() -> None:
    """A provider that will not hear of the case is counted as giving no answer, and the others are asked on."""
    error = {"message": "The prompt was filtered.", "code": "content_filter"}
    with FaultyServer(refuse=lambda _: (400, error)) as api:
        responses = ask(entry(api.url), [prompt("a"), prompt("b")])

    assert [(row.replies, row.finished) for row in responses.values()] == [(("",), (False,))] * 2


def test_the_key_of_one_server_is_not_sent_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the client would read from the environment by itself is not used: neither key nor address."""
    for variable in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(variable, f"{KEY}-of-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with FaultyServer() as api:
        ask(entry(api.url, key_env=None), [prompt("a")])

    assert KEY not in json.dumps(api.requests)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [401, 429, 500, None])
def test_the_key_is_seen_nowhere(
    status: int | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    *,
    stream: bool,
) -> None:
    """A server that says the key aloud finds it in no message, log, output or file, whether it refuses or answers."""
    caplog.set_level(logging.DEBUG)

    def refuse(headers: Mapping[str, str]) -> tuple[int, dict[str, Any]] | None:
        return (status, {"message": f"Bad key: {headers['Authorization']}"}) if status else None

    with FaultyServer(refuse=refuse) as api:
        model = entry(api.url, stream=stream)
        jsonl.write_json(tmp_path / "manifest.json", describe("some", model, tmp_path).written())
        told = ""
        try:
            jsonl.write(tmp_path / "responses.jsonl", run(model, [prompt("a"), prompt("b")], tmp_path / "cache"))
        except EquipoiseError as error:
            told = "".join(traceback.format_exception(error)) + repr(error)

    assert api.requests[0][1]["authorization"].endswith(KEY)
    assert ("[key]" in told) == (status is not None)
    seen = [told, caplog.text, *capfd.readouterr()]
    assert not any(KEY in text for text in seen)
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
