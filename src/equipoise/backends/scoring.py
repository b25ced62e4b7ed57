"""Likelihoods of candidates from an engine's logits: in the step of the text, side by side on the cores, or as a tree.

A few candidates are read in a row of the engine (`Rows`), which takes whole turns. Prompts that request nothing else
are scored side by side, each on one core (`score_all`): cores that share a step of a prompt's length wait for one
another at each of its operations. Many candidates after one text are scored as a tree (`candidate_likelihoods`), in
which tokens shared by candidates are computed once: every node is one step of width 1 after the text's own step,
whatever the other rows contain, so that its logits depend only on its path (see `equipoise.models.decoder`), not on the
number of rows or the order of the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.backends.conversation import Chat, Encoded, Likelihood, Turn, Turned, common_length, run_talk
from equipoise.core.prompts import Prompt, Response
from equipoise.models.engine import Branch, Engine, KeysValues
from equipoise.models.registry import Generation

LEAST = 4
"""Fewest prompts with the same stem for which computing it once pays off."""


def penalise(logits: NDArray[np.float32], seen: Sequence[int], penalty: float) -> NDArray[np.float32]:
    """Apply the repetition penalty of CTRL (Keskar et al. 2019, section 4.1) to every token seen, like transformers."""
    if penalty == 1.0 or not seen:
        return logits
    where = np.unique(np.array(seen))
    scores = logits[where]
    result = logits.copy()
    result[where] = np.where(scores > 0, scores / np.float32(penalty), scores * np.float32(penalty))
    return result


def choose(logits: NDArray[np.float32], generation: Generation, rng: np.random.Generator) -> int:
    """Choose the next token: the likeliest, or a drawn one at a temperature above 0.

    One draw per token, from the likeliest tokens (ties: the lower first) whose probabilities add up to `top_p`; in
    double precision, so that the token depends only on logits and draw. Source: Holtzman et al. 2020, section 3.1.
    """
    if not generation.temperature:
        return int(logits.argmax())
    scores = logits.astype(np.float64) / generation.temperature
    order = np.argsort(-scores, kind="stable")
    shares = np.exp(scores[order] - scores[order[0]])
    shares = np.cumsum(shares / shares.sum())
    # The last needed token is included; rounding may leave the sum of all below 1.
    last = min(int(np.searchsorted(shares, generation.top_p)), len(shares) - 1)
    return int(order[min(int(np.searchsorted(shares, rng.random() * shares[last], side="right")), last)])


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Convert logits (rows, vocabulary) to log probabilities, in nats, in double precision."""
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=-1, keepdims=True)
    return np.asarray(wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True)))


@dataclass
class Row:
    """A row of the engine: the tokens in its buffers, and the next one to append."""

    index: int
    tokens: list[int] = field(default_factory=list)
    following: int = 0


class Begun(NamedTuple):
    """A first turn that was read: its stems, of which it is the last, its keys and values, and the logits after it."""

    stems: list[list[int]]
    keys_values: KeysValues
    logits: NDArray[np.float32]

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        return sum(values.nbytes for values in (*self.keys_values, self.logits))


class Beginnings:
    """First turns that were read, for prompts that begin alike and come later.

    They take up to `most` bytes. The latest is kept in any case, and replaces the one before it where there is no room:
    prompts with the same beginning are adjacent, and where they come a second time, they do so in the same order.
    """

    def __init__(self, most: float = 0.0) -> None:
        """Keep none yet."""
        self._most = most
        self._size = 0
        self._begun: list[Begun] = []
        self._places: dict[tuple[tuple[int, ...], tuple[int, ...]], Begun] = {}

    def find(self, stems: list[list[int]]) -> tuple[int, Begun | None]:
        """Return how many of the stems a first turn begins with, read in the same steps, and the turn."""
        for count in range(len(stems), 0, -1):
            if begun := self._places.get(_steps(stems[:count])):
                return count, begun
        return 0, None

    def keep(self, begun: Begun) -> None:
        """Keep a first turn."""
        if self._begun and self._size + begun.size > self._most:
            last = self._begun.pop()
            self._size -= last.size
            self._places = {place: other for place, other in self._places.items() if other is not last}
        self._begun.append(begun)
        self._size += begun.size
        for count in range(1, len(begun.stems)):
            self._places.setdefault(_steps(begun.stems[:count]), begun)
        self._places[_steps(begun.stems)] = begun


def _steps(stems: list[list[int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Identify stems by the steps in which they are read, and by their tokens."""
    return tuple(map(len, stems)), tuple(stems[-1])


class Rows:
    """The rows of one engine, which no other reader may use at the same time."""

    def __init__(self, engine: Engine, beginnings: Beginnings | None = None) -> None:
        """Take an engine; the contents of its rows are ignored. `beginnings` may be shared with other readers."""
        self.engine = engine
        self._beginnings = beginnings or Beginnings()
        # The stems at the beginning of each row's buffers, each a prefix of the next.
        self._stems: dict[int, list[list[int]]] = {}

    def move(self, row: Row, index: int) -> None:
        """Continue a row in the place of another."""
        self.engine.move(row.index, index, len(row.tokens))
        self._stems[index] = self._stems.get(row.index, [])
        row.index = index

    def read(self, turn: Turn, row: Row) -> tuple[dict[str, Likelihood], NDArray[np.float32]]:
        """Read a turn into the row; return the likelihood of each candidate after it, and the logits after the turn."""
        ids = turn.tokens
        if turn.first:
            stems = [ids[:end] for end in turn.stems]
            if stems and stems[-1] == ids and not turn.candidates:
                return {}, self._read_shared(row, stems)
            self._begin(row, stems)
        branches = {
            name: Branch(encoded.start, tuple(encoded.tokens[encoded.start : -1]))
            for name, encoded in turn.candidates.items()
        }
        # Where the text's last token merges with a candidate's first, both are read from one token earlier.
        lowest = min((branch.start for branch in branches.values()), default=len(ids))
        shared = min(common_length(row.tokens, ids), lowest - 1)
        self._stems[row.index] = [stem for stem in self._stems[row.index] if len(stem) <= shared]
        logits, after = self.engine.fork(ids[shared:], [*dict.fromkeys(branches.values())], row=row.index, start=shared)
        row.tokens = list(ids)
        log_p = {branch: log_softmax(rows) for branch, rows in after.items()}
        return {
            name: mean_likelihood(log_p[branches[name]], encoded.tokens[encoded.start :])
            for name, encoded in turn.candidates.items()
        }, logits

    def _read_shared(self, row: Row, stems: list[list[int]]) -> NDArray[np.float32]:
        """Read a whole turn with which other prompts begin, or copy it; return the logits after it."""
        ids = stems[-1]
        _, begun = self._beginnings.find(stems)
        if begun is None or begun.stems != stems:
            self._begin(row, stems[:-1])
            logits = self.engine.prefill(ids[len(row.tokens) :], row=row.index, start=len(row.tokens))[0]
            begun = Begun(stems, self.engine.take(row.index, 0, len(ids)), logits)
            self._beginnings.keep(begun)
        else:
            self.engine.put(row.index, 0, begun.keys_values)
        self._stems[row.index], row.tokens = stems, list(ids)
        return begun.logits

    def _begin(self, row: Row, stems: list[list[int]]) -> None:
        """Read the prompt's stems into the row, each in a step of its own.

        Stems that another row has, also from its last conversation, and those of a kept first turn are copied. The
        steps of a prompt begin at the same places either way, so the results are the same to the last bit.
        """
        shared = {index: common_length(others, stems) for index, others in self._stems.items()}
        most = max(shared.values(), default=0)
        count, begun = self._beginnings.find(stems)
        if begun is not None and count > most:
            most = count
            self.engine.put(row.index, 0, [values[:, : len(stems[count - 1])] for values in begun.keys_values])
        elif shared.get(row.index, 0) < most:
            source = next(index for index, count in shared.items() if count == most)
            self.engine.move(source, row.index, len(stems[most - 1]))
        for before, stem in zip([[], *stems][most:], stems[most:], strict=False):
            self.engine.prefill(stem[len(before) :], row=row.index, start=len(before))
        self._stems[row.index] = list(stems)
        row.tokens = stems[-1] if stems else []


def mean_likelihood(log_p: NDArray[np.float64], tokens: Sequence[int]) -> Likelihood:
    """Average the log probabilities (tokens, vocabulary), in nats, of a candidate's tokens."""
    return Likelihood(float(log_p[np.arange(len(tokens)), tokens].mean()), len(tokens))


def shares(prompts: Sequence[Prompt], scorers: int) -> list[list[Prompt]]:
    """Divide prompts into shares for one scorer each: adjacent prompts with the same outer stem, computed once.

    If few stems would leave a scorer idle, their prompts are divided further.
    """
    most = max(LEAST, len(prompts) // (4 * scorers))
    stems = groupby(prompts, key=lambda prompt: (prompt.system, prompt.stem or prompt.lead or prompt.key))
    together = (list(group) for _, group in stems)
    return [group[first : first + most] for group in together for first in range(0, len(group), most)]


def score_all(
    prompts: Sequence[Prompt], chat: Chat, engine: Engine, *, scorers: int, beginnings: Beginnings | None = None
) -> Iterator[Response]:
    """Score prompts of one turn, as many side by side as there are scorers, each in one thread.

    `engine` has one row, and one thread per step. Responses are yielded as they finish. Closing the iterator early
    waits only for the prompts in progress.
    """
    parts = shares(prompts, scorers)
    engines = [engine, *(engine.replicate() for _ in parts[1:scorers])]
    free: SimpleQueue[Rows] = SimpleQueue()
    for scorer in engines:
        free.put(Rows(scorer, beginnings))
    done: SimpleQueue[Response | BaseException] = SimpleQueue()
    stopped = Event()

    def score(share: Sequence[Prompt]) -> None:
        rows = free.get()
        try:
            for prompt in share:
                if stopped.is_set():
                    break
                done.put(run_talk(chat.hold(prompt), lambda turn: Turned(rows.read(turn, Row(0))[0], ())))
        except BaseException as error:  # noqa: BLE001  (raised where the responses are received)
            done.put(error)
        finally:
            free.put(rows)

    pool = ThreadPoolExecutor(len(engines))
    try:
        for share in parts:
            pool.submit(score, share)
        for _ in prompts:
            response = done.get()
            if isinstance(response, BaseException):
                raise response
            yield response
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


@dataclass
class _Node:
    """A token, its log probability after the tokens above it (nats), and the tokens that follow it."""

    token: int
    log_p: float = 0.0
    children: dict[int, _Node] = field(default_factory=dict)

    def read(self, logits: NDArray[np.float32]) -> None:
        """Set the children's log probabilities: a log softmax of one row, summed in double precision."""
        top = logits.max()
        total = float(top) + math.log(np.exp(logits - top).sum(dtype=np.float64))
        for token, child in self.children.items():
            child.log_p = float(logits[token]) - total

    def inner_children(self) -> list[_Node]:
        """List the children that have children; nothing is read after the others, so the model need not run them."""
        return [child for child in self.children.values() if child.children]


@dataclass
class _Path:
    """A node that follows `length` tokens, with the keys and values of those after the text."""

    node: _Node
    length: int
    keys_values: KeysValues


def candidate_likelihoods(
    engine: Engine, text: Sequence[int], candidates: Mapping[str, Encoded]
) -> dict[str, Likelihood]:
    """Score every candidate after a text, given as tokens; the rows of the engine are overwritten."""
    # Tokens that no candidate changes; the last tokens of the text can merge with a candidate's first.
    base = min(encoded.start for encoded in candidates.values())
    root = _Node(text[base - 1])
    paths = {name: _grow(root, encoded.tokens[base:]) for name, encoded in candidates.items()}
    root.read(engine.prefill(text[:base])[0])
    _walk(engine, root, base)
    likelihoods: dict[str, Likelihood] = {}
    for name, encoded in candidates.items():
        counted = [node.log_p for node in paths[name][encoded.start - base :]]
        likelihoods[name] = Likelihood(math.fsum(counted) / len(counted), len(counted))
    return likelihoods


def _grow(root: _Node, tokens: Sequence[int]) -> list[_Node]:
    """Add one candidate to the tree, and list its nodes."""
    node, path = root, []
    for token in tokens:
        node = node.children.setdefault(token, _Node(token))
        path.append(node)
    return path


def _walk(engine: Engine, root: _Node, base: int) -> None:
    """Run every node that has children, as many side by side as there are rows, deeper ones first.

    Each row follows a path down to its end. Where a path branches, the first branch continues in its row, and the
    others wait with a copy of the keys and values after the text, which row 0 contains.
    """
    waiting = [_Path(node, base, []) for node in root.inner_children()]
    rows: list[_Path] = []
    for row in range(1, engine.rows):
        engine.move(0, row, base)
    while waiting or rows:
        while waiting and len(rows) < engine.rows:
            path = waiting.pop()
            engine.put(len(rows), base, path.keys_values)
            rows.append(path)
        tokens = np.array([[path.node.token] for path in rows], np.int64)
        logits = engine.run(tokens, [path.length for path in rows], picks=[0])
        # From the last row to the first, so that a row that closes a gap has already been processed.
        for row in reversed(range(len(rows))):
            path = rows[row]
            path.length += 1
            path.node.read(logits[row])
            if following := path.node.inner_children():
                path.node = following[0]
                if len(following) > 1:
                    keys_values = engine.take(row, base, path.length)
                    waiting.extend(_Path(node, path.length, keys_values) for node in following[1:])
            elif waiting:
                rows[row] = waiting.pop()
                engine.put(row, base, rows[row].keys_values)
            else:
                last = rows.pop()
                if last is not path:
                    engine.put(row, base, engine.take(len(rows), base, last.length))
                    rows[row] = last
