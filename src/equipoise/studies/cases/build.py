"""Build the cases that the model's saved outputs answer."""

from equipoise.core import cache, jsonl
from equipoise.pipeline.run import Run
from equipoise.studies.cases.saved import saved_cases


def build(run: Run) -> None:
    """Copy the cases that the model's saved outputs answer."""
    cases, _ = saved_cases(run.settings.model, run.entry, cache.root())
    jsonl.write_text(run.built("cases"), cases)
    jsonl.write(run.built("prompts"), [])
