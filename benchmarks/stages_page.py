"""The parts of the performance page about the cost of a run, of a small change and of larger input."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SHARE, IDLE, HELP = 0.15, 5.0, 0.5
"""Targets: a new pair's fraction of the cold run's time, and seconds for a run without changes and for `--help`."""
CHANGES = {
    "idle": "nothing",
    "new_pair": "one new pair of vignettes",
    "new_alpha": "another `measure.alpha`",
}
FIRST, ALL, PHANTOM = 0.35, 0.6, 40.0
"""Targets: times to the first figure and to all as fractions of those before, and seconds for a phantom."""
WAY = """## From a clone to the first figure

The table gives seconds in a fresh clone on two idle cores (`benchmarks/first.py`). The steps run one after the other,
so the times to the first figure and to all figures include the installation and the steps before. `make pull` was timed
in a separate clone: it restores the committed run and asks the model nothing. `make look` asks the model what a first
look needs, and `make repro` asks the rest. The column *before* is revision {base}, which had neither `make pull` nor
`make look`. With its settings, the model gets the same prompts except those of `controls` in `build.rereadings`. A run
of everything has not become faster since that revision.
"""
STAGES = """## Cost of a run

`dvc repro` in a fresh clone with empty caches (`benchmarks/stages.py`). The weights come from the installed packages,
so the network is not used. Every stage is a separate process; its peak memory includes pages of memory-mapped files
(weights). DVC's overhead is its start, hashing, copying, and above all dvc.lock, which it reads and rewrites after
every stage. These are measurements of 26 November 2026, on another processor and an earlier revision than those of the
table above.
"""
GROWTH = """## Scaling

![Seconds against prompts or rows, both axes logarithmic](../benchmarks/growth.svg)

`benchmarks/growth.py` runs each size of each step in a separate process: `score` and `measure` on enlarged copies of a
run's files, `infer` on prompts of 1.2 kB. A stand-in for the model answers the prompts of `infer` immediately, so only
Equipoise's own overhead remains. *Cached* is the same work with every result in the cache. All texts that `score`
judges are distinct. The fixed cost of `measure` comes from its imports and from the bootstrap of figures that do not
grow with the number of rows. *Marginal* is the time per prompt or row between the two largest sizes.
A later run of `infer` over a million prompts took 429 seconds of a processor and 956 MiB at its peak.
"""
STEPS = {
    "infer": "infer",
    "infer_kept": "infer, cached",
    "score": "score",
    "score_kept": "score, cached",
    "measure": "measure",
}


def first_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    """Format the way to the first figure and to all, beside an earlier revision."""
    now, pulled, before = figures["now"], figures["pulled"], figures["before"]
    restored = pulled["install"] + pulled["pull"]
    look, first = now["install"] + now["look"], before["install"] + before["vignettes"]
    everything, all_before = look + now["all"], first + before["all"]
    yield WAY.format(base=figures["base"])
    yield "| to | seconds | before | ratio | target |"
    yield "| --- | ---: | ---: | ---: | --- |"
    yield _row(["installation", f"{now['install']:.0f}", f"{before['install']:.0f}", "", ""])
    yield _row(["all figures, `make pull`", f"{restored:.0f}", "", "", ""])
    for name, seconds, earlier, target in (
        ("the first figure, `make look`", look, first, FIRST),
        ("all figures, `make look` and `make repro`", everything, all_before, ALL),
    ):
        ratio = seconds / earlier
        reached = _verdict(f"{target:g}", ratio, target)
        yield _row([name, f"{seconds:.0f}", f"{earlier:.0f}", f"**{ratio:.2f}**", reached])
    yield _row(
        ["five studies of a phantom", f"{now['phantom']:.0f}", "", "", _verdict("40 s", now["phantom"], PHANTOM)]
    )


def stage_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    """Format the cost of each stage, and of a run after small changes."""
    cold = figures["cold"]
    yield STAGES
    yield "| stage | study | seconds | processor seconds | peak memory, MiB |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for row in cold["stages"]:
        stage, _, study = row["stage"].partition("@")
        yield _row([stage, study, f"{row['seconds']:.1f}", f"{row['cpu_seconds']:.1f}", f"{row['peak_mib']:,}"])
    rest = {kind: cold[kind] - sum(row[kind] for row in cold["stages"]) for kind in ("seconds", "cpu_seconds")}
    yield f"| DVC's overhead | | {rest['seconds']:.1f} | {rest['cpu_seconds']:.1f} | |"
    most = max(row["peak_mib"] for row in cold["stages"])
    yield f"| **total** | | **{cold['seconds']:.1f}** | **{cold['cpu_seconds']:.1f}** | **{most:,}** |"
    first = figures["first"]["seconds"]
    yield (
        f"\nThe first figures, those of `dvc repro measure@vignettes`, took {first:.0f} s, not counting the "
        f"installation. The model answered {cold['prompts_asked']:,} prompts. Later runs in the same clone:\n"
    )
    yield "| changed | seconds | of the cold run | prompts | stages that ran | target |"
    yield "| --- | ---: | ---: | ---: | --- | --- |"
    verdicts = {
        "idle": _verdict(f"{IDLE:g} s", figures["idle"]["seconds"], IDLE),
        "new_pair": _verdict(f"{SHARE:.0%}", figures["new_pair"]["seconds"], SHARE * cold["seconds"]),
    }
    for name, what in CHANGES.items():
        run = figures[name]
        ran = ", ".join(dict.fromkeys(row["stage"].partition("@")[0] for row in run["stages"])) or "none"
        cells = [what, f"{run['seconds']:.1f}", f"{run['seconds'] / cold['seconds']:.1%}"]
        yield _row([*cells, run["prompts_asked"], ran, verdicts.get(name, "")])
    helped = figures["help"]
    verdict = _verdict(f"{HELP:g} s", helped["seconds"], HELP)
    yield (
        "\nThe new pair replaces another, since the size of the core profile is fixed. The run without changes is the "
        f"median of {figures['idle']['runs']}. `equipoise --help` takes {helped['seconds']:.2f} s, "
        f"the median of {helped['runs']} ({verdict})."
    )


def growth_lines(figures_by_step: Mapping[str, Any]) -> Iterator[str]:
    """Format the cost of each step at each size."""
    yield GROWTH
    yield "| step | prompts or rows | seconds | processor seconds | peak memory, MiB | marginal, ms |"
    yield "| --- | --- | --- | --- | --- | ---: |"
    order = list(STEPS)
    steps = sorted(figures_by_step["steps"], key=lambda row: (order.index(row["step"]), row["n"]))
    for step, group in groupby(steps, lambda row: row["step"]):
        rows = [row | {"n": row.get("rows", row["n"])} for row in group]
        figures = [
            " / ".join(_short(row[kind]) for row in rows) for kind in ("n", "seconds", "cpu_seconds", "peak_mib")
        ]
        yield _row([STEPS[step], *figures, _slope(rows)])


def _slope(rows: Sequence[Mapping[str, Any]]) -> str:
    """Marginal milliseconds between the two largest sizes; empty if there is only one size."""
    if len(rows) < 2:  # noqa: PLR2004  (a slope has two ends)
        return ""
    less, more = rows[-2:]
    return f"{1000 * (more['seconds'] - less['seconds']) / (more['n'] - less['n']):.2f}"


def _short(value: float) -> str:
    """Round to three significant figures, a large number to an integer."""
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"  # noqa: PLR2004  (three figures)


def _verdict(target: str, seconds: float, most: float) -> str:
    return f"{target}: {'reached' if seconds <= most else 'missed'}"


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |".replace("|  |", "| |")
