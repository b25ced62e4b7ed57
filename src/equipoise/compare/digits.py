"""Last digits: treats rows of two runs as equal if they differ only by the rounding noise between processors.

Two runs of one model on two machines differ in the last digits of nearly every row (`figures.digits`). A row of HEAD
with the same words as BASE's row and all numbers within the tolerance is replaced by BASE's row; any other row is
compared with all its digits.

Where two answers are equally likely, last digits decide which is chosen. Such a flip is a *tie* and does not count as a
change if both answers are within the tolerance of the likeliest one in both revisions, or, for the reading of a
reasoning, if the judge's probability crosses 0.5 by no more than the tolerance. Each study defines when its answers
tie. A tie in greedy decoding leads to other words: such rows differ in more than digits and are compared as they are.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from equipoise.compare.revisions import Revision
from equipoise.figures.comparison import RunRows
from equipoise.figures.digits import near


class Settled(NamedTuple):
    """HEAD after its rows that differ only by rounding noise were replaced by BASE's.

    `rows` counts the replaced rows by study; `ties` has the keys of those with another answer or reading.
    """

    head: Revision
    rows: Mapping[str, int]
    ties: frozenset[str]


class _Study(NamedTuple):
    """One study of HEAD, settled: `equal` counts replaced rows, `whole` says whether all rows are now BASE's."""

    rows: RunRows[Any]
    equal: int
    ties: set[str]
    whole: bool


def settle(base: Revision, head: Revision) -> Settled:
    """Replace HEAD rows that differ from BASE only by rounding noise with the BASE rows.

    A study whose rows are then all BASE's gets the hash of BASE's answers.
    """
    studies = {name: _settled(base.rows[name], rows) for name, rows in head.rows.items() if name in base.rows}
    counts = {name: study.equal for name, study in studies.items() if study.equal}
    settled = replace(
        head,
        rows={**head.rows, **{name: study.rows for name, study in studies.items()}},
        answers={**head.answers, **{name: base.answers.get(name, "") for name in counts if studies[name].whole}},
        measured=head,
    )
    return Settled(settled, counts, frozenset().union(*(study.ties for study in studies.values())))


def _settled(base: RunRows[Any], head: RunRows[Any]) -> _Study:
    known = {row.key: row for row in base.answers}
    answers, equal, ties = [], 0, set()
    for row in head.answers:
        before = known.get(row.key, row)
        if before == row or not base.same(before, row, head):
            answers.append(row)
            continue
        answers.append(before)
        equal += 1
        if not near(before, row):
            ties.add(row.key)
    return _Study(replace(head, answers=answers), equal, ties, answers == [*base.answers])
