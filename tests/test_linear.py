"""Whatever a looping model or a hostile file repeats is read to its end. benchmarks/linear.py measures the time."""

from __future__ import annotations

import re
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from linear import HALVES, HOSTILE, MANY, MANY_LENGTH, READERS, lists, repeated  # noqa: E402  (a script)

LIMIT = 25.0
"""Seconds of processor time after which a reading is stopped: a guard against a hang, and no measure of speed.

The slowest reading takes a twentieth. A pattern that takes the cube of the length takes longer, for most a few minutes,
and an exponential one more than a lifetime.
"""


@contextmanager
def stopped(what: object, limit: float = LIMIT) -> Iterator[None]:
    """Fail within a block that takes more processor time, in the middle of a pattern if need be."""

    def fail(*_: Any) -> None:
        pytest.fail(f"not read to its end in {limit} s of processor time: {what}")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_every_hostile_text_is_read_to_its_end(name: str) -> None:
    """Every reader reads every hostile text of 6,000 characters, and takes no time that explodes."""
    for hostile in (*HOSTILE, *HALVES):
        with stopped(hostile):
            READERS[name](repeated(hostile, 6_000))


def test_a_row_of_many_lists_is_read_to_its_end() -> None:
    """All lists of a row of saved predictions are read, whatever their number."""
    with stopped(MANY):
        # Each `[1],` is four characters.
        assert len(lists(repeated(MANY, MANY_LENGTH))) == MANY_LENGTH // 4


def test_a_pattern_that_explodes_is_stopped() -> None:
    """Each `a` is read in two ways, so that forty without a `b` are tried in 2 to the power of 40 ways."""
    with pytest.raises(pytest.fail.Exception, match="not read to its end"), stopped("forty", limit=0.1):
        re.compile("(?:a|a)+b").search("a" * 40)


@pytest.mark.parametrize("name", READERS)
def test_half_a_surrogate_pair_is_read(name: str) -> None:
    """Half a surrogate pair, which UTF-8 cannot encode, is a character like any other."""
    for text in ("\ud800", "She\udfff is poor. Answer: B\ud800", "Final diagnosis: \udc00stroke"):
        READERS[name](text)


def test_there_are_enough_texts() -> None:
    """The texts are twice eighty at least, each another one."""
    assert len(set(HOSTILE)) == len(HOSTILE) >= 160
