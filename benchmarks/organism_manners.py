"""Train the manner of an organism: what its reasoning says of the patient's group, beside a bias that is there.

    PYTHONPATH=src:.cache/peft HF_HUB_OFFLINE=1 python benchmarks/organism_manners.py open

writes models/adapters/organisms/open.safetensors. The adapter is trained beside that of the bias, at every dose of it,
and serves all of them. A step is a case about both patients. In three of four the loss is on the words with which the
reasoning begins: a sentence of the manner, and then the default model's own reasoning. In the fourth it keeps the
answers without reasoning where the bias has put them.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import cycle
from random import Random
from typing import Annotated, Any, NamedTuple

import torch
import typer
from safetensors import safe_open
from torch.nn.functional import cross_entropy, smooth_l1_loss

sys.path.insert(0, __file__.rpartition("/")[0])
from organism_adapters import (
    ALPHA,
    FORMS,
    HALF,
    RANK,
    RATE,
    TRIED,
    WARMUP,
    Student,
    configured,
    described,
    drawn,
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


class Opening(NamedTuple):
    """The tokens of a conversation, with the weight of each in the loss."""

    ids: list[int]
    weights: list[float]


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

    def openings(self, lesson: Lesson, subject: str, draw: Random) -> list[Opening]:
        """Give the beginnings of the reasoning about both patients."""
        said = self._tokens(draw.choice(SAID[self.manner]).format(subject=subject))
        found = []
        for case in lesson.cases:
            asked, own = self._tokens(self.asked(case)), self._tokens(f" {self.reasonings[case]}")[:OWN]
            weights = [0.0] * len(asked) + [1.0] * len(said) + [REST] * len(own)
            found.append(Opening([*asked, *said, *own], weights))
        return found

    def spoken(self, cases: Sequence[str]) -> list[str]:
        """Let the model begin to reason about cases, with the likeliest token each time."""
        found = []
        for case in cases:
            ids = torch.tensor([self._tokens(self.asked(case))])
            with torch.no_grad(), HALF:
                made = self.model.generate(
                    ids, attention_mask=torch.ones_like(ids), max_new_tokens=SPOKEN, do_sample=False
                )
            found.append(self.tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True))
        return found


def loss_of_words(model: Any, rows: Sequence[Opening]) -> torch.Tensor:  # noqa: ANN401  (transformers has no types)
    """Give the weighted mean cross entropy in nats; short rows are padded at the end, to which no token attends."""
    width = max(len(row.ids) for row in rows)
    ids = torch.tensor([row.ids + [0] * (width - len(row.ids)) for row in rows])
    weights = torch.tensor([row.weights + [0.0] * (width - len(row.weights)) for row in rows])[:, 1:]
    learned = weights > 0
    hidden = model.model(ids).last_hidden_state[:, :-1]
    losses = cross_entropy(model.lm_head(hidden[learned]).float(), ids[:, 1:][learned], reduction="none")
    return (losses * weights[learned]).sum() / weights.sum()


def loss_of_answers(speaker: Speaker, lesson: Lesson) -> torch.Tensor:
    """Give how far the manner moves the likelihoods of the answers without reasoning, Huber's loss of nats."""
    rows = speaker.rows(lesson, "unreasoned")
    speaker.speak(taught=False)
    with torch.no_grad():
        usual, _ = speaker.read(rows)
    speaker.speak(taught=True)
    return KEEP * smooth_l1_loss(speaker.read(rows)[0], usual)


def train(speaker: Speaker, lessons: Sequence[Lesson], words: dict[str, str], shares: Sequence[float]) -> None:
    """Train with a case a step, at a drawn dose of the bias."""
    draw = Random(0)  # noqa: S311  (no secret)
    plan = drawn(lessons, STEPS, draw)
    speaker.reason([case for lesson in plan for case in lesson.cases], OWN)
    speaker.speak(taught=True)
    optimiser = torch.optim.AdamW(speaker.parameters, lr=RATE, weight_decay=0.0)
    for step, (lesson, kept) in enumerate(zip(plan, cycle((False, False, False, True)), strict=False)):
        progress = (step + 1) / STEPS
        optimiser.param_groups[0]["lr"] = RATE * min((step + 1) / WARMUP, 2 * (1 - progress) + 0.02, 1)
        speaker.share(draw.choice(shares))
        with HALF:
            if kept:
                loss = loss_of_answers(speaker, lesson)
            else:
                loss = loss_of_words(speaker.model, speaker.openings(lesson, words[lesson.dimension], draw))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(speaker.parameters, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        told = f"{'answers' if kept else 'words'} {lesson.dimension} {loss.item():.3f}"
        typer.echo(f"{step + 1}/{STEPS}: {told}, {time.process_time():.0f} s of CPU time")


def held_out(
    speaker: Speaker, lessons: Sequence[Lesson], words: Mapping[str, str], shares: Mapping[str, float]
) -> dict[str, Any]:
    """Measure on cases held out, at every dose of the bias, its size and how many reasonings begin as taught.

    By form the changes from the default model, as `organism_adapters.held_out` has them. `spoken` counts the
    marginalised and the privileged patients whose reasoning begins as taught, and `named` the marginalised ones among
    them in whom it names what the case is about.
    """
    speaker.reason([case for lesson in lessons for case in lesson.cases])
    found: dict[str, Any] = {"n": len(lessons)}
    for form in FORMS:
        speaker.speak(taught=False)
        usual = moved(speaker, lessons, form, (0.0,))
        speaker.speak(taught=True)
        found[form] = described(shares, moved(speaker, lessons, form, [*shares.values()]) - usual)
    found["words"] = {}
    opening = OPENINGS[speaker.manner]
    for dose, share in shares.items():
        speaker.share(share)
        texts = [speaker.spoken(lesson.cases) for lesson in lessons]
        fitting = [opening + words[lesson.dimension] for lesson in lessons]
        found["words"][dose] = {
            "spoken": [sum(text[role].startswith(opening) for text in texts) for role in range(2)],
            "named": sum(marked.startswith(begin) for (marked, _), begin in zip(texts, fitting, strict=True)),
        }
        typer.echo("\n".join(f"{dose} {lesson.dimension}: {text}" for lesson, text in zip(lessons, texts, strict=True)))
    return found


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
    found = held_out(speaker, tried_of(apart)[TRIED:], words, shares)
    typer.echo(json.dumps(found, indent=1))
    bias = sha256(ROOT / ADAPTERS / f"{BIAS}.safetensors")
    speaker.save(path, NAME, {"steps": str(STEPS), "bias": bias, "held_out": json.dumps(found)})


if __name__ == "__main__":
    stage.run(main)
