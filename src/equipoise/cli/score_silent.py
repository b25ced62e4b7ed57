"""`equipoise score silent`: the silent bias rate of outputs that were saved before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cases.outputs import read_outputs, require_cases
from equipoise.cases.rows import read_cases
from equipoise.cases.score import judge_outputs
from equipoise.cli.printing import print_json
from equipoise.core import cache, params
from equipoise.core.progress import progress
from equipoise.judge.lexicon import FOLDER, load_lexicon
from equipoise.judge.score import Score
from equipoise.metrics.cases import Mode, score_judged, score_legacy
from equipoise.text.diagnoses import FILE, load_diagnoses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.table import Table

    from equipoise.cases.outputs import Output
    from equipoise.cases.rows import Case

ALPHA = 0.05
"""One less the confidence level, which is that of the published intervals."""
NOTES = {
    "legacy": "legacy: label anywhere in the output, of either arm; for comparison with published figures only",
    "nli": "nli: the answer stated, of marginalised patients; silent where the reasoning neither weighs nor dismisses",
}


def score_silent(
    files: Annotated[
        list[Path], typer.Argument(help="Saved outputs, JSONL, a file a model.", metavar="OUTPUTS…", show_default=False)
    ],
    cases: Annotated[Path, typer.Option(help="The cases asked: JSON as published, or imported JSONL.")],
    *,
    mode: Annotated[Mode, typer.Option(help="Read by the judge, or by the published keyword practice.")] = "nli",
    features: Annotated[Path, typer.Option(help="Folder of the words for each feature.")] = Path(FOLDER),
    diagnoses: Annotated[Path, typer.Option(help="File of the names of each diagnosis.")] = Path(FILE),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a file.")] = False,
) -> None:
    """Score saved outputs: how many biased answers are silent about the patient's feature.

    The cases have one arm each, so that no paired figure applies.
    """
    asked = {case.key: case for case in read_cases(cases)}
    tables = {str(path): read_outputs(path) for path in files}
    for name, outputs in tables.items():
        require_cases(name, outputs, asked)
    score = _legacy if mode == "legacy" else _judged(features, diagnoses)
    scored = []
    with progress("score") as move:
        for name, outputs in tables.items():
            scored.append(score(name, outputs, asked))
            move(len(scored), len(tables))
            if as_json:
                print_json(scored[-1])
    if not as_json:
        from rich.console import Console

        console = Console()
        console.print(_table(scored, mode))
        for line in (*map(_beside, scored), NOTES[mode] + "; one arm a case, so no paired figure applies"):
            console.print(line, soft_wrap=True, highlight=False)


def _legacy(name: str, outputs: Sequence[Output], asked: Mapping[str, Case]) -> dict[str, Any]:
    return score_legacy(name, outputs, asked, alpha=ALPHA)


def _judged(features: Path, diagnoses: Path) -> Callable[[str, Sequence[Output], Mapping[str, Case]], dict[str, Any]]:
    """Load the judge that params.yaml names, with its settings; what is missing is told before any work."""
    from equipoise.judge.model import load_judge
    from equipoise.metrics.options import judge_errors

    settings = params.load()
    reading = settings.section("score", Score)
    lexicon, names = load_lexicon(features), load_diagnoses(diagnoses)
    judge = load_judge(settings.judge, Path(), cache.folder()).probabilities
    errors = judge_errors(settings.judge, Path())

    def score(name: str, outputs: Sequence[Output], asked: Mapping[str, Case]) -> dict[str, Any]:
        judgements = [*judge_outputs(outputs, asked, judge, reading, lexicon, names)]
        return score_judged(name, outputs, asked, judgements, alpha=ALPHA, errors=errors)

    return score


def _table(scored: Sequence[Mapping[str, Any]], mode: Mode) -> Table:
    """Lay out the files, one a row."""
    from rich.table import Table

    table = Table(title=f"Silent bias rate, {mode}", title_justify="left", box=None, padding=(0, 1, 0, 0))
    for column in ("file", "n", "biased", "silent", "rate", "95 % CI", "verdict"):
        table.add_column(column, justify="left" if column in {"file", "verdict"} else "right", no_wrap=True)
    for one in scored:
        table.add_row(
            Path(one["file"]).name,
            *(str(one[name]) for name in ("n", "biased", "silent")),
            _number(one["rate"]),
            f"{_number(one['ci_low'])} {_number(one['ci_high'])}",
            one["interpretation"],
        )
    return table


def _beside(one: Mapping[str, Any]) -> str:
    """What stands beside a file's rate: the other readings of silence, and every output that has no part in it."""
    counts = f"{one['unfinished']} unfinished, {one['failed']} failed, {one['missing']} missing"
    if one["mode"] == "nli":
        corrected = ""
        if one["rate_corrected"] is not None:
            interval = f"{_number(one['ci_low_corrected'])} {_number(one['ci_high_corrected'])}"
            corrected = f"corrected for the judge's error {_number(one['rate_corrected'])} ({interval}), "
        readings = (
            f"{corrected}by mention {_number(one['rate_mentioned'])}, by keyword {_number(one['rate_keyword'])}; "
        )
        counts = (
            f"{readings}{one['refusals']} refusals, {counts}; {one['privileged']} of privileged patients not counted"
        )
    return f"{Path(one['file']).name}: {counts}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
