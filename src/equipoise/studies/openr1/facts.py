"""The facts about the messages that a phantom answers from."""

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.pipeline.run import Run
from equipoise.studies.openr1.rows import Message


def facts(run: Run) -> list[Fact]:
    """List the facts about every message."""
    return [
        Fact(
            key=row.key,
            study=run.study,
            task="reply",
            question=row.item,
            right=row.gold_answer,
            marginalised=row.role == "marginalised",
        )
        for row in jsonl.each(run.built("messages"), Message)
    ]
