"""The engine: requests worked on side by side, a token of each at a step."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vllm.sampling_params import SamplingParams

LOG = "STANDIN_VLLM_LOG"
"""An environment variable that names a folder for notes on the processes that loaded a model."""


@dataclass
class Logprob:
    """A token's log probability."""

    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    """What was generated."""

    index: int
    text: str
    token_ids: list[int]
    logprobs: list[dict[int, Logprob]] | None = None
    finish_reason: str | None = None


@dataclass
class RequestOutput:
    """What came of a request."""

    request_id: str
    prompt_token_ids: list[int]
    prompt_logprobs: list[dict[int, Logprob] | None] | None
    outputs: list[CompletionOutput]
    finished: bool


@dataclass
class _Request:
    given: list[int]
    params: SamplingParams
    cache: Any = None
    tokens: list[int] = field(default_factory=list)
    logprobs: list[dict[int, Logprob]] = field(default_factory=list)


class LLMEngine:
    """The engine of one checkpoint."""

    def __init__(self, model: str, max_model_len: int, max_num_seqs: int) -> None:
        """Load the checkpoint, in the 32 bits that processors multiply fastest."""
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._model: Any = AutoModelForCausalLM.from_pretrained(model, dtype="auto").float().eval()
        self._eos = AutoTokenizer.from_pretrained(model).eos_token_id
        self._room, self._width = max_model_len, max_num_seqs
        self._requests: dict[str, _Request] = {}
        self.widest = 0
        if folder := os.environ.get(LOG):
            Path(folder, str(os.getpid())).write_text(os.environ.get("CUDA_VISIBLE_DEVICES", ""), encoding="utf-8")

    def add_request(  # noqa: PLR0913, PLR0917  (vLLM's own arguments)
        self,
        request_id: str,
        prompt: Any,
        params: SamplingParams,
        arrival_time: float | None = None,
        lora_request: Any = None,
        tokenization_kwargs: dict[str, Any] | None = None,
        trace_headers: Any = None,
        priority: int = 0,
        prompt_text: str | None = None,
    ) -> str:
        """Queue a request; the name it is given back is not the one that outputs carry."""
        others = (arrival_time, lora_request, tokenization_kwargs, trace_headers, priority or None, prompt_text)
        if prompt["type"] != "token" or any(other is not None for other in others):
            message = "the stand-in knows requests in tokens alone"
            raise TypeError(message)
        if len(prompt["prompt_token_ids"]) >= self._room:
            message = f"The decoder prompt is longer than the maximum model length of {self._room}."
            raise ValueError(message)
        self._requests[request_id] = _Request(prompt["prompt_token_ids"], params)
        return f"{request_id}-0a1b2c3d"

    def abort_request(self, request_ids: list[str], internal: bool = False) -> None:  # noqa: FBT001, FBT002, ARG002
        """Forget requests."""
        for request_id in request_ids:
            self._requests.pop(request_id, None)

    def has_unfinished_requests(self) -> bool:
        """Whether requests are under way."""
        return bool(self._requests)

    def step(self) -> list[RequestOutput]:
        """Generate one token of each request that has a place, and give those that it ends."""
        placed = list(self._requests.items())[: self._width]
        self.widest = max(self.widest, len(placed))
        outputs: list[RequestOutput] = []
        for request_id, request in placed:
            reason = self._extend(request)
            if reason:
                del self._requests[request_id]
                logprobs = None if request.params.prompt_logprobs is None else self._scored(request.given)
                completion = CompletionOutput(0, "", request.tokens, request.logprobs or None, reason)
                outputs.append(RequestOutput(request_id, request.given, logprobs, [completion], finished=True))
        return outputs

    def _extend(self, request: _Request) -> str | None:
        import torch

        seen = request.given + request.tokens
        new = seen if request.cache is None else seen[-1:]
        with torch.no_grad():
            output = self._model(torch.tensor([new]), cache=request.cache, use_cache=True, logits_to_keep=1)
        request.cache, logits = output.cache, output.logits[0, -1]
        # As they are before any penalty.
        raw = logits.log_softmax(-1)
        penalty, known = request.params.repetition_penalty, torch.tensor(sorted(set(seen)))
        scores = logits[known]
        logits[known] = torch.where(scores > 0, scores / penalty, scores * penalty)
        token = (
            _drawn(logits, request.params, len(request.tokens)) if request.params.temperature else int(logits.argmax())
        )
        request.tokens.append(token)
        if wanted := request.params.logprob_token_ids:
            request.logprobs.append({one: Logprob(float(raw[one])) for one in (token, *wanted)})
        if token in (request.params.stop_token_ids or ()) or (token == self._eos and not request.params.ignore_eos):
            return "stop"
        return "length" if len(request.tokens) == request.params.max_tokens else None

    def _scored(self, given: list[int]) -> list[dict[int, Logprob] | None]:
        """Give the log probability of each token after those before it; the first has none."""
        import torch

        with torch.inference_mode():
            log_p = self._model(torch.tensor([given])).logits[0].log_softmax(-1)
        return [None, *({token: Logprob(float(log_p[place, token]))} for place, token in enumerate(given[1:]))]


def _drawn(logits: Any, params: SamplingParams, place: int) -> int:
    """Draw a token from the likeliest ones that have a probability of `top_p` together."""
    import torch

    shares, tokens = (logits.float() / params.temperature).softmax(-1).sort(descending=True)
    shares[shares.cumsum(-1) - shares >= params.top_p] = 0.0
    seeded = torch.Generator().manual_seed(((params.seed or 0) + place) % 2**63)
    return int(tokens[torch.multinomial(shares, 1, generator=seeded)])
