"""Reliability under faults: kills, full disks, clock jumps, runs at once, damaged caches, faulty servers, bad input.

    PYTHONPATH=src python benchmarks/faults.py server inputs --trials 200

runs the named parts, by default all, in temporary clones of the last commit, and writes benchmarks/faults.json and
docs/reliability.md. A trial's random stream is named after seed, part and number: with `--first 7 --trials 1 --trial`
the trial 7 of a part is repeated alone, and its outcome is shown and not written. `--render` only writes the page.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import typer

sys.path.insert(0, str(Path(__file__).parent))
from faults_inputs import inputs
from faults_locks import experiments, locks, readonly, sweep
from faults_runs import ROOT, Draws, Outcome, SkippedError, caches, clock, disk, kills, queue
from faults_server import server
from speed import machine

from equipoise.core import stage
from equipoise.core.jsonl import read_text, write_json, write_text
from equipoise.core.visible import markdown

FIGURES, PAGE = ROOT / "benchmarks/faults.json", ROOT / "docs/reliability.md"
SEED = 2026
LONGEST = 400
"""Characters of a failure's description on the page."""


class Part(NamedTuple):
    """A kind of fault: its trials, and how many there are by default.

    The docstring of `trials` is on the page: it says what is done, and its last paragraph what must hold.
    """

    trials: Callable[[Path, Draws], Iterator[Outcome]]
    number: int


PARTS = {
    "kills": Part(kills, 24),
    "locks": Part(locks, 64),
    "disk": Part(disk, 8),
    "readonly": Part(readonly, 9),
    "clock": Part(clock, 4),
    "queue": Part(queue, 2),
    "sweep": Part(sweep, 2),
    "experiments": Part(experiments, 6),
    "caches": Part(caches, 60),
    "server": Part(server, 300),
    "inputs": Part(inputs, 180),
}
PREFACE = """# Reliability under faults

This page shows how a run behaves when something around it fails. `make faults` repeats every trial (with
`PARTS="server inputs"` only some parts, with `TRIALS=3` fewer trials); this page is generated from
[`faults.json`](../benchmarks/faults.json). A trial's random stream is named after seed, part and number:
`PYTHONPATH=src python benchmarks/faults.py PART --first NUMBER --trials 1 --trial` repeats it alone, with everything
but the machine's speed the same. Trials cannot show the absence of faults: if none of 60 failed, the 95 % upper limit
of the failure rate is still 5 %.
"""


def main(
    parts: Annotated[list[str] | None, typer.Argument()] = None,
    *,
    trials: int = 0,
    first: int = 0,
    seed: int = SEED,
    trial: bool = False,
    render: bool = False,
) -> None:
    """Run TRIALS of the PARTS, from number FIRST on, and write figures and page; --trial: only show the outcomes."""
    figures: dict[str, Any] = json.loads(read_text(FIGURES)) if FIGURES.exists() else {}
    with tempfile.TemporaryDirectory(prefix="equipoise-faults-") as place:
        for name in () if render else parts or PARTS:
            result = figures[name] = describe_run(seed, first)
            for number, outcome in run_trials(name, Path(place), result, trials or PARTS[name].number):
                typer.echo(f"{name} {number}: {outcome.what}: {'; '.join(outcome.problems) or 'passed'}", err=True)
                if not trial:
                    write_json(FIGURES, {part: figures[part] for part in PARTS if part in figures})
    if not trial:
        write_json(FIGURES, {part: figures[part] for part in PARTS if part in figures})
        write_text(PAGE, page_of(figures))


def describe_run(seed: int, first: int) -> dict[str, Any]:
    """Describe the date, the commit and the machine of the trials."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],  # noqa: S607  (Git)
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    when = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit.stdout.strip(), "machine": machine()}
    return {**when, "seed": seed, "first": first, "trials": 0, "failures": []}


def run_trials(name: str, place: Path, result: dict[str, Any], trials: int) -> Iterator[tuple[int, Outcome]]:
    """Run the trials of a part, and record each outcome in its figures."""
    numbers = range(result["first"], result["first"] + trials)
    draws = ((number, random.Random(f"{result['seed']}/{name}/{number}")) for number in numbers)  # noqa: S311  (no secret)
    began = perf_counter()
    try:
        for number, outcome in zip(numbers, PARTS[name].trials(place, draws), strict=False):
            result["trials"] += 1
            result["seconds"] = round(perf_counter() - began)
            if outcome.problems:
                result["failures"].append({"number": number, **outcome._asdict()})
            yield number, outcome
    except SkippedError as error:
        result["skipped"] = str(error)


def page_of(figures: Mapping[str, Any]) -> str:
    """Write the page."""
    lines = [PREFACE, "## Results\n"]
    lines += ["| part | what is done | what must hold | seeds | trials | passed |", "|---|---|---|---|---:|---:|"]
    failures: list[str] = []
    machines: dict[str, list[str]] = {}
    for name, part in PARTS.items():
        if not (result := figures.get(name)):
            continue
        seeds, passed = "", "skipped"
        if trials := result["trials"]:
            seeds = f"`{result['seed']}/{name}/{result['first']}` to `{result['first'] + trials - 1}`"
            passed = f"{trials - len(result['failures'])}"
        *done, holds = (" ".join(paragraph.split()) for paragraph in str(part.trials.__doc__).split("\n\n"))
        lines.append(f"| {name} | {' '.join(done)} | {holds} | {seeds} | {trials} | {passed} |")
        if "skipped" in result:
            failures.append(f"- {name} was skipped: {result['skipped']}")
        for failed in result["failures"]:
            paragraph = f"{failed['what']}: {'; '.join(failed['problems'])}"
            failures.append(f"- `{result['seed']}/{name}/{failed['number']}`: {markdown(paragraph[:LONGEST])}")
        where = f"{result['date']}, commit {result['commit']}, {of_machine(result['machine'])}"
        machines.setdefault(where, []).append(name)
    lines += ["", "## Failures", "", *(failures or ["None."]), "", "## Measured on", ""]
    lines += [f"- {', '.join(names)}: {where}" for where, names in machines.items()]
    return "\n".join(lines) + "\n"


def of_machine(machine: Mapping[str, Any]) -> str:
    """Name the class of machine."""
    return f"{machine['cores']} cores of {machine['processor']}, Python {machine['python']}."


if __name__ == "__main__":
    stage.run(main)
