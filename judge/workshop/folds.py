"""Cases kept together: two arms of one vignette are told nearly alike, so they fall on one side of any split."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

WORD = re.compile(r"[^\W\d_]+")
"""Words without numbers: a patient's age or weight may be what two arms differ in."""


def told_alike(prompts: Mapping[str, str], similarity: float) -> dict[str, str]:
    """The group of each case: cases whose prompts share words are in one, directly or through a third case.

    Two prompts are alike where the words that both have are at least the share `similarity` of the words that either
    has (Jaccard's index over distinct words). A group has the name of its first case, in order of names.

    Args:
        prompts: the prompt of each case, by its name.
        similarity: within 0 and 1; 1 joins prompts of the same words alone.
    """
    words = {name: frozenset(WORD.findall(prompt.lower())) for name, prompt in prompts.items()}
    group = {name: name for name in prompts}
    for one, other in combinations(sorted(prompts), 2):
        either = words[one] | words[other]
        if len(words[one] & words[other]) >= similarity * len(either):
            kept, joined = sorted((group[one], group[other]))
            group = {name: kept if of == joined else of for name, of in group.items()}
    return group


def grouped_folds(groups: Sequence[str], n_folds: int, seed: int) -> list[NDArray[np.intp]]:
    """Rows of each fold's test set: a random split into folds of about the same number of groups, none of them divided.

    Args:
        groups: the group of each row.
        n_folds: how many folds.
        seed: of the order in which groups are dealt.

    Raises:
        EquipoiseError: there are fewer groups than folds.
    """
    import numpy as np
    from sklearn.model_selection import GroupKFold

    n_groups = len(set(groups))
    if n_groups < n_folds:
        message = f"{n_groups} groups of cases cannot make {n_folds} folds: label more cases, or set fewer folds"
        raise EquipoiseError(message)
    splitter = GroupKFold(n_splits=n_folds, shuffle=True, random_state=seed)
    return [test for _, test in splitter.split(np.empty(len(groups)), groups=np.asarray(groups))]
