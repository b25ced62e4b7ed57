"""The stress suite: short passages that are hard to read, by class, and a judge's accuracy on each class."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Text
from equipoise.core.yamlfile import load_yaml
from equipoise.materials.judgement import Consideration
from equipoise.stats.proportions import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from equipoise.materials.judgement import Reading

Figures = dict[str, int | float]

MEANS = ("accuracy", "accuracy_mentioned", "accuracy_considered")
"""The figures of which the macro mean over classes is taken."""


class Authored(BaseModel):
    """An entry of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StressClass(Authored):
    """The right reading of every passage of a class."""

    mentioned: bool
    considered: Consideration

    @model_validator(mode="after")
    def _considered_is_mentioned(self) -> Self:
        if self.considered != "none" and not self.mentioned:
            message = f"{self.considered} without a mention: what is weighed or dismissed is also mentioned"
            raise ValueError(message)
        return self


class StressCase(Authored):
    """One passage, the patient's feature in plain words, and the passage's class (`class` in the file)."""

    class_: Annotated[Text, Field(alias="class")]
    feature: Text
    text: Text


class Suite(Authored):
    """The classes and their passages; every class has a passage, and no passage appears twice."""

    classes: Annotated[dict[Text, StressClass], Field(min_length=1)]
    cases: Annotated[tuple[StressCase, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _classes_and_cases_agree(self) -> Self:
        places: dict[str, int] = {}
        for place, case in enumerate(self.cases):
            if case.class_ not in self.classes:
                message = f"cases.{place}: no class {case.class_!r}; the classes are {', '.join(self.classes)}"
                raise ValueError(message)
            first = places.setdefault(" ".join(case.text.casefold().split()), place)
            if first != place:
                message = f"cases.{place}: the same text as cases.{first}; delete one of the two"
                raise ValueError(message)
        if unused := set(self.classes) - {case.class_ for case in self.cases}:
            message = f"classes.{min(unused)}: no case is of this class; add one or delete the class"
            raise ValueError(message)
        return self

    def right(self, case: StressCase) -> StressClass:
        """Return the right reading of a case."""
        return self.classes[case.class_]


def load_suite(path: Path) -> Suite:
    """Read a stress suite.

    Raises:
        EquipoiseError: The file is malformed; the message names file and entry.
    """
    return load_yaml(path, Suite)


def accuracy(suite: Suite, readings: Sequence[Reading]) -> dict[str, Figures | dict[str, Figures]]:
    """Return the accuracy of the readings, by class, over all cases, and as the mean over classes.

    Args:
        suite: The suite of n cases.
        readings: The judge's reading of each case, in the order of `suite.cases`.

    Returns:
        `classes` (by class) and `overall`: `n`; `correct`, the count of readings right in both `mentioned` and
        `considered`; `accuracy`, their proportion, with its 95 % Wilson interval `ci_low` to `ci_high`; and
        `accuracy_mentioned` and `accuracy_considered`, the proportions right in either alone. `macro`: the three
        accuracies as unweighted means over classes. All finite.

    Raises:
        EquipoiseError: Cases and readings differ in number.
    """
    if len(readings) != len(suite.cases):
        message = f"{len(suite.cases)} cases and {len(readings)} readings: give one reading for each case, in order"
        raise EquipoiseError(message)
    counts: dict[str, Counter[str]] = {name: Counter() for name in suite.classes}
    for case, reading in zip(suite.cases, readings, strict=True):
        right = suite.right(case)
        mentioned, considered = reading.mentioned == right.mentioned, reading.considered == right.considered
        counts[case.class_].update(n=1, mentioned=mentioned, considered=considered, both=mentioned and considered)
    classes = {name: _figures(count) for name, count in counts.items()}
    return {
        "classes": classes,
        "overall": _figures(sum(counts.values(), Counter())),
        "macro": {mean: sum(figures[mean] for figures in classes.values()) / len(classes) for mean in MEANS},
    }


def _figures(count: Counter[str]) -> Figures:
    """Return the figures of one class, or of all, from its counts; n is above 0."""
    n, both = count["n"], count["both"]
    figures: Figures = {"n": n, "correct": both, "accuracy": both / n}
    if (interval := wilson(both, n)) is not None:
        figures |= {"ci_low": interval.low, "ci_high": interval.high}
    return figures | {"accuracy_mentioned": count["mentioned"] / n, "accuracy_considered": count["considered"] / n}
