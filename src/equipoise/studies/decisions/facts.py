"""The facts that a phantom knows about the cases, and about every decision about each of them."""

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.core.keys import grouped
from equipoise.materials.vignette import CONTROL
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.rows import CaseDecision
from equipoise.studies.vignettes.facts import facts as vignette_facts
from equipoise.studies.vignettes.panel import StoryVersion


def facts(run: Run) -> list[Fact]:
    """Give the facts about the cases, then about every decision about each of them."""
    decisions = grouped((row.pair, row) for row in jsonl.each(run.built("decisions"), CaseDecision))
    cases = vignette_facts(run)
    cases += [
        Fact(
            key=row.key,
            study=run.study,
            task="diagnosis",
            question=row.story,
            # Stands for the conclusion of the reasoning: the diagnosis of an imported story is unknown.
            right=f"the illness of {row.story}",
            dimensions=row.features,
            marginalised=row.group != CONTROL,
        )
        for row in jsonl.each(run.built("imported"), StoryVersion)
    ]
    return [*cases, *(_decision_fact(case, decision) for case in cases for decision in decisions[case.question])]


def _decision_fact(case: Fact, decision: CaseDecision) -> Fact:
    return Fact(
        key=f"{case.key}/{decision.ask}",
        study=case.study,
        task="decision",
        question=decision.key,
        # Where the right level is unknown, the one furthest from the bias.
        right=decision.answer or decision.towards[0],
        family=decision.family,
        answers=decision.towards,
        dimensions=case.dimensions,
        marginalised=case.marginalised,
    )
