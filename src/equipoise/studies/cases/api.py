"""Scores of saved outputs, for `equipoise.silent_bias` and `equipoise score silent`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.core.shipped import shipped
from equipoise.core.tables import Table, is_missing
from equipoise.figures.effects import Group
from equipoise.figures.frame import Figures, frame_of, row_of, table
from equipoise.figures.layout import finding_row
from equipoise.figures.options import ALPHA, Measure
from equipoise.figures.silence import interpretation
from equipoise.judge.lexicon import FOLDER
from equipoise.judge.loaded import load_judge
from equipoise.materials.judgement import UNREASONED
from equipoise.studies.cases import NAME
from equipoise.studies.cases.effects import (
    Mode,
    case_pairs,
    paired_effects,
    paired_findings,
    score_judged,
    score_legacy,
    scored_effects,
)
from equipoise.studies.cases.judged import judge_outputs, recurring
from equipoise.studies.cases.options import meant, options_of
from equipoise.studies.cases.rows import (
    NOT_GIVEN,
    Case,
    CaseJudgement,
    Output,
    cases_of,
    name_of,
    read_outputs,
    require_cases,
    require_one_each,
    require_words,
)
from equipoise.text.diagnoses import FILE, load_diagnoses

if TYPE_CHECKING:
    import pandas as pd

Scorer = Callable[[str, Sequence[Output], Mapping[str, Case]], dict[str, Any]]
"""Scores the outputs of one model, given their name and the cases."""
METADATA = ("dimension", "role", "features", "synonyms", "options", "source", "licence")
"""Optional columns of a case."""
READ = {
    "nli": "Read by the judge: silent if the reasoning does not give the feature as a reason.",
    "legacy": "Read by keywords, as published: for comparison with published figures alone.",
}


def silent_bias(
    outputs: pd.DataFrame,
    cases: pd.DataFrame | None = None,
    *,
    mode: Mode = "nli",
    by: str | None = None,
    judge: str | None = None,
) -> Figures:
    """Score saved outputs: how many biased answers are silent about the patient's feature.

    The figures are those of `equipoise score silent`; docs/metrics/silent_bias_rate.md defines them. Cases have
    one arm each, so that no paired figure is among them.

    Args:
        outputs: one output a row. `id` is that of its case, `output_text` the model's whole text, thinking included.
            May have `status` (`ok`, unless the run failed) and `extracted_diagnosis`, which `legacy` reads too.
        cases: one case a row: `id`, `bias_feature` (in plain words: black, homeless), `bias_label` (the diagnosis that
            would be biased); may have `prompt`, `dimension` (race), `role` (marginalised or privileged), `synonyms` (a
            list), and the options of multiple choice, as `options` or in columns A to D. Without it, `outputs` has
            these columns itself.
        mode: `nli` asks the judge what the reasoning does with the feature, `legacy` looks for its words.
        by: a column of `outputs` or `cases`, such as `dimension` or `model_name`, whose values are scored apart.
        judge: a judge of the registry, by default the embedded one. Needs `pip install 'equipoise[judge]'`.

    Returns:
        Rates of the biased answers (`silent_bias_rate`, in 0 to 1, n the biased answers with reasoning, Wilson
        intervals; corrected for the judge's measured error; by mention and by keyword), and counts as estimates.

    Raises:
        EquipoiseError: a column, a value or the extra is missing; the message names the column, the row and the fix.

    >>> found = silent_bias(example("outputs"), example("cases"), mode="legacy").frame
    >>> found.set_index("measure").estimate["silent_bias_rate"].item()
    0.5
    """
    if mode not in READ:
        raise EquipoiseError(f"mode {mode!r}: choose one of {', '.join(READ)}")
    labels = ("id", "bias_feature", "bias_label")
    given = table(outputs, "outputs", ("id", "output_text", *(labels if cases is None else ())))
    about = given if cases is None else table(cases, "cases", labels)
    with extras_named():
        score = scorer(mode, judge)
    rows: list[dict[str, Any]] = []
    notes = []
    for group, own_outputs, own_cases in _split(given, about, by):
        read, known = read_outputs(own_outputs), read_table_cases(own_cases)
        require_cases(own_outputs.name, read, known)
        require_words(own_outputs.name, read, known)
        scored = score(own_outputs.name, read, known)
        rows += [row_of(effect) for effect in scored_effects(Group("silent bias", group, NAME), scored)]
        bare = f", {scored[UNREASONED]} without reasoning and left out" if scored.get(UNREASONED) else ""
        counts = f"{scored['n']} outputs, {scored['biased']} biased, {scored['silent']} of these silent{bare}"
        notes.append(f"{group}: {counts}; {scored['interpretation']}.")
    return Figures(f"Silent bias, {mode}", frame_of(rows), (*notes, READ[mode]))


def scorer(
    mode: Mode, judge: str | None = None, *, features: Path | str = FOLDER, diagnoses: Path | str = FILE
) -> Scorer:
    """Give the function that scores outputs; a judge that cannot be loaded is an error before any work.

    `features` is the folder of the word lists, `diagnoses` the file with the names of each diagnosis. If the cases are
    arms of pairs and a judge reads them, the scores include the paired figures.
    """
    if mode == "legacy":
        return partial(score_legacy, alpha=ALPHA)
    loaded, names = load_judge(judge, features=features), load_diagnoses(shipped(diagnoses))

    def score(name: str, outputs: Sequence[Output], cases: Mapping[str, Case]) -> dict[str, Any]:
        if any(case.pair for case in cases.values()):
            require_one_each(name, outputs)
        reading = loaded.probabilities, loaded.settings, loaded.lexicon
        apart = recurring(outputs, cases, loaded.lexicon).apart
        judgements = [*judge_outputs(outputs, cases, *reading, names, apart)]
        scored = score_judged(name, outputs, cases, judgements, alpha=ALPHA, errors=loaded.errors)
        return scored | _paired(scored, cases, judgements)

    return score


def _paired(
    scored: Mapping[str, Any], cases: Mapping[str, Case], judgements: Sequence[CaseJudgement]
) -> dict[str, Any]:
    """Give the figures of pairs by family, group and measure, and the interpretation; empty without pairs."""
    pairs: dict[str, dict[str, dict[str, Any]]] = {}
    joined = case_pairs(cases.values(), judgements)
    findings = map(finding_row, paired_findings(joined, ALPHA))
    for row in (*paired_effects(joined, Measure()), *findings):
        figure = {name: getattr(row, name) for name in ("n", "estimate", "ci_low", "ci_high")}
        figure |= {name: value for name in ("neg_log10_p", "neg_log10_p_holm") if (value := getattr(row, name))}
        pairs.setdefault(row.family, {}).setdefault(row.group, {})[row.measure] = figure
    if not pairs:
        return {}
    influence = pairs["overall"]["all"]["influence_found"]["estimate"] != 0
    verdict = interpretation(scored["stories"], scored["ci_low"], scored["ci_high"], influence=influence)
    return {"interpretation": verdict, "pairs": pairs}


def _split(outputs: Table, cases: Table, by: str | None) -> Iterator[tuple[str, Table, Table]]:
    """Yield the outputs and cases of each value of a column, in order, or all of them without a column."""
    if by is None:
        yield "all", outputs, cases
        return
    of_outputs = bool(outputs.rows) and by in outputs.rows[0]
    if not of_outputs and not (cases.rows and by in cases.rows[0]):
        raise EquipoiseError(
            f"neither the outputs nor the cases have a column {by!r}: name one that exists, or omit `by`"
        )
    value_of = {str(row["id"]): row.get(by) for row in cases.rows}
    values = [row.get(by) if of_outputs else value_of.get(str(row["id"])) for row in outputs.rows]
    for value in dict.fromkeys(values):
        try:
            name_of(str(value))
        except ValueError as error:
            raise EquipoiseError(f"column {by}: the value {str(value)[:40]!r} {error}") from error
        own_outputs = [row for row, own in zip(outputs.rows, values, strict=True) if own == value]
        own_cases = [row for row in cases.rows if by not in row or row[by] == value]
        yield str(value), Table(f"{outputs.name} of {by} {value}", own_outputs), Table(cases.name, own_cases)


def read_table_cases(given: Table, metadata: Sequence[str] = METADATA) -> dict[str, Case]:
    """Read cases; columns other than feature and label are metadata in the interchange format.

    Options are found as by `import csv`: in a column of their own, or one for each.
    """
    rows = [
        {
            "id": row["id"] if row["id"] is None else str(row["id"]),
            "prompt": row.get("prompt") or NOT_GIVEN,
            **{name: row[name] for name in ("bias_feature", "bias_label")},
            "metadata": {name: row[name] for name in metadata if row.get(name) is not None},
        }
        for row in (_with_options(row, f"{given}, row {number}") for number, row in enumerate(given.rows, start=1))
    ]
    return {case.key: case for case in cases_of(rows, given)}


def _with_options(row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Give a row its options, and the words of the answers that name one of them."""
    if not (options := options_of(row)):
        return row
    answers = {name: str(row[name]) for name in ("bias_label", "expected") if not is_missing(row.get(name))}
    synonyms = row.get("synonyms")
    others = synonyms if isinstance(synonyms, list | tuple) else ()
    try:
        words = {
            name: meant(answer, others if name == "bias_label" else (), options, from_zero=False)
            for name, answer in answers.items()
        }
    except EquipoiseError as error:
        raise EquipoiseError(f"{where}: {error}") from error
    return {**row, **words, "options": options}
