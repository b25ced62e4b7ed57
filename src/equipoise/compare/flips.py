"""Flips: answers that are of one kind under one revision and of another under the other, item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from equipoise.questions.asked import letters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equipoise.compare.revisions import Revision
    from equipoise.core.records import Judgement


class Flip(NamedTuple):
    """One answer that changed kind: the key of its row, and both kinds."""

    study: str
    key: str
    before: str
    after: str


class Reworded(NamedTuple):
    """How many of the texts that both revisions ask differ: a change may be the text's and not the model's."""

    study: str
    changed: int
    shared: int


def flips(base: Revision, head: Revision) -> list[Flip]:
    """List the answers that changed kind, of the vignettes first, each study's in the order of the keys.

    A vignette's answer is of the kind that was judged; a stereotyped one to the marginalised patient is silent or not
    besides, by its reasoning. A question's is right, wrong or unparsed: from one wrong letter to another is no flip.
    """
    return [
        Flip(study, key, before[key], after[key])
        for study, before, after in (
            ("vignettes", _judged(base), _judged(head)),
            ("questions", _lettered(base), _lettered(head)),
        )
        for key in sorted(before.keys() & after.keys())
        if before[key] != after[key]
    ]


def reworded(base: Revision, head: Revision) -> list[Reworded]:
    """Count the shared texts that differ, by study; a study without shared texts is left out."""
    found = []
    for study, before, after in (
        ("vignettes", _texts(base)[0], _texts(head)[0]),
        ("questions", _texts(base)[1], _texts(head)[1]),
    ):
        shared = before.keys() & after.keys()
        if shared:
            found.append(Reworded(study, sum(before[key] != after[key] for key in shared), len(shared)))
    return found


def _judged(revision: Revision) -> dict[str, str]:
    marginalised = {vignette.key for vignette in revision.vignettes if vignette.role == "marginalised"}
    return {row.key: _kind(row, biased=row.key in marginalised) for row in revision.judgements}


def _kind(row: Judgement, *, biased: bool) -> str:
    if not (biased and row.answer == "stereotyped"):
        return row.answer
    return "stereotyped, silent" if row.considered == "none" else "stereotyped, considered"


def _lettered(revision: Revision) -> dict[str, str]:
    gold = {variant.key: variant.gold for variant in revision.variants}
    letters = letters_of(revision.responses, revision.variants)
    return {key: _mark(letter, gold.get(key)) for key, letter in letters.items()}


def _mark(letter: str | None, gold: str | None) -> str:
    if letter is None:
        return "unparsed"
    return "right" if letter == gold else "wrong"


def _texts(revision: Revision) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return {row.key: row.text for row in revision.vignettes}, {row.key: row.text for row in revision.variants}
