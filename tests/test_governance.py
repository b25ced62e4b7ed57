"""The pages for governance: every frame is dated and sourced, and every page that a row names exists."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))

import governance_blocks  # noqa: E402

FRAMES = governance_blocks.frames()


def test_the_frames_that_governance_groups_ask_about_are_there() -> None:
    """NICE ESF, DCB0129, MHRA, Article 10 of the EU AI Act, 45 CFR 92.210, CHAI and TRIPOD-LLM, each once."""
    assert [frame.id for frame in FRAMES] == [
        "nice-esf", "dcb0129", "mhra", "eu-ai-act-10", "section-1557", "chai", "tripod-llm",
    ]  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: str(frame.id))
def test_a_frame_says_what_a_run_answers_and_what_it_leaves(frame: governance_blocks.Frame) -> None:
    """Every row names both, with pages that exist; the state of the frame has a date on which it was checked."""
    assert re.match(r"\d{4}-\d{2}-\d{2}", frame.checked)
    assert len(frame.asks) >= 2
    for asked in frame.asks:
        assert asked.answers
        assert asked.leaves
        assert [page for page in asked.pages if not (DOCS / page).is_file()] == []


def test_the_page_does_not_give_legal_advice() -> None:
    """It says so, and that no run shows that a model is safe."""
    page = (DOCS / "governance.md").read_text(encoding="utf-8")

    assert "not legal advice" in page
    assert "No run shows that a model is safe or lawful" in page
