"""A judge with a cache: what was judged once is found on disk, and the judge is opened only for what is new.

It is opened here, or on the nodes of a Ray cluster, which share the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from equipoise.backends.base import Processor
from equipoise.backends.ray.cluster import Cluster
from equipoise.backends.ray.replicas import RayProcessor
from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.core.records import digest
from equipoise.judge.located import LocatedJudge, locate_judge

Pair = tuple[str, str]
Probabilities = Callable[[Sequence[Pair]], NDArray[np.float64]]


Triple = tuple[float, float, float]
"""Probabilities of entailment, neutral and contradiction, in full."""
KEPT_TOGETHER = 1024
"""Pairs judged before their results are safe on disk: enough to fill batches of one length, seconds of work to lose."""

SENT_TOGETHER = 64
"""The same on a node: what a lost worker costs. A share's pairs are alike in length, so these few fill batches too."""

LEAST = 256
"""Pairs in a share of a worker, if there are so many: some seconds of work."""

FIX = "give the nodes more memory, or set infer.executor to local"
"""What to do where one worker after another is lost."""

COMPUTED = "last layer for the first token"
"""How our code computes a probability. If that changes, a new name here invalidates every kept result."""


class Judging:
    """A judge, opened where the pairs are processed, if its identity there is the expected one."""

    def __init__(self, located: LocatedJudge, identity: str, together: int) -> None:
        """Take where the judge is, its identity, and how many pairs are judged before their results are handed on."""
        self._located, self._identity, self._together = located, identity, together

    def __enter__(self) -> Self:
        """Open the judge.

        Raises:
            EquipoiseError: a file is missing, or the files or ONNX Runtime differ from those where the work was begun.
        """
        if self._located.identity != self._identity:
            message = (
                f"{self._located.folder}: not the expected judge: install the same files and the same "
                "version of onnxruntime on every node as where the stage runs"
            )
            raise EquipoiseError(message)
        self._judge = self._located.open()
        return self

    def __exit__(self, *_: object) -> None:
        """Free the judge."""
        del self._judge

    def process(self, items: Mapping[str, Pair]) -> Iterator[dict[str, Triple]]:
        """Judge (premise, hypothesis) pairs, `together` at a time, in their order. See `Processor.process`."""
        keys = list(items)
        for first in range(0, len(keys), self._together):
            batch = keys[first : first + self._together]
            rows = self._judge.probabilities([items[key] for key in batch]).tolist()
            yield {key: (row[0], row[1], row[2]) for key, row in zip(batch, rows, strict=True)}


class Entailment(BaseModel):
    """Probabilities of entailment, neutral and contradiction of one pair, in full."""

    model_config = ConfigDict(frozen=True)

    p: Triple


class EntailmentCache(cache.ContentCache[Entailment]):
    """Finished judgements of pairs."""

    _noun = "entailment"

    @classmethod
    def open(cls) -> Self:
        """Open the cache of this repository."""
        return cls(cache.folder() / "entailments.sqlite", Entailment)


class KeptJudge:
    """A judge with its cache. A pair's result depends on judge and pair alone, so a kept one is as good as a fresh one.

    `computed` counts the pairs that the judge had to be asked.
    """

    def __init__(self, located: LocatedJudge, kept: EntailmentCache, cluster: Cluster | None = None) -> None:
        """Take where the judge is, the cache, and the cluster on which new pairs are judged, if not in this process."""
        self._identity = located.identity
        self._kept = kept
        self._make = _maker(located, self._identity, cluster)
        self._judge: Processor[Pair, Triple] | None = None
        self._opened = ExitStack()
        self.computed = 0

    def __enter__(self) -> Self:
        """Give the judge, which is opened once there is a pair to judge."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self._opened.__exit__(kind, error, trace)
        self._judge = None

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Probabilities of each (premise, hypothesis), shape (n, 3). See `NliJudge.probabilities`."""
        keys = {pair: digest([COMPUTED, self._identity, *pair]) for pair in pairs}
        kept = {pair: self._kept.find(key) for pair, key in keys.items()}
        found = {pair: one.p for pair, one in kept.items() if one is not None}
        # The longest last, so that what is judged together has few different lengths.
        ordered = sorted(keys.keys() - found.keys(), key=lambda pair: (sum(map(len, pair)), pair))
        missing = {keys[pair]: pair for pair in ordered}
        with progress("judge") as move:
            for judged in self._judged(missing):
                self._kept.keep({key: Entailment(p=p) for key, p in judged.items()})
                found |= {missing[key]: p for key, p in judged.items()}
                self.computed += len(judged)
                move(len(found), len(keys))
        return np.array([found[pair] for pair in pairs], dtype=np.float64).reshape(len(pairs), 3)

    def _judged(self, missing: Mapping[str, Pair]) -> Iterator[Mapping[str, Triple]]:
        """Judge pairs, some at a time; without any the judge is not opened."""
        if missing:
            self._judge = self._judge or self._opened.enter_context(self._make())
            yield from self._judge.process(missing)


def _maker(located: LocatedJudge, identity: str, cluster: Cluster | None) -> Callable[[], Processor[Pair, Triple]]:
    """What opens the judge: in this process, or on a cluster, where a copy that runs on a GPU takes one."""
    if cluster is None:
        return partial(Judging, located, identity, KEPT_TOGETHER)
    there = partial(Judging, located._replace(folder=located.folder.resolve()), identity, SENT_TOGETHER)
    gpus = int(located.providers[0].startswith("CUDA"))
    return partial(RayProcessor, there, cluster, gpus=gpus, least=LEAST, noun="pair", fix=FIX)


@contextmanager
def kept_probabilities(name: str, root: Path, cluster: Cluster | None = None) -> Iterator[Probabilities]:
    """Give the probabilities of the judge registered as `name` under `root`, through the cache of this repository.

    What the cache does not hold is judged in this process, or on the Ray cluster if one is given.

    Raises:
        EquipoiseError: unknown name, malformed entry, weights missing, altered or out of reach; raised before any work.
    """
    located = locate_judge(name, root, cache.folder())
    with EntailmentCache.open() as kept, KeptJudge(located, kept, cluster) as judge:
        yield judge.probabilities
