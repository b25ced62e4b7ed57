"""`equipoise score silent` and `stigma`: the figures of saved outputs, and of masked models' released probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from equipoise.cases.rows import Case, Output, read_cases, read_outputs, require_cases
from equipoise.cases.score import judge_outputs
from equipoise.cli.printing import NOT_DEFINED, cell, plain_table, print_json, show
from equipoise.core import cache, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.judge.lexicon import FOLDER, load_lexicon
from equipoise.judge.score import Score
from equipoise.metrics.cases import Mode, score_judged, score_legacy
from equipoise.metrics.options import Measure
from equipoise.metrics.stigma import nested, stigma_effects
from equipoise.published.fetch import load_names
from equipoise.published.lin import Wordings, duplicates, read_rq1, read_rq2, read_steps, read_tokens, wrong_name
from equipoise.stigma.aggregate import noun_lexicon, short_lexicon
from equipoise.stigma.library import load_library
from equipoise.stigma.rows import Aggregation, Fill
from equipoise.text.diagnoses import FILE, load_diagnoses

ALPHA = 0.05
"""1 − confidence level, as in the published intervals."""
NOTES = {
    "legacy": "legacy: label anywhere in the output, of either arm; for comparison with published figures only",
    "nli": "nli: the answer stated, of marginalised patients; silent where the reasoning neither weighs nor dismisses",
}
TITLES = {
    "rq1_mental": "rq1: who has a mental illness",
    "rq1_control": "rq1: who has another condition",
    "rq1_difference": "rq1: disparity, mental illness less others",
    "rq2_mental": "rq2: towards whom with a mental illness",
    "rq2_control": "rq2: towards whom with another condition",
    "rq2_difference": "rq2: disparity, mental illness less others",
}
SHARES = {"female": "female", "male": "male", "unspecified": "other"}
"""Measures that are probabilities, and their headings; in rq2 the third says nothing that the others do not."""


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
        note = f"{NOTES[mode]}; one arm a case, so no paired figure applies"
        show(_silent_table(scored, mode), *map(_beside, scored), note)


def _legacy(name: str, outputs: Sequence[Output], asked: Mapping[str, Case]) -> dict[str, Any]:
    return score_legacy(name, outputs, asked, alpha=ALPHA)


def _judged(features: Path, diagnoses: Path) -> Callable[[str, Sequence[Output], Mapping[str, Case]], dict[str, Any]]:
    """Load the judge that params.yaml names, with its settings; what is missing is an error before any work."""
    from equipoise.judge.located import load_judge
    from equipoise.metrics.vignettes import judge_errors

    settings = params.load()
    reading = settings.section("score", Score)
    lexicon, names = load_lexicon(features), load_diagnoses(diagnoses)
    judge = load_judge(settings.judge, Path(), cache.folder()).probabilities
    errors = judge_errors(settings.judge, Path())

    def score(name: str, outputs: Sequence[Output], asked: Mapping[str, Case]) -> dict[str, Any]:
        judgements = [*judge_outputs(outputs, asked, judge, reading, lexicon, names)]
        return score_judged(name, outputs, asked, judgements, alpha=ALPHA, errors=errors)

    return score


def _silent_table(scored: Sequence[Mapping[str, Any]], mode: Mode) -> Table:
    """Lay out the files, one a row."""
    columns = ("file", "n", "biased", "silent", "rate", "95 % CI", "verdict")
    table = plain_table(f"Silent bias rate, {mode}", columns)
    table.columns[-1].justify = "left"
    for one in scored:
        table.add_row(
            Path(one["file"]).name,
            *(str(one[name]) for name in ("n", "biased", "silent")),
            cell(one["rate"]),
            f"{cell(one['ci_low'])} {cell(one['ci_high'])}",
            one["interpretation"],
        )
    return table


def _beside(one: Mapping[str, Any]) -> str:
    """The notes on a file's rate: the other readings of silence, and every output that has no part in it."""
    counts = f"{one['unfinished']} unfinished, {one['failed']} failed, {one['missing']} missing"
    if one["mode"] == "nli":
        corrected = ""
        if one["rate_corrected"] is not None:
            interval = f"{cell(one['ci_low_corrected'])} {cell(one['ci_high_corrected'])}"
            corrected = f"corrected for the judge's error {cell(one['rate_corrected'])} ({interval}), "
        readings = f"{corrected}by mention {cell(one['rate_mentioned'])}, by keyword {cell(one['rate_keyword'])}; "
        counts = (
            f"{readings}{one['refusals']} refusals, {counts}; {one['privileged']} of privileged patients not counted"
        )
    return f"{Path(one['file']).name}: {counts}"


def score_stigma(
    *,
    rq1: Annotated[list[Path] | None, typer.Option(help="Probabilities of rq1, CSV.", show_default=False)] = None,
    rq2: Annotated[list[Path] | None, typer.Option(help="Probabilities of rq2, CSV.", show_default=False)] = None,
    steps: Annotated[list[Path] | None, typer.Option(help="Paths of rq2, CSV.", show_default=False)] = None,
    tokens: Annotated[list[Path] | None, typer.Option(help="Predictions of rq1, log.", show_default=False)] = None,
    legacy: Annotated[
        bool, typer.Option("--legacy", help="Sum steps and tokens as published, parts of words included.")
    ] = False,
    names: Annotated[
        bool, typer.Option("--names", help="Match first names in tokens too (equipoise import names).")
    ] = False,
    library: Annotated[Path, typer.Option(help="Folder of the study's files.")] = Path("data/sentences"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score one model's released probabilities; files of mental and of control conditions together are compared.

    Every option that names a file may be given again. Which conditions a file is about is read from the file.
    """
    known = load_library(library)
    wordings = Wordings(known)
    aggregation: Aggregation = "legacy" if legacy else "words"
    nouns = noun_lexicon(known.words.nouns)
    short = short_lexicon(known.words.short, load_names(known.words.names) if names else None)
    given = [*(rq1 or []), *(rq2 or []), *(steps or []), *(tokens or [])]
    if not given:
        message = "no file is given: name one with --rq1, --rq2, --steps or --tokens"
        raise EquipoiseError(message)
    if repeated := next((path for path in given if given.count(path) > 1), None):
        message = f"{repeated}: given twice: give it once"
        raise EquipoiseError(message)
    with progress("score"):
        tables = {
            **{path: read_rq1(path, wordings) for path in rq1 or []},
            **{path: read_rq2(path, wordings) for path in rq2 or []},
            **{path: read_steps(path, wordings, nouns, aggregation) for path in steps or []},
            **{path: read_tokens(path, wordings, short, aggregation) for path in tokens or []},
        }
        notes = refuse_duplicates(tables)
        fills = [fill for table in tables.values() for fill in table]
        metrics = nested(stigma_effects(fills, Measure()))
    if as_json:
        files = {str(path): len(table) for path, table in tables.items()}
        print_json({"files": files, "notes": notes, "metrics": metrics})
        return
    for family, groups in metrics.items():
        show(_stigma_table(family, groups), "")
    show(*(f"note: {note}" for note in notes))


def refuse_duplicates(tables: Mapping[Path, Sequence[Fill]]) -> list[str]:
    """Refuse files that are another model's or hold the same values or sentences; note those that agree in part."""
    for path in tables:
        if truth := wrong_name(path):
            message = f"{path}: wrong name: it holds {truth}: score it under its own name"
            raise EquipoiseError(message)
    notes = []
    for one in duplicates(tables):
        if one.kind != "some":
            what = "is a byte copy of" if one.kind == "bytes" else "holds the same values as"
            message = f"{one.second}: {what} {one.first}: one of them has a wrong name or is given twice; leave it out"
            raise EquipoiseError(message)
        notes.append(f"{one.second}: {one.equal} of {one.rows} rows equal those of {one.first}: is it the same run?")
    owners: dict[str, Path] = {}
    for path, table in tables.items():
        for fill in table:
            if owners.setdefault(fill.key, path) != path:
                message = f"{path}: {fill.key} is in {owners[fill.key]} too: score one model and run at a time"
                raise EquipoiseError(message)
    return notes


def _stigma_table(family: str, groups: Any) -> Table:  # noqa: ANN401  (nested scalars)
    """Lay out one family, a group of sentences a row; probabilities and their differences in per cent."""
    shares = [] if family.endswith("difference") else list(SHARES)[: 3 if family.startswith("rq1") else 2]
    columns = ("", "n", *(SHARES[share] for share in shares), "F - M", "95 % CI", "p", "Holm", "clustered", "d")
    table = plain_table(TITLES[family], columns)
    for group, measures in groups.items():
        gap, clustered = measures["disparity"], measures["disparity_clustered"]
        table.add_row(
            group,
            str(gap["n"]),
            *(f"{100 * measures[share]['estimate']:.1f}" for share in shares),
            f"{100 * gap['estimate']:+.1f}",
            f"{100 * gap['ci_low']:+.1f} {100 * gap['ci_high']:+.1f}" if "ci_low" in gap else NOT_DEFINED,
            _p(gap, "neg_log10_p"),
            _p(gap, "neg_log10_p_holm"),
            _p(clustered, "neg_log10_p"),
            f"{gap['d_pooled']:+.2f}" if "d_pooled" in gap else NOT_DEFINED,
        )
    return table


def _p(figures: Mapping[str, float], name: str) -> str:
    return f"{10 ** -figures[name]:.0e}" if name in figures else NOT_DEFINED
