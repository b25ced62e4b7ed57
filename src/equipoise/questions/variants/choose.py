"""The agents that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.questions.variants.model import ModelFuser, ModelGenerator
from equipoise.questions.variants.replay import load_replay
from equipoise.questions.variants.rules import RulesFuser, RulesGenerator

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.questions.variants.agents import Ask, Fuser, Generator
    from equipoise.questions.variants.settings import Perturb
    from equipoise.questions.variants.templates import Templates

BACKGROUND_TOKENS, VIGNETTE_TOKENS = 160, 512
"""The most tokens that a model agent writes: three sentences, and a whole vignette."""


def choose_agents(settings: Perturb, templates: Templates, ask: Callable[[str, int], Ask]) -> tuple[Generator, Fuser]:
    """Give the Generation and the Fusion agent; `ask` makes the function behind a model's name and token limit."""
    replay = load_replay(settings.replay) if settings.replay else None
    generator: Generator
    fuser: Fuser
    match settings.generator:
        case "rules":
            generator = RulesGenerator(templates.frame, templates.themes)
        case "replay" if replay:
            generator = replay
        case name:
            generator = ModelGenerator(ask(name, BACKGROUND_TOKENS), templates.generation)
    match settings.fuser:
        case "rules":
            fuser = RulesFuser()
        case "replay" if replay:
            fuser = replay
        case name:
            fuser = ModelFuser(ask(name, VIGNETTE_TOKENS), templates.fusion)
    return generator, fuser
