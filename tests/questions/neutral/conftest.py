"""The project's own lexicon, read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.questions.neutral.lexicon import Lexicon, load_lexicon

LEXICON = Path(__file__).parents[3] / "data/lexicon"


@pytest.fixture(scope="session")
def lexicon() -> Lexicon:
    """The word lists under data/lexicon."""
    return load_lexicon(LEXICON)
