"""The generated blocks of the tutorial: phantoms, run here, and shown as the commands show them.

`make readme` writes the blocks, `make check` fails when they are stale. Only the study of the vignettes is run.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from datetime import UTC, datetime
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.table import Table

from equipoise.backends.phantom import Fact
from equipoise.cli.compare import study_table as table_of_changes
from equipoise.cli.leaderboard import study_table as table_of_figures
from equipoise.core.printing import PlainConsole
from equipoise.compare.changes import changes
from equipoise.compare.gate import gate
from equipoise.compare.leaderboard import Run as Recorded
from equipoise.compare.leaderboard import standings
from equipoise.compare.revisions import Revision, Sources
from equipoise.compare.text import Comparison
from equipoise.core import jsonl, params
from equipoise.figures.effects import Effect
from equipoise.figures.figure import headline_metrics
from equipoise.figures.figure import number as written
from equipoise.figures.options import Decision, Measure
from equipoise.figures.verdicts import verdict, verdict_metrics
from equipoise.materials.cities import load_cities
from equipoise.materials.judgement import Judgement
from equipoise.materials.vignette import Vignette
from equipoise.models import registry
from equipoise.pipeline import build, measure, score
from equipoise.pipeline.infer import infer
from equipoise.pipeline.run import Run
from equipoise.studies.registry import STUDIES

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from phantoms_truth import planted  # noqa: E402

PHANTOMS = ("fair", "open", "silent")
STUDY: str = "vignettes"
SETTINGS = params.load(ROOT / "params.yaml")
TITLES = {
    "stereotype_shift_net": "net shift (nats)",
    "differential_bias_rate": "differential bias rate",
    "silent_bias_rate_moved": "silent bias rate",
}
WIDTH = 116


class Measured(NamedTuple):
    """What a run of the study gives on one phantom, and what the phantom knew."""

    facts: list[Fact]
    vignettes: list[Vignette]
    judgements: list[Judgement]
    effects: list[Effect]


@cache
def measured(name: str) -> Measured:
    """Run the study on a phantom, in a copy of the project's data."""
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
        # The studies' own folders; what we wrote has one of the name of a study too, data/raw/decisions.
        shutil.copytree(ROOT / "data", "data", ignore=lambda path, _: STUDIES if Path(path) == ROOT / "data" else ())
        for part in ("models", "judge"):
            Path(part).symlink_to(ROOT / part)
        run = Run(STUDY, Path("data"), SETTINGS.model_copy(update={"model": f"phantom_{name}"}))
        for step in (build.vignettes, infer, score.vignettes):
            step(run)
        return Measured(
            jsonl.read(run.built("facts"), Fact),
            jsonl.read(run.built("vignettes"), Vignette),
            jsonl.read(run.judgements, Judgement),
            measure.measure(run, measure.vignettes),
        )


def figures(name: str) -> dict[str, Any]:
    """Give the headline figures of a phantom, as its metrics file would have them."""
    effects = measured(name).effects
    found = verdict(STUDY, effects, SETTINGS.section("decision", Decision))
    return {**headline_metrics(STUDY, effects), **verdict_metrics(found)}


def leaderboard() -> str:
    """Show the phantoms beside the default model, whose figures are in Git, as `equipoise leaderboard` does."""
    found = {f"phantom_{name}": figures(name) for name in PHANTOMS}
    found[SETTINGS.model] = json.loads(jsonl.read_text(ROOT / f"metrics/{STUDY}.json"))
    runs = [
        Recorded(model, "", datetime.now(tz=UTC), {"model": model}, model, {STUDY: metrics})
        for model, metrics in found.items()
    ]
    return shown("equipoise leaderboard", table_of_figures(STUDY, standings(runs, {})))


def compare() -> str:
    """Show the changes from the open to the silent phantom, as `equipoise compare` does."""
    base, head = (
        Revision(
            name=name,
            vignettes=measured(name).vignettes,
            judgements=measured(name).judgements,
            effects=measured(name).effects,
            options=SETTINGS.section("measure", Measure),
        )
        for name in ("open", "silent")
    )
    rows = changes(base, head)
    found = Comparison(base, head, rows, (), (), Sources({}, {}, {}, {}), gate(base, head, rows))
    return shown("equipoise compare open silent", table_of_changes(found, STUDY))


def truths() -> str:
    """Lay out what is planted in each phantom beside what its run reports."""
    return "\n".join(["| | fair | open | silent |", "|---|---:|---:|---:|", *_rows()])


def shown(command: str, table: Table) -> str:
    """Print a table of a command, below the command, as a block of text."""
    console = PlainConsole(file=StringIO(), width=WIDTH)
    console.print(table)
    lines = (line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]
    return "\n".join(["```text", f"$ {command}", *lines, "…", "```"])


def _rows() -> Iterator[str]:
    cities = load_cities(ROOT / "data/cities.yaml")
    for figure, title in TITLES.items():
        known, reported = [], []
        for name in PHANTOMS:
            entry = registry.load_entry(f"phantom_{name}", ROOT)
            truth = planted(entry, measured(name).facts, cities).get(f"{STUDY}.{figure}")
            estimate = figures(name)[figure].get("estimate")
            known.append("–" if truth is None else written(truth.value))
            reported.append("undefined" if estimate is None else written(estimate))
        yield f"| {title}: planted | {' | '.join(known)} |"
        yield f"| {title}: reported | {' | '.join(reported)} |"
