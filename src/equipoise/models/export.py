"""Prepare models for use: export weights to ONNX and accept them only if they answer as the original does.

`new_folder`, `export_once`, `write_onnx` and `require` serve every kind of model; `prepare` prepares and describes the
model under test: an export, weights that run as published, a server or saved answers. A model under test must agree
with torch on letters and greedy tokens, a judge with its checkpoint on labels, and a masked model with its checkpoint
on probabilities.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import DECIMALS, digest, read_one, read_text, sha256, write_json, write_text
from equipoise.core.manifest import Fidelity, Manifest
from equipoise.core.row import Frozen
from equipoise.core.system import versions as installed
from equipoise.core.yamlfile import load_yaml
from equipoise.models.adapter import merge
from equipoise.models.blocks import read_blocks
from equipoise.models.decoder import ELSEWHERE, Blocks, obstacle, write
from equipoise.models.engine import OnnxEngine, provider
from equipoise.models.readiness import GB, disk_gb
from equipoise.models.registry import AnyEntry, ApiEntry, OnnxEntry, PhantomEntry, ReplayEntry, TorchEntry, VllmEntry
from equipoise.models.template import Template, read_template
from equipoise.models.weights import (
    Weights,
    loading,
    locate,
    require_context,
    require_whole,
    verify_answers,
    verify_cases,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

UNFINISHED = ".export-"
"""Prefix of the name of a folder that is being filled, before the id of the process that fills it."""
MANIFEST = "manifest.json"
EXPORTERS = ("onnx-ir", "onnxruntime-genai", "torch", "transformers")
"""Libraries that write an export."""
COMPUTING = ("onnxruntime", "tokenizers")
"""Libraries that compute its answers."""
LIBRARIES = (*EXPORTERS, *COMPUTING)
BUILDS = {"onnxruntime": ("onnxruntime-gpu",), "onnxruntime-genai": ("onnxruntime-genai-cuda",)}
"""Other names of a library's package, for GPUs."""

LOADED = {"is_local": True, "local_files_only": False}
"""How a tokenizer is said to have been loaded, however it was."""
GREEDY_TOKENS = 16
DIFFERENCE = 1e-4
"""Largest accepted difference of a masked model's probability from its checkpoint's in torch."""


class ExportManifest(Frozen):
    """The manifest stored with an export: the sha256 of each of its files."""

    files: dict[str, str]


class _ChatManifest(ExportManifest):
    """The manifest stored with the export of a model under test.

    It has a digest of what the export was made from, of which the name of its folder has a part, and describes the
    model.
    """

    origin: str
    described: Manifest


M = TypeVar("M", bound=ExportManifest)


class _Probes(Frozen):
    probes: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]


def load_probes(path: Path) -> tuple[str, ...]:
    """Read the questions on which an export is compared with its original; at least one is needed."""
    return load_yaml(path, _Probes).probes


def versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return the versions of libraries, of which ONNX Runtime's have packages with several names."""
    return {
        library: next(iter(installed([library, *BUILDS.get(library, ())]).values()), None) or metadata.version(library)
        for library in libraries
    }


@contextmanager
def new_folder(store: Path, name: str) -> Iterator[Path]:
    """Yield an empty folder to fill; on success it becomes `name` under `store`, on failure it is removed.

    It is filled under a temporary name and then renamed, so that no process needs a lock or sees a partial folder.
    Unfinished folders of killed processes are removed.
    """
    make_store(store)
    for path in leftovers(store):
        shutil.rmtree(path, ignore_errors=True)
    try:
        with tempfile.TemporaryDirectory(dir=store, prefix=f"{UNFINISHED}{os.getpid()}-") as place:
            target = Path(place) / "made"
            target.mkdir()
            yield target
            shutil.rmtree(store / name, ignore_errors=True)
            target.rename(store / name)
    except OSError as error:
        message = f"{store}: the export cannot be written ({error.strerror or error}): free space and run again"
        raise EquipoiseError(message) from error


def leftovers(store: Path) -> list[Path]:
    """List the unfinished exports under a store whose processes no longer run."""
    folders = [(path, path.name.removeprefix(UNFINISHED).partition("-")[0]) for path in store.glob(f"{UNFINISHED}*")]
    return [path for path, process in folders if not (process.isdecimal() and cache.is_running(int(process)))]


def make_store(store: Path, needed: float = 0.0) -> None:
    """Create the folder of exports, and require `needed` bytes of free disk."""
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{store}: cannot be created ({error.strerror}): correct the permissions of its parent folder"
        raise EquipoiseError(message) from error
    if (free := shutil.disk_usage(store).free) < needed:
        raise EquipoiseError(
            f"{store}: {needed / 1e9:.1f} GB of disk is needed, {free / 1e9:.1f} GB is free: free more and run again"
        )


def export_once(store: Path, name: str, kind: type[M], fill: Callable[[Path], M]) -> M:
    """Return the manifest of the export `name` under `store`; `fill` creates a missing or incomplete export."""
    if kept := _kept(store / name, kind):
        return kept
    with new_folder(store, name) as target:
        manifest = fill(target)
        write_json(target / MANIFEST, manifest.model_dump(mode="json"))
    return manifest


def _kept(folder: Path, kind: type[M]) -> M | None:
    """Return the manifest of an export whose files are all there and unaltered; None if there is none."""
    try:
        manifest = read_one(folder / MANIFEST, kind)
        whole = all(sha256(folder / file) == expected for file, expected in manifest.files.items())
    except (EquipoiseError, OSError):
        return None
    return manifest if whole else None


def hashes(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file of an export."""
    return {path.name: sha256(path) for path in sorted(folder.iterdir())}


def prepare(name: str, entry: AnyEntry, root: Path, store: Path, probes: Sequence[str]) -> Manifest:
    """Prepare a model of the registry as its backend requires, and describe it."""
    return export(name, entry, root, store, probes) if isinstance(entry, OnnxEntry) else describe(name, entry, root)


def save_tokenizer(tokenizer: Any, folder: Path) -> None:  # noqa: ANN401  (transformers has no types)
    """Save a tokenizer, without saying whether it was loaded offline: the model's identity contains a digest of it.

    transformers writes down the arguments of the loading, one of which is HF_HUB_OFFLINE's.
    """
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(read_text(path))
    config |= {name: value for name, value in LOADED.items() if name in config}
    write_text(path, json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def export(name: str, entry: OnnxEntry, root: Path, store: Path, probes: Sequence[str]) -> Manifest:
    """Export a registry entry into a folder under `store`, compare it with torch on the probes, and describe it.

    An export that the same code and libraries made of the same weights, entry and probes is used again. If agreement is
    below the entry's threshold, it raises EquipoiseError and keeps nothing.
    """
    weights = locate(entry, root)
    exporters = versions(EXPORTERS)
    folder = f"{name}-{digest([weights.files, exporters, entry.precision])[:16]}"
    origin = _origin(entry, weights, probes)
    if (kept := _kept(store / folder, _ChatManifest)) and kept.origin == origin:
        return kept.described
    model, tokenizer = _load(weights, entry)
    template = Template(entry.title, tokenizer, entry.thinking)
    make_store(store, disk_gb(entry, model.num_parameters()) * GB)
    with new_folder(store, folder) as target:
        save_tokenizer(tokenizer, target)
        opset = write(model, target, _blocks(entry, weights, model))
        fidelity = chat_fidelity(name, model, tokenizer, template, target, probes)
        letters, tokens = fidelity.letters, fidelity.tokens
        require(
            name,
            faithful=min(letters, tokens) >= entry.fidelity,
            finding=f"it agrees with torch on {letters:.1%} of letters and {tokens:.1%} of greedy tokens",
            fix=f"models/{name}.yaml requires {entry.fidelity:.1%}",
        )
        _require_same_tokens(name, tokenizer, template, target, probes)
        files = hashes(target)
        described = Manifest(
            model=name,
            repo=weights.repo,
            revision=weights.revision,
            licence=entry.licence,
            weights=weights.files,
            folder=folder,
            files=files,
            opset=opset,
            precision=entry.precision,
            provider=provider(),
            settings=entry.settings,
            system_in_user=not template.has_system,
            versions=versions(COMPUTING),
            exporters=exporters,
            fidelity=fidelity,
        )
        made = _ChatManifest(files=files, origin=origin, described=described)
        write_json(target / MANIFEST, made.model_dump(mode="json"))
    return described


def _origin(entry: OnnxEntry, weights: Weights, probes: Sequence[str]) -> str:
    """Digest what an export, its acceptance and its description depend on, the code of this package included."""
    code = {path.name: sha256(path) for path in Path(__file__).parent.glob("*.py")}
    identity = [weights.repo, weights.revision, weights.files]
    return digest([entry.model_dump(mode="json"), identity, versions(), provider(), list(probes), code])


def require_versions(manifest: Manifest) -> None:
    """Refuse to compute answers with other versions than those by which a manifest labels them.

    Raises:
        EquipoiseError: A version differs, or the library is gone; the message names both versions.
    """
    for library, recorded in manifest.versions.items():
        try:
            (installed_version,) = versions([library]).values()
        except metadata.PackageNotFoundError:
            installed_version = "not installed"
        if installed_version != recorded:
            fix = f"export the model again: `dvc exp run -S model={manifest.model} --single-item export`"
            raise EquipoiseError(
                f"{manifest.model} was prepared with {library} {recorded}, here it is {installed_version}: {fix}"
            )


def _blocks(entry: OnnxEntry, weights: Weights, model: PreTrainedModel) -> dict[str, Blocks] | None:
    if entry.precision == "float32":
        return None
    blocks = read_blocks(weights.folder / weights.gguf, model) if weights.gguf else {}
    if not blocks:
        raise EquipoiseError(f"{weights.folder}: none of its weights is in blocks of 4 bits: set precision to float32")
    return blocks


def _load(weights: Weights, entry: OnnxEntry) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load the original into torch; raises EquipoiseError if it is damaged or cannot be exported or asked."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # Code of the repository and pickled weights are never run.
    safe = weights.arguments | {"trust_remote_code": False}
    with loading(weights):
        tokenizer = AutoTokenizer.from_pretrained(weights.folder, **safe)
        safe |= {} if weights.gguf else {"use_safetensors": True}
        safe |= {"dtype": torch.float32, "output_loading_info": True}
        model, info = AutoModelForCausalLM.from_pretrained(weights.folder, **safe)
    require_whole(weights.place, info)
    model.eval()
    if weights.adapter:
        merge(model, weights.adapter)
    if reason := obstacle(model):
        raise EquipoiseError(f"{weights.folder}: a {model.config.model_type} model {reason}: {ELSEWHERE}")
    require_context(entry, model.config)
    if tokenizer.chat_template is None:
        message = f"{weights.folder}: the tokenizer has no chat template: choose a model tuned to follow instructions"
        raise EquipoiseError(message)
    return model, tokenizer


def _require_same_tokens(
    name: str, tokenizer: PreTrainedTokenizerBase, template: Template, folder: Path, probes: Sequence[str]
) -> None:
    """Refuse a tokenizer whose tokens or texts differ without transformers, in conversations of the probes."""
    from equipoise.models.tokenizer import ExportedTokenizer

    turns = [[{"role": role, "content": probe} for role in ("user", "assistant", "user")] for probe in probes]
    texts = [template.write(messages) for messages in turns]

    def read(reader: PreTrainedTokenizerBase | ExportedTokenizer) -> list[object]:
        outputs: list[object] = [reader.eos_token_id]
        for text in texts:
            tokens = reader(text, add_special_tokens=False)["input_ids"]
            outputs += [tokens, *(reader.decode(tokens, skip_special_tokens=skip) for skip in (False, True))]
        return outputs

    exported = ExportedTokenizer(folder)
    same = read(tokenizer) == read(exported) and exported.special_tokens_map == tokenizer.special_tokens_map
    require(name, faithful=same, finding="its tokenizer reads or writes otherwise without transformers", fix=ELSEWHERE)


def describe(name: str, entry: TorchEntry | VllmEntry | ApiEntry | ReplayEntry | PhantomEntry, root: Path) -> Manifest:
    """Describe a model that needs no export; raises EquipoiseError if weights or saved answers are missing.

    A server is identified by its address, the model's name there, and the content of each request. The model behind a
    name can change without notice: prefer names with a date.
    """
    more: dict[str, Any]
    common = {"model": name, "backend": entry.backend, "licence": entry.licence}
    match entry:
        case TorchEntry() | VllmEntry():
            import torch

            weights = locate(entry, root)
            cuda = isinstance(entry, VllmEntry) or (entry.device_map != "cpu" and torch.cuda.is_available())
            more = {
                "repo": weights.repo,
                "revision": weights.revision,
                "weights": weights.files,
                "provider": "cuda" if cuda else "cpu",
                "settings": entry.settings,
                "system_in_user": not _read_template(weights, entry).has_system,
                "versions": {library: _version(library, entry) for library in _libraries(entry)},
            }
        case ApiEntry():
            template = {"template": sha256(root / entry.template)} if entry.template else {}
            more = {"repo": entry.base_url, "revision": entry.model, "settings": entry.settings | template}
            if entry.template:
                more["system_in_user"] = not read_template(name, entry.title, root / entry.template).has_system
        case PhantomEntry():
            more = {"repo": "planted", "revision": digest(entry.settings), "settings": entry.settings}
        case _:
            verify_answers(name, entry, root)
            verify_cases(name, entry, root)
            cases = {"cases": entry.cases.sha256} if entry.cases else {}
            more = {"repo": entry.file, "revision": entry.sha256, "settings": cases | entry.marked}
    return Manifest.model_validate(common | more)


def _read_template(weights: Weights, entry: TorchEntry | VllmEntry) -> Template:
    from transformers import AutoTokenizer

    with loading(weights):
        tokenizer = AutoTokenizer.from_pretrained(weights.folder, trust_remote_code=False, **weights.arguments)
    return Template(entry.title, tokenizer, entry.thinking)


def _libraries(entry: TorchEntry | VllmEntry) -> list[str]:
    if isinstance(entry, VllmEntry):
        return ["torch", "transformers", "vllm"]
    return ["torch", "transformers", *(["bitsandbytes"] if entry.bits else [])]


def _version(library: str, entry: TorchEntry | VllmEntry) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        message = f"{entry.title}: {library} is not installed: run `pip install 'equipoise[{library}]'`"
        raise EquipoiseError(message) from None


class LabelFidelity(Frozen):
    """Agreement of a changed classifier with its reference on the same `n` pairs."""

    agreement: float
    largest_difference: float
    n: int


def require(name: str, *, faithful: bool, finding: str, fix: str) -> None:
    """Refuse an export that is not faithful; `finding` states the measurement and the requirement."""
    if not faithful:
        raise EquipoiseError(f"export of {name} refused: {finding}: {fix}")


def chat_fidelity(
    name: str,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    template: Template,
    folder: Path,
    probes: Sequence[str],
) -> Fidelity:
    """Compare torch and the exported graph on the same probes: a row each in the graph, one at a time in torch.

    It compares the letter (A to D) that each probe's next token favours, and greedy continuations. Raises
    EquipoiseError if logits are not finite.
    """
    import torch

    letters = [tokenizer(f" {letter}", add_special_tokens=False)["input_ids"][-1] for letter in "ABCD"]
    texts = [template.write([{"role": "user", "content": probe}]) + "Answer:" for probe in probes]
    prompts = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    engine = OnnxEngine(folder, rows=len(prompts), capacity=max(map(len, prompts)) + GREEDY_TOKENS)
    steps = [np.vstack([engine.prefill(prompt, row=row) for row, prompt in enumerate(prompts)])]
    replies = steps[0].argmax(axis=-1)[:, None]
    while replies.shape[1] < GREEDY_TOKENS:
        lengths = [len(prompt) + replies.shape[1] - 1 for prompt in prompts]
        steps.append(engine.run(replies[:, -1:], lengths, picks=[0]))
        replies = np.hstack([replies, steps[-1].argmax(axis=-1)[:, None]])
    same_letters = same_tokens = 0
    furthest = 0.0
    for prompt, reply, exported in zip(prompts, replies.tolist(), np.stack(steps, axis=1), strict=True):
        # Both follow the graph's own continuation, so that one difference is not counted again at later tokens.
        with torch.inference_mode():
            logits = model(torch.tensor([[*prompt, *reply[:-1]]])).logits[0, len(prompt) - 1 :].numpy()
        same_letters += int(logits[0, letters].argmax() == exported[0, letters].argmax())
        same_tokens += int((logits.argmax(-1) == exported.argmax(-1)).sum())
        finite = bool(np.isfinite(logits).all() and np.isfinite(exported).all())
        require(name, faithful=finite, finding="its logits are not all finite numbers", fix="check the weights")
        furthest = max(furthest, float(np.abs(logits - exported).max()))
    return Fidelity(
        probes=len(probes),
        letters=same_letters / len(probes),
        tokens=same_tokens / replies.size,
        # A power of ten, because digits differ between processors and the manifest should not.
        max_abs_logit=10.0 ** math.ceil(math.log10(furthest)) if furthest > 0 else 0.0,
    )


def label_fidelity(
    name: str, reference: NDArray[np.float64], candidate: NDArray[np.float64], *, at_least: float
) -> LabelFidelity:
    """Compare probabilities (n, labels) of a changed classifier with those of the original.

    Returns the share of rows with the same most probable label, and the largest difference of a probability. Raises
    EquipoiseError if the agreement is below `at_least`.
    """
    agreement = float(np.mean(reference.argmax(axis=1) == candidate.argmax(axis=1)))
    finding = f"it agrees with its checkpoint on {agreement:.4f} of {len(reference)} pairs, and {at_least} is required"
    fix = "export it in float32, or train it again"
    require(name, faithful=agreement >= at_least, finding=finding, fix=fix)
    difference = float(np.abs(reference - candidate).max())
    return LabelFidelity(agreement=agreement, largest_difference=difference, n=len(reference))


def masked_fidelity(name: str, reference: NDArray[np.float64], candidate: NDArray[np.float64], fix: str) -> float:
    """Compare probabilities at the mask with those of the original; return a bound of their difference.

    Raises EquipoiseError for a difference of `DIFFERENCE` or more.
    """
    difference = float(np.abs(candidate - reference).max())
    finding = f"its probabilities differ by up to {difference:.2g} from those of its checkpoint, not within "
    require(name, faithful=difference < DIFFERENCE, finding=f"{finding}{DIFFERENCE:g}", fix=fix)
    return bound(difference)


def bound(difference: float) -> float:
    """Round a difference up to a power of ten, at least 1e-6, since its digits differ between processors."""
    return 10.0 ** max(-DECIMALS, math.ceil(math.log10(difference))) if difference > 0 else 10.0**-DECIMALS
