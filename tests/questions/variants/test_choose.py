"""Tests of the choice of agents."""

from __future__ import annotations

from pathlib import Path

from equipoise.questions.variants.agents import Perturb
from equipoise.questions.variants.models import (
    BACKGROUND_TOKENS,
    VIGNETTE_TOKENS,
    ModelFuser,
    ModelGenerator,
    choose_agents,
)
from equipoise.questions.variants.rules import RulesFuser, RulesGenerator
from equipoise.questions.variants.templates import load_templates

TEMPLATES = load_templates(Path(__file__).parents[3] / "data" / "templates")


def test_rules_are_the_default_and_ask_no_model() -> None:
    """The default agents are the rules."""

    def ask(name: str, tokens: int) -> None:
        raise AssertionError((name, tokens))

    generator, fuser = choose_agents(Perturb(), TEMPLATES, ask)  # type: ignore[arg-type, return-value]

    assert isinstance(generator, RulesGenerator)
    assert isinstance(fuser, RulesFuser)


def test_a_models_name_makes_it_the_agent() -> None:
    """Any other name is a model, asked for three sentences as generator and for a whole vignette as fuser."""
    asked: list[tuple[str, int]] = []

    def ask(name: str, tokens: int) -> object:
        asked.append((name, tokens))
        return lambda messages: ["" for _ in messages]

    generator, fuser = choose_agents(Perturb(generator="smollm2", fuser="other"), TEMPLATES, ask)  # type: ignore[arg-type]

    assert isinstance(generator, ModelGenerator)
    assert isinstance(fuser, ModelFuser)
    assert asked == [("smollm2", BACKGROUND_TOKENS), ("other", VIGNETTE_TOKENS)]
