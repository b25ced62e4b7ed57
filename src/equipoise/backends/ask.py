"""Answer prompts with the model of a manifest: from the cache if they were answered before, else by its backend."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from hashlib import blake2b
from pathlib import Path
from sys import intern

from equipoise.backends.base import Backend, Cluster, CommonMarks, Keeping, Opening, answering
from equipoise.backends.ray.cluster import copies, gpus_of
from equipoise.backends.served import Offer
from equipoise.core import cache, jsonl
from equipoise.core.cache import LOOKED_UP, ResponseCache, batched, response_key
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Prompt, Response
from equipoise.models import hub, registry
from equipoise.models.export import describe, require_versions
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
from equipoise.models.weights import Weights, locate, verify, verify_answers

Asker = Callable[[Sequence[Prompt]], Iterator[Response]]
"""A function from prompts to their responses, which must be read while the cache is open."""
Progress = Callable[[int, int], object]
BEGINNING = 32
"""Bytes of a stem that order the stems."""
PLACE = 8
"""Bytes of a prompt's place among the prompts, in a sort key."""
FIX = "lower infer.batch_size if memory runs out"
EXPORT = "run `dvc repro --force --single-item export`"


def asker(
    manifest: Manifest,
    root: Path,
    responses: cache.ResponseCache,
    *,
    batch_size: int,
    progress: Progress,
    cluster: Cluster | None = None,
    opened: ExitStack | None = None,
) -> Asker:
    """Return a function that answers prompts through the cache with an exported model, here or on a Ray cluster.

    The model is opened whenever there are prompts to ask; with `opened`, it is opened once and stays open until
    `opened` is closed.
    """
    entry = registry.found(registry.load_entry(manifest.model, root), manifest.likelihoods)
    store = (cache.folder() / "models").resolve()
    # Not on a cluster, because its nodes need not share a disk.
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
        cache=responses,
        make=make,
        progress=progress,
        keeping=opened.enter_context(Keeping(responses, make)) if opened else None,
    )


def agent(
    name: str,
    root: Path,
    responses: cache.ResponseCache,
    *,
    tokens: int,
    batch_size: int,
    progress: Progress,
    cluster: Cluster | None = None,
) -> Callable[[Sequence[tuple[str, str]]], list[str]]:
    """Return a function that answers (system, user) pairs in at most `tokens` tokens, with a model of the registry.

    A model whose weights run here must have been exported before.
    """
    ask = asker(find_manifest(name, root), root, responses, batch_size=batch_size, progress=progress, cluster=cluster)

    def replies(messages: Sequence[tuple[str, str]]) -> list[str]:
        prompts = [
            Prompt(
                key=f"{number:06d}", study="agent", system=system, prefix="", turns=(user,), candidates=(), limit=tokens
            )
            for number, (system, user) in enumerate(messages)
        ]
        return [response.replies[-1] for response in ask(prompts)]

    return replies


def find_manifest(name: str, root: Path) -> Manifest:
    """Find the manifest of a previously exported model of the registry, other than the one under test."""
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
    """Answer prompts; the model is asked only those missing from the cache, and equal questions once.

    `make` opens the model, only if there is something to ask; `keeping` keeps it open from one call to the next. Every
    answer is saved to disk before waiting for the next one. `progress` is called with the number of answered prompts
    and the number of all prompts. All prompts are answered when this function returns; the responses are then read from
    the open cache, in the order of the prompts. Prompts are taken as they are needed, so that those of a `jsonl.Rows`
    are never all in memory: about 600 bytes of each are.
    """
    names: list[tuple[str, str]] = []
    questions: list[str] = []
    waiting: Counter[str] = Counter()
    missing: list[bytes] = []
    for batch in batched(prompts, LOOKED_UP):
        asked = [response_key(prompt, manifest, generation) for prompt in batch]
        kept = cache.find_all(asked)
        for place, (prompt, question) in enumerate(zip(batch, asked, strict=True), start=len(questions)):
            names.append((prompt.key, intern(prompt.study)))
            if question not in kept:
                if question not in waiting:
                    missing.append(_asking_order(prompt) + place.to_bytes(PLACE))
                waiting[question] += 1
        questions += asked
    missing.sort()
    places = (int.from_bytes(order[-PLACE:]) for order in missing)
    answered = len(questions) - waiting.total()
    progress(answered, len(questions))
    with nullcontext(keeping) if keeping else Keeping(cache, make) as model:
        for answers in model.process((questions[place], prompts[place]) for place in places):
            answered += sum(map(waiting.pop, answers))
            progress(answered, len(questions))
    if waiting:
        raise _unanswered_error(
            next(key for (key, _), question in zip(names, questions, strict=True) if question in waiting)
        )
    return _read_answers(names, questions, cache)


def _asking_order(prompt: Prompt) -> bytes:
    """Return a sort key of few bytes that places prompts with the same beginning side by side."""
    stem, lead = prompt.stem.encode(), prompt.lead.encode()
    return stem[:BEGINNING] + _short_digest(stem) + _short_digest(lead)


def _short_digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=8).digest()


def _read_answers(
    names: Sequence[tuple[str, str]], questions: Sequence[str], cache: ResponseCache
) -> Iterator[Response]:
    """Read the answers to answered prompts from the cache, each under the key and study of its prompt."""
    for batch in batched(zip(names, questions, strict=True), LOOKED_UP):
        kept = cache.find_all(question for _, question in batch)
        for (key, study), question in batch:
            if question not in kept:  # the file was emptied in the meantime
                raise _unanswered_error(key)
            yield kept[question].model_copy(update={"key": key, "study": study})


def _unanswered_error(key: str) -> EquipoiseError:
    return EquipoiseError(f"prompt {key!r} was asked and not answered: run again; finished answers are kept")


def open_backend(
    manifest: Manifest, entry: AnyEntry, store: Path, *, batch_size: int, turns: Path | None = None
) -> Backend:
    """Open the model that `export` described; exported weights are in a folder under `store`.

    `turns` is the cache file for a server's individual replies.

    Raises:
        EquipoiseError: The entry's backend or a library's version is not the manifest's, or a file is missing or
            altered.
    """
    require_versions(manifest)
    if manifest.backend != entry.backend:
        was = f"the manifest says {manifest.backend}"
        raise EquipoiseError(f"models/{manifest.model}.yaml: field backend is {entry.backend}, but {was}: {EXPORT}")
    backend = _open_backend(manifest, entry, store, batch_size, turns)
    return CommonMarks(backend, entry.marks) if entry.marks else backend


def _open_backend(manifest: Manifest, entry: AnyEntry, store: Path, batch_size: int, turns: Path | None) -> Backend:
    match entry:
        case OnnxEntry():
            from equipoise.backends.onnx import OnnxBackend

            return OnnxBackend(_find_export(manifest, store), entry, batch_size=batch_size)
        case ApiEntry():
            from equipoise.backends.openai import ApiBackend

            return ApiBackend(manifest.model, entry, turns, form=Offer.form_of(manifest.likelihoods))
        case ReplayEntry():
            from equipoise.backends.replay import ReplayBackend

            return ReplayBackend(verify_answers(manifest.model, entry, cache.root()))
        case PhantomEntry():
            message = f"models/{manifest.model}.yaml: a phantom answers only the prompts of studies: choose another"
            raise EquipoiseError(message)
        case TorchEntry():
            from equipoise.backends.torch import TorchBackend

            return TorchBackend(_find_published(manifest, entry), entry, batch_size=batch_size)
        case VllmEntry():
            from equipoise.backends.vllm import open_vllm

            return open_vllm(_find_published(manifest, entry), entry)


def _find_published(manifest: Manifest, entry: TorchEntry | VllmEntry) -> Weights:
    """Find weights that run as published, after checking that they match the manifest."""
    weights = locate(hub.pin_commit(entry, manifest.revision), cache.root())
    if (weights.files, entry.settings) != (manifest.weights, manifest.settings):
        what = "settings" if weights.files == manifest.weights else "weights"
        raise EquipoiseError(f"models/{manifest.model}.yaml: its {what} differ from the manifest: {EXPORT}")
    return weights


def _find_export(manifest: Manifest, store: Path) -> Path:
    """Find the folder of an export, after checking every file in it against the manifest."""
    folder = store / (manifest.folder or "")
    for name, expected in manifest.files.items():
        verify(folder / name, expected, "exported weights", EXPORT)
    return folder
