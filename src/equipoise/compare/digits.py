"""Last digits: rows of two runs that differ by no more than processors do count as the same row.

Log likelihoods that two processors compute with the same weights differ by about 1e-5 (sums in another order, other
instructions), and so do the figures that are made from them: compared digit by digit, two runs of one model on two
machines differ in nearly every row. A row of HEAD whose numbers are all within `TOLERANCE` of BASE's row, and whose
words are the same, is taken to be BASE's row.

The tolerance, 1e-4 in nats and in probabilities, is ten times that noise; a net shift adds up eight log likelihoods.
It is a five-thousandth of the margin declared in nats, and a five-hundredth of those that are shares: a change that it
hides in every single row is of no consequence, and one row that changes by more is compared with all its digits.

Where two answers are equally likely, last digits decide which is chosen. Such a flip is a *tie*, and no change, only
if under both revisions both answers are within the tolerance of the likeliest one; or, of the reading of a reasoning,
if the judge's probability crosses a half, where its reading turns, by no more than the tolerance. Greedy decoding may
turn on a tie too, and then writes other words: these rows differ in more than digits, and are compared as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from equipoise.compare.revisions import Revision
from equipoise.core.prompts import Response
from equipoise.core.row import Frozen, Row
from equipoise.judge.reading import CONSIDERED_FROM, MENTIONED_FROM
from equipoise.materials.judgement import Judgement
from equipoise.materials.questions import Choice
from equipoise.studies.decisions.asked import Reading
from equipoise.studies.stigma.rows import Fill
from equipoise.text.answers import log_likelihoods

TOLERANCE = 1e-4
"""How far numbers of one row may differ, in nats or in probability, and count as equal."""
ANSWER = frozenset({"answer", "label", "answer_likelihood", "label_likelihood"})
"""Fields of a judgement that the likelihoods of the answers decide."""
CONSIDERED = frozenset({"mentioned", "considered", "window"})
"""Fields of a judgement that the judge's probabilities decide."""

R = TypeVar("R", bound=Row)


class Settled(NamedTuple):
    """HEAD with BASE's row in place of each that differs in last digits alone.

    `rows` counts these by study; `ties` are the keys of those whose answer or reading is another one.
    """

    head: Revision
    rows: Mapping[str, int]
    ties: frozenset[str]


def settle(base: Revision, head: Revision) -> Settled:
    """Take rows of HEAD that differ from BASE's in last digits alone for BASE's rows.

    A study all of whose rows are then BASE's has BASE's answers.
    """

    def judged(one: Judgement, other: Judgement) -> bool:
        return _judged(one, other, base, head)

    judgements = _settled(base.judgements, head.judgements, judged)
    choices = _settled(base.choices, head.choices, _chosen)
    readings = _settled(base.readings, head.readings, _read)
    fills: tuple[list[Fill], int, set[str]] = _settled(base.fills, head.fills, near)
    found: dict[str, tuple[Sequence[Row], tuple[Sequence[Row], int, set[str]]]] = {
        "vignettes": (base.judgements, judgements),
        "questions": (base.choices, choices),
        "decisions": (base.readings, readings),
        "stigma": (base.fills, fills),
    }
    same = {
        study: base.answers.get(study, "")
        for study, (before, (after, count, _)) in found.items()
        if count and after == [*before]
    }
    settled = replace(
        head,
        judgements=judgements[0],
        choices=choices[0],
        letters={**head.letters, **{one.key: one.letter for one in choices[0]}},
        readings=readings[0],
        fills=fills[0],
        answers={**head.answers, **same},
        measured=head,
    )
    rows = {study: count for study, (_, (_, count, _)) in found.items() if count}
    return Settled(settled, rows, frozenset().union(*(ties for _, (_, _, ties) in found.values())))


def near(one: Any, other: Any, but: frozenset[str] = frozenset()) -> bool:  # noqa: ANN401  (any value of a row)
    """Whether two values, or two rows but for some fields, are equal or differ in last digits alone."""
    if isinstance(one, Frozen) and isinstance(other, Frozen):
        one, other = ({name: value for name, value in row if name not in but} for row in (one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(near(value, other[name]) for name, value in one.items())
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= TOLERANCE
    return bool(one == other)


def tied(one: str | None, other: str | None, *scores: Mapping[str, float]) -> bool:
    """Whether two answers are, by each of some scores of all answers, both within the tolerance of the best one."""
    near_best = [{name for name in table if max(table.values()) - table[name] <= TOLERANCE} for table in scores]
    return all(name in names for names in near_best for name in (one, other))


def _settled(before: Sequence[R], after: Sequence[R], same: Callable[[R, R], bool]) -> tuple[list[R], int, set[str]]:
    """Give the rows of HEAD or BASE, how many that differ are BASE's, and the keys of those with other words."""
    known = {row.key: row for row in before}
    rows, count, ties = [], 0, set()
    for row in after:
        other = known.get(row.key, row)
        if other == row or not same(other, row):
            rows.append(row)
            continue
        rows.append(other)
        count += 1
        if not near(other, row):
            ties.add(row.key)
    return rows, count, ties


def _judged(one: Judgement, other: Judgement, base: Revision, head: Revision) -> bool:
    if not near(one, other, ANSWER | CONSIDERED):
        return False
    if not near(one, other, CONSIDERED) and not _answers_tied(one, other, base.responses, head.responses):
        return False
    return (one.mentioned, one.considered) == (other.mentioned, other.considered) or any(
        (getattr(one, name) >= turn) != (getattr(other, name) >= turn)
        for name, turn in (("p_considered", CONSIDERED_FROM), ("p_mentioned", MENTIONED_FROM))
    )


def _answers_tied(
    one: Judgement, other: Judgement, before: Mapping[str, Response], after: Mapping[str, Response]
) -> bool:
    """Whether the answers are those of the likelihoods, and tie by their totals or by their means per token."""
    asked = [table[row.key] for table, row in ((before, one), (after, other)) if row.key in table]
    if len(asked) < 2 or any(row.label != row.label_likelihood for row in (one, other)):  # noqa: PLR2004  (both)
        return False
    return any(
        tied(one.label, other.label, *(log_likelihoods(row, length) for row in asked))
        for length in ("total", "per_token")
    )


def _chosen(one: Choice, other: Choice) -> bool:
    return near(one, other, frozenset({"letter"})) and (
        one.letter == other.letter or tied(one.letter, other.letter, *map(_mean_chances, (one, other)))
    )


def _mean_chances(choice: Choice) -> dict[str, float]:
    """Give the mean probability of each option over the orders in which a letter was read."""
    read = [order.probabilities for order in choice.orders if order.probabilities]
    return {letter: sum(chances[letter] for chances in read) / len(read) for letter in (read[0] if read else ())}


def _read(one: Reading, other: Reading) -> bool:
    return near(one, other, frozenset({"chosen"})) and (
        one.chosen == other.chosen or tied(one.chosen, other.chosen, one.probabilities, other.probabilities)
    )
