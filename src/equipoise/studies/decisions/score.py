"""Read which level of each end-point each response chooses, and how likely the model finds every level."""

from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.models.registry import ReasoningForm
from equipoise.pipeline.rows import responses_of
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.rows import CaseDecision, decision_of, is_decision, read_decision
from equipoise.text.reasoning import visible_text


def score(run: Run, *, reasoning: bool = True) -> None:  # noqa: ARG001  (no reasoning is judged)
    """Read which level of each end-point each response chooses, and how likely the model finds every level."""
    known = {row.key: row for row in jsonl.each(run.built("decisions"), CaseDecision)}
    form, rows = run.entry.reasoning, (response for response in responses_of(run) if is_decision(response.key))
    readings = (read_decision(row, known[decision_of(row.key)], _last_reply(row, form)) for row in rows)
    jsonl.write(run.judgements, readings)


def _last_reply(response: Response, form: ReasoningForm) -> str:
    """Give the text that the last reply shows its reader; empty without a reply."""
    replies = zip(response.replies[-1:], response.finished[-1:], strict=True)
    return "".join(visible_text(reply, form, finished=finished) for reply, finished in replies)
