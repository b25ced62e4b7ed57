"""Prompts answered by the model of a manifest: from the cache where they were answered before, else by its backend.

`asker` makes the function that does so, `agent` the same for plain texts, and `open_backend` opens the backend that a
manifest and its registry entry require.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

from equipoise.backends.base import Backend, Cluster, Keeping, Opening, answering
from equipoise.backends.ray.cluster import copies, gpus_of
from equipoise.core import cache, jsonl
from equipoise.core.cache import ResponseCache, response_key
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Prompt, Response
from equipoise.models import hub, registry
from equipoise.models.export import describe
from equipoise.models.registry import (
    AnyEntry,
    ApiEntry,
    Generation,
    OnnxEntry,
    PhantomEntry,
    ReplayEntry,
    TorchEntry,
    VllmEntry,
)
from equipoise.models.weights import Weights, locate, verified, verified_file

Asker = Callable[[Sequence[Prompt]], Iterator[Response]]
"""Prompts to their responses, which must be read while the cache is open."""
Progress = Callable[[int, int], object]
FIX = "lower infer.batch_size if memory runs out"
EXPORT = "run `dvc repro --force --single-item export`"


def asker(
    manifest: Manifest,
    root: Path,
    kept: cache.ResponseCache,
    *,
    batch_size: int,
    progress: Progress,
    cluster: Cluster | None = None,
    opened: ExitStack | None = None,
) -> Asker:
    """Make the function that answers prompts through the cache with an exported model, here or on a Ray cluster.

    The model is opened whenever there is something to ask; with `opened`, once, and left open until that is closed.
    """
    entry = registry.load_entry(manifest.model, root)
    store = (cache.folder() / "models").resolve()
    # Not on a cluster, whose nodes need not share a disk.
    turns = None if cluster else cache.folder() / "turns.sqlite"
    make: Opening[Prompt, Response] = partial(
        answering, partial(open_backend, manifest, entry, store, batch_size=batch_size, turns=turns)
    )
    if cluster is not None:
        size = {"gpus": gpus_of(manifest, entry), "least": batch_size}
        make = partial(copies, make, cluster, noun="prompt", fix=FIX, **size)
    return partial(
        answer_all,
        manifest=manifest,
        generation=entry.generation,
        cache=kept,
        make=make,
        progress=progress,
        keeping=opened.enter_context(Keeping(kept, make)) if opened else None,
    )


def agent(
    name: str,
    root: Path,
    kept: cache.ResponseCache,
    *,
    tokens: int,
    batch_size: int,
    progress: Progress,
    cluster: Cluster | None = None,
) -> Callable[[Sequence[tuple[str, str]]], list[str]]:
    """Make the function that answers (system, user) pairs in at most `tokens` tokens, with a model of the registry.

    A model whose weights run here must have been exported before.
    """
    ask = asker(exported(name, root), root, kept, batch_size=batch_size, progress=progress, cluster=cluster)

    def replies(messages: Sequence[tuple[str, str]]) -> list[str]:
        prompts = [
            Prompt(
                key=f"{number:06d}",
                study="agent",
                system=system,
                prefix="",
                turns=(user,),
                candidates=(),
                limit=tokens,
            )
            for number, (system, user) in enumerate(messages)
        ]
        return [response.replies[-1] for response in ask(prompts)]

    return replies


def exported(name: str, root: Path) -> Manifest:
    """Find the manifest of a model of the registry that is not the one under test; it was exported before."""
    entry = registry.load_entry(name, root)
    if isinstance(entry, registry.ApiEntry | registry.ReplayEntry):
        return describe(name, entry, cache.root())
    path = cache.folder() / "models" / f"{name}.json"
    if not path.is_file():
        raise EquipoiseError(
            f"agent {name!r} is not an exported model: run `dvc exp run -S model={name} -s export` once, or name rules"
        )
    return jsonl.read_one(path, Manifest)


def answer_all(
    prompts: Sequence[Prompt],
    *,
    manifest: Manifest,
    generation: Generation,
    cache: ResponseCache,
    make: Opening[Prompt, Response],
    progress: Progress,
    keeping: Keeping[Prompt, Response] | None = None,
) -> Iterator[Response]:
    """Answer prompts, asking the model only what the cache does not hold; equal questions are asked once.

    `make` opens the model, only if something is left to ask; `keeping` has it open from one call to the next. Every
    answer is kept on disk before the next is waited for. `progress` is called with the number of prompts answered, and
    of all. When this returns, all are; the responses are read from the cache one at a time, in the order of the
    prompts, as long as it is open.
    """
    keys = {prompt.key: response_key(prompt, manifest, generation) for prompt in prompts}
    missing = {keys[prompt.key]: prompt for prompt in reversed(prompts) if cache.find(keys[prompt.key]) is None}
    waiting = Counter(question for question in keys.values() if question in missing)
    progress(len(prompts) - waiting.total(), len(prompts))
    with nullcontext(keeping) if keeping else Keeping(cache, make) as model:
        for answers in model.process(dict(sorted(missing.items(), key=lambda asked: _together(asked[1])))):
            for question in answers:
                del waiting[question]
            progress(len(prompts) - waiting.total(), len(prompts))
    for prompt in prompts:
        if keys[prompt.key] in waiting:
            raise _unanswered(prompt)
    return (_answered(prompt, keys[prompt.key], cache) for prompt in prompts)


def _together(prompt: Prompt) -> tuple[str, str, str]:
    """Give the place of a prompt in the order of asking: beside those with which it shares a beginning."""
    return prompt.stem, prompt.lead, prompt.key


def _answered(prompt: Prompt, question: str, cache: ResponseCache) -> Response:
    """Find the answer to a prompt that was answered."""
    response = cache.get(question, prompt)
    if response is None:  # the file was emptied in the meantime
        raise _unanswered(prompt)
    return response


def _unanswered(prompt: Prompt) -> EquipoiseError:
    return EquipoiseError(f"prompt {prompt.key!r} was asked and not answered: run again; finished answers are kept")


def open_backend(
    manifest: Manifest, entry: AnyEntry, store: Path, *, batch_size: int, turns: Path | None = None
) -> Backend:
    """Open the model that `export` described; exported weights lie in a folder under `store`.

    `turns` is the file in which the replies of a server are kept one by one.

    Raises:
        EquipoiseError: The entry's backend is not the manifest's, or a file is missing or altered.
    """
    if manifest.backend != entry.backend:
        was = f"the manifest says {manifest.backend}"
        raise EquipoiseError(f"models/{manifest.model}.yaml: field backend is {entry.backend}, but {was}: {EXPORT}")
    match entry:
        case OnnxEntry():
            from equipoise.backends.onnx import OnnxBackend

            return OnnxBackend(_exported(manifest, store), entry, batch_size=batch_size)
        case ApiEntry():
            from equipoise.backends.openai import ApiBackend

            return ApiBackend(manifest.model, entry, turns)
        case ReplayEntry():
            from equipoise.backends.replay import ReplayBackend

            return ReplayBackend(verified_file(manifest.model, entry, cache.root()))
        case PhantomEntry():
            message = f"models/{manifest.model}.yaml: a phantom answers only the prompts of studies: choose another"
            raise EquipoiseError(message)
        case TorchEntry():
            from equipoise.backends.torch import TorchBackend

            return TorchBackend(_published(manifest, entry), entry)
        case VllmEntry():
            from equipoise.backends.vllm import open_vllm

            return open_vllm(_published(manifest, entry), entry)


def _published(manifest: Manifest, entry: TorchEntry | VllmEntry) -> Weights:
    """Find weights that run as they are published, after checking that they are those of the manifest."""
    weights = locate(hub.at(entry, manifest.revision), cache.root())
    if (weights.files, entry.settings) != (manifest.weights, manifest.settings):
        what = "settings" if weights.files == manifest.weights else "weights"
        raise EquipoiseError(f"models/{manifest.model}.yaml: its {what} differ from the manifest: {EXPORT}")
    return weights


def _exported(manifest: Manifest, store: Path) -> Path:
    """Find the folder of an export, after checking every file in it against the manifest."""
    folder = store / (manifest.folder or "")
    for name, expected in manifest.files.items():
        verified(folder / name, expected, "exported weights", EXPORT)
    return folder
