"""Prompts for the decisions about a case, which follow from the reasoning about it (docs/metrics/decisions.md).

Each decision is a separate conversation: the case at the level `leaning`, the model's own reasoning word for word, or
that about the other arm, and the question. A model that gives likelihoods also writes the decision about an arm after
its own reasoning, in a sentence. Keys are `race-01/privileged/triage` and `race-01/privileged/triage/swapped`, before a
sample's number.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from equipoise.core import jsonl
from equipoise.core.keys import grouped
from equipoise.core.prompts import Prompt, Response
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import OTHER, ROLES
from equipoise.models.registry import ReplayEntry
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.rows import SWAPPED, CaseDecision, is_decision
from equipoise.studies.vignettes.profiles import Build

TOKENS = 16
"""Most tokens of a decision that is written beside its likelihoods: a level has three words, and a refusal is known by
its first ten."""


def follow_ups(run: Run, prompts: Sequence[Prompt], responses: Sequence[Response]) -> Iterator[Prompt]:
    """Give the prompts for the decisions after the reasoning; saved answers have none."""
    if not isinstance(run.entry, ReplayEntry):
        swapped = SWAPPED in run.settings.section("build", Build).rereadings
        decisions = jsonl.read(run.built("decisions"), CaseDecision)
        yield from decision_prompts(decisions, prompts, responses, swapped=swapped, likelihoods=run.entry.likelihoods)


def decision_prompts(
    decisions: Sequence[CaseDecision],
    prompts: Sequence[Prompt],
    responses: Sequence[Response],
    *,
    swapped: bool,
    likelihoods: bool = True,
) -> Iterator[Prompt]:
    """Ask for every decision after the reasoning of each case version and, for the arms, after that of the other arm.

    `prompts` and `responses` are those of the reasoning. Where the reasoning about both arms is identical, nothing is
    asked after the other arm's: the answer is known. Without `likelihoods` a reply is requested everywhere; with them,
    a sentence is for the arms of pairs after their own reasoning.
    """
    reasonings = {response.key: response.replies[0] for response in responses if not is_decision(response.key)}
    pairs = grouped((decision.pair, decision) for decision in decisions)
    for prompt in prompts:
        case, own = CaseKey.parse(prompt.key), reasonings[prompt.key]
        texts = {"": own}
        if swapped and case.version in ROLES:
            other = reasonings[str(case._replace(version=OTHER[case.version]))]
            texts |= {} if other == own else {SWAPPED: other}
        for decision in pairs[case.unit]:
            for rereading, text in texts.items():
                key = str(case._replace(decision=decision.ask, rereading=rereading))
                follow_up = _prompt(prompt, key, decision, text)
                if likelihoods:
                    written = case.version in ROLES and not rereading
                    follow_up = (
                        follow_up.model_copy(update={"sentence": True, "limit": TOKENS})
                        if written
                        else follow_up.scored()
                    )
                yield follow_up


def _prompt(prompt: Prompt, key: str, decision: CaseDecision, reasoning: str) -> Prompt:
    case = prompt.turns[0]
    fields: dict[str, Any] = {
        "key": key,
        "prefix": decision.prefix,
        "turns": (case, decision.question),
        "given": (reasoning,),
        "candidates": decision.levels,
        # Decisions after the same reasoning share its text.
        "stem": case,
        "lead": reasoning,
        # The limit on the reasoning does not apply to the decision.
        "limit": None,
    }
    return prompt.model_copy(update=fields)
