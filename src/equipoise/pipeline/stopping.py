"""Whether a study stops early, once its verdict is reached."""

from equipoise.figures.options import Decision
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import stopping_of


def is_stopped_early(run: Run) -> bool:
    """Whether a study stops early: `decision.sequential` asks for it, and the study supports it."""
    decision = run.settings.section("decision", Decision)
    endpoint = decision.endpoints.get(run.study)
    if not decision.sequential or endpoint is None or endpoint.margin is None:
        return False
    stopping = stopping_of(run.study)
    return stopping is not None and bool(stopping.can_stop(run))
