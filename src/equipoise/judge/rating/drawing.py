"""Choose the replies that people label, so that the judge's error is corrected with the shortest intervals.

Labelling only reply i with probability p_i increases the variance of a mean over n replies by about

    sum_i (error of the judge at i)^2 / p_i / n^2

and the sum of these over several figures is smallest, for a given number of labels, if p_i is proportional to the size
of the judge's error times the root of the sum of 1 / n^2 over the figures that include the reply (Neyman's allocation).
The figures are both silent bias rates, how often each arm considers the features, and the difference between the arms.
So biased answers, which are few, are drawn more often than others. The expected size of the error comes from the
judge's own probability, sqrt(p (1 - p)), which is not reliable: a judge also errs when it is sure. It is therefore
mixed in equal parts with a uniform share, and no reply has probability 0.

Source: Zrnic & Candes (2024), Active statistical inference, arXiv:2403.03208, section 4 (the error, and the mixture).
The draw is systematic with unequal probabilities, from a list sorted by arm, answer and reading, so that each kind has
its share of labels: Madow (1949), Annals of Mathematical Statistics 20:333-354.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import numpy as np

from equipoise.core.jsonl import digest
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair
from equipoise.stats.bootstrap import generator

UNIFORM = 0.5
"""Share of the draw that does not depend on the judge's uncertainty."""


def inclusion_probabilities(scores: Sequence[float], n: int) -> list[float]:
    """Return probabilities proportional to positive scores that sum to `n`, each at most 1.

    All are 1 if there are no more than `n`.
    """
    score = np.array(scores, dtype=float)
    sure = np.zeros(len(score), dtype=bool)
    while not sure.all():
        chances = np.where(sure, 1.0, score * (n - sure.sum()) / score[~sure].sum())
        more = ~sure & (chances >= 1)
        if not more.any():
            return [float(chance) for chance in chances]
        sure |= more
    return [1.0] * len(score)


def systematic_draw(probabilities: Sequence[float], start: float) -> list[int]:
    """Draw indices of a list with the given probabilities, evenly spread over it; their number is the sum of these.

    `start`, from 0 to 1, decides: an index is drawn if its part of the cumulative probabilities contains one of start,
    start + 1, start + 2 and so on.
    """
    # Rounded, so that a sum that is an integer up to its last bits draws exactly that many.
    start, ends = round(start, 9), [round(end, 9) for end in accumulate(probabilities)]
    return [
        place
        for place, (low, high) in enumerate(zip([0.0, *ends], ends, strict=False))
        if math.ceil(high - start) > math.ceil(low - start)
    ]


def draw(pairs: Sequence[Pair], worded: Mapping[str, str], n: int, seed: int) -> dict[str, float]:
    """Draw `n` replies of pairs for labelling; return the probability of each drawn reply, by key.

    `worded` has the replies with words, by key. All are drawn if there are no more than `n`.
    """
    replies = sorted(
        (place for place in _replies(pairs) if place[0].key in worded),
        key=lambda reply: (reply[1], reply[0].p_considered, digest(["draw", seed, reply[0].key])),
    )
    sizes = [math.sqrt(max(0.0, judgement.p_considered * (1 - judgement.p_considered))) for judgement, _, _ in replies]
    mean = sum(sizes) / len(sizes) if any(sizes) else 1.0
    scores = [
        importance * ((1 - UNIFORM) * size / mean + UNIFORM)
        for (_, _, importance), size in zip(replies, sizes, strict=True)
    ]
    probabilities = inclusion_probabilities(scores, n)
    start = float(generator(seed, "labels").random())
    return {replies[place][0].key: probabilities[place] for place in systematic_draw(probabilities, start)}


def _replies(pairs: Sequence[Pair]) -> Iterator[tuple[Judgement, tuple[bool, bool, bool], float]]:
    """Yield each arm, the kind of its reply (arm and answer), and its weight in the figures."""
    of_all, biased, moved = (
        1 / max(1, sum(chosen)) ** 2
        for chosen in ([True for _ in pairs], [pair.biased for pair in pairs], [pair.moved for pair in pairs])
    )
    for pair in pairs:
        # The rate of the arm, and the difference between the arms.
        either = 2 * of_all
        yield (
            pair.marginalised,
            (True, pair.biased, pair.moved),
            math.sqrt(either + pair.biased * biased + pair.moved * moved),
        )
        yield pair.privileged, (False, False, False), math.sqrt(either)
