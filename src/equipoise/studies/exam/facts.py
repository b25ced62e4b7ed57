"""The facts about the exam that a phantom answers from: which option is right."""

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.pipeline.phantoms import in_orders
from equipoise.pipeline.run import Run
from equipoise.studies.exam.subsets import EXAM, Sampled


def facts(run: Run) -> list[Fact]:
    """List the facts about every question of the exam, in every order of its options."""
    sampled = {row.item: row for row in jsonl.each(run.built("subsets"), Sampled)}  # cities share questions
    return [
        fact
        for item, row in sampled.items()
        for fact in in_orders(
            Fact(
                key=f"{item}{EXAM}",
                study=run.study,
                task="choice",
                question=item,
                right=row.gold,
                answers=tuple(row.options),
            )
        )
    ]
