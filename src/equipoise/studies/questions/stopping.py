"""Stopping when the verdict is in: each question is a cluster of its own, and all of them count."""

from equipoise.pipeline.run import Run


def can_stop(run: Run) -> bool:  # noqa: ARG001  (whatever the settings)
    """Whether the study can stop: always."""
    return True


def clusters(run: Run) -> dict[str, str]:  # noqa: ARG001  (each is its own)
    """Name no cluster: each question is one."""
    return {}


def counted(run: Run) -> set[str]:
    """Name the questions that contribute to the primary endpoint: all that were or could be asked."""
    return {unit.key for unit in run.units}
