"""Keys of rows: the unit that a key begins with, the number of one of several prompts about the same, and groups."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

NUMBER = "#"
"""Stands before the number: `race-01/privileged#1`."""


def numbered(key: str, number: int) -> str:
    """Give the key of one of several prompts about what has a key (sample, wording, order); the first keeps it."""
    return f"{key}{NUMBER}{number}" if number else key


def unnumbered(key: str) -> str:
    """Give the key of what a prompt is about, without the number of the prompt."""
    return key.rpartition(NUMBER)[0] if number_of(key) else key


def number_of(key: str) -> int:
    """Give the number of a prompt about what has a key; 0 is the first."""
    _, mark, number = key.rpartition(NUMBER)
    return int(number) if mark and number.isdecimal() else 0


def unit_of(key: str) -> str:
    """Give the id of the pair or question that a row's key begins with."""
    return key.partition("/")[0]


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Group values by the keys that they come with; groups and members keep their order."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
