"""A masked model made ready: exported to ONNX where its entry says so, and admitted only if it answers as in torch."""

from __future__ import annotations

import logging
import math
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import DECIMALS, Text, digest, read_one, sha256, write_json
from equipoise.stigma.masked_graph import at_the_mask
from equipoise.stigma.masked_longformer import without_windows
from equipoise.stigma.masked_model import MaskedModel, onnx_logits, softmax, torch_device, torch_logits
from equipoise.stigma.masked_registry import FOLDER, MaskedEntry, Runtime, load_entry
from equipoise.stigma.masked_weights import load_tokenizer, load_torch, locate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from transformers import PreTrainedModel

    from equipoise.models.weights import Weights

OPSET = 18
GRAPH = "model.onnx"
MANIFEST = "manifest.json"
FIDELITY = 1e-4
"""The most by which any probability may differ from that of the checkpoint in torch, run as it is."""
LIBRARIES: dict[Runtime, tuple[str, ...]] = {
    "onnx": ("onnx", "optimum", "optimum-onnx", "torch", "transformers"),
    "torch": ("torch", "transformers"),
}


class MaskedManifest(BaseModel):
    """What a masked model was made from and how true to it.

    `weights` and `files` map names to sha256 digests: of the checkpoint's files, and of the files made from them.
    `max_difference` bounds how far any probability on the `probes` lies from torch's (see `bound`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Text
    repo: Text
    revision: Text
    licence: Text
    weights: dict[str, str]
    runtime: Runtime
    max_tokens: int
    folder: Text
    files: dict[str, str]
    provider: Text
    versions: dict[str, str]
    probes: int
    max_difference: float

    @property
    def identity(self) -> str:
        """A digest of all that decides a prediction: the model's part of a cache key."""
        told = {"model", "repo", "revision", "licence", "folder", "probes", "max_difference"}
        return digest(self.model_dump(mode="json", exclude=told))


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
            `FIDELITY`; then nothing is kept.
    """
    entry = load_entry(name, root)
    weights = locate(entry, root)
    versions = _versions(entry.runtime)
    provider = _provider(entry.runtime)
    made_of = [weights.files, versions, provider, OPSET, entry.runtime, entry.max_tokens]
    folder = f"masked-{name}-{digest(made_of)[:16]}"
    target = store / folder
    if (manifest := _kept(target)) is not None:
        return Ready(manifest, entry, weights, target)
    try:
        store.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=store, prefix=".masked-") as place:
            made = Path(place) / "made"
            made.mkdir()
            if entry.runtime == "onnx":
                _write_graph(_loaded(entry, weights), load_tokenizer(weights).mask_token_id, made)
            difference = _difference(name, entry, weights, made, probes)
            manifest = MaskedManifest(
                model=name,
                repo=weights.repo,
                revision=weights.revision,
                licence=entry.licence,
                weights=weights.files,
                runtime=entry.runtime,
                max_tokens=entry.max_tokens,
                folder=folder,
                files={path.name: sha256(path) for path in sorted(made.iterdir())},
                provider=provider,
                versions=versions,
                probes=len(probes),
                max_difference=bound(difference),
            )
            write_json(made / MANIFEST, manifest.model_dump(mode="json"))
            shutil.rmtree(target, ignore_errors=True)
            made.rename(target)
    except OSError as error:
        message = f"{store}: the export cannot be written ({error.strerror or error}): free space and run again"
        raise EquipoiseError(message) from error
    return Ready(manifest, entry, weights, target)


def bound(difference: float) -> float:
    """Give the power of ten, 1e-6 or more, that a difference does not exceed.

    Its digits differ from processor to processor, which the manifest should not; files hold six places.
    """
    return 10.0 ** max(-DECIMALS, math.ceil(math.log10(difference))) if difference > 0 else 10.0**-DECIMALS


def _kept(folder: Path) -> MaskedManifest | None:
    """Read what an earlier run made, unless a file of it is missing or altered."""
    if not (folder / MANIFEST).is_file():
        return None
    manifest = read_one(folder / MANIFEST, MaskedManifest)
    whole = all(
        (folder / name).is_file() and sha256(folder / name) == expected for name, expected in manifest.files.items()
    )
    return manifest if whole else None


def _versions(runtime: Runtime) -> dict[str, str]:
    found = {library: metadata.version(library) for library in LIBRARIES[runtime]}
    if runtime == "onnx":
        import onnxruntime

        found["onnxruntime"] = str(onnxruntime.__version__)
    return found


def _provider(runtime: Runtime) -> str:
    if runtime == "torch":
        return torch_device()
    from equipoise.models.engine import provider

    return provider()


def _opened(entry: MaskedEntry, weights: Weights, folder: Path) -> MaskedModel:
    tokenizer = load_tokenizer(weights)
    if entry.runtime == "onnx":
        logits = onnx_logits(folder / GRAPH)
    else:
        logits = torch_logits(_loaded(entry, weights), tokenizer.mask_token_id)
    return MaskedModel(tokenizer, logits, max_tokens=entry.max_tokens)


def _loaded(entry: MaskedEntry, weights: Weights) -> PreTrainedModel:
    return without_windows(load_torch(entry, weights), entry.max_tokens)


def _difference(name: str, entry: MaskedEntry, weights: Weights, folder: Path, probes: Sequence[str]) -> float:
    """Compare the model as it will be used with the checkpoint as it is; one that is too far off is refused."""
    import numpy as np

    model = _opened(entry, weights, folder)
    found = model.probabilities(probes)
    reference = _reference(load_torch(entry, weights), model.encode(probes), load_tokenizer(weights).mask_token_id)
    difference = float(np.abs(found - reference).max())
    if not difference < FIDELITY:
        message = (
            f"{name} refused: in {entry.runtime} its probabilities lie up to {difference:.2g} from those of its "
            f"checkpoint, not within {FIDELITY:g}: set another runtime in {FOLDER}/{name}.yaml, or choose another model"
        )
        raise EquipoiseError(message)
    return difference


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
    """Export through optimum, and keep of the graph what the mask needs."""
    import onnx
    from optimum.exporters.onnx.convert import onnx_export_from_model

    # The exporter's warnings are of values that tracing fixes; the comparison with torch shows whether that did harm.
    logging.getLogger("optimum").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(dir=folder.parent) as plain, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            onnx_export_from_model(
                model=model, output=Path(plain), task="fill-mask", opset=OPSET, device="cpu", do_validation=False
            )
        except OSError:
            raise  # the disk, not the model
        except Exception as error:
            # The exporters raise whatever their tracing runs into.
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            message = (
                f"a {model.config.model_type} model cannot be exported to ONNX ({reason}): "
                "set `runtime: torch` in its registry entry"
            )
            raise EquipoiseError(message) from error
        graph = at_the_mask(onnx.load(Path(plain) / GRAPH), mask)
        onnx.save(graph, folder / GRAPH, save_as_external_data=True, location=f"{GRAPH}.data")
