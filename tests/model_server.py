"""A server with a model of its own: what it computes is what a checkpoint gives, in the forms that servers have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from loopback import Loopback
from servers import send

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path

Gives = Literal["prompt_logprobs", "echo", "top_logprobs"]


class ModelServer(Loopback):
    """A checkpoint behind chat and text completions, which gives log probabilities in some forms.

    A field of another form is ignored, or refused with `refuses`. `spoil` may change each log probability, or leave it
    out as None; `spoil_answer` may change an answer. Replies are the greedy ones. `requests` has each path and body.
    """

    def __init__(
        self,
        checkpoint: Path,
        gives: Sequence[Gives] = (),
        *,
        refuses: bool = False,
        spoil: Callable[[float], float | None] = lambda value: value,
    ) -> None:
        """Load the checkpoint in single precision, as weights run here."""
        self.gives, self.refuses, self.spoil = gives, refuses, spoil
        self.spoil_answer: Callable[[dict[str, Any]], object] = lambda _: None
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._words: Any = AutoTokenizer.from_pretrained(checkpoint)
        self._model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
        super().__init__()

    @property
    def url(self) -> str:
        """The address, as a registry entry has it."""
        return f"{self.address}/v1"

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append((handler.path, body))
        asked = {"prompt_logprobs": "prompt_logprobs" in body, "top_logprobs": "top_logprobs" in body}
        if self.refuses and any(asked[form] and form not in self.gives for form in asked):
            send(handler, 400, json.dumps({"error": {"message": "Unrecognized request argument supplied"}}))
        elif handler.path == "/v1/completions":
            self._complete_text(handler, body)
        else:
            self._complete_chat(handler, body)

    def _complete_text(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if "echo" not in self.gives:
            send(handler, 404, json.dumps({"error": {"message": "Not Found"}}))
            return
        ids = self._ids(body["prompt"])
        ids.append(int(self._log_p(ids)[-1].argmax()))  # the one token that is asked for
        values = self._own(ids)
        logprobs = {"tokens": [self._words.decode(token) for token in ids], "token_logprobs": values}
        self._send(handler, {"choices": [{"index": 0, "text": "", "logprobs": logprobs}]})

    def _complete_chat(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        goes_on = body.get("continue_final_message", False)
        text = self._words.apply_chat_template(
            body["messages"],
            tokenize=False,
            add_generation_prompt=body.get("add_generation_prompt", True),
            continue_final_message=goes_on,
        )
        ids = self._ids(text)
        answer: dict[str, Any] = {"choices": [{"index": 0, "message": {"role": "assistant"}, "finish_reason": "stop"}]}
        choice = answer["choices"][0]
        reply = list(ids)
        while len(reply) < len(ids) + body["max_tokens"]:
            reply.append(int(self._log_p(reply)[-1].argmax()))
            if reply[-1] == self._words.eos_token_id:
                break
        choice["message"]["content"] = self._words.decode(reply[len(ids) :], skip_special_tokens=True)
        if body.get("prompt_logprobs") is not None and "prompt_logprobs" in self.gives:
            answer["prompt_logprobs"] = [
                None if value is None else {str(token): {"logprob": value, "decoded_token": self._words.decode(token)}}
                for token, value in zip(ids, self._own(ids), strict=True)
            ]
        if body.get("logprobs") and "top_logprobs" in self.gives:
            best = torch.topk(self._log_p(ids)[-1], body["top_logprobs"])
            listed = [
                {"token": self._words.decode(int(token)), "logprob": self.spoil(float(value))}
                for value, token in zip(best.values, best.indices, strict=True)
            ]
            choice["logprobs"] = {"content": [{**listed[0], "top_logprobs": listed}]}
        self._send(handler, answer)

    def _send(self, handler: BaseHTTPRequestHandler, answer: dict[str, Any]) -> None:
        self.spoil_answer(answer)
        send(handler, 200, json.dumps(answer))

    def _ids(self, text: str) -> list[int]:
        return list(self._words(text, add_special_tokens=False)["input_ids"])

    def _log_p(self, ids: Sequence[int]) -> torch.Tensor:
        with torch.inference_mode():
            return self._model(torch.tensor([list(ids)])).logits[0].double().log_softmax(-1)

    def _own(self, ids: Sequence[int]) -> list[float | None]:
        """Give each token's log probability after the tokens before it; the first has none."""
        table = self._log_p(ids)
        return [None, *(self.spoil(float(table[place, token])) for place, token in enumerate(ids[1:]))]
