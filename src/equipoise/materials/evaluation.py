"""The prompt with which a multiple-choice question is asked."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import StrictInt, StringConstraints, model_validator

from equipoise.core.row import Frozen

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_SLOT = re.compile(r"\{(\w+)\}")


class AgentPrompt(Frozen):
    """A prompt with slots in braces; `user` must contain each of them."""

    slots: ClassVar[tuple[str, ...]]

    version: StrictInt
    system: str
    user: Line

    @model_validator(mode="after")
    def _slots_are_there(self) -> Self:
        if set(_SLOT.findall(self.user)) != set(self.slots):
            raise ValueError(f"user needs the slots {', '.join(f'{{{slot}}}' for slot in self.slots)}, and no others")
        return self


class EvaluationPrompt(AgentPrompt):
    """The Evaluation agent's prompt."""

    slots = ("question", "options")

    def ask(self, text: str, options: Mapping[str, str]) -> tuple[str, str]:
        """Return the system and user message that ask one question."""
        return self.system, fill(self.user, question=text, options=listed(options))

    def lead(self, text: str) -> str:
        """Return the beginning of the user message that all orders of the options share."""
        return fill(self.user.partition("{options}")[0], question=text)


def fill(text: str, **slots: str) -> str:
    """Fill the slots of a prompt in one pass, so that braces in the values stay as they are."""
    return _SLOT.sub(lambda match: slots[match[1]], text)


def listed(options: Mapping[str, str]) -> str:
    """Write the options as lines of the form `A. text`."""
    return "\n".join(f"{letter}. {option}" for letter, option in options.items())
