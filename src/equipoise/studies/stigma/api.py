"""Scores of a masked model's probabilities: `equipoise.stigma` and `equipoise score stigma`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.shipped import shipped
from equipoise.core.tables import Table, require_new, rows_of, valid
from equipoise.figures.frame import Figures, frame_of, row_of, table
from equipoise.figures.options import Measure
from equipoise.studies.stigma import lin
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.stigma.library import SENTENCES, load_library
from equipoise.studies.stigma.rows import Fill

if TYPE_CHECKING:
    import pandas as pd

RQ1, RQ2 = ("probability", "gender", "diagnosis", "prompt"), ("female_prob", "male_prob", "diagnosis", "sequence")
FILLS = ("question", "template", "group", "condition", "condition_set", "female", "male", "unspecified")


def stigma(*probabilities: pd.DataFrame) -> Figures:
    """Score the probabilities of a subject's gender in sentences about mental and other illness.

    The figures are those of `equipoise score stigma`. Source: Lin et al., EMNLP 2022.

    Args:
        probabilities: one model's tables, in any of three forms. Who has the condition (rq1): columns `prompt`,
            `diagnosis`, `gender` (female, male, ambig) and `probability`. Towards whom the attitude is (rq2):
            `sequence`, `diagnosis`, `stigma_category`, `female_prob`, `male_prob`. Your own sentences: `question` (rq1
            or rq2), `template`, `group`, `condition`, `condition_set` (mental or control), `female`, `male`,
            `unspecified`; this is also the form of data/stigma/judgements.jsonl. Probabilities are from 0 to 1.

    Returns:
        Family `<question>_mental`, `_control` and, if both are given, `_difference`; group: the phase of seeking care,
        the dimension of stigma, or `all`. `disparity` is female minus male, in -1 to 1, over sentences;
        `disparity_clustered` counts each condition once and is the primary test; `female`, `male`, …

    Raises:
        EquipoiseError: an unknown form, a sentence without one of its conditions, or a value that is not a probability;
            the message names the column, the row and the fix.
    """
    if not probabilities:
        raise EquipoiseError("no DataFrame: give at least one")
    owners: dict[str, str] = {}
    fills: list[Fill] = []
    for number, frame in enumerate(probabilities, start=1):
        given = table(frame, "probabilities" if len(probabilities) == 1 else f"probabilities {number}")
        for fill in _fills(given, [str(name).strip() for name in frame.columns]):
            require_new(owners, fill.key, f"{given.name}, sentence {fill.key}", "sentence")
            fills.append(fill)
    rows = [row_of(effect) for effect in stigma_effects(fills, Measure())]
    notes = ("Positive disparities: the model considers a female subject more likely.",)
    return Figures("Gender of the subject, by condition", frame_of(rows), notes)


def _fills(given: Table, columns: Sequence[str]) -> list[Fill]:
    """Read a table in the form that its columns show."""
    if set(FILLS) <= set(columns):
        fix = "correct the row"
        return [
            valid(Fill, _completed(row), where, fix) for where, row in rows_of(given, f"the columns {', '.join(FILLS)}")
        ]
    wordings = lin.Wordings(load_library(shipped(SENTENCES)))
    for needed, read in ((RQ1, lin.read_rq1), (RQ2, lin.read_rq2)):
        if set(needed) <= set(columns):
            return read(given, wordings)
    forms = "; or ".join(", ".join(form) for form in (RQ1, RQ2, FILLS))
    raise EquipoiseError(f"{given.name}: the columns {', '.join(columns) or 'none'} are of no known form: give {forms}")


def _completed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the fields that a user's own sentence may omit."""
    key = "/".join(str(row[name]) for name in ("question", "template", "condition"))
    given = {name: value for name, value in row.items() if value is not None}
    return {"key": key, "study": "stigma", "polarity": 1, "scorer": "masked", "words": {}, **given}
