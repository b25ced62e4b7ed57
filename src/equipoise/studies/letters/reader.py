"""Readers of facts: what does a letter do with each fact of its case (judge/letters/README.md)?

The embedded reader is a cross-encoder that reads every sentence of a letter, with the next one, beside every fact. The
sentence that most probably tells a fact decides: it keeps, softens or doubts the fact, or no sentence tells it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.backends.base import Cluster
from equipoise.judge.llm import llm_judge
from equipoise.judge.located import Probabilities, cached_probabilities
from equipoise.judge.passages import MANNERS, Manner
from equipoise.models.registry import LlmJudgeEntry, load_judge_entry
from equipoise.text.sentences import sentences_of

OMITTED = MANNERS.index("omitted")
NEXT = " / "
"""Between a sentence and the one after it."""


def passages(sentences: Sequence[str]) -> list[str]:
    """List what is read at once: each sentence of a letter, with the one after it."""
    return [NEXT.join(sentences[place : place + 2]) for place in range(len(sentences))]


class FactReader:
    """The embedded reader: the probabilities of the manners for each (passage, fact)."""

    def __init__(self, probabilities: Probabilities) -> None:
        """Take the probabilities of a cross-encoder, (pairs, `MANNERS`)."""
        self._probabilities = probabilities

    def read(self, letters: Sequence[tuple[str, Sequence[str]]]) -> list[list[Manner]]:
        """Say what each letter does with each of its facts; a letter without words omits all of them."""
        read = [passages(sentences_of(letter)) for letter, _ in letters]
        asked = [
            [(passage, fact) for fact in facts for passage in own]
            for own, (_, facts) in zip(read, letters, strict=True)
        ]
        every = [pair for own in asked for pair in own]
        p = self._probabilities(every) if every else np.empty((0, len(MANNERS)))
        starts = np.cumsum([0, *map(len, asked)])
        return [
            _manners(p[start : start + len(own)], len(facts))
            for start, own, (_, facts) in zip(starts, asked, letters, strict=False)
        ]


def _manners(p: NDArray[np.float64], facts: int) -> list[Manner]:
    """Take each fact's manner from the passage that most probably tells it; `p` is (facts x passages, `MANNERS`)."""
    if not len(p):
        return ["omitted"] * facts
    read = p.reshape(facts, -1, len(MANNERS))
    deciding = read[np.arange(facts), read[:, :, OMITTED].argmin(axis=1)]
    return [MANNERS[column] for column in deciding.argmax(axis=1)]


class LlmReader:
    """A language model that is asked about each fact, by a rubric."""

    def __init__(self, probabilities: Probabilities) -> None:
        """Take the model's probabilities of the manners for each (letter, fact)."""
        self._probabilities = probabilities

    def read(self, letters: Sequence[tuple[str, Sequence[str]]]) -> list[list[Manner]]:
        """Say what each letter does with each of its facts."""
        pairs = [(letter, fact) for letter, facts in letters for fact in facts]
        kinds = iter([MANNERS[column] for column in self._probabilities(pairs).argmax(axis=1)] if pairs else ())
        return [[next(kinds) for _ in facts] for _, facts in letters]


@contextmanager
def fact_reader(name: str, root: Path, cluster: Cluster | None = None) -> Iterator[FactReader | LlmReader]:
    """Open the reader of a judge of the registry; raises EquipoiseError as `require_reader` and its judge do."""
    entry = load_judge_entry(name, root)
    if isinstance(entry, LlmJudgeEntry):
        with llm_judge(name, entry, root) as judge:
            yield LlmReader(judge.labelled)
        return
    with cached_probabilities(name, root, "facts", cluster) as probabilities:
        yield FactReader(probabilities)
