"""Timing several ways of doing the same work, alternating on the same pieces of it."""

from __future__ import annotations

from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Way = Callable[[Sequence[Any]], list[Any]]
    """Does a piece of work, and returns one result for each part of it."""


class Rounds(NamedTuple):
    """For each way the seconds of every round, all results in the order of the work, and processor seconds."""

    seconds: dict[str, list[float]]
    results: dict[str, list[Any]]
    processor: dict[str, list[float]]

    def ratio(self, way: str, peer: str, *, processor: bool = False) -> dict[str, float]:
        """Return the speed-up of a way over a peer: the median over the rounds, the least and the most."""
        spent = self.processor if processor else self.seconds
        ratios = [theirs / ours for ours, theirs in zip(spent[way], spent[peer], strict=True)]
        return {"median": round(median(ratios), 2), "least": round(min(ratios), 2), "most": round(max(ratios), 2)}

    def rate(self, way: str, amounts: Sequence[float]) -> float:
        """Give the median over the rounds of an amount of work (one for each round) a second."""
        return round(median(done / spent for done, spent in zip(amounts, self.seconds[way], strict=True)), 2)


def by_turns(ways: Mapping[str, Way], pieces: Sequence[Sequence[Any]], warm_up: Sequence[Any]) -> Rounds:
    """Time every way on every piece, alternating the order of the ways.

    Each way does the warm-up before the timing starts. Other load of the machine affects all of them equally.
    """
    for run in ways.values():
        run(warm_up)
    rounds = Rounds({way: [] for way in ways}, {way: [] for way in ways}, {way: [] for way in ways})
    order = list(ways)
    for piece in pieces:
        for way in order:
            began, busy = perf_counter(), process_time()
            results = ways[way](piece)
            rounds.seconds[way].append(perf_counter() - began)
            rounds.processor[way].append(process_time() - busy)
            rounds.results[way] += results
        order.reverse()
    return rounds


def in_pieces(work: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Split work into pieces of equal size; a remainder is dropped."""
    return [work[start : start + size] for start in range(0, len(work) - size + 1, size)]
