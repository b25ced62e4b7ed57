"""Cost of a run from nothing, stage by stage, and of small changes after it: seconds, processor seconds, peak memory.

    PYTHONPATH=src python benchmarks/stages.py

The last commit is cloned into a temporary folder with empty caches of its own, ours and DVC's; the weights come from
the installed packages. `dvc repro` then runs there as it does for a user: one study from nothing, then the others, with
nothing to do, with one new pair of vignettes, and with another parameter of the analysis. Each stage is a separate
process, measured by stage_usage.py; the rest of the total is DVC's overhead (it hashes files and keeps copies). The
script writes benchmarks/stages.json; `benchmarks/speed.py --render` writes the page. Some twenty minutes on two idle
cores, and 2 GB on the disk. `--trial` tries the whole way in a few minutes, on a small run whose figures are shown and
not written.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from speed import machine

from equipoise.core import stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text, write_json, write_text
from equipoise.core.yamlfile import read_yaml
from equipoise.materials.stories.compose import misfit
from equipoise.materials.stories.library import load_library

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "benchmarks/stages.json"
FIRST = "vignettes"
"""The study that the README's first command runs alone."""
ADDED = "race-added"
"""The id of the new pair."""
IDLE_RUNS, HELPS = 3, 5
"""Repetitions of quick commands; the median counts."""
KEPT = {"prompts_asked": "response"}
"""The tables of our caches, each in a file named after its plural, by the work that a new row represents."""
TRIAL: dict[str, dict[str, dict[str, Any]]] = {
    "params.yaml": {
        "neutralize": {"limit": 2},
        "sample": {"per_city": 1},
        "fill": {"scorer": "none"},
        "measure": {"n_bootstrap": 200},
    },
    "models/smollm2.yaml": {"generation": {"reasoning_tokens": 4, "answer_tokens": 4}},
}


def main(out: Path = FIGURES, *, trial: bool = False) -> None:
    """Measure in a clone of the last commit, and write the figures to OUT."""
    figures: dict[str, Any] = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine()}
    with tempfile.TemporaryDirectory(prefix="equipoise-stages-") as place:
        project = clone_repository(ROOT, Path(place))
        if trial:
            for name, sections in TRIAL.items():
                change(project.folder / name, sections)
        for name, cost in costs(project):
            figures[name] = cost
            typer.echo(f"{name}: {json.dumps(cost)}", err=True)
    if trial:
        typer.echo("a trial: no figure is written", err=True)
    else:
        write_json(out, figures)


@dataclass(frozen=True)
class Project:
    """A clone and the environment in which its commands run; the stages note what they used in `notes`."""

    folder: Path
    environment: dict[str, str]
    notes: Path

    def repro(self, *options: str) -> dict[str, Any]:
        """Run `dvc repro`; return the resource use of all its processes, the stages that ran, and new cache rows."""
        self.notes.unlink(missing_ok=True)
        before, counts = _cpu_seconds(), self.kept()
        began = perf_counter()
        # What DVC and the stages print is progress.
        code = subprocess.call([sys.executable, "-m", "dvc", "repro", *options], stdout=2, **self._place())  # noqa: S603  (DVC)
        seconds = perf_counter() - began
        ran = [json.loads(line) for line in read_text(self.notes).splitlines()] if self.notes.exists() else []
        if code:
            last = f"last stage {ran[-1]['stage']}" if ran else "before any stage"
            message = (
                f"dvc repro stopped with exit code {code}, {last}: fix the fault in its output above, then run again"
            )
            raise EquipoiseError(message)
        gained = {name: count - counts[name] for name, count in self.kept().items()}
        used = {"seconds": round(seconds, 3), "cpu_seconds": round(_cpu_seconds() - before, 3)}
        return {**used, **gained, "stages": ran}

    def kept(self) -> dict[str, int]:
        """Count the rows of our caches; there are none in a cache that is not there yet."""
        return {name: _rows(self.folder / f".cache/{table}s.sqlite", table) for name, table in KEPT.items()}

    def help_seconds(self) -> float:
        """Time `equipoise --help`."""
        began = perf_counter()
        command = [sys.executable, "-c", "from equipoise.cli.app import app; app()", "--help"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **self._place())  # noqa: S603  (the project's own)
        return perf_counter() - began

    def _place(self) -> dict[str, Any]:
        return {"cwd": self.folder, "env": self.environment}


def clone_repository(source: Path, place: Path) -> Project:
    """Clone a repository's last commit, and replace only its `python`; nothing outside `place` is written.

    Settings of DVC outside the repository, such as a shared cache, do not count.
    """
    folder, bin_folder = place / "clone", place / "bin"
    subprocess.run(["git", "clone", "--quiet", str(source), str(folder)], check=True)  # noqa: S603, S607  (as a user does)
    bin_folder.mkdir()
    stand_in = bin_folder / "python"
    started = shlex.join([sys.executable, "-I", "-S", str(ROOT / "benchmarks/stage_usage.py")])
    write_text(stand_in, f'#!/bin/sh\nexec {started} "$@"\n')
    stand_in.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DVC_", "PYTHON"))}
    environment |= {
        f"DVC_{kind}": str(place / kind) for kind in ("SITE_CACHE_DIR", "GLOBAL_CONFIG_DIR", "SYSTEM_CONFIG_DIR")
    }
    folders = (bin_folder, Path(sys.executable).parent, environment["PATH"])
    environment |= {
        "DVC_NO_ANALYTICS": "1",
        "PATH": os.pathsep.join(map(str, folders)),
        "PYTHONPATH": str(folder / "src"),
        "STAGE_USAGE": str(place / "usage.jsonl"),
    }
    return Project(folder, environment, place / "usage.jsonl")


def costs(project: Project) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the cost of each kind of run by its name, in the order in which they must be made."""
    first = project.repro("--force", f"measure@{FIRST}")
    yield "first", first
    rest = project.repro()
    yield "cold", {name: first[name] + rest[name] for name in first}
    idle = [project.repro() for _ in range(IDLE_RUNS)]
    yield "idle", {**sorted(idle, key=lambda run: run["seconds"])[IDLE_RUNS // 2], "runs": IDLE_RUNS}
    add_pair(project.folder / "data/raw")
    yield "new_pair", project.repro()
    change(project.folder / "params.yaml", {"measure": {"alpha": 0.1}})
    yield "new_alpha", project.repro()
    yield "help", {"seconds": round(median(project.help_seconds() for _ in range(HELPS)), 3), "runs": HELPS}


def add_pair(raw: Path) -> None:
    """Replace the first pair of the core, whose size is fixed, with the same pair with another persona."""
    library = load_library(raw)
    first = next(pair for pair in library.pairs.values() if pair.core)
    taken = {pair.persona for pair in library.pairs.values() if pair.presentation == first.presentation}
    others = [
        first.model_copy(update={"id": ADDED, "persona": persona})
        for persona in library.personas
        if persona not in taken
    ]
    added = next((pair for pair in others if misfit(library.parts(pair)) is None), None)
    if added is None:
        message = f"{raw / 'pairs.yaml'}: {first.id}: no other persona fits its case: make another pair the first"
        raise EquipoiseError(message)
    pairs = [pair.model_copy(update={"core": pair.core and pair.id != first.id}) for pair in library.pairs.values()]
    _write_yaml(raw / "pairs.yaml", {"pairs": [pair.model_dump(mode="json") for pair in (*pairs, added)]})


def change(path: Path, sections: dict[str, dict[str, Any]]) -> None:
    """Change values in sections of a YAML file; its comments go."""
    content: Any = read_yaml(path)
    for section, values in sections.items():
        content[section] |= values
    _write_yaml(path, content)


def _write_yaml(path: Path, content: object) -> None:
    write_text(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _rows(path: Path, table: str) -> int:
    """Count a table's rows in an SQLite file; without the file there are none."""
    if not path.is_file():
        return 0
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])  # noqa: S608  (a constant)


def _cpu_seconds() -> float:
    """Processor seconds of all processes that this one started and that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    stage.run(main)
