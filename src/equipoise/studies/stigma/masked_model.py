"""A masked language model: its preparation, and the likeliest words at the mask of each sentence.

It is exported to ONNX if its registry entry says so, and accepted only if its answers agree with torch's. A plain
export multiplies every position by the whole vocabulary, about a third of the work of a base-sized model, although only
one position of each sentence is read: `at_the_mask` removes the rest.

Every token of a Longformer attends to half a window on either side (256 tokens in the published models). In sentences
no longer than that, each token attends to all: ordinary attention with the same weights. The model itself pads every
sentence to a multiple of its window, 512 tokens instead of our 20 or 30, and cannot be exported to ONNX.
`without_windows` converts it to the equivalent RoBERTa for short sentences.

Only sentences with the same number of tokens are computed together. Nothing is padded, so a sentence's figures do not
depend on other sentences, on their order or on the batch size.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest
from equipoise.core.keys import grouped
from equipoise.core.row import Frozen, Text
from equipoise.models.engine import GRAPH, provider
from equipoise.models.export import ExportManifest, export_once, hashes, masked_fidelity, versions
from equipoise.models.optimum import OPSET, export_encoder, exporters
from equipoise.models.registry import MASKED, MaskedEntry, Runtime, load_masked_entry
from equipoise.models.weights import Weights, loading, locate, require_whole
from equipoise.studies.stigma.aggregate import Token, continues
from equipoise.studies.stigma.library import MASK

if TYPE_CHECKING:
    import onnx
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SPACE = "Ġ"
"""Beginning of the name of a token that begins with a space."""
Logits = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""From token ids (sentences, tokens), with one mask in each sentence, to the logits there (sentences, vocabulary)."""
TIED = "lm_head.decoder."
"""Other names of the word embeddings and of the head's bias, which are therefore in no weight file."""
IDS, LOGITS = "input_ids", "logits"
HEAD = "/lm_head/"
"""Beginning of the names of the nodes in the head that predicts words."""
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
"""The settings shared by Longformer and RoBERTa on which a forward pass depends."""


class Predictions(Frozen):
    """The likeliest tokens at one mask, in falling order: text, probability, and whether each is a whole word."""

    text: tuple[str, ...]
    probability: tuple[float, ...]
    whole: tuple[bool, ...]

    def tokens(self) -> list[Token]:
        """List the predictions as tokens."""
        return [Token(*fields) for fields in zip(self.text, self.probability, self.whole, strict=True)]


class MaskedModel:
    """A masked model and its tokenizer. Sentences contain `{mask}` once, in place of the word to predict."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, logits: Logits, *, max_tokens: int) -> None:
        """Initialise with both; `max_tokens` is the most tokens of a sentence."""
        self._tokenizer = tokenizer
        self._logits = logits
        self._max_tokens = max_tokens
        self._special = frozenset(tokenizer.all_special_ids)
        self._known: dict[int, tuple[str, bool]] = {}

    def predict(
        self, sentences: Sequence[str], *, top_k: int, batch_size: int
    ) -> Iterator[list[tuple[str, Predictions]]]:
        """Return every sentence with its `top_k` likeliest tokens, batch by batch, the shortest sentences first.

        Probabilities are over the whole vocabulary.

        Raises:
            EquipoiseError: a sentence has no mask or more than one, or too many tokens; raised before any work.
        """
        for rows, logits in self._batches(sentences, batch_size):
            yield [
                (sentences[row], self._likeliest(sentences[row], of_row, top_k))
                for row, of_row in zip(rows, logits, strict=True)
            ]

    def probabilities(self, sentences: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of every token at each sentence's mask (sentences, vocabulary)."""
        by_row: dict[int, NDArray[np.float64]] = {}
        for rows, logits in self._batches(sentences, len(sentences)):
            by_row.update(zip(rows, softmax(logits.astype(np.float64), axis=-1), strict=True))
        return np.stack([by_row[row] for row in range(len(sentences))])

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return each sentence's token ids."""
        mask = self._tokenizer.mask_token
        encoded = self._tokenizer([sentence.replace(MASK, mask) for sentence in sentences])["input_ids"]
        for sentence, ids in zip(sentences, encoded, strict=True):
            if sentence.count(MASK) != 1 or ids.count(self._tokenizer.mask_token_id) != 1:
                raise EquipoiseError(f"{sentence!r}: {MASK} must occur exactly once")
            if len(ids) > self._max_tokens:
                raise EquipoiseError(
                    f"{sentence!r} has {len(ids)} tokens, more than the {self._max_tokens} of the masked model's "
                    "registry entry: shorten it, or raise max_tokens there"
                )
        return [list(ids) for ids in encoded]

    def _batches(self, sentences: Sequence[str], batch_size: int) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Return the rows of each batch and their logits at the mask."""
        encoded = self.encode(sentences) if sentences else []
        by_length = grouped((len(ids), row) for row, ids in enumerate(encoded))
        for _, rows in sorted(by_length.items()):
            for first in range(0, len(rows), batch_size):
                batch = rows[first : first + batch_size]
                logits = self._logits(np.array([encoded[row] for row in batch], dtype=np.int64))
                if not np.isfinite(logits).all():
                    raise EquipoiseError(
                        f"{sentences[batch[0]]!r}: the masked model's logits are not finite numbers: check its weights"
                    )
                yield batch, logits

    def _likeliest(self, sentence: str, logits: NDArray[np.float32], top_k: int) -> Predictions:
        count = min(top_k, len(logits))
        least = np.partition(logits, -count)[-count]
        (near,) = np.nonzero(logits >= least)
        # Equally likely tokens are in the order of the vocabulary, so that the order is always the same.
        ids = near[np.lexsort((near, -logits[near]))][:count]
        shares = softmax(logits.astype(np.float64))
        before, after = sentence.split(MASK)
        named = [self._named(int(token)) for token in ids]
        return Predictions(
            text=tuple(text for text, _ in named),
            probability=tuple(shares[ids].tolist()),
            whole=tuple(is_whole(text, before, after, spaced=spaced) for text, spaced in named),
        )

    def _named(self, token: int) -> tuple[str, bool]:
        """Return a token's text, empty for a special token, and whether it begins with a space."""
        if token not in self._known:
            name = self._tokenizer.convert_ids_to_tokens(token)
            text = "" if token in self._special else self._tokenizer.decode([token])
            self._known[token] = (text, name.startswith(SPACE))
        return self._known[token]


def is_whole(text: str, before: str, after: str, *, spaced: bool) -> bool:
    """Say whether a token between two parts of a sentence is a whole word there.

    It is if it contains a letter or digit, begins with a space or where a word begins anyway (at the sentence's start,
    after a bracket), and the text after it does not continue it. RoBERTa's mask includes the space before it, so that a
    token without a space is written together with the word before.
    """
    begins = spaced or not before or not (before[-1].isalnum() or before[-1].isspace())
    return begins and any(letter.isalnum() for letter in text) and not continues(after)


def onnx_logits(graph: Path) -> Logits:
    """Run a graph made by `at_the_mask`."""
    import onnxruntime

    from equipoise.models.engine import providers

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph, options, providers=providers())

    def logits(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        values: NDArray[np.float32] = session.run([LOGITS], {IDS: ids, "attention_mask": np.ones_like(ids)})[0]
        return values

    return logits


def torch_logits(model: PreTrainedModel, mask: int) -> Logits:
    """Run a model in torch, on the GPU if there is one; `mask` is the mask's token id.

    Sentences run one at a time: torch chooses its kernels, and so the last bits of a sum, by the number of rows.
    """
    import torch

    device = torch_device()
    model = model.to(device)

    def logits(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        rows = []
        with torch.inference_mode():
            for tokens in torch.from_numpy(ids).to(device).split(1):
                hidden: Any = model.base_model(tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
                # Only the mask goes through the head, which multiplies by the whole vocabulary.
                rows.append(model.lm_head(hidden[tokens == mask]).cpu().numpy())
        values: NDArray[np.float32] = np.concatenate(rows)
        return values

    return logits


def torch_device() -> str:
    """Return the name of the device that torch runs on."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


class MaskedManifest(ExportManifest):
    """The origin of a masked model and its fidelity.

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
    """A masked model that can be opened: its manifest, registry entry and checkpoint, and the folder of its files."""

    manifest: MaskedManifest
    entry: MaskedEntry
    weights: Weights
    folder: Path

    def open(self) -> MaskedModel:
        """Open the model."""
        return _opened(self.entry, self.weights, self.folder)


def prepare(name: str, root: Path, store: Path, probes: Sequence[str]) -> Ready:
    """Prepare a masked model of the registry in a folder under `store`, or find it there.

    Args:
        name: stem of a file in models/masked/.
        root: the project's root.
        store: the folder of all exports.
        probes: sentences with one mask, on which it is compared with its checkpoint in torch.

    Raises:
        EquipoiseError: the name is unknown, the entry malformed, the weights not available, or a probability differs
            from torch's by more than `export.DIFFERENCE`; then nothing is kept.
    """
    entry = load_masked_entry(name, root)
    weights = locate(entry, root)
    in_onnx = entry.runtime == "onnx"
    computing = ("onnxruntime", "tokenizers") if in_onnx else ("torch", "transformers")
    libraries = (exporters() if in_onnx else {}) | versions(computing)
    device = provider() if in_onnx else torch_device()
    folder = f"masked-{name}-{digest([weights.files, libraries, device, OPSET, entry.runtime, entry.max_tokens])[:16]}"

    def fill(made: Path) -> MaskedManifest:
        if in_onnx:
            _write_graph(_loaded(entry, weights), load_tokenizer(weights).mask_token_id, made)
        model = _opened(entry, weights, made)
        ids, mask = model.encode(probes), load_tokenizer(weights).mask_token_id
        reference, probabilities = _reference(load_torch(entry, weights), ids, mask), model.probabilities(probes)
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
            max_difference=masked_fidelity(name, reference, probabilities, fix),
        )

    return Ready(export_once(store, folder, MaskedManifest, fill), entry, weights, store / folder)


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
    """Load the tokenizer of a checkpoint; refuse it unless a word's token includes the space before it."""
    from transformers import AddedToken, AutoTokenizer

    with loading(weights):
        tokenizer = AutoTokenizer.from_pretrained(weights.folder)
    # RoBERTa's mask includes the space before it, and the words after it begin with theirs (Ġ). Without either, a
    # prediction would not show where a word begins. Only tokenizer.json says so; transformers 5 supposes otherwise.
    mask = tokenizer.mask_token
    if mask and not (weights.folder / "tokenizer.json").is_file():
        tokenizer.add_special_tokens({"mask_token": AddedToken(mask, lstrip=True)})
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

    with loading(weights):
        model, info = AutoModelForMaskedLM.from_pretrained(
            weights.folder,
            dtype=torch.float32,
            use_safetensors=entry.weights.endswith(".safetensors"),
            output_loading_info=True,
        )
    require_whole(weights.place, info, tied=(TIED,))
    if not hasattr(model, "lm_head"):
        raise EquipoiseError(
            f"{weights.folder}: a {model.config.model_type} model has no lm_head: choose a model of RoBERTa's kind"
        )
    return model.eval()


def without_windows(model: PreTrainedModel, max_tokens: int) -> PreTrainedModel:
    """Convert a Longformer to ordinary attention for sentences of at most `max_tokens`; return other models unchanged.

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
        raise EquipoiseError(
            f"max_tokens {max_tokens} of a Longformer that attends to {sight} tokens: lower it in its registry entry"
        )
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
    """Compute the probabilities at the mask in torch's own forward pass, one sentence at a time."""
    import torch

    rows = []
    for ids in encoded:
        tokens = torch.tensor([list(ids)])
        with torch.inference_mode():
            logits = model(tokens, attention_mask=torch.ones_like(tokens)).logits
        rows.append(softmax(logits[0, list(ids).index(mask)].double().numpy()))
    return np.stack(rows)


def _write_graph(model: PreTrainedModel, mask: int, folder: Path) -> None:
    """Export the model, and reduce its graph to the position of the mask."""
    import onnx

    with tempfile.TemporaryDirectory(dir=folder.parent) as plain:
        export_encoder(model, Path(plain), "fill-mask", "set `runtime: torch` in its registry entry")
        graph = at_the_mask(onnx.load(Path(plain) / GRAPH), mask)
        onnx.save(graph, folder / GRAPH, save_as_external_data=True, location=f"{GRAPH}.data")


def at_the_mask(model: onnx.ModelProto, mask: int) -> onnx.ModelProto:
    """Return a copy of the graph with logits of shape (batch, vocabulary): those at the token `mask`.

    Raises:
        EquipoiseError: the graph has no head like that of transformers' RoBERTa models.
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
        raise EquipoiseError("the exported graph has no lm_head: set `runtime: torch` in the model's registry entry")
    hidden = first.input[0]
    # Equal, then ArgMax: the position of the mask; GatherND with a batch axis selects it in each sentence.
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
