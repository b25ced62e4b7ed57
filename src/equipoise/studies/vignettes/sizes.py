"""The sizes that the profile `verdict` gives the study, for plans."""

from collections.abc import Sequence
from pathlib import Path

from equipoise.core.params import Params
from equipoise.figures.size import Size
from equipoise.materials.stories.library import load_library
from equipoise.studies.vignettes.profiles import Build, PlannedPair, profile_pairs

FAMILY = "dimension"
"""The family of groups that a verdict holds against the margins too."""


def sizes(settings: Params, data: Path) -> list[Size]:
    """List the sizes of the profile `verdict`: every number of stories, from that of `core`, then every pair."""
    library, build = load_library(data / "raw"), settings.section("build", Build)
    least, whole = (profile_pairs(library, name, build.level, build.cue) for name in ("core", "verdict"))
    found = [
        _size(profile_pairs(library, "verdict", build.level, build.cue, stories), stories)
        for stories in range(len(_stories(least)), len(_stories(whole)) + 1)
    ]
    return [*found, _size(whole, None)]


def _size(pairs: Sequence[PlannedPair], stories: int | None) -> Size:
    groups: dict[str, set[str]] = {}
    for _, tier, parts in pairs:
        if tier == "single":
            groups.setdefault(parts.combination, set()).add(parts.presentation.id)
    return Size(
        clusters=len(_stories(pairs)),
        items=len(pairs),
        groups={FAMILY: {name: len(told) for name, told in sorted(groups.items())}},
        settings={"build.profile": "verdict", "build.stories": stories},
    )


def _stories(pairs: Sequence[PlannedPair]) -> set[str]:
    return {parts.presentation.id for _, _, parts in pairs}
