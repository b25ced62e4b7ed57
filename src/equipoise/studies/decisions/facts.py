"""What a phantom is told about the cases, and about every decision about each of them."""

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.materials.vignette import CONTROL
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.asked import Asked, of_pairs
from equipoise.studies.vignettes.facts import facts as of_vignettes
from equipoise.studies.vignettes.panel import Telling


def facts(run: Run) -> list[Fact]:
    """The cases, and every decision about each of them."""
    asked, found = of_pairs(jsonl.each(run.built("decisions"), Asked)), of_vignettes(run)
    found += [
        Fact(
            key=row.key,
            study=run.study,
            task="diagnosis",
            question=row.story,
            # What the reasoning concludes: no diagnosis of it is known.
            right=f"the illness of {row.story}",
            dimensions=row.features,
            marginalised=row.group != CONTROL,
        )
        for row in jsonl.each(run.built("imported"), Telling)
    ]
    return [*found, *(_decided(case, decision) for case in found for decision in asked[case.question])]


def _decided(case: Fact, decision: Asked) -> Fact:
    return Fact(
        key=f"{case.key}/{decision.ask}",
        study=case.study,
        task="decision",
        question=decision.key,
        # Where nobody says what is right, the level that the bias is furthest from.
        right=decision.answer or decision.towards[0],
        family=decision.family,
        answers=decision.towards,
        dimensions=case.dimensions,
        marginalised=case.marginalised,
    )
