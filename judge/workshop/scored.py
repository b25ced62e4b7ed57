"""Agreement with labels, with the AUC of a reader's scores; and groups of similar cases.

The two arms of a vignette have nearly the same text, so similar cases are resampled together.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from equipoise.judge.rating.agreement import agreement, figure_with_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from equipoise.figures.effects import Nested
    from equipoise.materials.judgement import Consideration

    Array = NDArray[np.float64]

WORD = re.compile(r"[^\W\d_]+")
"""Words without numbers, since two arms may differ only in the patient's age or weight."""


def similar_cases(prompts: Mapping[str, str], similarity: float) -> dict[str, str]:
    """Return the group of each case; cases with similar prompts share a group, directly or through a third case.

    Two prompts are similar if the words they share are at least the share `similarity` of the words in either
    (Jaccard's index over distinct words). A group is named after its first case, in order of names.

    Args:
        prompts: The prompt of each case, by name.
        similarity: Between 0 and 1; 1 joins only prompts with the same words.
    """
    words = {name: frozenset(WORD.findall(prompt.lower())) for name, prompt in prompts.items()}
    group = {name: name for name in prompts}
    for first, second in combinations(sorted(prompts), 2):
        either = words[first] | words[second]
        if len(words[first] & words[second]) >= similarity * len(either):
            name_kept, joined = sorted((group[first], group[second]))
            group = {name: name_kept if of == joined else of for name, of in group.items()}
    return group


def scored_agreement(
    labels: Sequence[Consideration],
    readings: Sequence[Consideration],
    cases: Sequence[str],
    scores: Sequence[float] | None,
    **options: int,
) -> Nested:
    """Return `agreement`, with the AUC of the reader's scores if it has any."""
    figures = agreement(labels, readings, cases, **options)
    considered = figures["considered"]
    if scores is not None and isinstance(considered, dict):
        figures["considered"] = add_auc(considered, scores, [label != "none" for label in labels], cases, **options)
    return figures


def add_auc(
    figures: Nested,
    scores: Sequence[float],
    truth: Sequence[bool],
    cases: Sequence[str],
    *,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Add the AUC of scores to the figures of `binary_agreement`; a score is a reader's support for yes, in any unit.

    The AUC is the probability that a positive scores above a negative, with ties counted half; it is omitted without
    both kinds.
    Source: Hanley & McNeil (1982), Radiology 143:29-36.
    """
    yes = np.array(truth, dtype=bool)
    if yes.all() or not yes.any():
        return figures
    # Resampling draws each case a number of times; comparisons of scores are fixed for each pair of cases.
    statistic = _auc_statistic(np.array(scores, dtype=float), yes, cases)
    auc = figure_with_interval("auc", np.eye(len(set(cases))), statistic, seed=seed, n_bootstrap=n_bootstrap)
    return {**figures, "auc": auc} if auc else figures


def _auc_statistic(scores: Array, yes: NDArray[np.bool_], cases: Sequence[str]) -> Callable[[Array], Array]:
    """Return the AUC as a function of (resamples, cases): how often each case was drawn."""
    above = (scores[:, None] > scores) + 0.5 * (scores[:, None] == scores)
    member = np.array(cases)[:, None] == sorted(set(cases))
    won = (member & yes[:, None]).T @ above @ (member & ~yes[:, None])
    n_yes, n_no = (member & yes[:, None]).sum(axis=0), (member & ~yes[:, None]).sum(axis=0)

    def statistic(drawn: Array) -> Array:
        with np.errstate(invalid="ignore"):
            auc: Array = ((drawn @ won) * drawn).sum(axis=1) / ((drawn @ n_yes) * (drawn @ n_no))
        return auc

    return statistic
