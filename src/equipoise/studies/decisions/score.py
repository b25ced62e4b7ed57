"""Read which level of each end-point each response chooses, and how likely the model finds every level."""

from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.models.registry import ReasoningForm
from equipoise.pipeline.rows import responses_of
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.asked import Asked, decision_of, is_decision, read_decision
from equipoise.text.reasoning import visible_text


def score(run: Run, *, reasoning: bool = True) -> None:  # noqa: ARG001  (no reasoning is judged)
    """Read which level of each end-point each response chooses, and how likely the model finds every level."""
    known = {row.key: row for row in jsonl.each(run.built("decisions"), Asked)}
    form, rows = run.entry.reasoning, (one for one in responses_of(run) if is_decision(one.key))
    read = (read_decision(one, known[decision_of(one.key)], _said(one, form)) for one in rows)
    jsonl.write(run.judgements, read)


def _said(response: Response, form: ReasoningForm) -> str:
    """Give what the last reply says to its reader; nothing where there is no reply."""
    replied = zip(response.replies[-1:], response.finished[-1:], strict=True)
    return "".join(visible_text(reply, form, finished=finished) for reply, finished in replied)
