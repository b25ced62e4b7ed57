"""Copy the model's saved outputs to the cases."""

from equipoise.core import cache, jsonl
from equipoise.pipeline.run import Run
from equipoise.studies.cases.saved import saved_cases


def infer(run: Run) -> None:
    """Write the saved outputs unchanged."""
    _, outputs = saved_cases(run.settings.model, run.entry, cache.root())
    jsonl.write(run.responses, outputs)
    jsonl.write(run.asked, [])
