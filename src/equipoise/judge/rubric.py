"""The questions of a language-model judge, and the checks of a judge's entry that need no model.

A rubric is a YAML file in data/rubrics/. It has places only for the passage and the feature, so the judge is blind to
the model, the arm and the answer. Models prefer some letters to others whatever the question (Zheng et al. 2024,
arXiv:2309.03882), hence the orders of the labels.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import Count
from equipoise.core.prompts import Prompt
from equipoise.core.row import Frozen, Text
from equipoise.core.yamlfile import load_yaml
from equipoise.judge.passages import MANNERS, TREATMENTS
from equipoise.models.registry import LlmJudgeEntry, PanelJudgeEntry, load_entry, load_judge_entry

LETTERS = "ABCD"
LABELS: tuple[tuple[str, ...], ...] = (TREATMENTS, MANNERS)
"""The labels among which a rubric lets a model choose: treatments of a feature, or manners of a fact."""


def orders_of(labels: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """List the cyclic orders of labels: each label has each letter once."""
    return tuple((*labels[first:], *labels[:first]) for first in range(len(labels)))


ORDERS = orders_of(TREATMENTS)


class Rubric(Frozen):
    """The texts of a language model's question: see data/rubrics/treatments.yaml."""

    version: Count
    system: Text
    question: Text
    options: dict[str, Text]
    letter: Text
    prefix: Text
    json_: Annotated[Text, Field(alias="json")]

    @field_validator("question")
    @classmethod
    def _has_its_places(cls, question: str) -> str:
        places = ("{passage}", "{feature}", "{options}")
        if wrong := [place for place in places if question.count(place) != 1]:
            raise ValueError(f"{wrong[0]} must occur once")
        if sorted(places, key=question.index) != list(places):
            raise ValueError(f"{', '.join(places)} must come in this order")
        return question

    @model_validator(mode="after")
    def _tells_every_option(self) -> Self:
        if missing := [name for name in self.labels if name not in self.options]:
            raise ValueError(f"options: {missing[0]} is missing")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the options tell, in the order of a judge's columns."""
        return max(LABELS, key=lambda labels: len({*labels} & self.options.keys()))

    def ask(self, pair: tuple[str, str], order: Sequence[str], key: str, *, scored: bool) -> Prompt:
        """Build the prompt about a passage and a feature (race: Black), with the labels in an order.

        A model with likelihoods is scored on the letters after the prefix; otherwise its reply is read. Tags in the
        passage are escaped, so that an order in it cannot end the passage and pose as the question.
        """
        passage, feature = pair
        listed = "\n".join(f"{letter}. {self.options[name]}" for letter, name in zip(LETTERS, order, strict=True))
        beginning, _, rest = self.question.partition("{passage}")
        between, _, after = rest.partition("{feature}")
        before, _, end = after.partition("{options}")
        stem = f"{beginning}{escape(passage, quote=False)}{between}"
        return Prompt(
            key=key,
            study="judge",
            system=self.system,
            stem=stem,
            lead=f"{stem}{feature}{before}",
            turns=(f"{stem}{feature}{before}{listed}{end}\n\n{self.letter if scored else self.json_}",),
            prefix=self.prefix if scored else "",
            candidates=tuple(LETTERS) if scored else (),
            reply=not scored,
        )


def load_rubric(path: Path) -> Rubric:
    """Read a rubric; raises EquipoiseError that names the faulty field."""
    return load_yaml(path, Rubric)


def require_reader(name: str, root: Path, labels: Sequence[str] = TREATMENTS) -> None:
    """Read the entries and rubrics of a judge of `labels`; raises EquipoiseError that names the faulty file."""
    match load_judge_entry(name, root):
        case LlmJudgeEntry() as entry:
            load_entry(entry.model, root)
            if load_rubric(root / entry.rubric).labels != tuple(labels):
                raise EquipoiseError(f"{entry.rubric}: field options: this use needs {', '.join(labels)}")
        case PanelJudgeEntry() as entry:
            for member in _members(name, entry, root):
                require_reader(member, root, labels)


def _members(name: str, entry: PanelJudgeEntry, root: Path) -> tuple[str, ...]:
    """Return the judges of a panel, which must be distinct and must not be panels."""
    where = f"models/judges/{name}.yaml: field judges"
    for member in entry.judges:
        if entry.judges.count(member) > 1:
            raise EquipoiseError(f"{where}: {member} is named twice: name each judge once")
        if isinstance(load_judge_entry(member, root), PanelJudgeEntry):
            raise EquipoiseError(f"{where}: {member} is a panel itself: name its judges instead")
    return entry.judges
