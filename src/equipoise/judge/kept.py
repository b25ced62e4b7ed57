"""A judge behind a cache: what was judged once is found on disk, and the judge is opened only for what is new."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import numpy as np
from pydantic import BaseModel, ConfigDict

from equipoise import cache
from equipoise.judge.model import locate_judge
from equipoise.progress import progress
from equipoise.records import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from equipoise.judge.model import LocatedJudge, NliJudge

    Probabilities = Callable[[Sequence[tuple[str, str]]], NDArray[np.float64]]

KEPT_TOGETHER = 1024
"""Pairs judged before their results are safe on disk: enough to fill batches of one length, seconds of work to lose."""

COMPUTED = "last layer for the first token"
"""How our code computes a probability. Where that changes, a new name here has every pair judged anew."""


class Entailment(BaseModel):
    """Probabilities of entailment, neutral and contradiction of one pair, in full."""

    model_config = ConfigDict(frozen=True)

    p: tuple[float, float, float]


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

    def __init__(self, located: LocatedJudge, kept: EntailmentCache) -> None:
        """Take where the judge is, and the cache."""
        self._located = located
        self._identity = located.identity
        self._kept = kept
        self._judge: NliJudge | None = None
        self.computed = 0

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Probabilities of each (premise, hypothesis), shape (n, 3). See `NliJudge.probabilities`."""
        keys = {pair: digest([COMPUTED, self._identity, *pair]) for pair in pairs}
        kept = {pair: self._kept.find(key) for pair, key in keys.items()}
        found = {pair: one.p for pair, one in kept.items() if one is not None}
        # The longest last, so that what is judged together has few different lengths.
        missing = sorted(keys.keys() - found.keys(), key=lambda pair: (sum(map(len, pair)), pair))
        with progress("judge") as move:
            for first in range(0, len(missing), KEPT_TOGETHER):
                batch = missing[first : first + KEPT_TOGETHER]
                self._judge = self._judge or self._located.open()
                rows = self._judge.probabilities(batch).tolist()
                judged = {pair: Entailment(p=row) for pair, row in zip(batch, rows, strict=True)}
                self._kept.keep({keys[pair]: one for pair, one in judged.items()})
                found |= {pair: one.p for pair, one in judged.items()}
                self.computed += len(batch)
                move(len(found), len(keys))
        return np.array([found[pair] for pair in pairs], dtype=np.float64).reshape(len(pairs), 3)


@contextmanager
def kept_probabilities(name: str, root: Path) -> Iterator[Probabilities]:
    """Give the probabilities of the judge registered as `name` under `root`, through the cache of this repository.

    Raises:
        EquipoiseError: unknown name, malformed entry, weights missing, altered or out of reach; told before any work.
    """
    located = locate_judge(name, root, cache.folder())
    with EntailmentCache.open() as kept:
        yield KeptJudge(located, kept).probabilities
