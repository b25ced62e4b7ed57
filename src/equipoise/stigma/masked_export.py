"""A masked model made ready: exported to ONNX where its entry says so, and admitted only if it answers as in torch.

Exported as it is, the graph multiplies every position by the whole vocabulary, which for a base-sized model is about a
third of the work, while one position of each sentence is read: `at_the_mask` cuts the rest.

Every token of a Longformer attends to half a window on either side (256 tokens in the published models), so that in a
sentence no longer than that each attends to all: ordinary attention, with the same weights. As it is, the model pads
every sentence to a multiple of its window, 512 tokens in place of our 20 or 30, and cannot be exported to ONNX.
`without_windows` makes it the RoBERTa that it is on short sentences.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.records import Text, digest
from equipoise.models.engine import GRAPH, provider
from equipoise.models.export import (
    LIBRARIES,
    OPSET,
    ExportManifest,
    exported_once,
    hashes,
    masked_fidelity,
    versions,
    write_onnx,
)
from equipoise.models.registry import MASKED, MaskedEntry, Runtime, load_masked_entry
from equipoise.models.weights import loading, locate
from equipoise.stigma.masked_model import SPACE, MaskedModel, onnx_logits, softmax, torch_device, torch_logits

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import onnx
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from equipoise.models.weights import Weights

TIED = "lm_head.decoder."
"""Parameters that are another name of the word embeddings and of the head's bias, and so are in no weight file."""
IDS, LOGITS = "input_ids", "logits"
HEAD = "/lm_head/"
"""How the names of the nodes of the head that predicts words begin."""
SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
)
"""What the configurations of Longformer and RoBERTa share and a forward pass depends on."""


class MaskedManifest(ExportManifest):
    """What a masked model was made from and how true to it.

    `weights` and `files` map names to sha256 digests: of the checkpoint's files, and of the files made from them.
    `max_difference` bounds the difference of any probability on the `probes` from torch's (see `export.bound`).
    """

    model: Text
    repo: Text
    revision: Text
    licence: Text
    weights: dict[str, str]
    runtime: Runtime
    max_tokens: int
    folder: Text
    provider: Text
    versions: dict[str, str]
    probes: int
    max_difference: float

    @property
    def identity(self) -> str:
        """A digest of everything that determines a prediction: the model's part of a cache key."""
        unrelated = {"model", "repo", "revision", "licence", "folder", "probes", "max_difference"}
        return digest(self.model_dump(mode="json", exclude=unrelated))


@dataclass(frozen=True)
class Ready:
    """A masked model that can be opened: its manifest, its registry entry, its checkpoint and what was made of it."""

    manifest: MaskedManifest
    entry: MaskedEntry
    weights: Weights
    folder: Path

    def open(self) -> MaskedModel:
        """Open it as it will be used."""
        return _opened(self.entry, self.weights, self.folder)


def prepare(name: str, root: Path, store: Path, probes: Sequence[str]) -> Ready:
    """Make a masked model of the registry ready in a folder under `store`, or find it there.

    Args:
        name: stem of a file in models/masked/.
        root: the project's root.
        store: where exports are kept.
        probes: sentences with one mask, on which it is compared with its checkpoint in torch.

    Raises:
        EquipoiseError: unknown name, malformed entry, weights out of reach, or probabilities further from torch's than
            `export.DIFFERENCE`; then nothing is kept.
    """
    entry = load_masked_entry(name, root)
    weights = locate(entry, root)
    in_onnx = entry.runtime == "onnx"
    libraries = versions(LIBRARIES if in_onnx else ("torch", "transformers"))
    device = provider() if in_onnx else torch_device()
    folder = f"masked-{name}-{digest([weights.files, libraries, device, OPSET, entry.runtime, entry.max_tokens])[:16]}"

    def fill(made: Path) -> MaskedManifest:
        if in_onnx:
            _write_graph(_loaded(entry, weights), load_tokenizer(weights).mask_token_id, made)
        model = _opened(entry, weights, made)
        ids, mask = model.encode(probes), load_tokenizer(weights).mask_token_id
        reference, found = _reference(load_torch(entry, weights), ids, mask), model.probabilities(probes)
        fix = f"set another runtime than {entry.runtime} in {MASKED}/{name}.yaml, or choose another model"
        return MaskedManifest(
            model=name,
            repo=weights.repo,
            revision=weights.revision,
            licence=entry.licence,
            weights=weights.files,
            runtime=entry.runtime,
            max_tokens=entry.max_tokens,
            folder=folder,
            files=hashes(made),
            provider=device,
            versions=libraries,
            probes=len(probes),
            max_difference=masked_fidelity(name, reference, found, fix),
        )

    return Ready(exported_once(store, folder, MaskedManifest, fill), entry, weights, store / folder)


def _opened(entry: MaskedEntry, weights: Weights, folder: Path) -> MaskedModel:
    tokenizer = load_tokenizer(weights)
    if entry.runtime == "onnx":
        logits = onnx_logits(folder / GRAPH)
    else:
        logits = torch_logits(_loaded(entry, weights), tokenizer.mask_token_id)
    return MaskedModel(tokenizer, logits, max_tokens=entry.max_tokens)


def _loaded(entry: MaskedEntry, weights: Weights) -> PreTrainedModel:
    return without_windows(load_torch(entry, weights), entry.max_tokens)


def load_tokenizer(weights: Weights) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a checkpoint; one that does not keep the space before a word in its token is refused."""
    from transformers import AutoTokenizer

    with loading(weights.folder):
        tokenizer = AutoTokenizer.from_pretrained(weights.folder)
    # RoBERTa's mask takes the space before it, and the words after it begin with theirs (Ġ). Without either, a
    # prediction would not show where a word begins.
    mask = tokenizer.mask_token
    names = tokenizer.convert_ids_to_tokens(tokenizer(f"a {mask} woman")["input_ids"])
    place = names.index(mask) if mask in names else 0
    if not place or names[place - 1] != "a" or not names[place + 1].startswith(SPACE):
        message = f"{weights.folder}: its tokens do not show where words begin: choose a model of RoBERTa's kind"
        raise EquipoiseError(message)
    return tokenizer


def load_torch(entry: MaskedEntry, weights: Weights) -> PreTrainedModel:
    """Load a checkpoint into torch in float32.

    Raises:
        EquipoiseError: transformers cannot load it, or it has no trained head that predicts masked words.
    """
    import torch
    from transformers import AutoModelForMaskedLM

    with loading(weights.folder):
        model, found = AutoModelForMaskedLM.from_pretrained(
            weights.folder,
            dtype=torch.float32,
            use_safetensors=entry.weights.endswith(".safetensors"),
            output_loading_info=True,
        )
    # transformers initialises at random what a file does not hold, and says so in a log only.
    if random := sorted(name for name in found["missing_keys"] if not name.startswith(TIED)):
        message = f"{weights.folder}: {entry.weights} does not hold {random[0]}: choose a trained masked model"
        raise EquipoiseError(message)
    if not hasattr(model, "lm_head"):
        message = (
            f"{weights.folder}: a {model.config.model_type} model has no lm_head: choose a model of RoBERTa's kind"
        )
        raise EquipoiseError(message)
    return model.eval()


def without_windows(model: PreTrainedModel, max_tokens: int) -> PreTrainedModel:
    """Give a Longformer with ordinary attention, for sentences of at most `max_tokens`; other models as they are.

    Raises:
        EquipoiseError: in a sentence of `max_tokens` some tokens of the Longformer would not attend to each other.
    """
    from transformers import RobertaConfig, RobertaForMaskedLM

    config = model.config
    if config.model_type != "longformer":
        return model
    windows = config.attention_window
    sight = (windows if isinstance(windows, int) else min(windows)) // 2
    if max_tokens > sight:
        message = (
            f"max_tokens {max_tokens} of a Longformer that attends to {sight} tokens: lower it in its registry entry"
        )
        raise EquipoiseError(message)
    plain = RobertaForMaskedLM(RobertaConfig(**{name: getattr(config, name) for name in SIZES}))
    # Its global attention is for tokens marked as global; in predicting a mask none is.
    weights = {
        name.replace("longformer.", "roberta.", 1): value
        for name, value in model.state_dict().items()
        if "_global." not in name
    }
    plain.load_state_dict(weights)
    return plain.eval()


def _reference(model: PreTrainedModel, encoded: Sequence[Sequence[int]], mask: int) -> NDArray[np.float64]:
    """Probabilities at the mask from torch's own forward pass, one sentence at a time."""
    import numpy as np
    import torch

    rows = []
    for ids in encoded:
        tokens = torch.tensor([list(ids)])
        with torch.inference_mode():
            logits = model(tokens, attention_mask=torch.ones_like(tokens)).logits
        rows.append(softmax(logits[0, list(ids).index(mask)].numpy()))
    return np.stack(rows)


def _write_graph(model: PreTrainedModel, mask: int, folder: Path) -> None:
    """Export, and keep of the graph what the mask needs."""
    import onnx

    with tempfile.TemporaryDirectory(dir=folder.parent) as plain:
        try:
            write_onnx(model, Path(plain), "fill-mask")
        except OSError:
            raise  # the disk, not the model
        except Exception as error:
            # The exporters raise whatever their tracing runs into.
            message = (
                f"a {model.config.model_type} model cannot be exported to ONNX ({one_line(error)[:200]}): "
                "set `runtime: torch` in its registry entry"
            )
            raise EquipoiseError(message) from error
        graph = at_the_mask(onnx.load(Path(plain) / GRAPH), mask)
        onnx.save(graph, folder / GRAPH, save_as_external_data=True, location=f"{GRAPH}.data")


def at_the_mask(model: onnx.ModelProto, mask: int) -> onnx.ModelProto:
    """Give the graph with logits of shape (batch, vocabulary), those at the token `mask`; the input is not changed.

    Raises:
        EquipoiseError: the graph has no head of the kind that transformers' RoBERTa models have.
    """
    import onnx
    from onnx import TensorProto, helper

    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    graph = cut.graph
    place, first = next(
        (
            (place, node)
            for place, node in enumerate(graph.node)
            if node.op_type == "MatMul" and node.name.startswith(HEAD)
        ),
        (0, None),
    )
    if first is None or [output.name for output in graph.output] != [LOGITS]:
        message = "the exported graph has no lm_head: set `runtime: torch` in the model's registry entry"
        raise EquipoiseError(message)
    hidden = first.input[0]
    # Equal, then ArgMax: the position of the mask; GatherND with a batch axis takes that position of each sentence.
    added = [
        helper.make_node("Constant", [], ["mask.id"], value=helper.make_tensor("id", TensorProto.INT64, [], [mask])),
        helper.make_node("Equal", [IDS, "mask.id"], ["mask.here"]),
        helper.make_node("Cast", ["mask.here"], ["mask.flags"], to=TensorProto.INT32),
        helper.make_node("ArgMax", ["mask.flags"], ["mask.position"], axis=1, keepdims=1),
        helper.make_node("GatherND", [hidden, "mask.position"], ["mask.hidden"], batch_dims=1),
    ]
    first.input[0] = "mask.hidden"
    for offset, node in enumerate(added):
        graph.node.insert(place + offset, node)
    # Shapes recorded for the whole sentence are no longer valid.
    del graph.value_info[:]
    del graph.output[0].type.tensor_type.shape.dim[1]
    return cut
