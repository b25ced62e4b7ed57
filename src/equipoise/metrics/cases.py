"""`metrics/cases.json`: silent bias in a model's saved outputs to other people's cases.

`n` outputs; `nli` and `legacy` hold the figures of `equipoise.metrics.silent_released`, less what is undefined. The
cases have one arm each, so these figures are never pooled with those of the paired vignettes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.metrics.pairs import require_same_keys
from equipoise.metrics.silent_released import score_judged, score_legacy
from equipoise.outputs import outputs_of, require_cases

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from equipoise.cases import Case, CaseJudgement
    from equipoise.metrics.effects import Nested
    from equipoise.records import Response
    from equipoise.stats.misclassification import ErrorCounts

NAME = "saved outputs"


def case_metrics(
    cases: Sequence[Case],
    responses: Iterable[Response],
    judgements: Sequence[CaseJudgement],
    alpha: float,
    errors: ErrorCounts | None = None,
) -> Nested:
    """Score a model's saved outputs in both readings; where it has none, n = 0 is all there is to say.

    Responses of other studies are left alone; `errors` is the judge's measured error. Raises EquipoiseError where
    responses, cases and judgements are not of the same cases.
    """
    outputs = [*outputs_of(responses)]
    if not outputs:
        return {"n": 0}
    asked = {case.key: case for case in cases}
    require_cases(NAME, outputs, asked)
    given = [one.id for one in outputs if one.ok]
    require_same_keys("response", given, "judgement", [one.key for one in judgements])
    return {
        "n": len(given),
        "nli": _told(score_judged(NAME, outputs, asked, judgements, alpha=alpha, errors=errors)),
        "legacy": _told(score_legacy(NAME, outputs, asked, alpha=alpha)),
    }


def _told(scored: Mapping[str, Any]) -> Nested:
    return {name: value for name, value in scored.items() if value is not None and name not in {"file", "mode", "n"}}
