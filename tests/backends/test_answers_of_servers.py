"""What servers and gateways answer in the wild: filters, parts, endings, errors with status 200, and other names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from builders import prompt
from equipoise.backends.complaints import read_complaint
from equipoise.core.errors import EquipoiseError
from servers import RawServer, Waits, ask, completion, entry, raw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equipoise.core.prompts import Response

CONTENT = {"content": "Pneumonia."}
PHRASES = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 422: "Unprocessable", 451: "Legal", 500: "Error"}
FILTERS: dict[str, tuple[int, Any]] = {
    "Azure": (
        400,
        {
            "error": {
                "message": "The response was filtered due to Azure OpenAI's content management policy",
                "code": "content_filter",
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
    ),
    "LiteLLM": (
        400,
        {"error": {"message": "litellm.ContentPolicyViolationError: AzureException - filtered", "code": "400"}},
    ),
    "DashScope": (
        400,
        {
            "error": {
                "message": "<400> InternalError.Algo.DataInspectionFailed: Input",
                "code": "data_inspection_failed",
            }
        },
    ),
    "DashScope's own form": (400, {"code": "DataInspectionFailed", "message": "Output data", "request_id": "1"}),
    "DashScope behind a gateway": (500, {"error": {"message": "data_inspection_failed", "type": "upstream_error"}}),
    "OpenRouter": (
        403,
        {
            "error": {
                "message": "The model requires moderation on Azure. Your input was flagged for self-harm.",
                "code": 403,
                "metadata": {"reasons": ["self-harm"], "flagged_input": "I feel"},
            }
        },
    ),
    "OpenRouter, the provider's words": (
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {"raw": '{"error": {"message": "no", "code": "content_filter"}}'},
            }
        },
    ),
    "Gemini": (400, [{"error": {"code": 400, "message": "The prompt is blocked due to: PROHIBITED_CONTENT"}}]),
    "Gemini's own form": (200, {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}),
    "Gemini without choices": (200, {"choices": [], "prompt_feedback": {"block_reason": "OTHER"}}),
    "Vertex": (
        400,
        {"error": {"message": "This prompt contains sensitive words that violate Responsible AI practices"}},
    ),
    "Bedrock": (400, {"error": {"message": "ValidationException: Output blocked by content filtering policy"}}),
    "Bedrock's guardrail": (400, {"error": {"message": "Request failed", "type": "guardrail_intervened"}}),
    "a guardrail of LiteLLM": (400, {"error": {"message": "Violated guardrail policy", "code": "400"}}),
    "Claude": (400, {"type": "error", "error": {"message": "Output blocked by content filtering policy"}}),
    "DeepSeek": (400, {"error": {"message": "Content Exists Risk", "code": "invalid_request_error"}}),
    "DeepSeek, before": (400, {"detail": "Content Exists Risk"}),
    "Moonshot": (
        400,
        {"error": {"code": 400, "message": "rejected because it was considered high risk", "type": "content_filter"}},
    ),
    "Zhipu": (400, {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}}),
    "OpenAI": (400, {"error": {"message": "your prompt was flagged as potentially violating our usage policy"}}),
    "xAI": (403, {"code": "no", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}),
    "StepFun": (451, {"error": {"message": "The content you provided is blocked", "type": "censorship_blocked"}}),
    "Doubao": (400, {"error": {"code": "InputTextSensitiveContentDetected", "message": "The request failed"}}),
    "MiniMax": (422, {"error": {"message": "input new_sensitive (1026)", "code": "1026"}}),
    "in the place of a reply": (200, {"error": {"message": "flagged by the content filter", "code": 400}}),
    "in the place of a choice": (
        200,
        {"choices": [{"finish_reason": "error", "error": {"code": 403, "message": "Blocked by moderation"}}]},
    ),
}
"""The status and the body with which a filter refuses a prompt."""
UNFILTERED: dict[str, tuple[int, Any]] = {
    "a field": (400, {"error": {"message": "Unsupported parameter: 'content_filter' is not supported"}}),
    "an organisation": (403, {"error": {"message": "Your organization was flagged for violating our usage policies"}}),
    "an account": (403, {"error": {"message": "Your account violates our content policy and is suspended"}}),
    "a key": (401, {"error": {"message": "blocked by content filter"}}),
    "a proxy's page": (403, "<html>Blocked by content filter: example</html>"),
    "what is repeated of the request": (
        422,
        {"detail": [{"msg": "Field required", "input": {"messages": "harmful content was blocked"}}]},
    ),
    "a guardrail that is not there": (400, {"error": {"message": "The guardrail identifier does not exist"}}),
}


def body(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    """Put together a response with a JSON value, or with text."""
    content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return raw(content.encode(), f"{status} {PHRASES.get(status, 'OK')}", headers)


def stream(*events: object, done: bool = True) -> bytes:
    """Put together a stream."""
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + ("data: [DONE]\n\n" if done else "")
    return raw(lines.encode(), headers={"Content-Type": "text/event-stream"})


def answer(content: bytes, **change: Any) -> tuple[Response, int]:
    """Ask one prompt of a server with one answer; give the response, and the number of requests."""
    with RawServer(content) as api:
        response = ask(entry(api.url, **change), [prompt("a")])["a"]
    return response, len(api.requests)


def refusal(content: bytes, **change: Any) -> tuple[str, int, int]:
    """Ask one prompt that fails; give the line, the number of requests, and that of waits."""
    waits = Waits()
    with RawServer(content) as api, pytest.raises(EquipoiseError) as caught:
        ask(entry(api.url, **change), [prompt("a")], waits)
    return str(caught.value), len(api.requests), len(waits.seconds)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", FILTERS)
def test_a_filtered_prompt_has_an_answer_of_its_own(name: str, *, streamed: bool) -> None:
    """It is asked once, has no text, counts as unfinished, and the run goes on."""
    status, value = FILTERS[name]
    with RawServer(body(value, status)) as api:
        responses = ask(entry(api.url, stream=streamed), [prompt("a"), prompt("b")])

    assert [(row.replies, row.finished, row.endings) for row in responses.values()] == [
        (("",), (False,), ("content_filter",))
    ] * 2
    assert len(api.requests) == 2


@pytest.mark.parametrize("name", UNFILTERED)
def test_another_refusal_is_no_filter(name: str) -> None:
    """An account, a field or a proxy may name filters and policies: the run ends after one attempt."""
    status, value = UNFILTERED[name]
    line, requests, _ = refusal(body(value, status))

    assert f"the request is refused ({status} " in line
    assert requests == 1


def test_a_filter_in_a_stream_is_told_apart() -> None:
    """The event in the place of a chunk is read as an error's body is."""
    content = stream({"error": {"message": "no", "code": "data_inspection_failed"}}, done=False)
    response, requests = answer(content, stream=True)

    assert (response.replies, response.endings, requests) == (("",), ("content_filter",), 1)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": [{"type": "text", "text": "Pneumonia."}]}, "Pneumonia."),
        ({"content": ["Pneu", "monia."]}, "Pneu\nmonia."),
        ({"content": {"type": "text", "text": "Pneumonia."}}, "Pneumonia."),
        ({"content": [{"type": "text", "text": {"value": "Pneumonia."}}]}, "Pneumonia."),
        # Parts that the provider cut, and parts that it only listed.
        ({"content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "gout."}]}, "It is gout."),
        ({"content": [{"type": "output_text", "text": "Gout."}, {"type": "text", "text": "Rest."}]}, "Gout.\nRest."),
        ({"content": []}, ""),
        ({"content": [{"type": "image_url", "image_url": {}}, {"text": "Gout."}]}, "Gout."),
        ({"content": None, "refusal": "I cannot."}, "I cannot."),
        ({"content": [{"type": "refusal", "refusal": "I cannot."}]}, "I cannot."),
    ],
)
def test_content_in_parts_is_joined(message: dict[str, Any], text: str) -> None:
    """Texts follow each other; a picture is left out."""
    assert answer(completion(message))[0].replies == (text,)


THINKING = "<think>\nFever, cough.\n</think>\n\nPneumonia."


@pytest.mark.parametrize(
    "message",
    [
        {"content": [{"type": "thinking", "thinking": "Fever, cough."}, {"type": "text", "text": "Pneumonia."}]},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Fever, cough."}]},
                {"type": "text", "text": "Pneumonia."},
            ]
        },
        {"content": [{"type": "reasoning", "summary": [{"text": "Fever, cough."}]}, {"text": "Pneumonia."}]},
        {"content": [{"text": "Fever, cough.", "thought": True}, {"text": "Pneumonia."}]},
        {"content": "Pneumonia.", "reasoning_content": [{"type": "text", "text": "Fever, cough."}]},
        {"content": "Pneumonia.", "thinking": "Fever, cough."},
        {
            "content": "Pneumonia.",
            "reasoning_details": [{"type": "reasoning.text", "text": "Fever, cough."}, {"type": "reasoning.encrypted"}],
        },
        {
            "content": "Pneumonia.",
            "reasoning": "Fever, cough.",
            "reasoning_content": "Fever, cough.",
            "reasoning_details": [{"type": "reasoning.summary", "summary": "Fever, cough."}],
        },
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_in_parts_is_kept_apart(message: dict[str, Any], *, streamed: bool) -> None:
    """Wherever a provider puts it, it stands once before the reply."""
    content = completion(message)
    if streamed:
        content = stream({"choices": [{"delta": message}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]})

    assert answer(content, stream=streamed)[0].replies == (THINKING,)


@pytest.mark.parametrize(
    ("reason", "ending", "finished"),
    [
        *(
            (word, "stop", True)
            for word in ("stop", "eos", "eos_token", "end_turn", "STOP", "stop_sequence", "COMPLETE")
        ),
        *((word, "stop", True) for word in ("", "FINISH_REASON_STOP", "FinishReason.STOP", "end-of-turn", "endoftext")),
        *((word, "length", False) for word in ("length", "max_tokens", "MAX_TOKENS", "model_length")),
        *((word, "content_filter", False) for word in ("SAFETY", "content_filter: SAFETY", "guardrail_intervened")),
        ("tool_calls", "tool_calls", False),
        ("abort", "abort", False),
        (None, "unknown", True),
    ],
)
def test_a_finish_reason_is_read_as_it_is_meant(reason: str | None, ending: str, *, finished: bool) -> None:
    """Whatever a server calls it; an unknown ending counts as finished."""
    content = body({"choices": [{"message": CONTENT, "finish_reason": reason}]})
    response, requests = answer(content)

    assert (response.replies, response.endings, response.finished) == (("Pneumonia.",), (ending,), (finished,))
    assert requests == 1


@pytest.mark.parametrize(
    ("choice", "usage", "ending"),
    [
        ({"message": CONTENT}, None, "unknown"),
        ({"message": CONTENT}, {"completion_tokens": 19}, "unknown"),
        # The limit of the last turn is 20 tokens.
        ({"message": CONTENT}, {"completion_tokens": 20}, "length"),
        ({"message": {"content": None}}, None, "empty"),
        ({"message": None, "finish_reason": "content_filter"}, None, "content_filter"),
        ({"message": None}, None, "empty"),
    ],
)
def test_a_missing_finish_reason_is_an_unknown_ending(
    choice: dict[str, Any], usage: dict[str, Any] | None, ending: str
) -> None:
    """The reply is taken, unless the tokens show that it was cut off."""
    response, requests = answer(body({"choices": [choice], "usage": usage}))

    assert (response.endings, response.finished) == ((ending,), (ending == "unknown",))
    assert requests == 1


def test_a_stream_without_a_finish_reason_has_its_end() -> None:
    """With it the reply is whole, with an empty reason too; a stream that only stops broke off."""
    piece = {"choices": [{"delta": CONTENT}]}
    empty = {"choices": [{"delta": CONTENT, "finish_reason": ""}]}

    assert answer(stream(piece), stream=True)[0].endings == ("unknown",)
    assert answer(stream(empty), stream=True)[0].endings == ("stop",)
    assert answer(stream(empty, {"choices": None, "usage": None}), stream=True)[0].replies == ("Pneumonia.",)
    for broken in (piece, empty):
        line, requests, _ = refusal(stream(broken, done=False), stream=True)
        assert "4 attempts, the last of them met: the reply broke off" in line
        assert requests == 4


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": None, "completion_tokens": None}, {"prompt_tokens": None, "total_tokens": 3}],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_counts_that_are_null_are_none(usage: dict[str, Any] | None, *, streamed: bool) -> None:
    """They count as 0, as those that are missing."""
    content = completion(CONTENT, usage=usage)
    if streamed:
        content = stream({"choices": [{"delta": CONTENT, "finish_reason": "stop"}], "usage": usage})
    response, _ = answer(content, stream=streamed)

    assert (response.replies, response.prompt_tokens, response.generated_tokens) == (("Pneumonia.",), 0, 0)


@pytest.mark.parametrize(
    ("value", "words", "requests"),
    [
        ({"error": {"message": "The model is overloaded"}}, "an error: The model is overloaded", 4),
        ({"error": "The model is overloaded"}, "an error: The model is overloaded", 4),
        ({"error": {"message": "Slow down", "code": 429}}, "429 Slow down", 4),
        ({"error": {"message": "Upstream failed", "code": 502}, "choices": []}, "502 Upstream failed", 4),
        ({"choices": [{"error": {"code": 502, "message": "Upstream failed"}}]}, "502 Upstream failed", 4),
        ({"error": {"message": "No such model", "code": 404}}, r"refused (404 No such model): check the fields", 1),
        ({"error": {"message": "Bad key", "code": "invalid_api_key"}}, "refused (401 Bad key): set TEST_KEY", 1),
        ({"error": {"message": "Too long", "type": "invalid_request_error"}}, "refused (400 Too long): check", 1),
        ({"object": "error", "message": "Too long", "code": 400}, "refused (400 Too long): check", 1),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "error"}]}, "ended the reply with an error", 4),
    ],
)
def test_an_error_in_the_place_of_a_reply_shows_the_servers_words(value: Any, words: str, requests: int) -> None:
    """It is tried again where its code says that it may pass, or says nothing."""
    line, asked, _ = refusal(body(value))

    assert words in line
    assert asked == requests


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("content", "line"),
    [
        (raw(b"<!DOCTYPE html><p>Welcome", headers={"Content-Type": "text/html"}), "not JSON but text/html (<!DOCTYPE"),
        (raw(b"<?xml version='1.0'?><a/>"), "not JSON but application/json (<?xml version"),
        (
            raw(b"Ollama is running", headers={"Content-Type": "text/plain"}),
            "not JSON but text/plain (Ollama is running)",
        ),
        (
            body({"object": "list", "data": []}),
            "is not a chat completion (it has object, data): check the field base_url",
        ),
        (raw(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), "the reply is compressed"),
    ],
)
def test_what_no_other_attempt_can_help_is_told_after_one(content: bytes, line: str, *, streamed: bool) -> None:
    """A page, a greeting or JSON of another kind comes from a wrong address, which stays wrong."""
    told, requests, waits = refusal(content, stream=streamed)

    assert line in told
    assert (requests, waits) == (1, 0)


@pytest.mark.parametrize(
    ("status", "attempts"),
    [
        *((status, 1) for status in (400, 401, 402, 403, 404, 405, 410, 413, 415, 422)),
        *((status, 4) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)),
    ],
)
def test_a_status_decides_whether_another_attempt_can_help(status: int, attempts: int) -> None:
    """What is wrong with the request stays wrong; what is wrong with the server may pass."""
    assert refusal(body({"error": {"message": "No."}}, status))[1] == attempts


def test_a_server_that_streams_unasked_is_told() -> None:
    """The line names the field; where a stream was asked for, a whole completion is taken too."""
    line, requests, _ = refusal(stream({"choices": [{"delta": CONTENT, "finish_reason": "stop"}]}))

    assert "the server streams its replies: set the field stream to true" in line
    assert requests == 1
    assert answer(completion(CONTENT), stream=True)[0].replies == ("Pneumonia.",)


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/octet-stream", ""])
def test_a_stream_is_one_whatever_its_type_is_called(kind: str) -> None:
    """Its first bytes tell, where one was asked for; one that broke off is still tried again."""
    whole = stream({"choices": [{"delta": CONTENT}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]})
    broken = stream({"choices": [{"delta": CONTENT}]}, done=False)
    named = [content.replace(b"text/event-stream", kind.encode()) for content in (whole, broken)]

    assert answer(named[0], stream=True)[0].replies == ("Pneumonia.",)
    assert "the reply broke off" in refusal(named[1], stream=True)[0]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("charset", ["latin-1", "utf-16", "punycode", "rot13", "zlib_codec", "idna", "no-such-thing"])
def test_a_reply_is_utf8_whatever_it_is_called(charset: str, *, streamed: bool) -> None:
    """The name of another character set changes no letter, of a reply or of an error."""
    message = {"content": "Ménière – 梅尼埃"}
    content = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}, ensure_ascii=False).encode()
    kind = {"Content-Type": f"application/json; charset={charset}"}
    if streamed:
        kind = {"Content-Type": f"text/event-stream; charset={charset}"}
        event = json.dumps({"choices": [{"delta": message, "finish_reason": "stop"}]}, ensure_ascii=False)
        content = f"data: {event}\n\ndata: [DONE]\n\n".encode()
    response, _ = answer(raw(content, headers=kind), stream=streamed)
    line, _, _ = refusal(body({"error": {"message": "Schlüssel"}}, 404, kind), stream=streamed)

    assert response.replies == ("Ménière – 梅尼埃",)
    assert "404 Schlüssel" in line


@pytest.mark.parametrize("status", [200, 400])
def test_a_character_set_outlives_no_timeout(status: int) -> None:
    """A body is read as UTF-8 whose decoding as punycode, in the square of its length, would take minutes."""
    content = b"-" + b"zz9" * 1_000_000
    kind = {"Content-Type": "application/json; charset=punycode"}
    line, requests, _ = refusal(raw(content, f"{status} So", kind), attempts=1)

    assert "-zz9zz9" in line or "not a completion" in line
    assert requests == 1


def test_a_field_that_stands_twice_is_refused() -> None:
    """Only one of its values can be meant."""
    content = b'{"choices": [{"message": {"content": "A", "content": "B"}, "finish_reason": "stop"}]}'

    assert "a field stands twice" in refusal(raw(content))[0]


SYSTEM = [
    (400, "System role not supported"),
    (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
    (400, "Only user, assistant and tool roles are supported, got system."),
    (400, "Developer instruction is not enabled for models/gemma-3-1b-it"),
    (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
    (422, "This model does not support system messages"),
    (400, "Unexpected message role."),
    (400, "'system' role is not allowed"),
    # llama.cpp answers with what the template raises.
    (500, "Jinja Exception: System role is not supported"),
    (500, "After the optional system message, conversation roles must alternate user and assistant roles"),
]


@pytest.mark.parametrize(("status", "message"), SYSTEM)
def test_a_model_without_a_system_role_is_told(status: int, message: str) -> None:
    """The line names the setting, after one attempt; a prompt without a system text is another matter."""
    content = body({"error": {"message": message, "type": "BadRequestError"}}, status)
    with RawServer(content) as api, pytest.raises(EquipoiseError) as caught:
        ask(entry(api.url), [prompt("a", system="You are a clinician.")])
    line, _, _ = refusal(content)

    assert f"({status} {message}): the model takes no system text: leave it out (-S build.system=)" in str(caught.value)
    assert len(api.requests) == 1
    assert "system text" not in line


@pytest.mark.parametrize(
    "message", ["The system is overloaded", "temperature is not supported", "No such model; see the system message"]
)
def test_other_words_are_not_about_the_system_text(message: str) -> None:
    """The word alone says nothing."""
    assert not read_complaint({"error": {"message": message}}, 400).is_about_system
