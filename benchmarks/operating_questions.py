"""Operating characteristics of the questions' verdict: how often models of known truth get each verdict.

Every draw makes the answers to a whole study, about the questions of the shipped limit or about every authored one, and
puts them through the estimators, guards and verdict of the pipeline itself with the endpoint that params.yaml declares.
A competent model finds each question more or less easy, alike in all its variants but for noise; a bias makes questions
about the unprivileged patient harder, by so many margins of `group_effect` on average. Cities have no groups of their
own in the verdict: with the same background, a city's difference is that of an attribute. Writes
operating_questions.jsonl.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import operating_draws
from operating_draws import settings
from scipy.stats import norm

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.result import StudyResult
from equipoise.figures.verdicts import verdict
from equipoise.materials.questions import ATTRIBUTES, Attribute, Item, Order
from equipoise.studies.questions.components import component_effects, written_guards
from equipoise.studies.questions.effects import (
    NEUTRAL,
    ORIGINAL,
    Answered,
    arm,
    arm_skews,
    question_effects,
    question_findings,
)
from equipoise.studies.questions.neutralize import spread
from equipoise.studies.questions.variants.agents import DIRECTIONS
from equipoise.studies.registry import STUDIES

OUT = Path(__file__).with_name("operating_questions.jsonl")
STUDY = "questions"
MARGIN = 0.05
"""The margin of the group effect, a share of questions: the unit of the planted biases."""
CANCELLING = {"unfavourable": 1.0, "favourable": -1.0}
"""How a bias depends on the background where the gaps with the two backgrounds cancel."""
SIZES = {"20 questions": 20, "every question": 0}
"""The setting `neutralize.limit`."""
ABILITY = 0.75
"""The share of neutral questions that a competent model answers correctly."""
SIDES = ("privileged", "unprivileged")


@dataclass(frozen=True)
class Member:
    """A model: what is true of it (`fair`, `biased` or `blind`), and how it answers.

    Whether a variant is answered correctly depends on the question (standard deviation 1) and on `noise` of its own.
    `effects` are the biases by attribute, in margins, which `backgrounds` multiply with either background (1 if not
    named). `letters` says how a model that does not read the question chooses (the `longest` option, the one at `one`
    place, or `any`); it is empty for a model that reads it. `refuses` is the share of refused answers about the
    unprivileged and the privileged patient.
    """

    name: str
    truth: str
    noise: float = 0.3
    effects: Mapping[Attribute, float] = field(default_factory=dict)
    backgrounds: Mapping[str, float] = field(default_factory=dict)
    letters: str = ""
    refuses: tuple[float, float] = (0.0, 0.0)


def members() -> list[Member]:
    """Every model, with what is true of it."""
    models = []
    for noise in (0.1, 0.3, 1.0):
        told = f"noise of {noise:g}"
        models.append(Member(f"fair, {told}", "fair", noise))
        models += [
            Member(
                f"biased by {size:g} margin{'s' * (size > 1)}, {told}", "biased", noise, dict.fromkeys(ATTRIBUTES, size)
            )
            for size in (1.0, 2.0, 4.0)
        ]
        models += [
            Member(f"race alone, 4 margins, {told}", "biased", noise, {"race": 4.0}),
            Member(f"attributes that cancel, 4 margins, {told}", "biased", noise, {"race": 4.0, "gender": -4.0}),
            *(
                Member(
                    f"backgrounds that cancel, {size:g} margins, {told}",
                    "biased",
                    noise,
                    dict.fromkeys(ATTRIBUTES, size),
                    CANCELLING,
                )
                for size in (2.0, 4.0)
            ),
        ]
    return [
        *models,
        Member("refuses two fifths of one group", "biased", refuses=(0.4, 0.0)),
        Member("refuses half of the answers", "blind", refuses=(0.5, 0.5)),
        Member("the longest option", "blind", letters="longest"),
        Member("one letter", "blind", letters="one"),
        Member("random network", "blind", letters="any"),
    ]


@cache
def asked(size: str) -> list[Item]:
    """The questions of a size."""
    return spread(jsonl.read(Path("data/items/authored.jsonl"), Item), SIZES[size])


def arms(item: Item) -> Iterator[tuple[str, Attribute | None, str]]:
    """Yield the variants of a question, with the attribute and the side of the patient."""
    for name in (ORIGINAL, NEUTRAL):
        yield name, None, ""
    for attribute in ATTRIBUTES:
        for side in () if attribute in item.exclude else SIDES:
            for direction in DIRECTIONS:
                yield arm(attribute, side, direction), attribute, side  # type: ignore[arg-type]  # a side is a group


def answered(member: Member, items: list[Item], seed: int) -> list[Answered]:
    """Draw a model's letters in every variant of every question."""
    rng = np.random.default_rng(seed)
    # An answer is right where ability, ease of the question and noise together exceed 0.
    spread_of = np.hypot(1.0, member.noise)
    answers = []
    for item in items:
        ease, letters, orders = rng.normal(), {}, {}
        for name, attribute, side in arms(item):
            lost = MARGIN * member.effects.get(attribute, 0.0) if attribute and side == "unprivileged" else 0.0
            lost *= member.backgrounds.get(name.rpartition("/")[2], 1.0)
            right = norm.ppf(ABILITY - lost) * spread_of + ease + rng.normal(0, member.noise) > 0
            letter = _unread(member, item, rng) or _letter(item, rng, right=right)
            refused = bool(side and rng.random() < member.refuses[side == "privileged"])
            letters[name] = None if refused else letter
            orders[name] = tuple(
                Order(shift=shift, probabilities={} if refused else chosen, refused=refused)
                for shift, chosen in enumerate(_chosen(member, item, letter))
            )
        answers.append(Answered(item.key, item.gold, letters, orders))
    return answers


def _letter(item: Item, rng: np.random.Generator, *, right: bool) -> str:
    return item.gold if right else str(rng.choice([letter for letter in item.options if letter != item.gold]))


def _unread(member: Member, item: Item, rng: np.random.Generator) -> str:
    """Return the letter of a model that does not read the question; empty for one that does."""
    options = [*item.options]
    return {
        "longest": max(options, key=lambda letter: len(item.options[letter])),
        # Over all orders every option is chosen equally often, and the first by name counts.
        "one": options[0],
        "any": str(rng.choice(options)),
    }.get(member.letters, "")


def _chosen(member: Member, item: Item, letter: str) -> Iterator[dict[str, float]]:
    """Yield the choice in each cyclic order: the same option, or whichever has the place that a model prefers."""
    options = [*item.options]
    for shift in range(len(options)):
        shown = options[-shift] if member.letters == "one" else letter
        yield {option: float(option == shown) for option in options}


def study(member: Member, size: str, seed: int) -> StudyResult:
    """Draw the answers of a model, and estimate what a verdict reads."""
    items, options = asked(size), settings()[1]
    table = answered(member, items, seed)
    skews = arm_skews(table)
    by_variant = {f"{row.question}/{name}": orders for row in table for name, orders in row.orders.items()}
    return StudyResult(
        study=STUDY,
        effects=[
            *question_effects(table, options),
            *component_effects(table, {item.key: item.options for item in items}, options),
        ],
        findings=question_findings(skews),
        guards=[*written_guards(by_variant), *guards.arm_skews(skews.values())],
    )


def run(member: str, size: str, draws: int) -> dict[str, Any]:
    """Draw a model's studies of one size, and count the verdicts and the reasons."""
    model = next(row for row in members() if row.name == member)
    words: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for seed in range(draws):
        decided = verdict(STUDIES[STUDY], study(model, size, seed), settings()[0])
        assert decided is not None  # noqa: S101
        words[decided.word] += 1
        reasons.update({reason.partition(":")[0].partition(" is ")[0] for reason in decided.because})
    return {
        "model": member,
        "truth": model.truth,
        "size": size,
        "draws": draws,
        "verdicts": {name: words[name] / draws for name in sorted(words)},
        "because": {name: count / draws for name, count in reasons.most_common(5)},
    }


if __name__ == "__main__":
    operating_draws.main(__doc__, run, [row.name for row in members()], SIZES, OUT)
