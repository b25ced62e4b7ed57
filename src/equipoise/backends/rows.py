"""What backends with an engine share: conversations answered side by side, with candidate likelihoods."""

from abc import abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.backends.base import Backend
from equipoise.backends.conversation import Chat, Turn, Turned, advance, run_talk
from equipoise.backends.scoring import Beginnings, Row, Rows, candidate_likelihoods, choose, penalise
from equipoise.core.prompts import Prompt, Response
from equipoise.models.engine import Engine
from equipoise.models.readiness import GB, Machine, run_gb
from equipoise.models.registry import WeightsEntry

FEW = 16
"""Up to this many candidates are scored in the row of their prompt; more, if no reply is requested, as a tree."""
BLOCK = 128
"""The capacity of rows for a tree is a multiple of this many tokens."""

KEPT, SHARE = 3e9, 0.5
"""Most bytes of the first turns that are kept, and the largest share of the memory that the model leaves."""

_Steps = Generator[int, "NDArray[np.float32]", "Response"]


def beginnings(entry: WeightsEntry, batch_size: int) -> Beginnings:
    """Keep first turns as far as this machine's memory allows, beside a model and its rows."""
    left = (Machine().memory() or 0.0) - run_gb(entry, batch_size)
    return Beginnings(min(KEPT, max(0.0, SHARE * GB * left)))


class RowsBackend(Backend):
    """A model in an engine that processes up to `batch_size` prompts at once.

    A subclass sets these attributes and opens the engine. `_beginnings` are kept from one call to the next, if at all.
    """

    _chat: Chat
    _entry: WeightsEntry
    _batch_size: int
    _beginnings: Beginnings | None = None

    @abstractmethod
    def _open(self, *, threads: int, rows: int) -> Engine:
        """Return the engine with `threads` threads per step (0: one per core), and at least one row."""

    @abstractmethod
    def _score_few(self, prompts: Sequence[Prompt]) -> Iterator[Response]:
        """Answer prompts that request only the likelihoods of a few candidates."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt: first those to score, then those that need all rows for it, then conversations."""
        few: list[Prompt] = []
        many: list[Prompt] = []
        conversations: list[Prompt] = []
        for prompt in prompts:
            scored = not prompt.n_replies
            kind = conversations if not scored else many if len(prompt.candidates) > FEW else few
            kind.append(prompt)
        yield from self._score_few(few)
        if many or conversations:
            engine = self._open(threads=0, rows=self._batch_size)
            for prompt in many:
                yield run_talk(self._chat.hold(prompt), lambda turn: self._take_tree(turn, engine))
            yield from self._converse_all(conversations, engine)

    def _take_tree(self, turn: Turn, engine: Engine) -> Turned:
        """Score a turn's candidates as a tree."""
        longest = max(len(encoded.tokens) for encoded in turn.candidates.values())
        # Rows are as long as these prompts need, in whole blocks, so that most prompts need the same length.
        engine.lay_out(rows=self._batch_size, capacity=-(-longest // BLOCK) * BLOCK)
        return Turned(candidate_likelihoods(engine, turn.tokens, turn.candidates), ())

    def _converse_all(self, prompts: Iterable[Prompt], engine: Engine) -> Iterator[Response]:
        """Hold conversations side by side; a finished row takes the next prompt at once."""
        engine.lay_out(rows=self._batch_size, capacity=self._entry.max_length)
        reader = Rows(engine, self._beginnings)
        waiting = iter(prompts)
        rows: list[Row] = []
        talks: dict[int, _Steps] = {}

        def resume(row: Row, logits: NDArray[np.float32] | None) -> Iterator[Response]:
            """Send a conversation its logits; when it ends, yield its response and close the gap in the rows."""
            talk = talks[id(row)]
            try:
                row.following = next(talk) if logits is None else talk.send(logits)
            except StopIteration as stop:
                del talks[id(row)]
                last = rows.pop()
                if last is not row:
                    reader.move(last, row.index)
                    rows[last.index] = last
                yield stop.value

        while True:
            while len(rows) < engine.rows and (prompt := next(waiting, None)) is not None:
                row = Row(len(rows))
                rows.append(row)
                talks[id(row)] = self._converse(prompt, row, reader)
                yield from resume(row, None)
            if not rows:
                return
            tokens = np.array([[row.following] for row in rows], np.int64)
            logits = engine.run(tokens, [len(row.tokens) for row in rows], picks=[0])
            for row in rows:
                row.tokens.append(row.following)
            for row, scores in zip(list(rows), logits, strict=True):
                yield from resume(row, scores)

    def _converse(self, prompt: Prompt, row: Row, reader: Rows) -> _Steps:
        """Hold one conversation: yield each token to append, receive the logits after it, return the response."""
        talk = self._chat.hold(prompt)
        turn: Turn | Response = next(talk)
        while isinstance(turn, Turn):
            turned = yield from self._take(turn, row, reader)
            turn = advance(talk, turned)
        return turn

    def _take(self, turn: Turn, row: Row, reader: Rows) -> Generator[int, NDArray[np.float32], Turned]:
        """Read a turn, score its candidates, and reply to it."""
        likelihoods, logits = reader.read(turn, row)
        generation, rng = self._entry.generation, np.random.default_rng(turn.seed)
        reply: list[int] = []
        while len(reply) < turn.limit and not turn.ended(reply):
            token = choose(penalise(logits, row.tokens, generation.repetition_penalty), generation, rng)
            if token in self._chat.stops:
                break
            reply.append(token)
            logits = yield token
        return Turned(likelihoods, reply)
