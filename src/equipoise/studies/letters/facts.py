"""What a phantom knows about every case: the facts that its letter may tell, and whose letter it is."""

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.pipeline.run import Run
from equipoise.studies.letters.rows import Case


def facts(run: Run) -> list[Fact]:
    """List the facts about every case."""
    return [
        Fact(
            key=case.key,
            study=run.study,
            task="letter",
            question=case.pair,
            told=dict(case.facts),
            dimensions=case.features,
            marginalised=case.role == "marginalised",
        )
        for case in jsonl.each(run.built("patients"), Case)
    ]
