"""The measured error of the readers of written answers, beside the figures that rest on them.

A reader takes a letter or a diagnosis from a reply. Its errors were counted on replies with known answers, which were
written by another hand than those that its rules were tuned on (docs/letter-parser.md). A study whose answers are read
from likelihoods has no such error.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from equipoise.core.params import Params
from equipoise.figures.effects import Effect, Group, rate
from equipoise.figures.study import Reader, Study

FAMILY = "reading"


class Errors(NamedTuple):
    """How many of `n` replies with known answers a reader takes for another answer, and how many it leaves unread."""

    n: int
    other: int
    unread: int


MEASURED: dict[Reader, Errors] = {
    "letters": Errors(217, 1, 15),
    "diagnoses": Errors(224, 3, 14),
    "written": Errors(224, 3, 14),
}
"""Errors on the replies that no rule was tuned on, `tests/text/replies/*_held.jsonl`, as tests count them."""


def reader_of(study: Study, settings: Params) -> Reader | None:
    """Name the reader on which a study's answers rest; None where they are read from likelihoods, or not read."""
    setting = study.likelihoods
    if setting is not None and settings.values(setting.section).get(setting.field) != setting.other:
        return None
    return study.reader


def reading_effects(study: Study, settings: Params, alpha: float) -> Iterator[Effect]:
    """Give the measured error of the reader that a study uses: the rates `misread_rate` and `unread_rate`."""
    if (reader := reader_of(study, settings)) is None:
        return
    group, errors = Group(FAMILY, reader, study.name), MEASURED[reader]
    for measure, count in (("misread_rate", errors.other), ("unread_rate", errors.unread)):
        yield rate(group, measure, [True] * count + [False] * (errors.n - count), alpha)


def unread_by_arm(study: str, unread: Mapping[str, Iterable[bool]], alpha: float) -> Iterator[Effect]:
    """Give the share of each arm's written answers that could not be read."""
    for arm, rows in unread.items():
        yield rate(Group(FAMILY, arm, study), "unread_rate", rows, alpha)


def sentence(effects: Iterable[Effect]) -> str:
    """Say what the readers' errors are, and what they left unread; empty for a study that reads no text."""
    rows = {(row.group, row.measure): row for row in effects if row.family == FAMILY}
    reader = next((name for name in MEASURED if (name, "misread_rate") in rows), None)
    if reader is None:
        return ""
    other, unread = (rows[reader, measure] for measure in ("misread_rate", "unread_rate"))
    arms = [f"{_share(row)} of {group} patients' answers" for (group, _), row in rows.items() if group not in MEASURED]
    here = f" Unread here: {', '.join(arms)}." if arms else ""
    return (
        f"Answers are read from the text: of {other.n} replies with known answers, the reader takes {_share(other)} "
        f"for another answer and leaves {_share(unread)} unread.{here}"
    )


def _share(row: Effect) -> str:
    if row.estimate is None or row.ci_low is None or row.ci_high is None:
        return "none"
    return f"{100 * row.estimate:.1f} % ({100 * row.ci_low:.1f} to {100 * row.ci_high:.1f})"
