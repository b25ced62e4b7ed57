"""Last digits: rows of two runs that differ by no more than processors do count as the same row.

Compared digit by digit, two runs of one model on two machines differ in nearly every row (`figures.digits`). A row of
HEAD whose numbers are all within the tolerance of BASE's row, and whose words are the same, is taken to be BASE's row;
one row that changes by more is compared with all its digits.

Where two answers are equally likely, last digits decide which is chosen. Such a flip is a *tie*, and no change, only
if under both revisions both answers are within the tolerance of the likeliest one; or, of the reading of a reasoning,
if the judge's probability crosses a half, where its reading turns, by no more than the tolerance. Each study says of
its own answers when they tie. Greedy decoding may turn on a tie too, and then writes other words: these rows differ in
more than digits, and are compared as they are.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from equipoise.compare.revisions import Revision
from equipoise.figures.comparison import RunRows
from equipoise.figures.digits import near


class Settled(NamedTuple):
    """HEAD with BASE's row in place of each that differs in last digits alone.

    `rows` counts these by study; `ties` are the keys of those whose answer or reading is another one.
    """

    head: Revision
    rows: Mapping[str, int]
    ties: frozenset[str]


class _Study(NamedTuple):
    """One study of HEAD, settled: how many rows count as equal; `whole` says whether all are then BASE's."""

    rows: RunRows[Any]
    equal: int
    ties: set[str]
    whole: bool


def settle(base: Revision, head: Revision) -> Settled:
    """Take rows of HEAD that differ from BASE's in last digits alone for BASE's rows.

    A study all of whose rows are then BASE's has BASE's answers.
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
