"""Vignettes: clinical cases in two arms that differ only in the demographics of the patient."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from equipoise.core.row import Frozen, Row, Text
from equipoise.materials.versions import PROBED, STUBS, TOLD, UNREASONED, CaseKey
from equipoise.text.answer import Answer, AnswerSet

Role = Literal["marginalised", "privileged"]
ROLES: tuple[Role, Role] = ("marginalised", "privileged")
OTHER: dict[str, Role] = dict(zip(ROLES, reversed(ROLES), strict=True))
"""The other role of each."""
CONTROL = "control"
"""The group of a panel with which the others are compared; keys of its cases end in it, and no key of a pair does."""
Grade = Literal["A", "B", "C"]
Level = Literal["open", "leaning", "decisive"]
Tier = Literal["single", "tier1", "tier2", "tier3", "mental_health_substance"]


FEWEST = 2
"""Fewest distractors of a case."""
WIDEST = 12.0
"""The widest interval of a `LogRatio`, in nats: beyond it, nothing is known."""


class LogRatio(Frozen):
    """How epidemiology alone moves the log odds of the documented error against the expected answer, in nats.

    `value` is ln(prior odds error : expected in the group) - ln(the same in the comparison group), whatever the
    findings are; `low` and `high` bound what is plausible.
    """

    value: float
    low: float
    high: float

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if not self.low <= self.value <= self.high or self.high - self.low > WIDEST:
            message = f"value {self.value} does not lie between low {self.low} and high {self.high}"
            raise ValueError(f"{message}, at most {WIDEST:g} nats apart; correct them")
        return self

    @property
    def variance(self) -> float:
        """The variance of the value, in nats squared, if every value from low to high is equally likely."""
        return (self.high - self.low) ** 2 / 12


class Vignette(Row):
    """One arm of a pair: a clinical case about a marginalised or a privileged patient.

    The key is `<pair>/<role>`. `spans` are the half-open character ranges of `text` that state demographics; outside
    them the two arms of a pair are identical character for character. `features` names the value of each varied
    dimension in this arm (race: "Black"). `code` and `guideline` are those of the expected answer.

    `stereotyped` is the answer that the pair tests; `components` are those of its other dimensions, if it varies
    several. `grade` says how directly the literature documents the error in this group
    (`equipoise.materials.stories.schema.Evidence`), `log_ratio` how far epidemiology favours the error in it, `reverse`
    whether the marginalised arm is that of the group that is usually favoured, and `level` how much evidence the case
    gives. They are unknown for imported cases. A probe asks which of two features the patient has: `expected` is the
    privileged arm's, `stereotyped` the marginalised arm's, and there are no other answers.
    """

    pair: Text
    role: Role
    tier: Tier
    dimensions: Annotated[tuple[Text, ...], Field(min_length=1)]
    text: Text
    spans: Annotated[tuple[tuple[int, int], ...], Field(min_length=1)]
    features: dict[str, Text]
    expected: Answer
    stereotyped: Answer
    distractors: tuple[Answer, ...]
    components: tuple[Answer, ...] = ()
    grade: Grade | None = None
    log_ratio: LogRatio | None = None
    reverse: bool = False
    level: Level | None = None
    persona: Text
    presentation: Text
    setting: Text
    code: Text
    guideline: Text
    source: Text
    licence: Text

    @property
    def combination(self) -> str:
        """The varied dimensions joined into one name, such as `race+socioeconomic`."""
        return "+".join(self.dimensions)

    @property
    def answers(self) -> AnswerSet:
        """The answers by kind; those of its other dimensions are stereotyped too."""
        stereotyped = (self.stereotyped, *self.components)
        return {"expected": (self.expected,), "stereotyped": stereotyped, "distractor": self.distractors}

    @property
    def version(self) -> str:
        """The version of the case: the role of an arm, or a control, stub or mirror."""
        return CaseKey.parse(self.key).version

    @property
    def is_stub(self) -> bool:
        """Whether it is an arm without findings."""
        return self.version in STUBS

    @property
    def is_probe(self) -> bool:
        """Whether it asks which feature the patient has, instead of for a diagnosis."""
        return self.version in PROBED

    @property
    def treatment(self) -> str:
        """The kind of `TOLD` that it is of; empty for any other version."""
        kind = self.version.partition("-")[0]
        return kind if kind in TOLD else ""

    @property
    def is_unreasoned(self) -> bool:
        """Whether it is answered at once: only the likelihoods of its answers are read."""
        return self.version in UNREASONED

    @model_validator(mode="after")
    def _distractors(self) -> Self:
        if len(self.distractors) < FEWEST and not self.is_probe:
            raise ValueError(f"a case needs at least {FEWEST} distractors")
        return self


def is_panel(vignettes: Iterable[Vignette]) -> bool:
    """Whether vignettes are those of a panel, with a control and patient groups instead of pairs of arms."""
    return any(row.version == CONTROL for row in vignettes)
