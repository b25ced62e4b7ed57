"""Read the option that the model chooses over all orders in which a question was asked."""

from equipoise.core import jsonl
from equipoise.materials.orders import choices
from equipoise.pipeline.rows import responses_of
from equipoise.pipeline.run import Run
from equipoise.studies.exam.subsets import EXAM, Sampled


def score(run: Run) -> None:
    """Read the option that the model chooses over all orders in which a question was asked."""
    options = {f"{row.item}{EXAM}": row.options for row in jsonl.each(run.built("subsets"), Sampled)}
    jsonl.write(run.judgements, choices(responses_of(run), options))
