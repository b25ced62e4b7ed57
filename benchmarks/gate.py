"""False *not worse* and *worse* at the margin, and the power of *worse*, of changes of several shapes: `gate.jsonl`.

    python benchmarks/gate.py            # simulate and write benchmarks/gate.jsonl, about five minutes
    python benchmarks/gate.py --table    # print the table of docs/verdicts.md from it

BASE has no bias; HEAD differs by a change whose mean is a multiple of the margin. The library's own `judge_change` and
`unseen` judge the values, as the gate does for one component.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.compare.judging import Shared, judge_change, unseen
from equipoise.core import jsonl
from equipoise.core.row import Frozen
from equipoise.figures.figure import Figure
from equipoise.figures.options import Component, Measure
from equipoise.figures.result import UNDECIDED
from equipoise.figures.verdicts import NOT_WORSE, WORSE, ChangeWord

ROWS = Path(__file__).parent / "gate.jsonl"
DRAWS, LARGE = 1_000, 100
"""Draws at the margin, a fifth as many elsewhere; half as many for more than so many items."""
FEW = 0.1
"""Share of items that a sparse change moves, per margin."""
ALPHA = 0.05
NATS, SHARE = 0.5, 0.05
"""Margins: of a figure in nats, and of a share."""
Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, float], Array]
"""Draws the changes of n items; the last argument is their mean, in margins."""


class Shape(NamedTuple):
    """A distribution of changes: its name, the figure's margin, the sizes, and how it is drawn."""

    name: str
    margin: float
    sizes: tuple[int, ...]
    draw: Draw


class Simulated(Frozen):
    """One shape at one size: shares of draws. `fair` has a change of 0, `double` one of two margins."""

    shape: str
    n: int
    draws: int
    false_not_worse: float
    false_worse: float
    not_worse_fair: float
    worse_double: float


def _lognormal(rng: np.random.Generator, n: int, mean: float) -> Array:
    return rng.lognormal(-0.5, 1.0, n) * mean


def _flips(rng: np.random.Generator, n: int, mean: float, noise: float) -> Array:
    """Lose one answer in twenty per margin; `noise` is the share of questions that flip by a sixth either way."""
    lost = (rng.random(n) < SHARE * mean).astype(float)
    return (lost + rng.choice([1.0, -1.0, 0.0], n, p=[noise / 2, noise / 2, 1 - noise]) / 6) / SHARE


VIGNETTES, QUESTIONS = (26, 41, 137), (19, 66, 126)
"""Pairs of decisions, of the core, and stories of the library; questions as shipped, half of them, and all."""
SHAPES = (
    Shape("normal, sd 1.6 margins", NATS, VIGNETTES, lambda rng, n, mean: mean + 1.6 * rng.normal(size=n)),
    Shape("exponential", NATS, VIGNETTES, lambda rng, n, mean: rng.exponential(1.0, n) * mean),
    Shape("lognormal, skewness 6", NATS, VIGNETTES, _lognormal),
    Shape("lognormal, tail to the better", NATS, VIGNETTES, lambda rng, n, mean: 2 * mean - _lognormal(rng, n, mean)),
    Shape(
        "sparse: 10 % by ten margins",
        NATS,
        VIGNETTES,
        lambda rng, n, mean: 10.0 * (rng.random(n) < FEW * mean) + 0.2 * rng.normal(size=n),
    ),
    Shape("flips alone: 5 % of questions", SHARE, QUESTIONS, lambda rng, n, mean: _flips(rng, n, mean, 0.0)),
    Shape("flips, and 15 % by 1/6 by chance", SHARE, QUESTIONS, lambda rng, n, mean: _flips(rng, n, mean, 0.15)),
)


def judge(shape: Shape, changes: Array, rng: np.random.Generator) -> ChangeWord:
    """Judge changes, in margins, from a run without bias, as the gate judges a component."""
    nats = shape.margin == NATS
    base = 0.2 * shape.margin * rng.normal(size=len(changes)) if nats else np.zeros(len(changes))
    figure = Figure(
        name="x.y", measure="y", title="y", null=0.0, places=2 if nats else 3, value=float, unit="items", change="mean"
    )
    values = [side.round(6).tolist() for side in (base, base + shape.margin * changes)]
    shared = Shared(values[0], values[1], [str(number) for number in range(len(changes))])
    component = Component(margin=shape.margin, why="simulated")
    word = judge_change(figure, shared, component, Measure(alpha=ALPHA), ALPHA)
    return UNDECIDED if word == NOT_WORSE and unseen(figure, shared, shape.margin, ALPHA) else word


def simulate(shape: Shape, n: int, seed: int = 0) -> Simulated:
    """Simulate one shape at one size."""
    rng, total = np.random.default_rng([seed, n, SHAPES.index(shape)]), DRAWS if n <= LARGE else DRAWS // 2

    def shares(draw: Callable[[], Array], draws: int) -> dict[str, float]:
        words = [judge(shape, draw(), rng) for _ in range(draws)]
        return {word: words.count(word) / draws for word in (NOT_WORSE, WORSE)}

    margin = shares(lambda: shape.draw(rng, n, 1.0), total)
    double = shares(lambda: shape.draw(rng, n, 2.0), total // 5)
    # As many changes of half the size to the worse as to the better.
    fair = shares(lambda: (shape.draw(rng, n, 1.0) - shape.draw(rng, n, 1.0)) / 2, total // 5)
    return Simulated(
        shape=shape.name,
        n=n,
        draws=total,
        false_not_worse=margin[NOT_WORSE],
        false_worse=margin[WORSE],
        not_worse_fair=fair[NOT_WORSE],
        worse_double=double[WORSE],
    )


def table(rows: list[Simulated]) -> str:
    """Lay the rows out for docs/verdicts.md."""
    titles = (
        "| changes | n | false *not worse* | false *worse* | *worse* at two margins | *not worse* without a change |"
    )
    lines = [titles, "|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        figures = (row.false_not_worse, row.false_worse, row.worse_double, row.not_worse_fair)
        lines.append(f"| {row.shape} | {row.n} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |")
    return "\n".join(lines)


def read() -> list[Simulated]:
    """Read the committed rows."""
    return [Simulated.model_validate_json(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]


def main(arguments: list[Any]) -> None:
    """Simulate and write the rows, or print the table."""
    if "--table" not in arguments:
        rows = [simulate(shape, n) for shape in SHAPES for n in shape.sizes]
        jsonl.write_text(ROWS, "".join(f"{row.model_dump_json()}\n" for row in rows))
    print(table(read()))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
