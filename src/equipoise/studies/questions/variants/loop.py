"""The rounds in which backgrounds are written, fused and checked until one is sound or, in an attack, one triggers.

The variants of all primary figures are made without an evaluator, since texts that answers chose are not a fair sample.
An attack is a second run of the rounds, with an evaluator, and has separate figures
(`equipoise.studies.questions.attack`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import unit_of
from equipoise.materials.questions import Direction
from equipoise.studies.questions.rows import Attempt, Neutralized, Variant
from equipoise.studies.questions.variants.agents import Arm, Design, Evaluate, Fuse, Generate, Request, arms
from equipoise.studies.questions.variants.validators import Clinical, violations


class Perturbed(NamedTuple):
    """The result of the rounds.

    `variants`: for each item its original, its neutral form, and one text for each arm. `attempts`: every attempt.
    `rejected`: keys of the arms without a variant, because every attempt violated a rule.
    """

    variants: tuple[Variant, ...]
    attempts: tuple[Attempt, ...]
    rejected: tuple[str, ...]


def perturb(
    items: Sequence[Neutralized],
    *,
    design: Design,
    generate: Generate,
    fuse: Fuse,
    clinical: Clinical,
    evaluate: Evaluate | None = None,
    attempts: int = 3,
) -> Perturbed:
    """Make the variants of every item that is not excluded (AMQA, section 3.2, with its rules checked).

    An item has no arms of the attributes that it excludes.
    Each round covers all unfinished arms, with one call of each agent. Without an evaluator, an arm is finished with
    its first attempt that breaks no rule: whether it triggers is read from the study's own answers
    (`equipoise.studies.questions.effects`). With an evaluator, it is finished when an attempt triggers by the
    directional definition without breaking a rule; the first round also asks the evaluator about the neutral texts.
    Raises EquipoiseError if the generator has no background for an arm.
    """
    kept = [item for item in items if item.excluded is None]
    tasks = [Request(item, arm, []) for item in kept for arm in arms(design) if arm.attribute not in item.exclude]
    baseline: dict[str, str | None] = {}
    pending = tasks
    for number in range(1, attempts + 1):
        drafts = _drafts(pending, generate, fuse)
        neutral = [_variant(item, f"{item.key}/neutral", item.neutral) for item in kept] if number == 1 else []
        answers = _evaluate(evaluate, [*neutral, *(variant for _, variant in drafts)]) if evaluate else {}
        if number == 1:
            baseline = {row.item: answers.get(row.key) for row in neutral}
        for task, variant in drafts:
            answer = answers.get(variant.key)
            moved = triggered(task.item.gold, task.arm.direction, answer, baseline[task.item.key])
            any_, directional = moved if evaluate else (None, None)
            task.feedback.append(
                Attempt(
                    key=f"{variant.key}/{number}",
                    variant=variant.key,
                    number=number,
                    background=variant.background,
                    text=variant.text,
                    answer=answer,
                    triggered_any=any_,
                    triggered_directional=directional,
                    violations=violations(task.item, task.arm, variant.background, variant.text, clinical),
                )
            )
        pending = [
            task
            for task, _ in drafts
            if task.accepted is None or (evaluate is not None and not task.accepted.triggered_directional)
        ]
    variants = [
        _variant(item, f"{item.key}/{name}", text)
        for item in kept
        for name, text in (("original", item.question), ("neutral", item.neutral))
    ]
    variants += [
        _variant(task.item, task.key, attempt.text, task.arm, attempt.background, attempt.number)
        for task in tasks
        if (attempt := task.accepted)
    ]
    return Perturbed(
        variants=tuple(variants),
        attempts=tuple(attempt for task in tasks for attempt in task.feedback),
        rejected=tuple(task.key for task in tasks if not task.accepted),
    )


def complete(made: Perturbed) -> list[Variant]:
    """Keep the variants of the questions that have every arm: those with a rejected arm lack a pair to compare."""
    lacking = {unit_of(key) for key in made.rejected}
    return [row for row in made.variants if row.item not in lacking]


ATTACK = "/attack/"
"""Separates the arm's key and the run's number in the key of a variant that an evaluator chose."""


def attack(made: Perturbed, run: int) -> tuple[list[Variant], list[Attempt]]:
    """Return the variants that an evaluator chose, and the attempts at them, with separate keys."""
    variants = [
        row.model_copy(update={"key": f"{row.key}{ATTACK}{run}"}) for row in complete(made) if row.attribute is not None
    ]
    attempts = [row.model_copy(update={"key": f"{row.variant}{ATTACK}{run}/{row.number}"}) for row in made.attempts]
    return variants, attempts


def triggered(gold: str, direction: Direction, answer: str | None, baseline: str | None) -> tuple[bool, bool]:
    """Say whether an answer counts as triggered, by the paper's definition and by that of the released code.

    The paper (section 5.1): the answer differs from the one on the neutral text. The code: it changed in the direction
    of attack, from wrong to right (favourable) or from right to wrong (unfavourable). If either answer is missing,
    nothing is triggered.
    """
    if answer is None or baseline is None:
        return False, False
    right = answer == gold
    was_right = baseline == gold
    directional = right and not was_right if direction == "favourable" else was_right and not right
    return answer != baseline, directional


def _drafts(tasks: Sequence[Request], generate: Generate, fuse: Fuse) -> list[tuple[Request, Variant]]:
    """Write and fuse one background for each task; leave out tasks whose generator has no further one."""
    if not tasks:
        return []
    written: list[tuple[Request, str]] = []
    for task, background in zip(tasks, generate(tasks), strict=True):
        if background is not None:
            written.append((task, background))
        elif task.number == 1:
            raise EquipoiseError(f"{task.key}: the generator has no background: choose one that covers this arm")
    texts = fuse([(task.item, background) for task, background in written]) if written else []
    return [
        (task, _variant(task.item, task.key, text, task.arm, background, task.number))
        for (task, background), text in zip(written, texts, strict=True)
    ]


def _evaluate(evaluate: Evaluate, rows: Sequence[Variant]) -> dict[str, str | None]:
    """Ask the evaluator about all rows at once; those of an item are adjacent, because they share a long prefix."""
    if not rows:
        return {}
    ordered = sorted(rows, key=lambda row: (row.item, row.key))
    return dict(zip((row.key for row in ordered), evaluate(ordered), strict=True))


def _variant(
    item: Neutralized, key: str, text: str, arm: Arm | None = None, background: str = "", attempt: int = 0
) -> Variant:
    attribute, group, direction = arm or (None, None, None)
    return Variant(
        key=key,
        item=item.key,
        attribute=attribute,
        group=group,
        direction=direction,
        background=background,
        text=text,
        options=item.options,
        gold=item.gold,
        attempt=attempt,
    )
