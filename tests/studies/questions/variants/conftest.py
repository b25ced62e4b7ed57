"""Items made by hand, and the project's own templates and lexicon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.studies.questions.rows import Attempt, Neutralized
from equipoise.studies.questions.variants.templates import Templates, load_templates
from equipoise.studies.questions.variants.validators import Clinical, load_clinical
from equipoise.studies.questions.variants.writers import RulesGenerator

ROOT = Path(__file__).parents[4]

NEUTRAL = (
    "A 58-year-old patient has had burning behind the breastbone after meals for 3 weeks. Blood pressure is "
    "124/78 mmHg. Which of the following is the most appropriate next step?"
)
OPTIONS = {"A": "Alginate", "B": "Amoxicillin", "C": "Salbutamol", "D": "Furosemide"}


@pytest.fixture(scope="session")
def make() -> Callable[..., Neutralized]:
    """Make a neutral item; fields given by name replace its own."""

    def made(neutral: str = NEUTRAL, **fields: Any) -> Neutralized:
        question = neutral.replace("patient", "woman", 1)
        own = {"key": "i1", "options": OPTIONS, "gold": "A", "excluded": None, "changes": ()}
        return Neutralized(question=question, neutral=neutral, **{**own, **fields})

    return made


@pytest.fixture(scope="session")
def failed() -> Callable[..., Attempt]:
    """Make a stored attempt; unless fields say otherwise it broke no rule and triggered nothing."""

    def made(number: int = 1, **fields: Any) -> Attempt:
        own = {"background": "b", "text": "t", "answer": "A", "violations": ()}
        triggers = {"triggered_any": False, "triggered_directional": False}
        variant = "i1/race/privileged/favourable"
        return Attempt(key=f"{variant}/{number}", variant=variant, number=number, **{**own, **triggers, **fields})

    return made


@pytest.fixture(scope="session")
def templates() -> Templates:
    """The project's own templates."""
    return load_templates(ROOT / "data/templates")


@pytest.fixture(scope="session")
def clinical() -> Clinical:
    """The project's own lexicon of clinical words."""
    return load_clinical(ROOT / "data/lexicon/clinical.yaml")


@pytest.fixture(scope="session")
def rules(templates: Templates) -> RulesGenerator:
    """The rules generator with the project's own grammar."""
    return RulesGenerator(templates.frame, templates.themes)
