"""Items: the value of each item for each headline figure, and the answers and texts that changed.

Items are matched between revisions: pairs, questions with all their variants, or sentences. Figures declare how an
item's value is computed, and studies what their items are; the current code computes both revisions alike.
"""

from collections.abc import Mapping
from typing import NamedTuple, get_args

from equipoise.compare.revisions import Revision
from equipoise.figures import aggregates
from equipoise.figures.comparison import Bias
from equipoise.figures.figure import Figure, Value
from equipoise.studies.registry import STUDIES


class Flip(NamedTuple):
    """One answer that changed kind: the key of its row, and both kinds.

    `bias` says what that means for the marginalised patient, as the study defines it. A `tie` is decided by last digits
    (`compare.digits`).
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
