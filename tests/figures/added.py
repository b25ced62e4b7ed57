"""Print where a figure is found that `test_declared` added to a copy of the library, in which this runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer
from typer.testing import CliRunner

from builders import prompt
from equipoise.cli.results import results
from equipoise.compare.changes import changes
from equipoise.compare.leaderboard import Run as Recorded
from equipoise.compare.leaderboard import standings
from equipoise.compare.revisions import Revision
from equipoise.core import jsonl, params
from equipoise.figures.figure import headline_metrics
from equipoise.figures.layout import rows_of
from equipoise.figures.result import StudyResult
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.report.headlines import cards
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.comparison import VignetteRows
from runs import Case, vignette_rows

NAME, MEASURE = "vignettes.distractor_rate", "distractor_rate"
BASE = [Case()] * 12
HEAD = [Case("distractor")] * 9 + BASE[9:]


def measured(data: Path) -> StudyResult:
    """Write a small study and measure it."""
    settings = params.load()
    run = Run("vignettes", data, settings.model_copy(update={"build": settings.build | {"rereadings": []}}))
    vignettes, judgements, responses = vignette_rows(HEAD)
    for name in ("lexicon", "features"):
        data.mkdir(exist_ok=True)
        (data / name).symlink_to(Path("data", name).resolve())
    jsonl.write(run.built("vignettes"), vignettes)
    jsonl.write(run.built("tellings"), [])
    jsonl.write(run.built("prompts"), [prompt(row.key) for row in vignettes])
    jsonl.write(
        run.responses, [row.model_copy(update={"replies": ("One.",), "finished": (True,)}) for row in responses]
    )
    jsonl.write(run.judgements, judgements)
    return measure(run, step("vignettes", "measure"))


def revision(name: str, cases: list[Case]) -> Revision:
    """Make a revision of such a study."""
    vignettes, judgements, _ = vignette_rows(cases)
    return Revision(name=name, rows={"vignettes": VignetteRows(vignettes=vignettes, answers=judgements)})


def main(data: Path) -> None:
    """Print the figure as each place has it."""
    result = measured(data)
    jsonl.write(data / "vignettes/effects.jsonl", rows_of(result))
    metrics = headline_metrics(STUDIES["vignettes"].figures, result.effects, result.totals)
    (row,) = standings([Recorded("a", "", None, {"model": "a"}, "A", {"vignettes": metrics})], {})
    (card,) = [card for card in cards({"vignettes": result}, 0.05) if card.name == NAME]
    app = typer.Typer()
    app.command()(results)
    printed = json.loads(CliRunner().invoke(app, ["vignettes", "--data", str(data), "--json"]).stdout)
    (change,) = [
        candidate
        for candidate in changes(revision("base", BASE), revision("head", HEAD))
        if candidate.figure.name == NAME
    ]
    cell = row.figures[NAME]
    by_place = {
        "metrics": metrics[MEASURE],
        "leaderboard": [cell.estimate, cell.ci_low, cell.ci_high],
        "results": next(figure["estimate"] for figure in printed if figure["figure"] == NAME),
        "card": [card.value, card.page],
        "compare": {name: getattr(change, name) for name in ("base", "head", "change", "n", "p", "way")},
    }
    sys.stdout.write(json.dumps(by_place))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
