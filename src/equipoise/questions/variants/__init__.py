"""Adversarial variants of a neutral question: Generation, Fusion and Evaluation agents, and the rounds they work in."""

from equipoise.questions.variants.agents import Ask, Evaluate, Fuser, Generator, Request
from equipoise.questions.variants.arms import Arm, Design, arms
from equipoise.questions.variants.loop import Perturbed, complete, perturb, triggered
from equipoise.questions.variants.model import ModelFuser, ModelGenerator
from equipoise.questions.variants.replay import Replay, load_replay
from equipoise.questions.variants.rules import RulesFuser, RulesGenerator
from equipoise.questions.variants.settings import Perturb
from equipoise.questions.variants.templates import TemplateRecord, Templates, load_templates
from equipoise.questions.variants.validators import VIOLATIONS, Clinical, load_clinical, violations

__all__ = [
    "VIOLATIONS",
    "Arm",
    "Ask",
    "Clinical",
    "Design",
    "Evaluate",
    "Fuser",
    "Generator",
    "ModelFuser",
    "ModelGenerator",
    "Perturb",
    "Perturbed",
    "Replay",
    "Request",
    "RulesFuser",
    "RulesGenerator",
    "TemplateRecord",
    "Templates",
    "arms",
    "complete",
    "load_clinical",
    "load_replay",
    "load_templates",
    "perturb",
    "triggered",
    "violations",
]
