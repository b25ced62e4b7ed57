"""A model's manifest and registry entry turned into one function that answers prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from equipoise.backends.infer import answer_all
from equipoise.backends.load import open_backend
from equipoise.backends.ray.answering import RayBackend
from equipoise.backends.ray.cluster import gpus_of
from equipoise.core import cache, records
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Manifest, Prompt, Response
from equipoise.models import registry
from equipoise.models.export import describe

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.backends.base import Backend
    from equipoise.backends.ray.cluster import Cluster

Asker = Callable[[Sequence[Prompt]], Iterator[Response]]
"""Prompts to their responses, which are to be taken while the cache is open."""
Progress = Callable[[int, int], object]


def asker(
    manifest: Manifest,
    root: Path,
    kept: cache.ResponseCache,
    *,
    batch_size: int,
    progress: Progress,
    cluster: Cluster | None = None,
) -> Asker:
    """Make the function that answers prompts with an exported model, through the cache: here or on a Ray cluster."""
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
            f"agent {name!r} is no exported model: run `dvc exp run -S model={name} -s export` once, or name rules"
        )
        raise EquipoiseError(message)
    return records.read_one(path, Manifest)
