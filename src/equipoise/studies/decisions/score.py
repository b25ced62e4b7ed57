"""Read which level of each end-point each response chooses, and how likely the model finds every level."""

from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.materials.versions import CaseKey
from equipoise.models.registry import ReasoningForm
from equipoise.pipeline.rows import responses_of
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.rows import CaseDecision, decision_of, declines, is_decision, read_decision
from equipoise.text.reasoning import visible_text


def score(run: Run, *, reasoning: bool = True) -> None:  # noqa: ARG001  (no reasoning is judged)
    """Read which level of each end-point each response chooses, and how likely the model finds every level."""
    known = {row.key: row for row in jsonl.each(run.built("decisions"), CaseDecision)}
    form, declined = run.entry.reasoning, set()
    for row in responses_of(run):
        if not is_decision(row.key) and declines(_last_reply(row, form)):
            declined.add(CaseKey.parse(row.key))
    cases = ((row, CaseKey.parse(row.key)._replace(decision="", rereading="")) for row in responses_of(run))
    readings = (
        read_decision(row, known[decision_of(row.key)], _last_reply(row, form), declined=case in declined)
        for row, case in cases
        if is_decision(row.key)
    )
    jsonl.write(run.judgements, readings)


def _last_reply(response: Response, form: ReasoningForm) -> str:
    """Give the text that the last reply shows its reader; empty without a reply."""
    replies = zip(response.replies[-1:], response.finished[-1:], strict=True)
    return "".join(visible_text(reply, form, finished=finished) for reply, finished in replies)
