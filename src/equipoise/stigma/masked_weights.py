"""The checkpoint of a masked model: found on the Hugging Face Hub or in a folder, and loaded into torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import sha256
from equipoise.models.registry import HubSource, LocalSource
from equipoise.models.weights import Weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from equipoise.stigma.masked_registry import MaskedEntry

SPACE = "Ġ"
"""What the name of a token begins with that begins with a space."""
TIED = "lm_head.decoder."
"""Parameters that are another name of the word embeddings and of the head's bias, and so stand in no weight file."""


def locate(entry: MaskedEntry, root: Path) -> Weights:
    """Find the checkpoint of a registry entry, fetched from the hub if need be, and hash its files.

    Raises:
        EquipoiseError: it is neither here nor to be fetched; the message names it and the mend.
    """
    match entry.source:
        case HubSource() as source:
            folder, repo, revision = _fetched(source, entry), source.repo, source.revision
        case LocalSource() as source:
            folder, repo, revision = root / source.path, source.path, "local"
    for name in ("config.json", entry.weights):
        if not (folder / name).is_file():
            message = f"masked model missing: {folder / name}: mend source and weights in the registry entry"
            raise EquipoiseError(message)
    # The tokenizer and the config decide a figure as much as the weights do.
    files = [folder / entry.weights, *folder.glob("*.json"), *folder.glob("*.txt")]
    return Weights(folder, None, repo, revision, {path.name: sha256(path) for path in sorted(files)})


def _fetched(source: HubSource, entry: MaskedEntry) -> Path:
    from huggingface_hub import snapshot_download

    patterns = ["*.json", "*.txt", entry.weights]
    try:
        return Path(snapshot_download(source.repo, revision=source.revision, allow_patterns=patterns))
    except Exception as error:
        # The client raises its own errors, the transport's and OSError; to the user they are one fault with one mend.
        mend = "check the network"
        if entry.gated:
            mend += f", accept its conditions at huggingface.co/{source.repo} and set HF_TOKEN (it is gated)"
        message = (
            f"masked model missing: {source.repo} at {source.revision[:12]} could not be fetched from the Hugging Face "
            f"Hub ({type(error).__name__}): {mend}, or fetch it elsewhere and register it with source kind local"
        )
        raise EquipoiseError(message) from error


def load_tokenizer(weights: Weights) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a checkpoint; one that does not keep the space before a word in its token is refused."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(weights.folder)
    except Exception as error:
        raise _unloadable(weights, error) from error
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
    from transformers import AutoModelForMaskedLM, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        model, found = AutoModelForMaskedLM.from_pretrained(
            weights.folder,
            dtype=torch.float32,
            use_safetensors=entry.weights.endswith(".safetensors"),
            output_loading_info=True,
        )
    except Exception as error:
        raise _unloadable(weights, error) from error
    # transformers makes up at random what a file does not hold, and says so in a log alone.
    if made_up := sorted(name for name in found["missing_keys"] if not name.startswith(TIED)):
        message = f"{weights.folder}: {entry.weights} does not hold {made_up[0]}: choose a trained masked model"
        raise EquipoiseError(message)
    if not hasattr(model, "lm_head"):
        message = (
            f"{weights.folder}: a {model.config.model_type} model has no lm_head: choose a model of RoBERTa's kind"
        )
        raise EquipoiseError(message)
    return model.eval()


def _unloadable(weights: Weights, error: Exception) -> EquipoiseError:
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return EquipoiseError(f"{weights.folder}: transformers cannot load it ({reason}): fetch it anew")
