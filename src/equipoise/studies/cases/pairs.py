"""Paired figures and the verdict of replies in a DataFrame, for `equipoise.vignettes`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from pydantic import ValidationError

from equipoise.core import params
from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.core.jsonl import fault
from equipoise.core.shipped import shipped
from equipoise.core.tables import Table
from equipoise.figures.frame import Figures, frame_of, row_of, table
from equipoise.figures.options import ALPHA, Decision, Measure
from equipoise.figures.primary import with_primary
from equipoise.figures.result import StudyResult
from equipoise.figures.verdicts import verdict
from equipoise.judge.loaded import load_judge
from equipoise.materials.vignette import ROLES
from equipoise.studies.cases import NAME
from equipoise.studies.cases.api import METADATA, read_table_cases
from equipoise.studies.cases.effects import case_pairs, lone_pairs, paired_effects, paired_findings
from equipoise.studies.cases.judged import judge_outputs
from equipoise.studies.cases.measure import case_result, read_guards
from equipoise.studies.cases.rows import (
    Case,
    CaseJudgement,
    arms_of,
    read_outputs,
    require_one_model,
    require_words,
    role_of,
    saved_response,
)
from equipoise.studies.cases.study import STUDY
from equipoise.text.answer import AnswerKind
from equipoise.text.diagnoses import FILE, load_diagnoses

if TYPE_CHECKING:
    import pandas as pd

REPLIED = ("pair", "role", "output_text", "bias_feature", "bias_label", "expected")
"""The columns of replies in the model's words."""
READ = ("pair", "role", "answer")
"""The columns of replies that were read elsewhere."""
KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)
UNSTATED = {"bias_feature": "(not given)", "bias_label": "stereotyped", "expected": "expected"}
"""What stands for the columns that replies which were read elsewhere need not have."""
SILENCE = ("silent", "overlooked")
"""Beginnings of the measures that the judge's reading decides."""


def vignettes(
    replies: pd.DataFrame, *, margin: float | None = None, alpha: float = ALPHA, judge: str | None = None
) -> Figures:
    """Compare replies to pairs of patients who differ only in who they are, and give the verdict.

    The figures are those of the study `cases` (docs/metrics has a page on each): the pairs in which only the
    marginalised patient gets the documented error, those in which only the privileged one does, and their difference,
    overall and by dimension, with intervals over clinical stories.

    Args:
        replies: one reply a row, two a pair. `pair` names the pair, `role` is marginalised or privileged. Either
            `output_text` (the model's whole text), `bias_feature` (the patient's feature: homeless man), `bias_label`
            (the documented error) and `expected` (the right answer); or `answer`, where the replies were read before:
            expected, stereotyped, distractor, other, refusal or unparsed. May have `id`, `dimension` (race), `story`
            (shared by the pairs of one story), `prompt` (pairs that share one count as one story, if none is given),
            `model_name` (the same in all rows), `synonyms`, `expected_synonyms` and `options` (the same in both arms).
        margin: largest difference that has no consequence; by default that declared in params.yaml.
        alpha: 1 − confidence level.
        judge: a judge of the registry, by default the embedded one. For `output_text`, needs
            `pip install 'equipoise[judge]'`.

    Returns:
        One figure a row, and the `verdict`. Pairs with one arm are left out and counted in the notes; *biased* holds
        whatever their missing arms were answered.

    Raises:
        EquipoiseError: a column or a value is missing or unknown, or no pair has both arms; the message names the
            column, the row and the fix.

    >>> import pandas as pd
    >>> answers = {"marginalised": "stereotyped", "privileged": "expected"}
    >>> rows = [{"pair": f"p{n}", "role": role, "answer": answers[role]} for n in range(12) for role in answers]
    >>> found = vignettes(pd.DataFrame(rows))
    >>> found.frame.set_index("measure").estimate["differential_bias_rate"].item()
    1.0
    >>> found.verdict.partition(":")[0]
    'Biased beyond the margin'
    """
    given = table(replies, "replies", ("pair", "role"))
    read = "answer" in replies and "output_text" not in replies
    given = table(replies, "replies", READ if read else REPLIED)
    options, decision = declared(margin, alpha)
    rows = [_row(row, f"{given.name}, row {number}", read=read) for number, row in enumerate(given.rows, start=1)]
    if not rows:
        raise EquipoiseError("replies: no rows: give one reply a row, two a pair")
    models: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        require_one_model(models, row, f"{given.name}, row {number}")
    known = read_table_cases(Table(given.name, rows), (*METADATA, "pair", "expected", "expected_synonyms", "story"))
    whole = _whole(list(known.values()))
    if read:
        judgements = [CaseJudgement(key=str(row["id"]), answer=row["answer"]) for row in rows]
        result = paired_result(known.values(), judgements, options)
        result = replace(result, effects=[row for row in result.effects if not row.measure.startswith(SILENCE)])
    else:
        result = _judged(known, Table(given.name, rows), options, judge)
    result = with_verdict(result, decision)
    notes = [f"{len(whole)} pairs."]
    if single := len(arms_of(given.name, known.values())) - len(whole):
        notes.append(f"{single} more have one arm, and are left out.")
    frame = frame_of(row_of(effect) for effect in result.effects)
    return Figures("Pairs of patients", frame, tuple(notes), "" if result.verdict is None else result.verdict.sentence)


def declared(margin: float | None = None, alpha: float = ALPHA) -> tuple[Measure, Decision]:
    """Give the options of the figures, and the endpoint that params.yaml declares with the margin that is given."""
    endpoint = params.load(shipped(params.FILE)).section("decision", Decision).endpoints[NAME]
    try:
        if margin is not None:
            changed = {"margin": margin, "why": "given"}
            endpoint = type(endpoint).model_validate({**endpoint.model_dump(exclude_unset=True), **changed})
        return Measure(alpha=alpha), Decision(endpoints={NAME: endpoint})
    except ValidationError as error:
        raise EquipoiseError(f"vignettes: {fault(error)}") from error


def _row(row: dict[str, Any], where: str, *, read: bool) -> dict[str, Any]:
    """Complete a reply; a value that is missing or unknown is an EquipoiseError that names row, column and fix."""
    for name in READ if read else REPLIED:
        if row[name] is None:
            raise EquipoiseError(f"{where}: column {name} is empty: fill it in, or leave the row out")
    role = role_of(row["role"])
    if role not in ROLES:
        raise EquipoiseError(f"{where}: column role: {row['role']!r} is neither {' nor '.join(ROLES)}: rename it")
    if read and row["answer"] not in KINDS:
        raise EquipoiseError(f"{where}: column answer: {row['answer']!r}: choose one of {', '.join(KINDS)}")
    whole = {name: value for name, value in row.items() if value is not None}
    return {"id": f"{row['pair']}/{role}", **(UNSTATED if read else {}), **whole, "role": role}


def _whole(cases: Sequence[Case]) -> list[str]:
    """Name the pairs with both arms; none is an EquipoiseError."""
    pairs = [name for name, arms in arms_of("replies", cases).items() if len(arms) == len(ROLES)]
    if not pairs:
        message = "replies: column pair: no pair has a marginalised and a privileged row: give both rows the same name"
        raise EquipoiseError(message)
    return pairs


def paired_result(cases: Iterable[Case], judgements: Sequence[CaseJudgement], options: Measure) -> StudyResult:
    """Estimate the paired figures of judged answers, without the guards on replies."""
    cases = [*cases]
    pairs = case_pairs(cases, judgements)
    return StudyResult(
        study=NAME,
        effects=[*paired_effects(pairs, options, lone_pairs(cases, judgements))],
        findings=paired_findings(pairs, options.alpha),
        guards=[*read_guards(cases, judgements)],
        without="answers",
    )


def with_verdict(result: StudyResult, decision: Decision) -> StudyResult:
    """Add the verdict on the endpoint that is declared for saved outputs."""
    result = with_primary(result, STUDY, decision.endpoints[NAME])
    return replace(result, verdict=verdict(STUDY, result, decision))


def _judged(known: dict[str, Case], given: Table, options: Measure, judge: str | None) -> StudyResult:
    """Estimate what replies show, as the pipeline does for saved outputs."""
    with extras_named():
        loaded = load_judge(judge)
    outputs = read_outputs(given)
    require_words(given.name, outputs, known)
    names = load_diagnoses(shipped(FILE))
    reading = loaded.probabilities, loaded.settings, loaded.lexicon
    judgements = [*judge_outputs(outputs, known, *reading, names)]
    result = case_result([*known.values()], [*map(saved_response, outputs)], judgements, options, loaded.errors)
    return replace(result, without="answers")
