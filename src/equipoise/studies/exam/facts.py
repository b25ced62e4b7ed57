"""What a phantom is told about the exam: which option is right."""

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.pipeline.phantoms import in_orders
from equipoise.pipeline.run import Run
from equipoise.studies.exam.asked import EXAM
from equipoise.studies.exam.subsets import Sampled


def facts(run: Run) -> list[Fact]:
    """Give the facts about every question of the exam, in every order of its options."""
    sampled = {row.item: row for row in jsonl.each(run.built("subsets"), Sampled)}  # cities share questions
    told = (
        Fact(
            key=f"{item}{EXAM}",
            study=run.study,
            task="choice",
            question=item,
            right=row.gold,
            answers=tuple(row.options),
        )
        for item, row in sampled.items()
    )
    return [fact for one in told for fact in in_orders(one)]
