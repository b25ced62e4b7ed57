"""Rows of an engine into which turns are read: steps that begin where the prompt says, candidates read after them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from equipoise.backends.candidates import Likelihood
from equipoise.backends.conversation import common_length
from equipoise.backends.logits import log_softmax

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from equipoise.backends.candidates import Encoded
    from equipoise.backends.conversation import Turn
    from equipoise.models.engine import Engine


@dataclass
class Row:
    """A row of the engine: the tokens that stand in its buffers, and the next one to append."""

    index: int
    tokens: list[int] = field(default_factory=list)
    following: int = 0


class Rows:
    """The rows of one engine, which no other reader may use meanwhile."""

    def __init__(self, engine: Engine) -> None:
        """Take an engine; what stands in its rows is taken for nothing."""
        self.engine = engine
        # The stem that stands at the beginning of each row's buffers.
        self._stems: dict[int, list[int]] = {}

    def move(self, row: Row, index: int) -> None:
        """Let a row go on in the place of another."""
        self.engine.move(row.index, index, len(row.tokens))
        self._stems[index] = self._stems.get(row.index, [])
        row.index = index

    def read(self, turn: Turn, row: Row) -> tuple[dict[str, Likelihood], NDArray[np.float32]]:
        """Read a turn, and score each candidate after it; give the likelihoods and the logits after the turn.

        The row is left at the turn's tokens.
        """
        ids = turn.tokens
        if turn.first:
            self._begin(row, ids[: turn.stem])
        known = min(common_length(row.tokens, ids), len(ids) - 1)
        if known < len(self._stems[row.index]):
            self._stems[row.index] = []
        logits = self.engine.prefill(ids[known:], row=row.index, start=known)[0]
        found, lowest = self._likelihoods(ids, turn.candidates, logits, row.index)
        if lowest < len(ids):
            logits = self.engine.prefill(ids[lowest:], row=row.index, start=lowest)[0]
        row.tokens = list(ids)
        return found, logits

    def _begin(self, row: Row, stem: list[int]) -> None:
        """Let the prompt's stem stand in the row, in a step of its own.

        Where a row has the same stem, from its last conversation too, it is copied from there. The steps of a prompt
        begin at the same places either way, so the results are the same to the last bit.
        """
        if stem and self._stems.get(row.index) != stem:
            held = next((index for index, one in self._stems.items() if one == stem), None)
            if held is None:
                self.engine.prefill(stem, row=row.index)
            else:
                self.engine.move(held, row.index, len(stem))
        self._stems[row.index] = row.tokens = stem

    def _likelihoods(
        self, ids: list[int], candidates: Mapping[str, Encoded], logits: NDArray[np.float32], row: int
    ) -> tuple[dict[str, Likelihood], int]:
        """Read the likelihood of each candidate after some tokens, one after the other, given the logits after them.

        The second result is the length up to which the row still holds those tokens.
        """
        found: dict[str, Likelihood] = {}
        lowest = len(ids)
        after = log_softmax(logits[None])
        for candidate, (joined, start) in candidates.items():
            log_p = after  # worked out once for all
            if start < len(ids):
                # The text's last token merges with the candidate's first: both are read from one token earlier.
                lowest = min(lowest, start)
                log_p = log_softmax(self.engine.prefill([joined[start - 1]], row=row, start=start - 1))
            if rest := joined[start:-1]:
                further = self.engine.prefill(rest, row=row, start=start, picks=range(len(rest)))
                log_p = np.vstack([log_p, log_softmax(further)])
            found[candidate] = Likelihood(float(log_p[np.arange(len(log_p)), joined[start:]].mean()), len(log_p))
        return found, lowest
