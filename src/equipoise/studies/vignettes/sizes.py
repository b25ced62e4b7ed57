"""The sizes that the profile `verdict` gives the study, for plans."""

from collections.abc import Sequence
from pathlib import Path

from equipoise.core.params import Params
from equipoise.core.shipped import shipped
from equipoise.figures.size import Size
from equipoise.materials.stories.library import load_library
from equipoise.materials.versions import REVIEWED
from equipoise.studies.vignettes.effects import FAMILIES
from equipoise.studies.vignettes.profiles import Build, PlannedPair, profile_pairs

REPLIES = 6
"""Reasoned replies about a pair in a run for a verdict."""


def sizes(settings: Params, data: Path) -> list[Size]:
    """List the sizes of the profile `verdict`: every number of stories, from that of `core`, then every pair."""
    library, build = load_library(shipped(data / "raw")), settings.section("build", Build)
    effort = REPLIES / _replies(build)
    least, whole = (profile_pairs(library, name, build.level, build.cue) for name in ("core", "verdict"))
    by_stories = [
        _size(profile_pairs(library, "verdict", build.level, build.cue, stories), stories, effort)
        for stories in range(len(_stories(least)), len(_stories(whole)) + 1)
    ]
    return [*by_stories, _size(whole, None, effort)]


def _size(pairs: Sequence[PlannedPair], stories: int | None, effort: float) -> Size:
    groups: dict[str, dict[str, set[str]]] = {family: {} for family in FAMILIES}
    for _, tier, parts in pairs:
        family, name = ("dimension", parts.combination) if tier == "single" else ("tier", tier)
        groups[family].setdefault(name, set()).add(parts.presentation.id)
    return Size(
        clusters=len(_stories(pairs)),
        items=len(pairs),
        groups={family: {name: len(told) for name, told in sorted(own.items())} for family, own in groups.items()},
        settings={"build.profile": "verdict", "build.stories": stories},
        effort=effort,
    )


def _replies(build: Build) -> int:
    """Count the replies about a pair, which take nearly all of the time: to arms, controls, mirrors, and reviews."""
    return 2 + 2 * build.controls + 2 * build.mirrors + 4 * (REVIEWED in build.treatments)


def _stories(pairs: Sequence[PlannedPair]) -> set[str]:
    return {parts.presentation.id for _, _, parts in pairs}
