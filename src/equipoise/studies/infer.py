"""The step `infer`: every prompt of a study answered by the model under test, through the cache."""

from pathlib import Path

from equipoise.backends.ask import asker
from equipoise.backends.base import Infer
from equipoise.backends.replay import saved_cases
from equipoise.core import cache, records
from equipoise.stigma.rows import Filling
from equipoise.studies.run import Run


def infer(run: Run) -> None:
    """Write a response for each prompt of the study; saved outputs to cases are taken over as they are."""
    if run.study == "cases":
        _, outputs = saved_cases(run.settings.model, run.entry, cache.root())
        records.write(run.responses, outputs)
        return
    how = run.settings.section("infer", Infer)
    size = run.settings.section("fill", Filling).batch_size if run.study == "stigma" else how.batch_size
    with cache.ResponseCache.open() as kept:
        ask = asker(run.manifest, Path(), kept, batch_size=size, progress=run.progress, cluster=how.cluster)
        records.write(run.responses, ask(records.read(run.built("prompts"), records.Prompt)))
