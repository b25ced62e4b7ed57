"""All published figures that are recomputed: those of the studies, and the shared ones."""

from equipoise.pipeline.steps import part
from equipoise.published.anchors import SHARED, Anchors
from equipoise.studies.registry import STUDIES


def all_anchors() -> list[Anchors]:
    """Collect the published sources of every study, from the module `anchors` of its folder, and the shared ones."""
    own: list[Anchors] = [module.ANCHORS for study in STUDIES if (module := part(study, "anchors"))]
    return [*own, SHARED]
