"""A masked language model, made ready and at work: the likeliest words at the one mask of each sentence.

It is exported to ONNX where its entry says so, and admitted only if it answers as in torch. Exported as it is, the
graph multiplies every position by the whole vocabulary, which for a base-sized model is about a third of the work,
while one position of each sentence is read: `at_the_mask` cuts the rest.

Every token of a Longformer attends to half a window on either side (256 tokens in the published models), so that in a
sentence no longer than that each attends to all: ordinary attention, with the same weights. As it is, the model pads
every sentence to a multiple of its window, 512 tokens in place of our 20 or 30, and cannot be exported to ONNX.
`without_windows` makes it the RoBERTa that it is on short sentences.

Only sentences of exactly the same number of tokens are computed together. Nothing is padded, so a sentence's figures do
not depend on what else is asked, on its order or on the batch size.
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

from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import digest
from equipoise.core.row import Frozen, Text
from equipoise.models.engine import GRAPH, provider
from equipoise.models.export import (
    LIBRARIES,
    OPSET,
    ExportManifest,
    export_once,
    hashes,
    masked_fidelity,
    versions,
    write_onnx,
)
from equipoise.models.registry import MASKED, MaskedEntry, Runtime, load_masked_entry
from equipoise.models.weights import Weights, loading, locate
from equipoise.studies.stigma.aggregate import Token, continues
from equipoise.studies.stigma.library import MASK

if TYPE_CHECKING:
    import onnx
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SPACE = "Ġ"
"""How the name of a token begins that begins with a space."""
Logits = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""From token ids, (sentences, tokens), with one mask a sentence, to the logits at it, (sentences, vocabulary)."""
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


class Predictions(Frozen):
    """The likeliest tokens at one mask, in falling order: text, probability, and whether each is a whole word."""

    text: tuple[str, ...]
    probability: tuple[float, ...]
    whole: tuple[bool, ...]

    def tokens(self) -> list[Token]:
        """Give the predictions one by one."""
        return [Token(*one) for one in zip(self.text, self.probability, self.whole, strict=True)]


class MaskedModel:
    """A masked model and its tokenizer. Sentences hold `{mask}` once, in place of the word that is asked for."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, logits: Logits, *, max_tokens: int) -> None:
        """Take the two; `max_tokens` is the most tokens that a sentence may have."""
        self._tokenizer = tokenizer
        self._logits = logits
        self._max_tokens = max_tokens
        self._special = frozenset(tokenizer.all_special_ids)
        self._known: dict[int, tuple[str, bool]] = {}

    def predict(
        self, sentences: Sequence[str], *, top_k: int, batch_size: int
    ) -> Iterator[list[tuple[str, Predictions]]]:
        """Give every sentence with its `top_k` likeliest tokens, a batch at a time, the shortest sentences first.

        Probabilities are over the whole vocabulary.

        Raises:
            EquipoiseError: a sentence has no mask or more than one, or too many tokens; raised before any work.
        """
        for rows, logits in self._batches(sentences, batch_size):
            yield [
                (sentences[row], self._likeliest(sentences[row], found, top_k))
                for row, found in zip(rows, logits, strict=True)
            ]

    def probabilities(self, sentences: Sequence[str]) -> NDArray[np.float64]:
        """Give the probability of every token at each sentence's mask, (sentences, vocabulary)."""
        found: dict[int, NDArray[np.float64]] = {}
        for rows, logits in self._batches(sentences, len(sentences)):
            found.update(zip(rows, softmax(logits.astype(np.float64), axis=-1), strict=True))
        return np.stack([found[row] for row in range(len(sentences))])

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Give each sentence's token ids."""
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
        """Give the rows of each batch and their logits at the mask."""
        encoded = self.encode(sentences) if sentences else []
        by_length: dict[int, list[int]] = {}
        for row, ids in enumerate(encoded):
            by_length.setdefault(len(ids), []).append(row)
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
        # Of equally likely tokens the one that comes first in the vocabulary, so that the order is always the same.
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
        """Give a token's text, empty for a special token, and whether it begins with a space."""
        if token not in self._known:
            name = self._tokenizer.convert_ids_to_tokens(token)
            text = "" if token in self._special else self._tokenizer.decode([token])
            self._known[token] = (text, name.startswith(SPACE))
        return self._known[token]


def is_whole(text: str, before: str, after: str, *, spaced: bool) -> bool:
    """Say whether a token between two parts of a sentence is a whole word there.

    It is one if it holds a letter or digit, begins with a space or where a word begins anyway (at the sentence's start,
    after a bracket), and what follows does not continue it. RoBERTa's mask takes the space before it, so that a token
    without its own is written together with the word before.
    """
    begins = spaced or not before or not (before[-1].isalnum() or before[-1].isspace())
    return begins and any(letter.isalnum() for letter in text) and not continues(after)


def onnx_logits(graph: Path) -> Logits:
    """Run a graph that `masked_model.at_the_mask` made."""
    import onnxruntime

    from equipoise.models.engine import providers

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph, options, providers=providers())

    def logits(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = session.run(["logits"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
        return found

    return logits


def torch_logits(model: PreTrainedModel, mask: int) -> Logits:
    """Run a model in torch, on the GPU where there is one; `mask` is the mask's token id.

    One sentence at a time: torch chooses its kernels by the number of rows, and with them the last bits of a sum.
    """
    import torch

    device = torch_device()
    model = model.to(device)

    def logits(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        rows = []
        with torch.inference_mode():
            for tokens in torch.from_numpy(ids).to(device).split(1):
                hidden: Any = model.base_model(tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
                # The mask alone goes through the head, which multiplies by the whole vocabulary.
                rows.append(model.lm_head(hidden[tokens == mask]).cpu().numpy())
        found: NDArray[np.float32] = np.concatenate(rows)
        return found

    return logits


def torch_device() -> str:
    """Name the device that torch runs on."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


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
    """Load the tokenizer of a checkpoint; one that does not keep the space before a word in its token is refused."""
    from transformers import AutoTokenizer

    with loading(weights):
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

    with loading(weights):
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
        raise EquipoiseError(
            f"{weights.folder}: a {model.config.model_type} model has no lm_head: choose a model of RoBERTa's kind"
        )
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
    """Probabilities at the mask from torch's own forward pass, one sentence at a time."""
    import torch

    rows = []
    for ids in encoded:
        tokens = torch.tensor([list(ids)])
        with torch.inference_mode():
            logits = model(tokens, attention_mask=torch.ones_like(tokens)).logits
        rows.append(softmax(logits[0, list(ids).index(mask)].double().numpy()))
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
            raise EquipoiseError(
                f"a {model.config.model_type} model cannot be exported to ONNX ({one_line(error)[:200]}): "
                "set `runtime: torch` in its registry entry"
            ) from error
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
        raise EquipoiseError("the exported graph has no lm_head: set `runtime: torch` in the model's registry entry")
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
