"""What the benchmarks of operating characteristics share: settings, command line, two processes, the file of rows."""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from equipoise.core.params import load
from equipoise.figures.options import Decision, Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


@cache
def settings() -> tuple[Decision, Measure]:
    """The declared endpoint and the level of the figures."""
    loaded = load()
    return loaded.section("decision", Decision), loaded.section("measure", Measure)


def main(
    description: str | None,
    run: Callable[[str, str, int], dict[str, Any]],
    models: Iterable[str],
    sizes: Iterable[str],
    out: Path,
) -> None:
    """Run every model at every size, and replace their rows in a file.

    `run` draws a model's studies of one size so many times, and counts the verdicts.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--sizes", nargs="+", default=[*sizes])
    parser.add_argument("--only", default="", help="part of a model's name; the rows of all others stay")
    own = parser.parse_args()
    jobs = [(name, size) for name in models for size in own.sizes if own.only in name]
    rows = []
    with ProcessPoolExecutor(2) as pool:
        for row in pool.map(partial(_job, run, own.draws), jobs):
            rows.append(row)
            sys.stdout.write(f"{row['model']:55} {row['size']:17} {row['verdicts']} {row['because']}\n")
            sys.stdout.flush()
    order = {job: place for place, job in enumerate((name, size) for name in models for size in sizes)}
    kept = [row for row in _read(out) if _place(row) in order and _place(row) not in {*map(_place, rows)}]
    rows = sorted([*kept, *rows], key=lambda row: order[_place(row)])
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _job(run: Callable[[str, str, int], dict[str, Any]], draws: int, job: tuple[str, str]) -> dict[str, Any]:
    return run(*job, draws)


def _place(row: dict[str, Any]) -> tuple[str, str]:
    return row["model"], row["size"]


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
