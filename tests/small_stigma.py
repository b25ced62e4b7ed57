"""The study with two conditions a set, so that files in the released forms stay small."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.published.lin import Wordings
from equipoise.stigma.library import Condition, Library, load_library


@pytest.fixture
def library() -> Library:
    """Load the study's files, with two conditions a set."""
    full = load_library(Path(__file__).parents[1] / "data/stigma")
    conditions = (
        Condition(name="depression", condition_set="mental"),
        Condition(name="OCD", condition_set="mental"),
        Condition(name="stroke", condition_set="control"),
        Condition(name="cancer", condition_set="control"),
    )
    return full.model_copy(update={"conditions": conditions})


@pytest.fixture
def wordings(library: Library) -> Wordings:
    """Find the sentences of the small study."""
    return Wordings(library)
