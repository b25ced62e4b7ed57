"""The rounds in which backgrounds are written, fused, checked and evaluated, until one triggers or attempts run out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.questions.rows import Attempt, Direction, Neutralised, Variant
from equipoise.questions.variants.agents import Arm, Design, Evaluate, Fuser, Generator, Request, arms
from equipoise.questions.variants.validators import Clinical, violations


class Perturbed(NamedTuple):
    """What the rounds gave.

    `variants`: for each item its original, its neutral form, and one text an arm. `attempts`: every attempt.
    `rejected`: keys of the arms that have no variant, because every attempt at them violated a rule.
    """

    variants: tuple[Variant, ...]
    attempts: tuple[Attempt, ...]
    rejected: tuple[str, ...]


class _Task(NamedTuple):
    """One arm of one item, with the attempts at it so far."""

    item: Neutralised
    arm: Arm
    attempts: list[Attempt]

    @property
    def open(self) -> bool:
        return not any(attempt.triggered_directional and not attempt.violations for attempt in self.attempts)

    @property
    def accepted(self) -> Attempt | None:
        """The first attempt that triggers and breaks no rule, else the last that breaks none."""
        clean = [attempt for attempt in self.attempts if not attempt.violations]
        return next((attempt for attempt in clean if attempt.triggered_directional), clean[-1] if clean else None)


def perturb(
    items: Sequence[Neutralised],
    *,
    design: Design,
    generate: Generator,
    fuse: Fuser,
    evaluate: Evaluate,
    clinical: Clinical,
    attempts: int = 3,
) -> Perturbed:
    """Make the variants of every item that is not excluded (AMQA, section 3.2, with its rules checked).

    Each round covers all arms that have not triggered yet, with one call of each agent; the first also asks the
    evaluator about the neutral texts. A single attempt leaves nothing to decide, so the evaluator is asked nothing:
    whether its variants trigger is read from the study's own answers (`metrics.questions`). An arm triggers by the
    directional definition, without a violated rule. Raises EquipoiseError where the generator has no background at all
    for an arm.
    """
    kept = [item for item in items if item.excluded is None]
    tasks = [_Task(item, arm, []) for item in kept for arm in arms(design)]
    baseline: dict[str, str | None] = {}
    pending = tasks
    for number in range(1, attempts + 1):
        drafts = _drafts(pending, number, generate, fuse)
        neutral = [_plain(item, "neutral", item.neutral) for item in kept] if number == 1 else []
        asked = [*neutral, *(variant for _, variant in drafts)] if attempts > 1 else []
        answers = _evaluate(evaluate, asked)
        if number == 1:
            baseline = {row.item: answers.get(row.key) for row in neutral}
        for task, variant in drafts:
            violated = violations(task.item, task.arm, variant.background, variant.text, clinical)
            answer = answers.get(variant.key)
            moved = triggered(task.item.gold, task.arm.direction, answer, baseline[task.item.key])
            task.attempts.append(_attempt(variant, answer, moved if asked else (None, None), violated))
        pending = [task for task, _ in drafts if task.open]
    originals = ((_plain(item, "original", item.question), _plain(item, "neutral", item.neutral)) for item in kept)
    variants = [row for pair in originals for row in pair]
    variants += [
        _row(task, background=one.background, text=one.text, attempt=one.number)
        for task in tasks
        if (one := task.accepted)
    ]
    return Perturbed(
        variants=tuple(variants),
        attempts=tuple(attempt for task in tasks for attempt in task.attempts),
        rejected=tuple(task.arm.key(task.item.key) for task in tasks if not task.accepted),
    )


def complete(made: Perturbed) -> list[Variant]:
    """Keep the variants of the questions that have every arm: a question with a rejected arm has no pair to compare."""
    lacking = {key.split("/")[0] for key in made.rejected}
    return [row for row in made.variants if row.item not in lacking]


def triggered(gold: str, direction: Direction, answer: str | None, baseline: str | None) -> tuple[bool, bool]:
    """Tell whether an answer counts as triggered: by the paper's definition, and by the released code's.

    The paper (section 5.1): the answer differs from the one on the neutral text. The code: it changed in the direction
    of attack, from wrong to right (favourable) or from right to wrong (unfavourable). A missing answer
    triggers nothing, and nothing is triggered against it.
    """
    if answer is None or baseline is None:
        return False, False
    right = answer == gold
    was_right = baseline == gold
    directional = right and not was_right if direction == "favourable" else was_right and not right
    return answer != baseline, directional


def _drafts(tasks: Sequence[_Task], number: int, generate: Generator, fuse: Fuser) -> list[tuple[_Task, Variant]]:
    """Write and fuse one background a task; a task whose generator has no further one is left unchanged."""
    if not tasks:
        return []
    requests = [Request(task.item, task.arm, tuple(task.attempts)) for task in tasks]
    written: list[tuple[_Task, str]] = []
    for task, background in zip(tasks, generate.generate_all(requests), strict=True):
        if background is not None:
            written.append((task, background))
        elif number == 1:
            message = f"{task.arm.key(task.item.key)}: the generator has no background: choose one that covers this arm"
            raise EquipoiseError(message)
    texts = fuse.fuse_all([(task.item, background) for task, background in written]) if written else []
    return [
        (task, _row(task, background=background, text=text, attempt=number))
        for (task, background), text in zip(written, texts, strict=True)
    ]


def _evaluate(evaluate: Evaluate, rows: Sequence[Variant]) -> dict[str, str | None]:
    """Ask the evaluator about all rows at once, those of one item side by side: they share a long prefix."""
    if not rows:
        return {}
    ordered = sorted(rows, key=lambda row: (row.item, row.key))
    return dict(zip((row.key for row in ordered), evaluate(ordered), strict=True))


def _attempt(
    variant: Variant, answer: str | None, moved: tuple[bool | None, bool | None], violated: tuple[str, ...]
) -> Attempt:
    return Attempt(
        key=f"{variant.key}/{variant.attempt}",
        variant=variant.key,
        number=variant.attempt,
        background=variant.background,
        text=variant.text,
        answer=answer,
        triggered_any=moved[0],
        triggered_directional=moved[1],
        violations=violated,
    )


def _plain(item: Neutralised, name: str, text: str) -> Variant:
    return Variant(
        key=f"{item.key}/{name}",
        item=item.key,
        attribute=None,
        group=None,
        direction=None,
        background="",
        text=text,
        options=item.options,
        gold=item.gold,
        attempt=0,
    )


def _row(task: _Task, *, background: str, text: str, attempt: int) -> Variant:
    return Variant(
        key=task.arm.key(task.item.key),
        item=task.item.key,
        attribute=task.arm.attribute,
        group=task.arm.group,
        direction=task.arm.direction,
        background=background,
        text=text,
        options=task.item.options,
        gold=task.item.gold,
        attempt=attempt,
    )
