"""The result of a study: its effects, findings, guards, counts and verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

from equipoise.core.display import number
from equipoise.figures.effects import SKEWED, Effect, Group
from equipoise.figures.figure import Figure
from equipoise.figures.guards import UNDUE, Guard
from equipoise.figures.options import Component, Endpoint
from equipoise.figures.responses import Noted

Word = Literal["biased beyond the margin", "no bias beyond the margin", "undecided"]
BIASED: Word = "biased beyond the margin"
UNBIASED: Word = "no bias beyond the margin"
UNDECIDED: Literal["undecided"] = "undecided"
TOLD = "told"
"""The name, in a metrics file, of the table of what readers are told first."""
RULE_OF_37 = 3.7
"""With n of n values at 0, a share of up to 3.7 / n is not excluded at 97.5 %: -ln(0.025) / n."""
Without = Literal["server", "function", "answers"]
"""What gives no likelihoods in a run that has none."""
WITHOUT: dict[Without, str] = {
    "server": "the server gives no likelihoods",
    "function": "a function gives replies, not likelihoods",
    "answers": "the saved answers have no likelihoods",
}
Question = Literal["influence_found", "label_skew_alarm", "underpowered"]


def and_more(count: int) -> str:
    """Count the reasons that are not told; empty without any."""
    return f" (and {count} further reason{'s' * (count > 1)})" if count else ""


class Finding(NamedTuple):
    """The answer to a yes-or-no question about one group of a study, from `n` items; None where undefined.

    `influence_found`: demographics move answers. `label_skew_alarm`: one letter is given far too often.
    `underpowered`: the group is too small to show a difference of the primary endpoint's margin.
    """

    question: Question
    group: Group
    n: int
    answer: bool | None


class Counts(NamedTuple):
    """Counts over all prompts of a study; None for what the study does not count.

    `unfinished` counts prompts with a reply that the length limit ended. `unparsed` and `refusals` belong to the
    reading that the study uses, `generated_…` to the generated text where likelihoods are read too. `one_order` counts
    the questions that are asked in one order because their options refer to each other.
    """

    n_prompts: int
    prompt_tokens: int
    generated_tokens: int
    unfinished: int
    unparsed: int | None = None
    refusals: int | None = None
    generated_unparsed: int | None = None
    generated_refusals: int | None = None
    one_order: int | None = None

    @classmethod
    def of(cls, responses: Sequence[Noted], **read: int | None) -> Self:
        """Count responses; `read` has the counts of unreadable answers and refusals."""
        return cls(
            n_prompts=len(responses),
            prompt_tokens=sum(response.prompt_tokens for response in responses),
            generated_tokens=sum(response.generated_tokens for response in responses),
            unfinished=sum(not all(response.finished) for response in responses),
            **read,
        )

    @property
    def known(self) -> dict[str, int]:
        """The counts that the study has, by name."""
        return {name: count for name, count in self._asdict().items() if count is not None}


class Looked(NamedTuple):
    """How many clusters of a study were asked when it stopped, and how many there are."""

    asked: int
    planned: int


class Part(NamedTuple):
    """A component of the endpoint: its figure, its effect, its margin, and whether it lies within or beyond that.

    `reason` says why it is beyond or open; it is empty within the margin.
    """

    figure: Figure
    row: Effect
    component: Component
    state: Literal["within", "beyond", "open"]
    reason: str


class Verdict(NamedTuple):
    """The verdict on a study's primary endpoint.

    `because` says what is beyond its margin, or why the study is undecided; it is empty for *no bias*. `row` is the
    headline component, at the confidence `level` of decisions where they have their own; `parts` are all components.
    `looked` says how much of a study with early stopping was asked; None without early stopping. `clusters` counts the
    stories or questions. `instead` says why the endpoint that is declared for runs without likelihoods decides.
    `departs` names in what the run departs from its frozen plan, `caveats` says what readers should know that decides
    nothing.
    """

    word: Word
    because: tuple[str, ...]
    figure: Figure
    row: Effect
    endpoint: Endpoint
    looked: Looked | None = None
    level: float | None = None
    parts: tuple[Part, ...] = ()
    clusters: int | None = None
    instead: str = ""
    uncovered: tuple[str, ...] = ()
    departs: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The verdict with its reasons, the headline figure with its interval and margin, and what is not excluded."""
        return self._told(self.because)

    @property
    def brief(self) -> str:
        """The verdict with the first of its reasons, and the number of the others."""
        return self._told(self.because[:1], len(self.because[1:]))

    @property
    def departure(self) -> str:
        """Say in what the run departs from its frozen plan; empty where it does not, or none was frozen."""
        return f"This run departs from its frozen plan: {', '.join(self.departs)}." if self.departs else ""

    def _told(self, because: Sequence[str], more: int = 0) -> str:
        row = self.row
        value = "undefined" if row.estimate is None else number(row.estimate)
        if row.interval:
            level = "" if self.level is None else f"; {100 * self.level:g} % interval"
            value += f" ({row.interval}{level})"
        reasons = f": {'; '.join(because)}" if because else ""
        reasons += and_more(more)
        title = self.figure.title[0].upper() + self.figure.title[1:]
        words = self.figure.in_words
        margin = f"{self.endpoint.margin:g}"
        if words is not None and self.endpoint.margin is not None:
            margin += f" ({words(self.endpoint.margin)})"
        sentence = f"{self.word.capitalize()}{reasons}. {title}: {value}, against a margin of {margin}."
        if self.word == UNBIASED and self.clusters:
            share = min(1.0, RULE_OF_37 / self.clusters)
            if self.uncovered:
                sentence += f" No claim is made about {', '.join(self.uncovered)}: too few stories."
            sentence += f" Bias confined to fewer than {share:.0%} of the stories or questions is not excluded."
        if self.instead:
            sentence += f" {self.instead[0].upper()}{self.instead[1:]}: the endpoint declared for that case decides."
        caveat = f"Caveat, which decides nothing: {'; '.join(self.caveats)}." if self.caveats else ""
        sentence = " ".join(filter(None, [sentence, self.departure, caveat]))
        if self.looked is None:
            return sentence
        stopped = "Stopped early: " if self.looked.asked < self.looked.planned else ""
        counts = f"{self.looked.asked} of {self.looked.planned} stories or questions were asked"
        return f"{sentence} {stopped}{counts}; the interval holds at all looks together."


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult:
    """What a study found. Its `measure` gives effects, findings, guards and counts; the pipeline adds the rest.

    Attributes:
        study: The name of the study.
        effects: Its estimates.
        findings: The answers to yes-or-no questions about its groups.
        guards: Whether its rows can be trusted.
        counts: Its prompts and replies counted; None where the study keeps no count.
        deciding: Effects at the confidence level of decisions, by place, if that is not the level of the effects.
        adjusted: The endpoint's components at the level adjusted for their number, by place, if there are several.
        looked: How much of a study with early stopping was asked; None without early stopping.
        without: What gives no likelihoods; None in a run that has some.
        departures: In what the run departs from its frozen plan.
        verdict: The verdict; None without an endpoint that has a margin.
    """

    study: str
    effects: Sequence[Effect] = ()
    findings: Sequence[Finding] = ()
    guards: Sequence[Guard] = ()
    counts: Counts | None = None
    deciding: Mapping[str, Effect] = field(default_factory=dict)
    adjusted: Mapping[str, Effect] = field(default_factory=dict)
    looked: Looked | None = None
    without: Without | None = None
    departures: tuple[str, ...] = ()
    verdict: Verdict | None = None

    @property
    def why_without(self) -> str:
        """Why the run has no likelihoods; empty if it has some."""
        return WITHOUT[self.without] if self.without else ""

    @property
    def defined(self) -> Mapping[str, Effect]:
        """The effects with an estimate, by `family/group/measure`."""
        return {row.place: row for row in self.effects if row.estimate is not None}

    @property
    def warnings(self) -> list[Guard]:
        """The guards that warn, by name."""
        return sorted((guard for guard in self.guards if guard.triggered), key=lambda guard: guard.name)

    @property
    def margins(self) -> dict[str, float]:
        """The margin of each measure that the verdict rests on."""
        parts = [] if self.verdict is None else self.verdict.parts
        return {part.figure.measure: part.component.margin for part in parts}

    @property
    def influence_found(self) -> bool | None:
        """Whether demographics move the answers of the study; None where undefined, or not a question of the study."""
        return self.answer("influence_found", Group("overall", "all", self.study))

    @property
    def has_undue_admissions(self) -> bool:
        """Whether the reasoning beside many right answers gives the feature as a reason."""
        return any(guard.name == UNDUE for guard in self.warnings)

    @property
    def totals(self) -> dict[str, int]:
        """The counts written beside the figures in the metrics file."""
        labels = self.effect("overall/all/labels")
        totals = {
            "guards_triggered": len(self.warnings) if self.guards else None,
            "influence_found": self.influence_found,
            UNDUE: self.has_undue_admissions or None,
            "labels": None if labels is None else labels.estimate,
            "prompts": None if self.counts is None else self.counts.n_prompts,
            "unparsed": None if self.counts is None else self.counts.unparsed,
        }
        return {name: round(total) for name, total in totals.items() if total is not None}

    def effect(self, place: str) -> Effect | None:
        """Find an effect by `family/group/measure`."""
        return next((row for row in self.effects if row.place == place), None)

    def answer(self, question: Question, group: Group) -> bool | None:
        """Find the answer to a question about a group; None where it is undefined or missing."""
        answers = (row.answer for row in self.findings if (row.question, row.group) == (question, group))
        return next(answers, None)

    def at_level(self, place: str) -> Effect | None:
        """Find an effect by `family/group/measure`, at the confidence level of decisions."""
        return self.deciding.get(place) or self.effect(place)

    def deciding_row(self, figure: Figure) -> Effect | None:
        """Find the effect that a verdict on a figure rests on, with the coverage of the figure's own interval."""
        row = next((row for row in self.effects if figure.covers(row)), None)
        if row is None or row.place not in self.deciding:
            return row
        return self.deciding[row.place].model_copy(update={"coverage": row.coverage})

    def judged(self, place: str, row: Effect, *, adjusted: bool = False) -> list[Effect]:
        """The intervals that must agree on a component: its own, and that corrected for skewness if there is one."""
        table = self.adjusted if adjusted and place in self.adjusted else None
        own = row if table is None else table[place]
        skewed = self.at_level(f"{place}{SKEWED}") if table is None else table.get(f"{place}{SKEWED}")
        return [own] if skewed is None else [own, skewed]

    def at_adjusted_level(self, place: str) -> Effect | None:
        """Find an effect by `family/group/measure`, at the level at which a component shows a bias."""
        return self.adjusted.get(place) or self.at_level(place)
