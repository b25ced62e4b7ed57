"""Edits of a text: applied together, and two rounds of them composed into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Edit(NamedTuple):
    """A half-open range of a text, what comes in its place, and the rule that asks for it."""

    start: int
    end: int
    after: str
    rule: str


def settle(edits: Iterable[Edit]) -> list[Edit]:
    """Order edits and drop what overlaps an earlier one; of two at the same place the one given first stays."""
    settled: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: edit.start):
        if not settled or edit.start >= settled[-1].end:
            settled.append(edit)
    return settled


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Carry out ordered edits that do not overlap."""
    parts: list[str] = []
    place = 0
    for edit in edits:
        parts += (text[place : edit.start], edit.after)
        place = edit.end
    return "".join((*parts, text[place:]))


def compose(text: str, first: Sequence[Edit], second: Sequence[Edit]) -> list[Edit]:
    """Express a second round of edits, made on the text after the first, as one round on the text itself.

    Edits of the two rounds that meet become one edit under the first one's rule.
    """
    middle = apply(text, first)
    # The first round's edits as ranges of the text between the rounds.
    placed: list[tuple[int, int, Edit]] = []
    shift = 0
    for edit in first:
        begin = edit.start + shift
        placed.append((begin, begin + len(edit.after), edit))
        shift += len(edit.after) - (edit.end - edit.start)
    # Groups of ranges that touch; every other character of the middle text is one of the original text.
    ranges = sorted([(begin, end, 0) for begin, end, _ in placed] + [(edit.start, edit.end, 1) for edit in second])
    groups: list[tuple[int, int]] = []
    for begin, end, _ in ranges:
        if groups and begin <= groups[-1][1]:
            groups[-1] = (groups[-1][0], max(groups[-1][1], end))
        else:
            groups.append((begin, end))
    composed: list[Edit] = []
    for begin, end in groups:
        early = [(b, e, edit) for b, e, edit in placed if begin <= b and e <= end]
        late = [edit for edit in second if begin <= edit.start and edit.end <= end]
        before = sum(len(edit.after) - (edit.end - edit.start) for b, _, edit in placed if b < begin)
        inside = sum(len(edit.after) - (edit.end - edit.start) for _, _, edit in early)
        moved = [edit._replace(start=edit.start - begin, end=edit.end - begin) for edit in late]
        rule = early[0][2].rule if early else late[0].rule
        composed.append(Edit(begin - before, end - before - inside, apply(middle[begin:end], moved), rule))
    return [edit for edit in composed if text[edit.start : edit.end] != edit.after]
