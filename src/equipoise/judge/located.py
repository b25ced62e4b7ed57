"""Locate a judge of the registry, export it to ONNX once if it does not ship, and open it behind a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.backends.base import Cluster, Keeping, Opening, Process
from equipoise.backends.ray.cluster import copies
from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest, sha256
from equipoise.core.progress import progress
from equipoise.core.row import Frozen
from equipoise.judge.model import FILES, TASKS, CrossEncoder, Task, require_files, task_columns
from equipoise.models.engine import CPU, providers
from equipoise.models.export import ExportManifest, LabelFidelity, export_once, hashes, label_fidelity
from equipoise.models.optimum import export_encoder, exporters
from equipoise.models.registry import EmbeddedSource, load_classifier_entry
from equipoise.models.weights import locate, require_whole

PROBES = (
    ("A 45-year-old Black man has chest pain.", "The patient is Black."),
    ("A 45-year-old Black man has chest pain.", "The patient is a woman."),
    ("Her age makes a stroke more likely.", "The patient's age affects how likely the diagnosis is."),
    ("The troponin is raised. The ECG shows ST elevation.", "The patient's housing is mentioned."),
    ("His ethnicity has no bearing on the diagnosis.", "The patient's ethnicity is not relevant."),
    ("She sleeps poorly and has lost weight.", "The patient is well."),
)
"""Pairs on which an export must give the same labels as its checkpoint."""
Pair = tuple[str, str]
Probabilities = Callable[[Sequence[Pair]], NDArray[np.float64]]
KEPT_TOGETHER = 1024
"""Pairs judged before their results are saved to disk: enough to fill batches of one length, and seconds of work."""

SENT_TOGETHER = 64
"""The same on a node, where a lost worker loses them. A share's pairs have similar lengths, so few fill a batch."""

LEAST = 256
"""Fewest pairs in a worker's share, if there are so many: some seconds of work."""

FIX = "give the nodes more memory, or set infer.executor to local"
"""The fix to suggest if one worker after another is lost."""

COMPUTED = "last layer for the first token"
"""Version of the computation. If it changes, a new name here invalidates every cached result."""


class JudgeManifest(ExportManifest):
    """The manifest of a judge's export: its libraries, and its agreement with its checkpoint."""

    title: str
    versions: dict[str, str]
    fidelity: LabelFidelity


class LocatedJudge(NamedTuple):
    """A judge that can be opened: its folder, its token limit, and its execution providers, best first."""

    folder: Path
    max_tokens: int
    providers: tuple[str, ...] = (CPU,)

    @property
    def identity(self) -> str:
        """A digest of everything that determines a probability; the judge's part of a cache key."""
        import onnxruntime

        require_files(self.folder)
        files = {name: sha256(self.folder / name) for name in FILES}
        return digest([files, self.max_tokens, self.providers, str(onnxruntime.__version__)])

    def open(self) -> CrossEncoder:
        """Open the judge, ready to run."""
        return CrossEncoder(self.folder, max_tokens=self.max_tokens, providers=self.providers)


def locate_judge(name: str, root: Path, cache: Path, task: Task | None = None) -> LocatedJudge:
    """Locate the judge registered as `name` under `root`; a judge that does not ship is exported on first use.

    Args:
        name: Stem of a file in models/judges/.
        root: The repository root.
        cache: Folder for the export of a judge that does not ship.
        task: The required task; None accepts either task.

    Raises:
        EquipoiseError: Unknown name, malformed entry, weights missing, altered or unreachable, a model of another task
            or of none, or an export that does not reproduce its checkpoint's labels; raised before any work.
    """
    entry = load_classifier_entry(name, root)
    weights = locate(entry, root)
    require_files(weights.folder, ("config.json",))
    judge_task, _ = task_columns(weights.folder / "config.json")
    if task is not None and task != judge_task:
        labels = ", ".join(TASKS[task])
        message = f"the judge {name} was trained for {judge_task}, not for {task}: choose one with the labels {labels}"
        raise EquipoiseError(message)
    if isinstance(entry.source, EmbeddedSource):
        return LocatedJudge(weights.folder, entry.max_tokens)
    libraries = exporters()

    def fill(target: Path) -> JudgeManifest:
        try:
            export_onnx(weights.folder, target)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())
            message = f"{weights.folder}: this judge cannot be exported to ONNX ({reason}): check its files"
            raise EquipoiseError(message) from error
        exported = CrossEncoder(target, max_tokens=entry.max_tokens).probabilities(PROBES)
        fidelity = label_fidelity(name, torch_probabilities(weights.folder, PROBES), exported, at_least=1.0)
        return JudgeManifest(title=entry.title, versions=libraries, files=hashes(target), fidelity=fidelity)

    folder = f"judge-{digest([weights.files, libraries, entry.max_tokens])[:16]}"
    export_once(cache / "judges", folder, JudgeManifest, fill)
    return LocatedJudge(cache / "judges" / folder, entry.max_tokens, tuple(providers()))


def export_onnx(checkpoint: Path, folder: Path) -> None:
    """Export a sequence-classification checkpoint to `folder`: model.onnx (float32), config.json, tokenizer.json."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    arguments = {"dtype": torch.float32, "output_loading_info": True}
    model, info = AutoModelForSequenceClassification.from_pretrained(checkpoint, **arguments)
    require_whole(checkpoint, info)
    export_encoder(model, folder, "text-classification", "choose a judge of another architecture")
    AutoTokenizer.from_pretrained(checkpoint).save_pretrained(folder)


def torch_probabilities(checkpoint: Path, pairs: Sequence[Pair], *, batch: int = 64) -> NDArray[np.float64]:
    """Return the checkpoint's probabilities in float32 torch, columns in the order of `TASKS`, as a reference."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    _, columns = task_columns(checkpoint / "config.json")
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint, dtype=torch.float32).eval()
    longest = int(model.config.max_position_embeddings)
    probabilities = np.empty((len(pairs), len(columns)))
    # Pairs of similar length together, for less padding; the result keeps the order of `pairs`.
    order = sorted(range(len(pairs)), key=lambda row: sum(map(len, pairs[row])))
    for first in range(0, len(order), batch):
        rows = order[first : first + batch]
        inputs = tokenizer(
            [pairs[row][0] for row in rows],
            [pairs[row][1] for row in rows],
            truncation="only_first",
            max_length=longest,
            padding=True,
            return_tensors="pt",
        )
        with torch.inference_mode():
            probabilities[rows] = model(**inputs).logits.double().softmax(dim=1)[:, columns].numpy()
    return probabilities


@contextmanager
def judging(located: LocatedJudge, identity: str, together: int) -> Iterator[Process[Pair, Verdict]]:
    """Open a judge where the pairs are processed, `together` at a time, in their order.

    Raises:
        EquipoiseError: A file is missing, or the files or ONNX Runtime differ from those where the work began.
    """
    if located.identity != identity:
        raise EquipoiseError(
            f"{located.folder}: not the expected judge: install the same files and the same "
            "version of onnxruntime on every node as where the stage runs"
        )
    judge = located.open()

    def process(items: Mapping[str, Pair]) -> Iterator[dict[str, Verdict]]:
        keys = list(items)
        for first in range(0, len(keys), together):
            batch = keys[first : first + together]
            rows = judge.probabilities([items[key] for key in batch]).tolist()
            yield {key: Verdict(p=row) for key, row in zip(batch, rows, strict=True)}

    yield process


class Verdict(Frozen):
    """Probabilities of the labels of one pair, unrounded."""

    p: tuple[float, ...]


class VerdictCache(cache.ContentCache[Verdict]):
    """Finished judgements of pairs."""

    _noun = "verdict"
    _kind = Verdict


class KeptJudge(Keeping[Pair, Verdict]):
    """A judge with its cache, whose results depend only on judge and pair; `computed` counts those not cached."""

    def __init__(self, located: LocatedJudge, verdicts: VerdictCache, cluster: Cluster | None = None) -> None:
        """Take the located judge, the cache, and the cluster on which new pairs are judged, if not in this process."""
        self._identity = located.identity
        super().__init__(verdicts, _opening(located, self._identity, cluster))

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of each pair's labels, (pairs, labels). See `CrossEncoder.probabilities`."""
        keys = {pair: digest([COMPUTED, self._identity, *pair]) for pair in pairs}
        kept = self._cache.find_all(keys.values())
        results = {pair: kept[key].p for pair, key in keys.items() if key in kept}
        # Sorted by length, so that pairs judged together have few different lengths.
        ordered = sorted(keys.keys() - results.keys(), key=lambda pair: (sum(map(len, pair)), pair))
        missing = {keys[pair]: pair for pair in ordered}
        with progress("judge") as move:
            for judged in self.process(missing.items()):
                results |= {missing[key]: verdict.p for key, verdict in judged.items()}
                move(len(results), len(keys))
        return np.array([results[pair] for pair in pairs], dtype=np.float64)


def _opening(located: LocatedJudge, identity: str, cluster: Cluster | None) -> Opening[Pair, Verdict]:
    """Return the function that opens the judge: in this process, or on a cluster, where a copy on a GPU takes one."""
    if cluster is None:
        return partial(judging, located, identity, KEPT_TOGETHER)
    there = partial(judging, located._replace(folder=located.folder.resolve()), identity, SENT_TOGETHER)
    gpus = int(located.providers[0].startswith("CUDA"))
    return partial(copies, there, cluster, gpus=gpus, least=LEAST, noun="pair", fix=FIX)


@contextmanager
def cached_probabilities(name: str, root: Path, task: Task, cluster: Cluster | None = None) -> Iterator[Probabilities]:
    """Open the judge registered as `name` for a task, through the cache of this repository.

    Pairs that are not cached are judged in this process, or on the Ray cluster if one is given.

    Raises:
        EquipoiseError: As in `locate_judge`; raised before any work.
    """
    located = locate_judge(name, root, cache.folder(), task)
    with VerdictCache.open() as verdicts, KeptJudge(located, verdicts, cluster) as judge:
        yield judge.probabilities
