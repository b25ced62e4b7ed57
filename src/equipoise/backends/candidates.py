"""Many candidates after one text, scored as a tree: tokens that candidates begin with in common are worked out once.

Every node of the tree is one step of width 1 after the text's own step, whatever stands in the other rows, so that its
logits depend on its path alone (see `equipoise.models.fusion`): not on the number of rows, nor on the order of the
candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from equipoise.models.engine import Engine, Kept


class Likelihood(NamedTuple):
    """A candidate's mean log probability per token, in nats, and the number of its tokens."""

    mean: float
    tokens: int


class Encoded(NamedTuple):
    """The tokens of a text and a candidate together, and where the candidate's own begin."""

    tokens: Sequence[int]
    start: int


@dataclass
class _Node:
    """A token, its log probability after the tokens above it (nats), and the tokens that follow it."""

    token: int
    log_p: float = 0.0
    children: dict[int, _Node] = field(default_factory=dict)

    def read(self, logits: NDArray[np.float32]) -> None:
        """Give the children their log probabilities: a log softmax of one row, summed in double precision."""
        top = logits.max()
        total = float(top) + math.log(np.exp(logits - top).sum(dtype=np.float64))
        for token, child in self.children.items():
            child.log_p = float(logits[token]) - total

    def going_on(self) -> list[_Node]:
        """List the children that have children: nothing is read after the others, so the model need not run them."""
        return [child for child in self.children.values() if child.children]


@dataclass
class _Path:
    """A node that follows `length` tokens; those after the text have their keys and values in `kept`."""

    node: _Node
    length: int
    kept: Kept


def candidate_likelihoods(
    engine: Engine, text: Sequence[int], candidates: Mapping[str, Encoded]
) -> dict[str, Likelihood]:
    """Score every candidate after a text, given as tokens; the rows of the engine are overwritten."""
    # Tokens that every candidate leaves as they are; the last ones of the text can merge with a candidate's first.
    base = min(encoded.start for encoded in candidates.values())
    root = _Node(text[base - 1])
    paths = {name: _grow(root, encoded.tokens[base:]) for name, encoded in candidates.items()}
    root.read(engine.prefill(text[:base])[0])
    _walk(engine, root, base)
    found: dict[str, Likelihood] = {}
    for name, encoded in candidates.items():
        counted = [node.log_p for node in paths[name][encoded.start - base :]]
        found[name] = Likelihood(math.fsum(counted) / len(counted), len(counted))
    return found


def _grow(root: _Node, tokens: Sequence[int]) -> list[_Node]:
    """Add one candidate to the tree, and list its nodes."""
    node, path = root, []
    for token in tokens:
        node = node.children.setdefault(token, _Node(token))
        path.append(node)
    return path


def _walk(engine: Engine, root: _Node, base: int) -> None:
    """Run every node that has children, as many side by side as there are rows, deeper ones first.

    Each row follows a path down to its end. Where paths part, the first goes on in its row, and the others wait with a
    copy of the keys and values since the text, which stand in row 0.
    """
    waiting = [_Path(node, base, []) for node in root.going_on()]
    rows: list[_Path] = []
    for row in range(1, engine.rows):
        engine.move(0, row, base)
    while waiting or rows:
        while waiting and len(rows) < engine.rows:
            path = waiting.pop()
            engine.put(len(rows), base, path.kept)
            rows.append(path)
        tokens = np.array([[path.node.token] for path in rows], np.int64)
        logits = engine.run(tokens, [path.length for path in rows], picks=[0])
        # From the last row to the first, so that the row which closes a gap has been seen to.
        for row in reversed(range(len(rows))):
            path = rows[row]
            path.length += 1
            path.node.read(logits[row])
            if following := path.node.going_on():
                path.node = following[0]
                if len(following) > 1:
                    kept = engine.take(row, base, path.length)
                    waiting.extend(_Path(node, path.length, kept) for node in following[1:])
            elif waiting:
                rows[row] = waiting.pop()
                engine.put(row, base, rows[row].kept)
            else:
                last = rows.pop()
                if last is not path:
                    engine.put(row, base, engine.take(len(rows), base, last.length))
                    rows[row] = last
