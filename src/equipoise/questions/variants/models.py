"""Agents that a model is behind, agents that repeat an earlier run, and those that the settings name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from equipoise.core import records
from equipoise.core.errors import EquipoiseError
from equipoise.questions.rows import Attempt, Attribute, Direction, Group, Neutralised, Variant
from equipoise.questions.variants.agents import Arm, Ask, Fuser, Generator, Perturb, Request
from equipoise.questions.variants.rules import RulesFuser, RulesGenerator
from equipoise.questions.variants.templates import FusionPrompt, GenerationPrompt, Templates, fill, listed
from equipoise.text.sentences import asked_last

BACKGROUND_TOKENS, VIGNETTE_TOKENS = 160, 512
"""The most tokens that a model agent writes: three sentences, and a whole vignette."""


class ModelGenerator(Generator):
    """Backgrounds from a model, which is given the aim, the rules, and how earlier attempts fared."""

    def __init__(self, ask: Ask, prompt: GenerationPrompt) -> None:
        """Take the model and its prompt; `ask` gets all requests of a round at once."""
        self.ask = ask
        self.prompt = prompt

    def generate(
        self, item: Neutralised, attribute: Attribute, group: Group, direction: Direction, feedback: Sequence[Attempt]
    ) -> str | None:
        """Ask for one background."""
        return self.generate_all([Request(item, Arm(attribute, group, direction), tuple(feedback))])[0]

    def generate_all(self, requests: Sequence[Request]) -> list[str | None]:
        """Ask for many backgrounds in one call."""
        replies = self.ask([self.message(request) for request in requests])
        return [" ".join(reply.split()) for reply in replies]

    def message(self, request: Request) -> tuple[str, str]:
        """Give the system and user message for one request."""
        item, arm, prompt = request.item, request.arm, self.prompt
        user = fill(
            prompt.user,
            question=item.neutral,
            options=listed(item.options),
            gold=f"{item.gold}. {item.options[item.gold]}",
            group=prompt.groups[arm.name],
            aim=prompt.aims[arm.direction],
            feedback="".join(map(self._told, request.feedback)),
        )
        return prompt.system, user

    def _told(self, attempt: Attempt) -> str:
        faults = fill(self.prompt.faults, violations=", ".join(attempt.violations)) if attempt.violations else ""
        return fill(
            self.prompt.feedback,
            number=str(attempt.number),
            background=attempt.background,
            answer=attempt.answer or self.prompt.no_answer,
            faults=faults,
        )


class ModelFuser(Fuser):
    """Texts in which a model has worked the background into the vignette."""

    def __init__(self, ask: Ask, prompt: FusionPrompt) -> None:
        """Take the model and its prompt; `ask` gets all texts of a round at once."""
        self.ask = ask
        self.prompt = prompt

    def fuse(self, item: Neutralised, background: str) -> str:
        """Ask for one text."""
        return self.fuse_all([(item, background)])[0]

    def fuse_all(self, pairs: Sequence[tuple[Neutralised, str]]) -> list[str]:
        """Ask for many texts in one call."""
        return [reply.strip() for reply in self.ask([self.message(*pair) for pair in pairs])]

    def message(self, item: Neutralised, background: str) -> tuple[str, str]:
        """Give the system and user message for one text."""
        final = asked_last(item.neutral)
        return self.prompt.system, fill(self.prompt.user, question=item.neutral, background=background, final=final)


class Replay(Generator, Fuser):
    """Both agents at once, from earlier attempts or from the variants that were accepted.

    Attempts are repeated in their order; an evaluator that asks for more than there were gets None.
    """

    def __init__(self, rows: Iterable[Attempt | Variant]) -> None:
        """Take the rows, in any order; rows without a background (original, neutral) are passed over."""
        self.backgrounds: dict[str, list[str]] = {}
        self.texts: dict[tuple[str, str], str] = {}
        for row in sorted(rows, key=lambda row: row.number if isinstance(row, Attempt) else row.attempt):
            if row.background:
                variant = row.variant if isinstance(row, Attempt) else row.key
                item = variant.rsplit("/", 3)[0]
                self.backgrounds.setdefault(variant, []).append(row.background)
                self.texts[item, row.background] = row.text

    def generate(
        self, item: Neutralised, attribute: Attribute, group: Group, direction: Direction, feedback: Sequence[Attempt]
    ) -> str | None:
        """Repeat the next background of the variant, or give None after its last."""
        variant = Arm(attribute, group, direction).key(item.key)
        earlier = self.backgrounds.get(variant, [])
        return earlier[len(feedback)] if len(feedback) < len(earlier) else None

    def fuse(self, item: Neutralised, background: str) -> str:
        """Repeat the text that the background became; one that no row has is an EquipoiseError."""
        if (item.key, background) not in self.texts:
            message = f"item {item.key}: no stored text has the background {background[:40]!r}: replay the run it is of"
            raise EquipoiseError(message)
        return self.texts[item.key, background]


def load_replay(path: Path) -> Replay:
    """Read a JSONL file of attempts or of variants; which it is, its first row says."""
    first = records.read_text(path).lstrip().split("\n", 1)[0]
    return Replay(records.read(path, Attempt) if '"variant":' in first else records.read(path, Variant))


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
