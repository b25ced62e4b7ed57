"""Time from a clone to the first figure and to all, beside an earlier revision on the same machine.

    PYTHONPATH=src python benchmarks/first.py

Both revisions are cloned and installed as the README says, one after the other, with pip's cache as it is. Before
`make look`, the first figure was that of `make repro STUDY=vignettes`. The script writes benchmarks/first.json;
`benchmarks/speed.py --render` writes the page. Some forty minutes on two idle cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import typer

sys.path.insert(0, str(Path(__file__).parent))
from speed import machine

from equipoise.core import stage
from equipoise.core.jsonl import write_json

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "benchmarks/first.json"
STEPS = {
    "install": ("make", ".venv/installed"),
    "pull": ("make", "pull"),
    "look": ("make", "look"),
    "vignettes": ("make", "repro", "STUDY=vignettes"),
    "all": ("make", "repro"),
    "phantom": ("make", "repro", "MODEL=phantom_silent"),
}
NOW, BEFORE = ("install", "look", "all", "phantom"), ("install", "vignettes", "all")
"""What is timed for this revision and for the earlier one, each step after the one before it."""


def main(base: str = "514cf09") -> None:
    """Time this revision's steps and those of BASE, which had no `make look`, and write the seconds."""
    figures = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine(), "base": base}
    timed = {
        "now": timings("HEAD", NOW),
        "pulled": timings("HEAD", ("install", "pull")),
        "before": timings(base, BEFORE),
    }
    write_json(FIGURES, figures | timed)


def timings(revision: str, steps: tuple[str, ...]) -> dict[str, float]:
    """Clone a revision, and time the steps there."""
    own = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    taken: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="equipoise-first-") as place:
        subprocess.run(("git", "clone", "--quiet", str(ROOT), place), check=True)  # noqa: S603, S607  (as a user does)
        subprocess.run(("git", "checkout", "--quiet", revision), cwd=place, check=True)  # noqa: S603, S607
        for step in steps:
            began = perf_counter()
            subprocess.run(STEPS[step], cwd=place, env=environment, check=True, stdout=2)  # noqa: S603
            taken[step] = round(perf_counter() - began, 1)
            typer.echo(f"{revision}, {step}: {taken[step]} s", err=True)
    return taken


if __name__ == "__main__":
    stage.run(main)
