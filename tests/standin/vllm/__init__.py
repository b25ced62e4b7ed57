"""A stand-in for vLLM 0.23: the part of its interface that the backend uses, run by transformers.

Names, arguments and defaults are those of vLLM 0.23.0; what it does not know it refuses, as vLLM does.
"""

from __future__ import annotations

from typing import Any

from vllm.engine import LLMEngine
from vllm.sampling_params import SamplingParams

__all__ = ["LLM", "SamplingParams"]
ENGINE_ARGUMENTS = {
    "enable_prefix_caching",
    "generation_config",
    "load_format",
    "max_model_len",
    "max_num_batched_tokens",
    "max_num_seqs",
}
"""Arguments of vLLM's `EngineArgs`, which `LLM` takes beside its own."""


class LLM:
    """The offline engine of a model."""

    def __init__(
        self,
        model: str,
        *,
        trust_remote_code: bool = False,
        tensor_parallel_size: int = 1,
        dtype: str = "auto",
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        """Load a checkpoint; what was asked for is kept for the tests."""
        if unknown := kwargs.keys() - ENGINE_ARGUMENTS:
            message = f"EngineArgs.__init__() got an unexpected keyword argument {min(unknown)!r}"
            raise TypeError(message)
        self.arguments = {
            "trust_remote_code": trust_remote_code,
            "tensor_parallel_size": tensor_parallel_size,
            "dtype": dtype,
            "seed": seed,
            **kwargs,
        }
        self.llm_engine = LLMEngine(model, kwargs["max_model_len"], kwargs["max_num_seqs"] or 256)
