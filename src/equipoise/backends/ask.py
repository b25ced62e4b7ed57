"""Prompts answered by the model of a manifest: from the cache where they were answered before, else by its backend.

`asker` makes the function that does so, `agent` the same for plain texts, and `open_backend` opens the backend that a
manifest and its registry entry require.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from equipoise.backends.base import Backend
from equipoise.backends.ray.cluster import Cluster, gpus_of
from equipoise.backends.ray.replicas import RayBackend
from equipoise.core import cache, records
from equipoise.core.cache import ResponseCache, response_key
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Frozen, Manifest, Prompt, Response
from equipoise.models import registry
from equipoise.models.export import describe
from equipoise.models.registry import AnyEntry, ApiEntry, Generation, OnnxEntry, ReplayEntry, TorchEntry, VllmEntry
from equipoise.models.weights import Weights, locate, verified, verified_file

Asker = Callable[[Sequence[Prompt]], Iterator[Response]]
"""Prompts to their responses, which must be read while the cache is open."""
Progress = Callable[[int, int], object]
EXPORT = "run `dvc repro --force --single-item export`"


class Infer(Frozen):
    """The section `infer` of params.yaml: how the model is run; nothing here changes a result."""

    batch_size: Annotated[int, Field(ge=1)]
    executor: Literal["local", "ray"]
    address: Annotated[str, Field(pattern=r"^(ray://)?[^\s/:]+:[0-9]{1,5}$")] | None

    @property
    def cluster(self) -> Cluster | None:
        """The Ray cluster that answers the prompts; None where this process does it."""
        return Cluster(self.address) if self.executor == "ray" else None


def asker(
    manifest: Manifest,
    root: Path,
    kept: cache.ResponseCache,
    *,
    batch_size: int,
    progress: Progress,
    cluster: Cluster | None = None,
) -> Asker:
    """Make the function that answers prompts through the cache with an exported model, here or on a Ray cluster."""
    entry = registry.load_entry(manifest.model, root)
    store = (cache.folder() / "models").resolve()
    opened: Callable[[], Backend] = partial(open_backend, manifest, entry, store, batch_size=batch_size)
    if cluster is not None:
        opened = partial(RayBackend, opened, cluster, gpus=gpus_of(manifest, entry), least=batch_size)
    return partial(
        answer_all,
        manifest=manifest,
        generation=entry.generation,
        cache=kept,
        open_backend=opened,
        progress=progress,
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
    ask = asker(_manifest(name, root), root, kept, batch_size=batch_size, progress=progress, cluster=cluster)

    def replies(messages: Sequence[tuple[str, str]]) -> list[str]:
        prompts = [
            Prompt(
                key=f"{number:06d}",
                study="questions",
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


def _manifest(name: str, root: Path) -> Manifest:
    entry = registry.load_entry(name, root)
    if isinstance(entry, registry.ApiEntry | registry.ReplayEntry):
        return describe(name, entry, cache.root())
    path = cache.folder() / "models" / f"{name}.json"
    if not path.is_file():
        message = (
            f"agent {name!r} is not an exported model: run `dvc exp run -S model={name} -s export` once, or name rules"
        )
        raise EquipoiseError(message)
    return records.read_one(path, Manifest)


def answer_all(
    prompts: Sequence[Prompt],
    *,
    manifest: Manifest,
    generation: Generation,
    cache: ResponseCache,
    open_backend: Callable[[], AbstractContextManager[Backend]],
    progress: Callable[[int, int], object],
) -> Iterator[Response]:
    """Answer prompts, asking the model only what the cache does not hold; equal questions are asked once.

    The backend is opened only if something is left to ask. Every answer is kept on disk before the next is waited for.
    `progress` is called with the number of prompts answered, and of all. When this returns, all are; the responses are
    read from the cache one at a time, in the order of the prompts, as long as it is open.
    """
    keys = {prompt.key: response_key(prompt, manifest, generation) for prompt in prompts}
    open_questions = {
        keys[prompt.key]: prompt for prompt in reversed(prompts) if cache.get(keys[prompt.key], prompt) is None
    }
    asked = sorted(open_questions.values(), key=lambda prompt: prompt.key)
    waiting = Counter(question for question in keys.values() if question in open_questions)
    progress(len(prompts) - waiting.total(), len(prompts))
    if asked:
        with open_backend() as backend:
            for response in backend.answer(asked):
                question = keys[response.key]
                cache.put(question, response)
                del waiting[question]
                progress(len(prompts) - waiting.total(), len(prompts))
    for prompt in prompts:
        if keys[prompt.key] in waiting:
            raise _unanswered(prompt)
    return (_answered(prompt, keys[prompt.key], cache) for prompt in prompts)


def _answered(prompt: Prompt, question: str, cache: ResponseCache) -> Response:
    """Find the answer to a prompt that was answered."""
    response = cache.get(question, prompt)
    if response is None:  # the file was emptied in the meantime
        raise _unanswered(prompt)
    return response


def _unanswered(prompt: Prompt) -> EquipoiseError:
    return EquipoiseError(f"prompt {prompt.key!r} was asked and not answered: run again; finished answers are kept")


def open_backend(manifest: Manifest, entry: AnyEntry, store: Path, *, batch_size: int) -> Backend:
    """Open the model that `export` described; exported weights lie in a folder under `store`.

    Raises:
        EquipoiseError: The entry's backend is not the manifest's, or a file is missing or altered.
    """
    if manifest.backend != entry.backend:
        was = f"the manifest says {manifest.backend}"
        message = f"models/{manifest.model}.yaml: field backend is {entry.backend}, but {was}: {EXPORT}"
        raise EquipoiseError(message)
    match entry:
        case OnnxEntry():
            from equipoise.backends.onnx import OnnxBackend

            return OnnxBackend(_exported(manifest, store), entry, batch_size=batch_size)
        case ApiEntry():
            from equipoise.backends.openai import ApiBackend

            return ApiBackend(manifest.model, entry)
        case ReplayEntry():
            from equipoise.backends.replay import ReplayBackend

            return ReplayBackend(verified_file(manifest.model, entry, cache.root()))
        case TorchEntry():
            from equipoise.backends.torch import TorchBackend

            return TorchBackend(_published(manifest, entry), entry)
        case VllmEntry():
            from equipoise.backends.vllm import open_vllm

            return open_vllm(_published(manifest, entry), entry)


def _published(manifest: Manifest, entry: TorchEntry | VllmEntry) -> Weights:
    """Find weights that run as they are published, after checking that they are those of the manifest."""
    weights = locate(entry, cache.root())
    if (weights.files, entry.settings) != (manifest.weights, manifest.settings):
        what = "settings" if weights.files == manifest.weights else "weights"
        message = f"models/{manifest.model}.yaml: its {what} differ from the manifest: {EXPORT}"
        raise EquipoiseError(message)
    return weights


def _exported(manifest: Manifest, store: Path) -> Path:
    """Find the folder of an export, after checking every file in it against the manifest."""
    folder = store / (manifest.folder or "")
    for name, expected in manifest.files.items():
        verified(folder / name, expected, "exported weights", EXPORT)
    return folder
