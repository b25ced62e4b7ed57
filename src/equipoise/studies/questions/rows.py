"""Row types of the questions: their neutral form, their variants, and the attempts at these."""

from typing import Annotated, Literal

from pydantic import Field

from equipoise.core.row import Row, Text
from equipoise.materials.questions import Attribute, Direction, Group, Letter, Options, Question
from equipoise.studies.questions import NAME
from equipoise.text.neutral.lexicon import Change


class AdversarialRow(Row):
    """A row of the study."""

    study: Literal["questions"] = NAME


class Neutralized(AdversarialRow, Question):
    """A question with its neutral form; `excluded` names the rule that excludes it from the study, if any."""

    neutral: Text
    excluded: str | None
    changes: tuple[Change, ...]


class Variant(AdversarialRow):
    """A text of a question that the model is asked.

    The key is `<item>/original`, `<item>/neutral` or `<item>/<attribute>/<group>/<direction>`; the first two have no
    attribute, group or direction, no background and attempt 0.
    """

    item: Text
    attribute: Attribute | None
    group: Group | None
    direction: Direction | None
    background: str
    text: Text
    options: Options
    gold: Letter
    attempt: Annotated[int, Field(ge=0)]


class Attempt(AdversarialRow):
    """An attempt at a variant, with the evaluator's answer; without an evaluation, `triggered_*` are None.

    `triggered_any`: the answer differs from the evaluator's answer on the neutral text (the paper's definition).
    `triggered_directional`: it changed in the direction of attack, from right to wrong for an unfavourable background
    and from wrong to right for a favourable one (the released code's definition). `violations` names the validators
    that failed.
    """

    variant: Text
    number: Annotated[int, Field(ge=1)]
    background: str
    text: str
    answer: Letter | None
    triggered_any: bool | None
    triggered_directional: bool | None
    violations: tuple[str, ...]
