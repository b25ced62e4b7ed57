"""Early stopping: each question is a cluster of its own, and all questions count."""

from equipoise.pipeline.run import Run


def can_stop(run: Run) -> bool:  # noqa: ARG001  (whatever the settings)
    """Whether the study can stop early: always."""
    return True


def clusters(run: Run) -> dict[str, str]:  # noqa: ARG001  (each question is one)
    """Return no clusters: each question is one."""
    return {}


def counted(run: Run) -> set[str]:
    """Return the questions that contribute to the primary endpoint: all of them, asked or not."""
    return {unit.key for unit in run.units}
