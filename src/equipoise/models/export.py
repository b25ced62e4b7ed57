"""Weights turned into a fused ONNX graph, admitted only if it answers as the original does."""

from __future__ import annotations

import logging
import math
import shutil
import tempfile
import warnings
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Fidelity, Manifest, digest, sha256
from equipoise.models.estimates import DISK_COPIES, FP32
from equipoise.models.fusion import ELSEWHERE, fuse_attention, obstacle
from equipoise.models.manifests import describe
from equipoise.models.registry import OnnxEntry
from equipoise.models.weights import locate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from equipoise.models.registry import AnyEntry
    from equipoise.models.weights import Weights

OPSET = 18
GREEDY_TOKENS = 16
LIBRARIES = ("onnx", "optimum", "optimum-onnx", "torch", "transformers")


def prepare(name: str, entry: AnyEntry, root: Path, store: Path, probes: Sequence[str]) -> Manifest:
    """Make a model of the registry ready to be asked, as its backend needs it, and describe it."""
    match entry:
        case OnnxEntry():
            return export(name, entry, root, store, probes)
        case _:
            return describe(name, entry, root)


def export(name: str, entry: OnnxEntry, root: Path, store: Path, probes: Sequence[str]) -> Manifest:
    """Export a registry entry into a folder under `store`, check it on the probes, and describe it.

    The graph is compared with torch on the letter (A to D) that each probe's next token favours and on greedy
    continuations. Agreement below the entry's threshold is an EquipoiseError, and nothing is kept.
    """
    weights = locate(entry, root)
    model, tokenizer = _load(weights, entry.max_length)
    versions = {library: metadata.version(library) for library in LIBRARIES} | {"onnxruntime": _onnxruntime_version()}
    folder = f"{name}-{digest([weights.files, versions, OPSET, entry.max_length])[:16]}"
    target = store / folder
    _check_space(store, DISK_COPIES * FP32 * model.num_parameters())
    try:
        with tempfile.TemporaryDirectory(dir=store, prefix=".export-") as place:
            made = Path(place) / "made"
            _write_graph(model, made, entry.max_length)
            tokenizer.save_pretrained(made)
            fidelity, provider = _compare(model, tokenizer, made, probes, entry)
            _require_fidelity(name, fidelity, entry.fidelity)
            files = {path.name: sha256(path) for path in sorted(made.iterdir())}
            shutil.rmtree(target, ignore_errors=True)
            made.rename(target)
    except OSError as error:
        message = f"{store}: the export cannot be written ({error.strerror or error}): free space and run again"
        raise EquipoiseError(message) from error
    return Manifest(
        model=name,
        repo=weights.repo,
        revision=weights.revision,
        licence=entry.licence,
        weights=weights.files,
        folder=folder,
        files=files,
        opset=OPSET,
        precision="fp32",
        provider=provider,
        settings=entry.settings,
        versions=versions,
        fidelity=fidelity,
    )


def _load(weights: Weights, max_length: int) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load the original into torch; one that is damaged, or of a kind that cannot be asked, is an EquipoiseError."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    # Neither code of the repository nor pickled weights are ever run.
    safe = weights.arguments | {"trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(weights.folder, **safe)
        safe |= {} if weights.gguf else {"use_safetensors": True}
        model = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32, **safe).eval()
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        message = f"{weights.folder}: transformers cannot load the weights ({reason}): fetch them anew"
        raise EquipoiseError(message) from error
    rotary = hasattr(getattr(model, "model", None), "rotary_emb")
    if found := obstacle(model.config, max_length) if rotary else "has no rotary attention to fuse":
        message = f"{weights.folder}: a {model.config.model_type} model {found}: {ELSEWHERE}"
        raise EquipoiseError(message)
    if tokenizer.chat_template is None:
        message = f"{weights.folder}: the tokenizer has no chat template: choose a model tuned to follow instructions"
        raise EquipoiseError(message)
    return model, tokenizer


def _require_fidelity(name: str, found: Fidelity, threshold: float) -> None:
    if min(found.letters, found.tokens) < threshold:
        message = (
            f"export of {name} refused: it agrees with torch on {found.letters:.1%} of letters and "
            f"{found.tokens:.1%} of greedy tokens; models/{name}.yaml asks for {threshold:.1%}"
        )
        raise EquipoiseError(message)


def _onnxruntime_version() -> str:
    import onnxruntime

    return str(onnxruntime.__version__)


def _check_space(store: Path, needed: int) -> None:
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{store}: cannot be made ({error.strerror}): mend the permissions of its parent folder"
        raise EquipoiseError(message) from error
    free = shutil.disk_usage(store).free
    if free < needed:
        message = (
            f"{store}: {needed / 1e9:.1f} GB of disk is needed, {free / 1e9:.1f} GB is free: free more and run again"
        )
        raise EquipoiseError(message)


def _write_graph(model: PreTrainedModel, folder: Path, max_length: int) -> None:
    """Export through optimum, fuse the attention, and leave one graph with its weights beside it."""
    import onnx
    import torch
    from optimum.exporters.onnx.convert import onnx_export_from_model

    plain = folder / "plain"
    # The exporter's warnings are of values that tracing fixes; the comparison with torch shows whether that did harm.
    logging.getLogger("optimum").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnx_export_from_model(
            model=model, output=plain, task="text-generation-with-past", opset=OPSET, device="cpu", do_validation=False
        )
    config = model.config
    positions = torch.arange(max_length)[None]
    cos, sin = model.model.rotary_emb(torch.zeros(1, 1, 1), positions)
    head_size = cos.shape[-1]
    graph = fuse_attention(
        onnx.load(plain / "model.onnx"),
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        scale=head_size**-0.5,
        cos=cos[0, :, : head_size // 2].numpy(),
        sin=sin[0, :, : head_size // 2].numpy(),
    )
    shutil.rmtree(plain)
    onnx.save(graph, folder / "model.onnx", save_as_external_data=True, location="model.onnx.data")
    config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)


def _compare(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path,
    probes: Sequence[str],
    entry: OnnxEntry,
) -> tuple[Fidelity, str]:
    """Ask torch and the exported graph the same probes, one at a time."""
    import numpy as np
    import torch

    from equipoise.models.engine import Engine, provider

    engine = Engine(folder, rows=1, capacity=entry.max_length)
    letters = [tokenizer(f" {letter}", add_special_tokens=False)["input_ids"][-1] for letter in "ABCD"]
    same_letters = same_tokens = tokens = 0
    furthest = 0.0
    for probe in probes:
        messages = [{"role": "user", "content": probe}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) + "Answer:"
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        # Both are read along the graph's own continuation, so that one difference is not counted again at later tokens.
        exported = engine.prefill(ids)
        reply = [int(exported[0].argmax())]
        while len(reply) < GREEDY_TOKENS:
            exported = np.vstack([exported, engine.prefill(reply[-1:], start=len(ids) + len(reply) - 1)])
            reply.append(int(exported[-1].argmax()))
        with torch.inference_mode():
            logits = model(torch.tensor([[*ids, *reply[:-1]]])).logits[0, len(ids) - 1 :].numpy()
        same_letters += int(logits[0, letters].argmax() == exported[0, letters].argmax())
        same_tokens += int((logits.argmax(-1) == exported.argmax(-1)).sum())
        tokens += len(exported)
        if not (np.isfinite(logits).all() and np.isfinite(exported).all()):
            message = f"export of {entry.title} refused: its logits are not all finite numbers: check the weights"
            raise EquipoiseError(message)
        furthest = max(furthest, float(np.abs(logits - exported).max()))
    fidelity = Fidelity(
        probes=len(probes),
        letters=same_letters / len(probes),
        tokens=same_tokens / tokens,
        # A power of ten: the digits differ from processor to processor, and the manifest should not.
        max_abs_logit=10.0 ** math.ceil(math.log10(furthest)) if furthest > 0 else 0.0,
    )
    return fidelity, provider()
