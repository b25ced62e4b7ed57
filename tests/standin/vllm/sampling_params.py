"""How a request is answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class RequestOutputKind(Enum):
    """What `step` gives of a request that is under way."""

    CUMULATIVE = 0
    DELTA = 1
    FINAL_ONLY = 2


@dataclass
class SamplingParams:
    """Some of vLLM's parameters, with vLLM's defaults."""

    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    prompt_logprobs: int | None = None
    logprob_token_ids: list[int] | None = None
    detokenize: bool = True
    output_kind: RequestOutputKind = field(default=RequestOutputKind.CUMULATIVE)

    def __post_init__(self) -> None:
        """Refuse what vLLM refuses."""
        if self.max_tokens is not None and self.max_tokens < 1:
            message = f"max_tokens must be at least 1, got {self.max_tokens}."
            raise ValueError(message)
        if len(self.logprob_token_ids or ()) > 128:
            message = f"Requested logprob_token_ids of length {len(self.logprob_token_ids or ())}"
            raise ValueError(message)
