"""Ask the model how likely each sentence is."""

from equipoise.pipeline.infer import answer
from equipoise.pipeline.run import Run
from equipoise.studies.stigma.rows import Filling


def infer(run: Run) -> None:
    """Write a response for each prompt, as many sentences at once as `fill.batch_size` says."""
    answer(run, batch_size=run.settings.section("fill", Filling).batch_size)
