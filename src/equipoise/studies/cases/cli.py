"""`equipoise score silent`: how many biased answers among saved outputs are silent about the patient's feature."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from equipoise.core.printing import cell, plain_table, print_json, show
from equipoise.core.progress import progress
from equipoise.judge.lexicon import FOLDER
from equipoise.materials.judgement import UNREASONED
from equipoise.studies.cases.api import scorer
from equipoise.studies.cases.effects import Mode
from equipoise.studies.cases.rows import read_cases, read_outputs, require_cases, require_words
from equipoise.text.diagnoses import FILE

NOTES = {
    "legacy": "legacy: counts a label anywhere in an output of either arm; for comparison with published figures only",
    "nli": (
        "nli: counts stated answers about marginalised patients; an answer is silent if the feature is not given as a "
        "reason; unreasoned answers, which come without reasoning, are not in the rate"
    ),
}


def score_silent(
    files: Annotated[
        list[Path],
        typer.Argument(help="Saved outputs, one JSONL file per model.", metavar="OUTPUTS…", show_default=False),
    ],
    cases: Annotated[Path, typer.Option(help="The cases that were asked: published JSON, or imported JSONL.")],
    *,
    mode: Annotated[
        Mode, typer.Option(help="Read reasoning with the judge (nli) or by published keywords (legacy).")
    ] = "nli",
    features: Annotated[Path, typer.Option(help="Folder of the word lists for each feature.")] = Path(FOLDER),
    diagnoses: Annotated[Path, typer.Option(help="File with the names of each diagnosis.")] = Path(FILE),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per file.")] = False,
) -> None:
    """Score saved outputs: count the biased answers that are silent about the patient's feature.

    For cases that are arms of pairs, this also prints how often demographics change the answer. OUTPUTS may also be
    imported responses (data/replays/NAME.jsonl), with their cases (data/cases/NAME.jsonl).
    """
    known = {case.key: case for case in read_cases(cases)}
    tables = {str(path): read_outputs(path) for path in files}
    for name, outputs in tables.items():
        require_cases(name, outputs, known, cases)
        require_words(name, outputs, known)
    score = scorer(mode, features=features, diagnoses=diagnoses)
    scored = []
    with progress("score") as move:
        for name, outputs in tables.items():
            scored.append(score(name, outputs, known))
            move(len(scored), len(tables))
            if as_json:
                print_json(scored[-1])
    if not as_json:
        note = _note(mode, paired=any(case.pair for case in known.values()))
        show(_silent_table(scored, mode), *map(_beside, scored), *map(_pairs, scored), note)


def _note(mode: Mode, *, paired: bool) -> str:
    """Say how the outputs were read, and why no paired figures follow where none do."""
    if not paired:
        return f"{NOTES[mode]}; each case has one arm, so no paired figure applies"
    return f"{NOTES[mode]}; legacy mode has no paired figures" if mode == "legacy" else NOTES[mode]


def _pairs(scored: Mapping[str, Any]) -> str:
    """Note on a file's pairs how often only the marginalised patient got the biased answer, and the reverse."""
    if not (figures := scored.get("pairs", {}).get("overall", {}).get("all")):
        return ""
    rates = []
    for words, measure in (
        ("differential bias rate", "differential_bias_rate"),
        ("reverse", "reverse_bias_rate"),
        ("differential minus reverse", "differential_vs_reverse"),
    ):
        rate = figures[measure]
        rates.append(f"{words} {cell(rate['estimate'])} ({cell(rate['ci_low'])} to {cell(rate['ci_high'])})")
    return f"{Path(scored['file']).name}, {figures['differential_bias_rate']['n']} pairs: {', '.join(rates)}"


def _silent_table(scored: Sequence[Mapping[str, Any]], mode: Mode) -> Table:
    counts = ("n", "biased", *((UNREASONED,) if mode == "nli" else ()), "silent")
    columns = ("file", *counts, "rate", "95 % CI", "verdict")
    table = plain_table(f"Silent bias rate, all biased answers, {mode}", columns)
    table.columns[-1].justify = "left"
    for row in scored:
        table.add_row(
            Path(row["file"]).name,
            *(str(row[name]) for name in counts),
            cell(row["rate"]),
            "" if row["ci_low"] is None else f"{cell(row['ci_low'])} to {cell(row['ci_high'])}",
            row["interpretation"],
        )
    return table


def _beside(scored: Mapping[str, Any]) -> str:
    """Note on a file's rate the other readings of silence, and the outputs that it does not count."""
    counts = f"{scored['unfinished']} unfinished, {scored['failed']} failed, {scored['missing']} missing"
    if scored["mode"] == "nli":
        corrected = ""
        if scored["rate_corrected"] is not None:
            interval = f"{cell(scored['ci_low_corrected'])} to {cell(scored['ci_high_corrected'])}"
            corrected = f"corrected for the judge's error {cell(scored['rate_corrected'])} ({interval}), "
        readings = (
            f"{corrected}by mention {cell(scored['rate_mentioned'])}, by keyword {cell(scored['rate_keyword'])}; "
        )
        privileged = f"{scored['privileged']} answers about privileged patients not counted"
        counts = f"{readings}{scored['refusals']} refusals, {counts}; {privileged}"
    return f"{Path(scored['file']).name}: {counts}"
