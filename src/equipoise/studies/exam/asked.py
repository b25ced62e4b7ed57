"""The prompts of the exam: each question as written, in several orders of its options."""

from equipoise.core.prompts import Prompt
from equipoise.materials.asked import Asking, option_prompts
from equipoise.materials.questions import Item
from equipoise.studies.exam import NAME

EXAM = "/exam"
"""Ending of the key of a question that is asked unchanged."""


def exam_prompts(item: Item, asking: Asking) -> list[Prompt]:
    """Ask an item's question unchanged, demographics included, in every order of its options."""
    return option_prompts(f"{item.key}{EXAM}", NAME, item.question, item.options, asking)
