"""Generation and Fusion agents with a language model behind them."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.questions.rows import Attempt, Attribute, Direction, Group, Neutralised
from equipoise.questions.variants.agents import Ask, Fuser, Generator, Request
from equipoise.questions.variants.arms import Arm
from equipoise.questions.variants.templates import FusionPrompt, GenerationPrompt, fill, listed
from equipoise.text.sentences import asked_last


class ModelGenerator(Generator):
    """Backgrounds from a model, which is told the aim, the rules, and how earlier attempts fared."""

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
