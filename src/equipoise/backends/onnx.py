"""The ONNX Runtime backend: conversations answered side by side, greedily, with candidate likelihoods."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from equipoise.backends.candidates import Likelihood, candidate_likelihoods
from equipoise.backends.conversation import Chat, Turn, Turned, answered, common_length, held
from equipoise.backends.engine import Engine
from equipoise.backends.logits import log_softmax, penalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray

    from equipoise.records import Prompt, Response
    from equipoise.registry import WeightsEntry

FEW = 16
"""Up to so many candidates are scored one after the other; more of them, where no reply is asked for, as a tree."""
BLOCK = 128
"""Rows for a tree hold a multiple of this many tokens."""


@dataclass
class _Row:
    """A row of the engine: the tokens that stand in its buffers, and the next one to append."""

    index: int
    tokens: list[int] = field(default_factory=list)
    following: int = 0


_Steps = Generator[int, "NDArray[np.float32]", "Response"]


class OnnxBackend:
    """An exported model in ONNX Runtime that works on up to `batch_size` prompts at once."""

    def __init__(self, folder: Path, entry: WeightsEntry, *, batch_size: int) -> None:
        """Open an export folder whose files were verified (`equipoise.backends.load`)."""
        from transformers import AutoTokenizer, GenerationConfig

        ends = GenerationConfig.from_pretrained(folder).eos_token_id
        self._chat = Chat(AutoTokenizer.from_pretrained(folder, trust_remote_code=False), ends, entry)
        self._entry = entry
        self._rows = batch_size
        self._engine = Engine(folder, rows=batch_size, capacity=entry.max_length)
        # The stem that stands at the beginning of each row's buffers.
        self._stems: dict[int, list[int]] = {}

    def __enter__(self) -> Self:
        """Give the open backend."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the graph and its buffers go."""
        del self._engine

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt: those that take all rows for their many candidates, then the conversations."""
        conversations: list[Prompt] = []
        for prompt in prompts:
            if not prompt.reply and len(prompt.turns) == 1 and len(prompt.candidates) > FEW:
                yield self._score(prompt)
            else:
                conversations.append(prompt)
        yield from self._converse_all(conversations)

    def _score(self, prompt: Prompt) -> Response:
        """Answer a prompt that asks for nothing but the likelihoods of many candidates."""
        self._stems.clear()
        return held(self._chat.hold(prompt), self._take_tree)

    def _take_tree(self, turn: Turn) -> Turned:
        """Score a turn's candidates as a tree."""
        longest = max(len(encoded.tokens) for encoded in turn.candidates.values())
        # Rows no longer than these prompts need, in whole blocks so that most of them need the same.
        self._engine.lay_out(rows=self._rows, capacity=-(-longest // BLOCK) * BLOCK)
        return Turned(candidate_likelihoods(self._engine, turn.tokens, turn.candidates), ())

    def _converse_all(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Hold conversations side by side; a row that is done takes the next prompt at once."""
        self._engine.lay_out(rows=self._rows, capacity=self._entry.max_length)
        waiting = iter(prompts)
        rows: list[_Row] = []
        talks: dict[int, _Steps] = {}

        def resume(row: _Row, logits: NDArray[np.float32] | None) -> Iterator[Response]:
            """Hand a conversation its logits; when it ends, give its response and close the gap it leaves."""
            talk = talks[id(row)]
            try:
                row.following = next(talk) if logits is None else talk.send(logits)
            except StopIteration as stop:
                del talks[id(row)]
                last = rows.pop()
                if last is not row:
                    self._engine.move(last.index, row.index, len(last.tokens))
                    self._stems[row.index] = self._stems.get(last.index, [])
                    last.index = row.index
                    rows[last.index] = last
                yield stop.value

        while True:
            while len(rows) < self._engine.rows and (prompt := next(waiting, None)) is not None:
                row = _Row(len(rows))
                rows.append(row)
                talks[id(row)] = self._converse(prompt, row)
                yield from resume(row, None)
            if not rows:
                return
            tokens = np.array([[row.following] for row in rows], np.int64)
            logits = self._engine.run(tokens, [len(row.tokens) for row in rows], picks=[0])
            for row in rows:
                row.tokens.append(row.following)
            for row, scores in zip(list(rows), logits, strict=True):
                yield from resume(row, scores)

    def _converse(self, prompt: Prompt, row: _Row) -> _Steps:
        """Hold one conversation: yields the token to append, takes the logits after it, returns the response."""
        talk = self._chat.hold(prompt)
        turn: Turn | Response = next(talk)
        while isinstance(turn, Turn):
            turned = yield from self._take(turn, row)
            turn = answered(talk, turned)
        return turn

    def _take(self, turn: Turn, row: _Row) -> Generator[int, NDArray[np.float32], Turned]:
        """Read a turn, score its candidates, and reply to it greedily."""
        ids = turn.tokens
        if turn.first:
            self._begin(row, ids[: turn.stem])
        known = min(common_length(row.tokens, ids), len(ids) - 1)
        if known < len(self._stems[row.index]):
            self._stems[row.index] = []
        logits = self._engine.prefill(ids[known:], row=row.index, start=known)[0]
        likelihoods, logits = self._likelihoods(turn, logits, row.index)
        row.tokens = list(ids)
        reply: list[int] = []
        while len(reply) < turn.limit:
            token = int(penalise(logits, row.tokens, self._entry.generation.repetition_penalty).argmax())
            if token in self._chat.stops:
                break
            reply.append(token)
            logits = yield token
        return Turned(likelihoods, reply)

    def _begin(self, row: _Row, stem: list[int]) -> None:
        """Let the prompt's stem stand in the row, in a step of its own.

        Where the row's last conversation had the same stem, it stands there already. The steps of a prompt begin at the
        same places either way, so the results are the same to the last bit.
        """
        if stem and self._stems.get(row.index) != stem:
            self._engine.prefill(stem, row=row.index)
        self._stems[row.index] = row.tokens = stem

    def _likelihoods(
        self, turn: Turn, logits: NDArray[np.float32], row: int
    ) -> tuple[dict[str, Likelihood], NDArray[np.float32]]:
        """Read the likelihood of each candidate after a turn, one after the other; leave the row at the turn's tokens.

        `logits` are those after the turn's tokens (also the second result).
        """
        ids = turn.tokens
        found: dict[str, Likelihood] = {}
        lowest = len(ids)
        for candidate, (joined, start) in turn.candidates.items():
            scores = logits[None]
            if start < len(ids):
                # The text's last token merges with the candidate's first: both are read from one token earlier.
                lowest = min(lowest, start)
                scores = self._engine.prefill([joined[start - 1]], row=row, start=start - 1)
            if rest := joined[start:-1]:
                scores = np.vstack([scores, self._engine.prefill(rest, row=row, start=start, picks=range(len(rest)))])
            mean = float(log_softmax(scores)[np.arange(len(scores)), joined[start:]].mean())
            found[candidate] = Likelihood(mean, len(scores))
        if lowest < len(ids):
            logits = self._engine.prefill(ids[lowest:], row=row, start=lowest)[0]
        return found, logits
