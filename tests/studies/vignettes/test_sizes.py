"""Tests of the sizes of the profile `verdict`, for plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import projects
from equipoise.studies.vignettes.profiles import profile_pairs
from equipoise.studies.vignettes.sizes import sizes

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.materials.stories.library import Library


def test_every_number_of_stories_is_a_size(folder: Path, library: Library) -> None:
    """The small library's core tells all of its 14 stories: one number of stories, and every pair."""
    few, every = sizes(projects.committed_settings(), folder.parent)

    assert few.settings == {"build.profile": "verdict", "build.stories": 14}
    assert every.settings == {"build.profile": "verdict", "build.stories": None}
    for size, stories in ((few, 14), (every, None)):
        pairs = profile_pairs(library, "verdict", stories=stories)
        assert (size.clusters, size.items) == (14, len(pairs))
        # The stories of a dimension count once, however many of its pairs tell them.
        race = {parts.presentation.id for _, tier, parts in pairs if (tier, parts.combination) == ("single", "race")}
        assert size.groups["dimension"]["race"] == len(race)
