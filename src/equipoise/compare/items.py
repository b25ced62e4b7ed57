"""Items: the value of each item for each headline figure, and the answers and texts that changed.

Items are matched between revisions: pairs, questions with all their variants, or sentences. Figures declare how an
item's value is computed, and studies what their items are; the current code computes both revisions alike.

**Last digits.** Two runs of one model on two machines differ in the last digits of nearly every row
(`figures.digits`). A row of HEAD with the same words as BASE's row and all numbers within the tolerance is replaced by
BASE's row; any other row is compared with all its digits.

Where two answers are equally likely, last digits decide which is chosen. Such a flip is a *tie* and does not count as a
change if both answers are within the tolerance of the likeliest one in both revisions, or, for the reading of a
reasoning, if the judge's probability crosses 0.5 by no more than the tolerance. Each study defines when its answers
tie. A tie in greedy decoding leads to other words: such rows differ in more than digits and are compared as they are.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, get_args

from equipoise.compare.revisions import Revision
from equipoise.figures import aggregates
from equipoise.figures.comparison import Bias, RunRows
from equipoise.figures.digits import near
from equipoise.figures.figure import Figure, Value
from equipoise.studies.registry import STUDIES


class Flip(NamedTuple):
    """One answer that changed kind: the key of its row, and both kinds.

    `bias` says what that means for the marginalised patient, as the study defines it. Last digits decide a `tie`.
    """

    study: str
    key: str
    before: str
    after: str
    bias: Bias = "other"
    tie: bool = False


class Reworded(NamedTuple):
    """How many of a study's shared texts differ: a change may be due to the text and not to the model."""

    study: str
    changed: int
    shared: int


def compared(base: Revision, head: Revision) -> list[Figure]:
    """List the figures by which two revisions are compared, with one for each group that either revision has."""
    figures: dict[str, Figure] = {}
    for study in STUDIES.values():
        rows = [revision.rows[study.name] for revision in (base, head) if study.name in revision.rows]
        for figure in study.figures:
            if figure.change:
                groups = [figure] if figure.groups is None else [each for run in rows for each in figure.expanded(run)]
                figures |= {group.name: group for group in groups}
    return list(figures.values())


def item_values(revision: Revision) -> dict[str, dict[str, Value]]:
    """Compute the value of each item for each figure, by the figure's name; a study that did not run has none."""
    values: dict[str, dict[str, Value]] = {}
    for study in STUDIES.values():
        values |= aggregates.item_values(study.figures, revision.rows.get(study.name))
    return values


def item_clusters(revision: Revision) -> dict[str, Mapping[str, str]]:
    """Name the cluster of each item by study; empty for a study without clusters."""
    return {study: rows.clusters for study, rows in revision.rows.items()}


def flips(base: Revision, head: Revision, ties: frozenset[str] = frozenset()) -> list[Flip]:
    """List the answers that changed kind: those to biased first, ties last; then by study and key.

    `ties` has the keys of answers that last digits decide.
    """
    changed = []
    for study in STUDIES:
        if study in base.rows and study in head.rows:
            before, after, bias = base.rows[study].kinds, head.rows[study].kinds, head.rows[study].bias
            changed += [
                Flip(study, key, before[key], after[key], bias(key, before[key], after[key]), key in ties)
                for key in sorted(before.keys() & after.keys())
                if before[key] != after[key]
            ]
    order = get_args(Bias)
    return sorted(changed, key=lambda flip: (flip.tie, order.index(flip.bias)))


def reworded(base: Revision, head: Revision) -> list[Reworded]:
    """Count the shared texts that differ, by study; a study without shared texts is left out."""
    counts = []
    for study in STUDIES:
        before, after = (revision.rows[study].texts if study in revision.rows else {} for revision in (base, head))
        if shared := before.keys() & after.keys():
            counts.append(Reworded(study, sum(before[key] != after[key] for key in shared), len(shared)))
    return counts


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
