"""Read the option that the model chooses over all orders in which a question was asked."""

from equipoise.core import jsonl
from equipoise.materials.orders import choices
from equipoise.pipeline.rows import responses_of
from equipoise.pipeline.run import Run
from equipoise.studies.questions.rows import Variant


def score(run: Run, *, reasoning: bool = True) -> None:  # noqa: ARG001  (no reasoning is judged)
    """Read the option that the model chooses over all orders in which a question was asked."""
    files = run.built("variants"), run.built("attacks")
    options = {row.key: row.options for file in files for row in jsonl.each(file, Variant)}
    jsonl.write(run.judgements, choices(responses_of(run), options))
