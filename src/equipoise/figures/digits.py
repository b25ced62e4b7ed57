"""Last digits: numbers of two runs that differ only by the rounding noise between processors count as equal.

Log likelihoods that two processors compute with the same weights differ by about 1e-5 (sums in another order, other
instructions), and so do the figures computed from them. The tolerance, 1e-4 in nats and in probabilities, is ten times
that noise; a net shift adds up eight log likelihoods. It is a five-thousandth of the margin declared in nats, and a
five-hundredth of those that are shares: a change that it hides in every single row is of no consequence.
"""

from collections.abc import Mapping
from typing import Any

from equipoise.core.row import Frozen

TOLERANCE = 1e-4
"""The largest difference, in nats or in probability, at which numbers count as equal."""


def near(value: Any, other: Any, but: frozenset[str] = frozenset()) -> bool:  # noqa: ANN401  (any value of a row)
    """Whether two values, or two rows without the fields `but`, are equal or differ in last digits only."""
    if isinstance(value, Frozen) and isinstance(other, Frozen):
        value, other = ({name: part for name, part in row if name not in but} for row in (value, other))
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(near(part, other[name]) for name, part in value.items())
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(near, value, other))
    if isinstance(value, float) and isinstance(other, float):
        return abs(value - other) <= TOLERANCE
    return bool(value == other)


def tied(answer: str | None, other: str | None, *scores: Mapping[str, float]) -> bool:
    """Whether, under each of some scores of all answers, two answers are both within the tolerance of the best one."""
    near_best = [{name for name in table if max(table.values()) - table[name] <= TOLERANCE} for table in scores]
    return all(name in names for names in near_best for name in (answer, other))
