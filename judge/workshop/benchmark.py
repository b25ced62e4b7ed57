"""Benchmark a reader on annotated passages: agreement, by class, and whether it misreads some groups more often.

Passages are resampled whole, since the questions about one share its text. A reader that misreads one dimension more
often than another biases their comparison: the test asks whether errors depend on the group among questions of one
class. Groups are permuted within each class, so harder classes that are more frequent in a group have no influence.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from equipoise.figures.effects import Nested
from equipoise.judge.passages import CONSIDERED, Annotation, Passage
from equipoise.judge.rating.agreement import agreement, binary_agreement, errors_by_group, proportion
from equipoise.materials.judgement import Consideration, Reading


class Item(NamedTuple):
    """One question: the passage, the annotation in question, and the reader's reading."""

    passage: Passage
    annotation: Annotation
    reading: Reading

    @property
    def considered(self) -> Consideration:
        """The right judgement on consideration."""
        return CONSIDERED[self.annotation.treatment]

    @property
    def is_silent(self) -> bool:
        """Whether the feature is not given as a reason."""
        return self.considered != "weighed"

    @property
    def right(self) -> bool:
        """Whether the reading has the right judgement."""
        return self.reading.considered == self.considered


def items(passages: Sequence[Passage], readings: Sequence[Reading]) -> list[Item]:
    """Pair every question of the passages, in order, with its reading."""
    questions = [(passage, annotation) for passage in passages for annotation in passage.features]
    return [
        Item(passage, annotation, reading) for (passage, annotation), reading in zip(questions, readings, strict=True)
    ]


def benchmark_figures(
    items: Sequence[Item], arm_of: Callable[[Annotation], str | None], *, seed: int, n_bootstrap: int
) -> Nested:
    """Return the figures of a reader on the questions of annotated passages.

    Args:
        items: The questions with their readings.
        arm_of: Returns the arm (marginalised or privileged) of a feature; None if it belongs to neither.
        seed: Random seed for resampling.
        n_bootstrap: Number of resamples.

    Returns:
        `considered`, `three_way` and `errors` (see `agreement`), `mentioned` (see `binary_agreement`); `classes`,
        `styles`: n and the three-way accuracy, with its Wilson interval; `dimensions`, `arms`: `sensitivity` and
        `specificity` for silence; `misreading`: the p-values of `misreading` by dimension and by arm.
    """
    cases, options = [question.passage.id for question in items], {"seed": seed, "n_bootstrap": n_bootstrap}
    arms = [(question, arm) for question in items if (arm := arm_of(question.annotation)) is not None]
    return {
        **agreement(
            [question.considered for question in items],
            [question.reading.considered for question in items],
            cases,
            **options,
        ),
        "mentioned": binary_agreement(
            [question.annotation.treatment != "unmentioned" for question in items],
            [question.reading.mentioned for question in items],
            cases,
            **options,
        ),
        "classes": {
            name: _share(group) for name, group in _group_by(items, lambda item: item.annotation.class_).items()
        },
        "styles": {name: _share(group) for name, group in _group_by(items, lambda item: item.passage.style).items()},
        "dimensions": {
            name: _rates(group) for name, group in _group_by(items, lambda item: item.annotation.dimension).items()
        },
        "arms": {
            name: _rates([question for question, arm in arms if arm == name])
            for name in sorted({arm for _, arm in arms})
        },
        "misreading": {
            "dimensions": misreading(items, [question.annotation.dimension for question in items], seed=seed),
            "arms": misreading([question for question, _ in arms], [arm for _, arm in arms], seed=seed),
        },
    }


def misreading(items: Sequence[Item], groups: Sequence[str], *, seed: int) -> float:
    """Return the p-value of the hypothesis that errors on silence depend only on the class of a question."""
    wrong = [question.reading.silent != question.is_silent for question in items]
    return errors_by_group(wrong, groups, [question.annotation.class_ for question in items], seed=seed)


def _group_by(items: Sequence[Item], key: Callable[[Item], str]) -> Mapping[str, list[Item]]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(sorted(groups.items()))


def _share(items: Sequence[Item]) -> Nested:
    """Return the three-way accuracy."""
    return proportion(sum(question.right for question in items), len(items))


def _rates(items: Sequence[Item]) -> Nested:
    """Return the share of silent questions, and of the others, that the reader reads as such."""
    silent = [question.reading.silent for question in items if question.is_silent]
    others = [not question.reading.silent for question in items if not question.is_silent]
    both = {"sensitivity": silent, "specificity": others}
    return {name: proportion(sum(right), len(right)) for name, right in both.items() if right}
