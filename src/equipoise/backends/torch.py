"""The torch backend: transformers runs the model, with the rows and the order of work of the ONNX backend."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from equipoise.backends.conversation import Chat
from equipoise.backends.rows import RowsBackend
from equipoise.backends.scoring import score_all
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt, Response
from equipoise.core.system import cores
from equipoise.models.adapter import merge
from equipoise.models.engine import Engine
from equipoise.models.registry import TorchEntry
from equipoise.models.torch_engine import TorchEngine, enough_memory
from equipoise.models.weights import Weights, loading, require_context, require_whole


class TorchBackend(RowsBackend):
    """A model in transformers that processes up to `batch_size` prompts at once, on devices that its entry names."""

    def __init__(self, weights: Weights, entry: TorchEntry, *, batch_size: int) -> None:
        """Load verified weights (`equipoise.models.weights.locate`).

        Raises:
            EquipoiseError: CUDA or bitsandbytes is missing, there is too little memory, the weights are damaged, or
                the architecture is not supported.
        """
        import torch
        from transformers import AutoTokenizer

        self._entry = entry
        self._batch_size = batch_size
        self._threads = torch.get_num_threads()
        model = _load(weights, entry)
        with loading(weights):
            tokenizer = AutoTokenizer.from_pretrained(weights.folder, trust_remote_code=False, **weights.arguments)
        self._chat = Chat(tokenizer, model.generation_config.eos_token_id, entry)
        # One prompt per core, except where a GPU computes, or bitsandbytes, whose layers keep notes of each step.
        self._alone = model.device.type != "cpu" or entry.bits is not None
        self._engine = TorchEngine(model, entry)

    def __exit__(self, *_: object) -> None:
        """Free the model and its buffers."""
        del self._engine

    def _open(self, *, threads: int, rows: int) -> Engine:
        """Prepare the engine; a step has `threads` threads, 0 for as many as torch had."""
        self._engine.threads = threads or self._threads
        self._engine.lay_out(rows=rows, capacity=self._entry.max_length)
        return self._engine

    def _score_few(self, prompts: Sequence[Prompt]) -> Iterator[Response]:
        """Answer prompts that request only the likelihoods of a few candidates."""
        import torch

        if prompts:
            # One thread even for a single scorer: another number of threads can change the last bits.
            engine = self._open(threads=0 if self._alone else 1, rows=1)
            scorers = 1 if self._alone else min(cores(), self._batch_size)
            try:
                yield from score_all(prompts, self._chat, engine, scorers=scorers)
            finally:
                torch.set_num_threads(self._threads)


def _load(weights: Weights, entry: TorchEntry) -> Any:  # noqa: ANN401  (transformers has no types)
    """Load a model for use: from safetensors or a single GGUF file, without the repository's own code."""
    import torch
    from transformers import AutoModelForCausalLM

    _require_devices(entry)
    _require_format(weights, entry)
    arguments = weights.arguments or {"use_safetensors": True}
    if entry.bits:
        # None would override a checkpoint's own statement of how its weights are quantised.
        arguments = arguments | {"quantization_config": _quantization(entry, entry.bits)}
    with loading(weights), enough_memory(entry):
        model, info = AutoModelForCausalLM.from_pretrained(
            weights.folder,
            output_loading_info=True,
            dtype=getattr(torch, entry.dtype),
            device_map=entry.device_map,
            trust_remote_code=False,
            local_files_only=True,
            **arguments,
        )
    require_whole(weights.place, info)
    require_context(entry, model.config)
    model.eval()
    if weights.adapter:
        merge(model, weights.adapter)
    return model


def _require_devices(entry: TorchEntry) -> None:
    import torch

    if entry.device_map not in ("auto", "cpu") and not torch.cuda.is_available():
        raise EquipoiseError(
            f"{entry.title}: device_map is {entry.device_map}, and torch finds no CUDA device here: set it to auto in "
            "the registry entry, or run where there is a GPU"
        )


def _require_format(weights: Weights, entry: TorchEntry) -> None:
    """Refuse a number format other than that in which transformers unpacks weights published in MXFP4 (gpt-oss)."""
    from transformers import AutoConfig

    if entry.dtype == "bfloat16" or weights.gguf:
        return
    with loading(weights):
        config = AutoConfig.from_pretrained(weights.folder, trust_remote_code=False)
    if getattr(config, "quantization_config", {}).get("quant_method") == "mxfp4":
        raise EquipoiseError(
            f"{entry.title}: dtype is {entry.dtype}, and its weights, published in MXFP4, run in bfloat16 alone: set "
            "dtype to bfloat16 in the registry entry"
        )


def _quantization(entry: TorchEntry, bits: Literal[4, 8]) -> Any:  # noqa: ANN401
    """Return the arguments of bitsandbytes; 4 bits are NF4 (Dettmers et al. 2023, section 3)."""
    if importlib.util.find_spec("bitsandbytes") is None:
        raise EquipoiseError(
            f"{entry.title}: bits is {bits}, and bitsandbytes is not installed: "
            "run `pip install 'equipoise[bitsandbytes]'`, or leave bits out of the registry entry"
        )
    import torch
    from transformers import BitsAndBytesConfig

    # It warns at every layer that 8 bits are computed in float16.
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    compute = getattr(torch, entry.dtype)
    four_bits = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=compute)
    return {4: four_bits, 8: BitsAndBytesConfig(load_in_8bit=True)}[bits]
