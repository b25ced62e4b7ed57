"""Simulations of the adversarial figures of a model that answers by chance: the effect of selecting texts by answers.

Each question has an option that the model prefers. In every version and in every order of the options it gives this
option with probability KEPT, else another one, whatever the text: no text, group or direction has any effect. The
option with the most orders counts, as in `equipoise.materials.orders.chosen`; ties go to the question's own option.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
from validity_section import Row, Study, type_one
from validity_simulations import by_table, rejects

from equipoise.stats import paired
from equipoise.stats.quantities import PairedCells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray
    from validity_simulations import Array, Counts, Outcomes, Simulation

    Rights = dict[str, NDArray[np.bool_]]
    """Whether each question (draws, questions) is answered rightly, by arm."""
    Attempts = Rights
    """The same for every attempt (attempts, draws, questions)."""

DRAWS = 10_000
RIGHT, KEPT = 0.5, 0.7
"""Share of questions whose favoured option is the right one, and of answers that give the favoured one."""
OPTIONS = ORDERS = 4
ATTEMPTS = 3
SHARE = 0.8
"""The reference group's proportion in the simulated city."""
STEPS = 20
VALUES = 4 * STEPS + 1
"""Values of questions are multiples of 1 / STEPS from -2 to 2, and so many."""
CELLS = 400_000
"""Questions simulated at once."""
ARMS = ("pf", "px", "uf", "ux")
"""Privileged or unprivileged, favourable or unfavourable."""
PAIRS = {
    "gap": ("pf", "ux"),
    "lift": ("pf", "neutral"),
    "penalty": ("neutral", "ux"),
    "gap_favourable": ("pf", "uf"),
    "gap_unfavourable": ("px", "ux"),
}
CONTRASTS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "group_effect": lambda at: ((at["pf"] - at["uf"]) + (at["px"] - at["ux"])) / 2,
    "direction_effect": lambda at: ((at["pf"] - at["px"]) + (at["uf"] - at["ux"])) / 2,
    "interaction": lambda at: (at["pf"] - at["uf"]) - (at["px"] - at["ux"]),
    "accuracy_ratio": lambda at: SHARE * (at["pf"] - at["neutral"]) + (1 - SHARE) * (at["ux"] - at["neutral"]),
}
"""What is tested by a t test over questions; the ratio is 1 where the mean of its differences is 0."""
WAYS = {
    "first": "first attempt",
    "selected": "selected attempt",
    "cross_fitted": "attack, cross-fitted",
    "evaluator": "attack, another evaluator",
}
SELECTED = (
    "Of three attempts, the one whose chance answers happened to move as intended is kept, and the same answers are "
    "tested: the false effect grows with the number of questions. No reported figure is made this way; the rows show "
    "why."
)


def attacks() -> Iterator[Study]:
    """List the simulations: as many questions as the default run has, and as AMQA has."""
    for n in (66, 801):
        rows: dict[str, Row] = {}
        for way, title in WAYS.items():
            note = SELECTED if way == "selected" else ""
            for measure in (*PAIRS, *CONTRASTS):
                attack = way in {"cross_fitted", "evaluator"}
                if attack and measure == "accuracy_ratio":
                    continue
                test = "McNemar, mid-p" if measure in PAIRS and not attack else "paired t"
                rows[f"{way}/{measure}"] = type_one(f"{measure.replace('_', ' ')}, {title} ({test})", note)
        title = f"{n} questions, answers by chance in {ORDERS} orders, {ATTEMPTS} attempts"
        yield Study(f"attack/{n}", title, DRAWS, answers_by_chance(n), rows)


def answers_by_chance(n: int) -> Simulation:
    """Simulate the tests of every adversarial figure if nothing has an effect."""

    def simulate(rng: np.random.Generator, draws: int) -> Outcomes:
        size = max(1, CELLS // n)
        chunks = [_tables(rng, n, min(size, draws - first)) for first in range(0, draws, size)]
        outcomes: Outcomes = {}
        for name in chunks[0]:
            tables = np.concatenate([chunk[name] for chunk in chunks])
            outcomes[name] = by_table(tables, _t if tables.shape[1] == VALUES else _mcnemar)
        return outcomes

    return simulate


def _tables(rng: np.random.Generator, n: int, draws: int) -> dict[str, Counts]:
    """Count the data of each test: cells of pairs (draws, 4), or frequencies of the values (draws, 1 + values)."""
    model = _Model(rng, (draws, n))
    halves = model.choose((0, 2)), model.choose((1, 3))
    whole = model.choose((0, 1, 2, 3))
    other = _Model(rng, (draws, n), like=model).choose((0, 1, 2, 3))
    counts = {
        f"first/{name}": table
        for name, table in _tested([{arm: attempts[0] for arm, attempts in whole.items()}]).items()
    }
    counts |= {f"selected/{name}": table for name, table in _tested([_attacked(whole, whole)]).items()}
    crossed = [_attacked(halves[0], halves[1]), _attacked(halves[1], halves[0])]
    counts |= {f"cross_fitted/{name}": table for name, table in _tested(crossed, exact=False).items()}
    counts |= {f"evaluator/{name}": table for name, table in _tested([_attacked(other, whole)], exact=False).items()}
    return counts


class _Model:
    """The answers of a model in all orders, by version, draw and question, as one number."""

    def __init__(self, rng: np.random.Generator, shape: tuple[int, int], like: _Model | None = None) -> None:
        """Draw them; `like` is a model that leans to the same options."""
        self.gold = like.gold if like else (rng.random(shape, dtype=np.float32) >= RIGHT).astype(np.int8)
        self.rank = like.rank if like else rng.integers(len(RANKS), size=shape, dtype=np.int8)
        drawn = rng.integers(len(CODES), size=(1 + len(ARMS) * ATTEMPTS, *shape), dtype=np.uint16)
        self.codes = CODES[drawn]

    def choose(self, orders: tuple[int, ...]) -> Attempts:
        """Say whether the option chosen over some orders is right: by arm, arrays (attempts, draws, questions)."""
        right = _choices(orders)[self.codes, self.rank] == self.gold
        arms = {arm: right[1 + place * ATTEMPTS :][:ATTEMPTS] for place, arm in enumerate(ARMS)}
        return {"neutral": right[:1], **arms}


RANKS = list(permutations(range(OPTIONS)))
"""The ways to rank the options; among equally frequent options, the first in rank is chosen."""
GIVEN = np.array(list(product(range(OPTIONS), repeat=ORDERS)))
"""The option given in each order (256, 4), by number: 0 is what the model leans to, 1 is right where 0 is not."""


def _codes() -> NDArray[np.uint8]:
    """Spread the numbers of GIVEN over 2 ** 16 equally likely places, as often as the model gives them."""
    chances = np.where(GIVEN == 0, KEPT, (1 - KEPT) / (OPTIONS - 1)).prod(axis=1)
    ends = np.rint(chances.cumsum() * 2**16).astype(int)
    return np.repeat(np.arange(len(GIVEN)), np.diff(ends, prepend=0)).astype(np.uint8)


CODES = _codes()


@cache
def _choices(orders: tuple[int, ...]) -> NDArray[np.int8]:
    """Tabulate the option with the most of some orders, (256, 24), by number and ranking."""
    votes = np.stack([(GIVEN[:, orders] == option).sum(axis=1) for option in range(OPTIONS)], axis=1)
    first = [[-rank.index(option) for option in range(OPTIONS)] for rank in RANKS]
    return (OPTIONS * votes[:, None] + np.array(first)[None]).argmax(axis=2).astype(np.int8)


def _attacked(choosing: Attempts, measuring: Attempts) -> Rights:
    """Select for each arm the first attempt that moves the choosing answers as intended, else the last."""
    rights = {"neutral": measuring["neutral"][0]}
    for arm in ARMS:
        now, was = choosing[arm], choosing["neutral"]
        moved = now & ~was if arm.endswith("f") else ~now & was
        place = np.where(moved.any(axis=0), moved.argmax(axis=0), ATTEMPTS - 1)
        rights[arm] = np.take_along_axis(measuring[arm], place[None], axis=0)[0]
    return rights


def _tested(runs: list[Rights], *, exact: bool = True) -> dict[str, Counts]:
    """Count the data of each figure's test; a question's value is its mean over the runs."""
    numbers = [{arm: right.astype(np.int8) for arm, right in run.items()} for run in runs]
    counts: dict[str, Counts] = {}
    for name, (first, second) in PAIRS.items():
        if exact:
            left, right_side = runs[0][first], runs[0][second]
            cells = (left & right_side, left & ~right_side, ~left & right_side, ~left & ~right_side)
            counts[name] = np.stack([cell.sum(axis=1) for cell in cells], axis=1)
        else:
            counts[name] = _sizes(sum(number[first] - number[second] for number in numbers) / len(runs))
    for name, contrast in CONTRASTS.items():
        if exact or name != "accuracy_ratio":
            counts[name] = _sizes(sum(contrast(number) for number in numbers) / len(runs))
    return counts


def _sizes(values: Array) -> Counts:
    """Count the questions of each draw by their value."""
    places = np.rint((values + 2) * STEPS).astype(np.int64)
    offsets = VALUES * np.arange(len(places))[:, None]
    return np.bincount((places + offsets).ravel(), minlength=VALUES * len(places)).reshape(len(places), VALUES)


def _mcnemar(row: list[int]) -> float:
    return rejects(paired.mcnemar_mid_p(PairedCells(*row)))


def _t(row: list[int]) -> float:
    return rejects(paired.paired_t(np.repeat(np.arange(len(row)) / STEPS - 2, row).tolist()))
