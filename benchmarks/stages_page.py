"""The parts of the speed page that say what a run, a small change and a larger run cost."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SHARE, IDLE, HELP = 0.15, 5.0, 0.5
"""What is asked for: a new pair's share of the cold run's time, and seconds with nothing to do and for `--help`."""
CHANGES = {
    "idle": "nothing",
    "new_pair": "one pair of vignettes new",
    "new_alpha": "another `measure.alpha`",
}
STAGES = """## What a run costs

`dvc repro` in a fresh clone whose caches are empty (`benchmarks/stages.py`). The weights come from the installed
packages, so the network has no part in it. Every stage is a process of its own: peak memory is the most that it held at
any time, pages of mapped files (weights) included. DVC's own share is its start, its hashing, its copies, and most of
all dvc.lock, which it reads and writes whole after every stage.
"""
GROWTH = """## How it grows

![Seconds against prompts or rows, both scales logarithmic](../benchmarks/growth.svg)

`benchmarks/growth.py` runs every size of every step in a process of its own, on enlarged copies of a run's files. The
model of `infer` answers at once, so that what is left is our own cost of an answer, most of it the wait until the
answer is safe on the disk. *Kept* is the same work with every result in the cache. Of the texts that `score` judges, no
two are alike. The fixed part of `measure` is its imports and the bootstrap of the figures that do not grow. The last
column is what one more prompt or row takes between the two largest sizes.
"""
STEPS = {
    "infer": "infer",
    "infer_kept": "infer, kept",
    "score": "score",
    "score_kept": "score, kept",
    "measure": "measure",
}


def stage_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Write the cost of each stage, and of a run after small changes."""
    cold = found["cold"]
    yield STAGES
    yield "| stage | seconds | processor seconds | peak memory, MiB |"
    yield "| --- | ---: | ---: | ---: |"
    for row in cold["stages"]:
        yield f"| {row['stage']} | {row['seconds']:.1f} | {row['cpu_seconds']:.1f} | {row['peak_mib']:,} |"
    rest = {kind: cold[kind] - sum(row[kind] for row in cold["stages"]) for kind in ("seconds", "cpu_seconds")}
    yield f"| DVC's own | {rest['seconds']:.1f} | {rest['cpu_seconds']:.1f} | |"
    most = max(row["peak_mib"] for row in cold["stages"])
    yield f"| **together** | **{cold['seconds']:.1f}** | **{cold['cpu_seconds']:.1f}** | **{most:,}** |"
    yield (
        f"\nIt asked the model {cold['prompts_asked']:,} prompts, and the judge {cold['pairs_judged']:,} times whether "
        "a window entails a hypothesis. The same clone afterwards:\n"
    )
    yield "| changed | seconds | of the whole | prompts asked | hypotheses judged | stages that ran | asked |"
    yield "| --- | ---: | ---: | ---: | ---: | --- | --- |"
    verdicts = {
        "idle": _verdict(f"{IDLE:g} s", found["idle"]["seconds"], IDLE),
        "new_pair": _verdict(f"{SHARE:.0%}", found["new_pair"]["seconds"], SHARE * cold["seconds"]),
    }
    for name, what in CHANGES.items():
        run = found[name]
        ran = ", ".join(row["stage"] for row in run["stages"]) or "none"
        cells = [what, f"{run['seconds']:.1f}", f"{run['seconds'] / cold['seconds']:.1%}"]
        yield _row([*cells, run["prompts_asked"], run["pairs_judged"], ran, verdicts.get(name, "")])
    helped = found["help"]
    verdict = _verdict(f"{HELP:g} s", helped["seconds"], HELP)
    yield (
        "\nThe new pair takes the place of another, since the core's size is fixed. The figure for nothing is the "
        f"median of {found['idle']['runs']} runs. `equipoise --help` takes {helped['seconds']:.2f} s, "
        f"the median of {helped['runs']} ({verdict})."
    )


def growth_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Write the cost of each step at each size."""
    yield GROWTH
    yield "| step | prompts or rows | seconds | processor seconds | peak memory, MiB | one more, ms |"
    yield "| --- | --- | --- | --- | --- | ---: |"
    order = list(STEPS)
    steps = sorted(found["steps"], key=lambda row: (order.index(row["step"]), row["n"]))
    for step, group in groupby(steps, lambda row: row["step"]):
        rows = [row | {"n": row.get("rows", row["n"])} for row in group]
        figures = [
            " / ".join(_short(row[kind]) for row in rows) for kind in ("n", "seconds", "cpu_seconds", "peak_mib")
        ]
        yield _row([STEPS[step], *figures, _slope(rows)])


def _slope(rows: Sequence[Mapping[str, Any]]) -> str:
    """Milliseconds that one more takes between the two largest sizes; empty where there is one size alone."""
    if len(rows) < 2:  # noqa: PLR2004  (a slope has two ends)
        return ""
    less, more = rows[-2:]
    return f"{1000 * (more['seconds'] - less['seconds']) / (more['n'] - less['n']):.2f}"


def _short(value: float) -> str:
    """Round to three figures, a large number to the unit."""
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"  # noqa: PLR2004  (three figures)


def _verdict(asked: str, seconds: float, most: float) -> str:
    return f"{asked}: {'reached' if seconds <= most else 'missed'}"


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |".replace("|  |", "| |")
