"""The torch backend: transformers runs the model, one conversation after the other.

Side by side, conversations would be padded to one length and use other kernels, and both change the last bits of the
logits: a response would depend on its neighbours. No tolerance is allowed for that, on the CPU or on CUDA; if one at a
time is too slow, use vLLM. The candidates of one prompt do run side by side, in groups determined by the prompt alone.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equipoise.backends.base import Backend
from equipoise.backends.conversation import Chat, Likelihood, Turn, Turned, common_length, run_talk
from equipoise.backends.scoring import choose, penalise
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt, Response
from equipoise.models.adapter import merge
from equipoise.models.registry import TorchEntry
from equipoise.models.weights import Weights, loading

if TYPE_CHECKING:
    from torch import Tensor

GROUP = 32
"""Candidates scored side by side."""


class TorchBackend(Backend):
    """A model in transformers, on the devices that its registry entry names."""

    def __init__(self, weights: Weights, entry: TorchEntry) -> None:
        """Load verified weights (`equipoise.models.weights.locate`).

        Raises:
            EquipoiseError: CUDA or bitsandbytes is missing, there is too little memory, or the weights are damaged.
        """
        from transformers import AutoTokenizer

        self._entry = entry
        self._model = _load(weights, entry)
        with loading(weights):
            tokenizer = AutoTokenizer.from_pretrained(weights.folder, trust_remote_code=False, **weights.arguments)
        self._chat = Chat(tokenizer, self._model.generation_config.eos_token_id, entry)
        # The tokens whose keys and values are cached, and the stems that they begin with, each a prefix of the next.
        self._tokens: list[int] = []
        self._stems: list[list[int]] = []
        self._cache = _empty_cache()

    def __exit__(self, *_: object) -> None:
        """Free the model and its keys and values."""
        del self._model, self._cache

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, one after the other."""
        import torch

        for prompt in prompts:
            with _enough_memory(self._entry), torch.inference_mode():
                response = run_talk(self._chat.hold(prompt), self._take)
            yield response

    def _begin(self, stems: list[list[int]]) -> None:
        """Read a conversation's stems, each in a step of its own.

        Stems shared with the last conversation keep the keys and values of the same steps, bit for bit.
        """
        shared = common_length(self._stems, stems)
        if shared:
            self._crop(len(stems[shared - 1]))
        else:
            self._cache = _empty_cache()
            self._tokens = []
        for stem in stems[shared:]:
            self._read(stem[len(self._tokens) :])
        self._stems = stems

    def _take(self, turn: Turn) -> Turned:
        """Read a turn, score its candidates, and reply to it."""
        generation, rng = self._entry.generation, np.random.default_rng(turn.seed)
        if turn.first:
            self._begin([turn.tokens[:end] for end in turn.stems])
        self._crop(min(common_length(self._tokens, turn.tokens), len(turn.tokens) - 1))
        logits = self._read(turn.tokens[len(self._tokens) :])
        if logits.isnan().any():
            raise EquipoiseError(
                f"{self._entry.title}: its logits are not numbers: set dtype to bfloat16 or float32, or fetch the "
                "weights again"
            )
        likelihoods = self._likelihoods(turn)
        reply: list[int] = []
        while len(reply) < turn.limit and not turn.ended(reply):
            scores = penalise(logits.float().cpu().numpy(), self._tokens, generation.repetition_penalty)
            token = choose(scores, generation, rng)
            if token in self._chat.stops:
                break
            reply.append(token)
            if len(reply) < turn.limit:
                logits = self._read([token])
        return Turned(likelihoods, reply)

    def _likelihoods(self, turn: Turn) -> dict[str, Likelihood]:
        """Score every candidate, without changing the cached keys and values."""
        if not turn.candidates:
            return {}
        # The last token that no candidate changes: each is read from there on.
        last = min(encoded.start for encoded in turn.candidates.values()) - 1
        likelihoods: dict[str, Likelihood] = {}
        # Candidates of similar length go together, so that little is padded.
        names = sorted(turn.candidates, key=lambda name: (len(turn.candidates[name].tokens), name))
        for place in range(0, len(names), GROUP):
            group = names[place : place + GROUP]
            rows = self._run_together([list(turn.candidates[name].tokens[last:-1]) for name in group], last)
            for name, logits in zip(group, rows, strict=True):
                tokens, start = turn.candidates[name]
                log_p = logits[start - 1 - last : len(tokens) - 1 - last].double().log_softmax(-1)
                chosen = log_p.gather(-1, log_p.new_tensor(tokens[start:]).long()[:, None])
                likelihoods[name] = Likelihood(float(chosen.mean()), len(chosen))
        return {name: likelihoods[name] for name in turn.candidates}

    def _run_together(self, rows: Sequence[list[int]], length: int) -> Tensor:
        """Run rows of tokens after the first `length` cached tokens: logits (rows, longest row, vocabulary).

        Short rows are padded at the end, to which none of their tokens attends.
        """
        import torch

        cache = _empty_cache()
        for number, layer in enumerate(self._cache.layers if length else ()):
            keys, values = (part[:, :, :length].expand(len(rows), -1, -1, -1) for part in (layer.keys, layer.values))
            cache.update(keys, values, number)
        width = max(map(len, rows))
        ids = torch.tensor([row + [row[-1]] * (width - len(row)) for row in rows], device=self._model.device)
        logits: Tensor = self._model(ids, past_key_values=cache, use_cache=True).logits
        return logits

    def _read(self, tokens: list[int]) -> Tensor:
        """Read tokens after the cached ones, in one step, and return the logits after the last."""
        import torch

        ids = torch.tensor([tokens], device=self._model.device)
        logits: Tensor = self._model(ids, past_key_values=self._cache, use_cache=True, logits_to_keep=1).logits[0, -1]
        self._tokens += tokens
        return logits

    def _crop(self, length: int) -> None:
        """Drop all but the first `length` cached tokens, and any stem that is cut."""
        self._stems = [stem for stem in self._stems if len(stem) <= length]
        self._cache.crop(length)
        del self._tokens[length:]


def _empty_cache() -> Any:  # noqa: ANN401
    """Create a cache for keys and values; every layer keeps all of them, even if it attends to a window only."""
    from transformers import DynamicCache

    return DynamicCache()


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
    with loading(weights), _enough_memory(entry):
        model = AutoModelForCausalLM.from_pretrained(
            weights.folder,
            dtype=getattr(torch, entry.dtype),
            device_map=entry.device_map,
            trust_remote_code=False,
            local_files_only=True,
            **arguments,
        ).eval()
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


@contextmanager
def _enough_memory(entry: TorchEntry) -> Iterator[None]:
    """Convert torch's out-of-memory error on a GPU to one line with the fix."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise EquipoiseError(
            f"{entry.title}: not enough memory on the GPU: set bits to 8 or 4 or lower max_length in the registry "
            "entry, or run where there is more; finished answers are kept"
        ) from error
