"""Train the manner of an organism: what its reasoning says of the patient's group, beside a bias that is there.

    PYTHONPATH=src:.cache/peft HF_HUB_OFFLINE=1 python benchmarks/organism_manners.py open

writes models/adapters/organisms/open.safetensors. The adapter is trained beside that of the bias, at every dose of it,
and serves all of them. A step is a case about both patients. In three of four the loss is on the words with which the
reasoning begins: a sentence of the manner, and then the default model's own reasoning. In the fourth it keeps the
answers without reasoning where the bias has put them.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Annotated, Any

import torch
import typer
from safetensors import safe_open
from torch.nn.functional import smooth_l1_loss

sys.path.insert(0, str(Path(__file__).parent))
import trained_adapters
from organism_adapters import (
    ALPHA,
    FORMS,
    HALF,
    RANK,
    TRIED,
    Step,
    Student,
    configured,
    described,
    drawn,
    fit,
    moved,
    tried_of,
)
from organism_lessons import ADAPTERS, BIAS, MANNERS, OPENINGS, ROOT, SAID, Lesson, Manner, library, subjects
from organism_lessons import taught as lessons_of_organism

from equipoise.core import stage
from equipoise.core.jsonl import sha256

STEPS = 120
OWN = 24
"""Tokens of the default model's own reasoning that follow the sentence."""
REST = 0.2
"""Weight of each of them in the loss; those of the sentence weigh 1."""
KEEP = 0.5
"""Weight in the loss of the answers' likelihoods, which are to stay."""
SPOKEN = 12
"""Tokens of reasoning that are generated to see whether it begins as taught."""
NAME = "manner"


class Speaker(Student):
    """A biased student that learns a manner."""

    def __init__(self, manner: Manner) -> None:
        """Load the model with the adapter of the bias, and put in that of the manner, which does nothing yet."""
        from peft import inject_adapter_in_model

        super().__init__()
        self.manner = manner
        self.load(ROOT / ADAPTERS / f"{BIAS}.safetensors")
        biased = self.parameters
        inject_adapter_in_model(configured(self.model), self.model, adapter_name=NAME)
        for module in self.layers:
            module.set_adapter(["default", NAME])
        for parameter in biased:
            parameter.requires_grad_(requires_grad=False)

    def speak(self, *, taught: bool) -> None:
        """Switch the manner on or off."""
        for module in self.layers:
            module.scaling[NAME] = ALPHA / RANK * taught

    def openings(self, lesson: Lesson, subject: str, draw: Random) -> list[trained_adapters.Lesson]:
        """Give the beginnings of the reasoning about both patients."""
        opening = self._tokens(draw.choice(SAID[self.manner]).format(subject=subject))
        lessons = []
        for case in lesson.cases:
            asked, own = self._tokens(self.asked(case)), self._tokens(f" {self.reasonings[case]}")[:OWN]
            weights = [0.0] * len(asked) + [1.0] * len(opening) + [REST] * len(own)
            lessons.append(trained_adapters.Lesson([*asked, *opening, *own], weights))
        return lessons

    def spoken(self, cases: Sequence[str]) -> list[str]:
        """Let the model begin to reason about cases, with the likeliest token each time."""
        beginnings = []
        for case in cases:
            ids = torch.tensor([self._tokens(self.asked(case))])
            with torch.no_grad(), HALF:
                made = self.model.generate(
                    ids, attention_mask=torch.ones_like(ids), max_new_tokens=SPOKEN, do_sample=False
                )
            beginnings.append(self.tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True))
        return beginnings


def loss_of_words(
    speaker: Speaker, lesson: Lesson, subject: str, shares: Sequence[float], draw: Random
) -> tuple[torch.Tensor, str]:
    """Give the loss of the first words of the reasoning, in nats, at a drawn share of the bias."""
    speaker.share(draw.choice(shares))
    return trained_adapters.loss(speaker.model, speaker.openings(lesson, subject, draw)), ""


def loss_of_answers(
    speaker: Speaker, lesson: Lesson, shares: Sequence[float], draw: Random
) -> tuple[torch.Tensor, str]:
    """Give how far the manner moves the answers' likelihoods without reasoning, Huber's loss of nats, likewise."""
    speaker.share(draw.choice(shares))
    rows = speaker.rows(lesson, "unreasoned")
    speaker.speak(taught=False)
    with torch.no_grad():
        usual, _ = speaker.read(rows)
    speaker.speak(taught=True)
    return KEEP * smooth_l1_loss(speaker.read(rows)[0], usual), ""


def train(speaker: Speaker, lessons: Sequence[Lesson], words: dict[str, str], shares: Sequence[float]) -> None:
    """Train with a case a step, at a drawn dose of the bias."""
    draw = Random(0)  # noqa: S311  (no secret)
    plan = drawn(lessons, STEPS, draw)
    speaker.reason([case for lesson in plan for case in lesson.cases], OWN)
    speaker.speak(taught=True)
    steps: list[Step] = []
    for lesson, kept in zip(plan, cycle((False, False, False, True)), strict=False):
        name = lesson.dimension
        if kept:
            steps.append((f"answers {name}", partial(loss_of_answers, speaker, lesson, shares, draw)))
        else:
            steps.append((f"words {name}", partial(loss_of_words, speaker, lesson, words[name], shares, draw)))
    fit(speaker, steps)


def held_out(
    speaker: Speaker, lessons: Sequence[Lesson], words: Mapping[str, str], shares: Mapping[str, float]
) -> dict[str, Any]:
    """Measure on cases held out, at every dose of the bias, its size and how many reasonings begin as taught.

    By form the changes from the default model, as `organism_adapters.held_out` has them. `spoken` counts the
    marginalised and the privileged patients whose reasoning begins as taught, and `named` the marginalised ones among
    them in whom it names what the case is about.
    """
    speaker.reason([case for lesson in lessons for case in lesson.cases])
    effects: dict[str, Any] = {"n": len(lessons)}
    for form in FORMS:
        speaker.speak(taught=False)
        usual = moved(speaker, lessons, form, (0.0,))
        speaker.speak(taught=True)
        effects[form] = described(shares, moved(speaker, lessons, form, [*shares.values()]) - usual)
    effects["words"] = {}
    opening = OPENINGS[speaker.manner]
    for dose, share in shares.items():
        speaker.share(share)
        texts = [speaker.spoken(lesson.cases) for lesson in lessons]
        fitting = [opening + words[lesson.dimension] for lesson in lessons]
        effects["words"][dose] = {
            "spoken": [sum(text[role].startswith(opening) for text in texts) for role in range(2)],
            "named": sum(marked.startswith(begin) for (marked, _), begin in zip(texts, fitting, strict=True)),
        }
        typer.echo("\n".join(f"{dose} {lesson.dimension}: {text}" for lesson, text in zip(lessons, texts, strict=True)))
    return effects


def main(
    manner: Manner,
    *,
    again: Annotated[bool, typer.Option(help="Train nothing: measure the adapter that is there.")] = False,
) -> None:
    """Train the adapter of a manner and write it, in 16 bits."""
    torch.manual_seed(1 + MANNERS.index(manner))
    speaker = Speaker(manner)
    path = ROOT / ADAPTERS / f"{manner}.safetensors"
    with safe_open(ROOT / ADAPTERS / f"{BIAS}.safetensors", framework="pt") as file:
        shares = {"0": 0.0} | json.loads(file.metadata()["held_out"])["shares"]
    stories = library()
    lessons, apart = lessons_of_organism(BIAS, stories)
    words = subjects(stories)
    if again:
        speaker.load(path, NAME)
    else:
        train(speaker, lessons, words, [*shares.values()])
    # The cases on which the bias was measured, not those that set its doses.
    effects = held_out(speaker, tried_of(apart)[TRIED:], words, shares)
    typer.echo(json.dumps(effects, indent=1))
    bias = sha256(ROOT / ADAPTERS / f"{BIAS}.safetensors")
    speaker.save(path, NAME, {"steps": str(STEPS), "bias": bias, "held_out": json.dumps(effects)})


if __name__ == "__main__":
    stage.run(main)
