"""Adversarial variants of a neutral question: Generation, Fusion and Evaluation agents, and the rounds they work in."""

from equipoise.perturb.agents import Ask, Evaluate, Fuser, Generator, Request
from equipoise.perturb.arms import Arm, Design, arms
from equipoise.perturb.loop import Perturbed, complete, perturb, triggered
from equipoise.perturb.model import ModelFuser, ModelGenerator
from equipoise.perturb.replay import Replay, load_replay
from equipoise.perturb.rules import RulesFuser, RulesGenerator
from equipoise.perturb.sentences import final_question
from equipoise.perturb.settings import Perturb
from equipoise.perturb.templates import TemplateRecord, Templates, load_templates
from equipoise.perturb.validators import VIOLATIONS, Clinical, load_clinical, violations

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
    "final_question",
    "load_clinical",
    "load_replay",
    "load_templates",
    "perturb",
    "triggered",
    "violations",
]
