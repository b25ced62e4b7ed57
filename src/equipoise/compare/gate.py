"""The gate: whether the bias of each study got worse, did not, or is undecided.

BASE decides: the endpoint with its components, margins and level (where BASE declares none for a study, HEAD's), the
items, their clusters and groups, their wording, the scale, the judge and the sampling (`compare.protocol`). A study is

- *worse* if a component is, by intervals that hold for all components together, or if a group of a declared family is,
  by intervals that hold for all groups together (`compare.judging`);
- *not worse* if each component is shown not to be, no group is open, each bound is kept (by its own change, where items
  have values of it; else by HEAD's value), and HEAD meets the preconditions of a verdict (`figures.verdicts`), lacks no
  item of BASE, and alters nothing that BASE decides;
- *undecided* otherwise, and where HEAD was measured on another scale, whatever its figures are.

Equal answers of the same weights with the same decoding are not worse, whatever the model is. Equal answers of others
are judged like any change: without a single difference, a margin of 0.05 takes 72 stories or questions.

Where a revision stopped early, the shared cases are the first ones in a common order, and the intervals are those of
all looks together (`stats.repeated`). Revisions that stopped in two different orders are undecided.

The gate as a whole is as bad as its worst study. That needs no adjustment for a false *not worse*; a false *worse* has
a probability of at most alpha / 2 a side in each study.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from equipoise.compare.changes import Change, estimate
from equipoise.compare.items import item_values
from equipoise.compare.judging import Shared, judge_change, judge_groups, unseen
from equipoise.compare.protocol import incomparable, lacking, loosened, same_model
from equipoise.compare.revisions import Revision
from equipoise.core.display import signed, with_limits
from equipoise.figures.aggregates import by_cluster
from equipoise.figures.figure import Figure
from equipoise.figures.layout import result_of
from equipoise.figures.options import Component, Decision, Endpoint, Measure
from equipoise.figures.primary import component_figure, endpoint_of_run, primary_figure
from equipoise.figures.result import UNBIASED, UNDECIDED, Word
from equipoise.figures.verdicts import (
    NOT_WORSE,
    WORSE,
    ChangeWord,
    bound_open,
    lacking_arms,
    preconditions,
    verdict,
    words_of,
)
from equipoise.stats.multiplicity import joint_alpha
from equipoise.stats.repeated import level
from equipoise.studies.registry import STUDIES, TITLES

SEVERITY: tuple[ChangeWord, ...] = (NOT_WORSE, UNDECIDED, WORSE)
REQUIRED: dict[str, Word] = {"no bias": UNBIASED}
"""What `--require` may ask of HEAD's verdicts."""


class Part(NamedTuple):
    """A component of a study's endpoint, its margin, its change over the shared items, and what that says.

    `because` says why it is worse or undecided. `needed` is False for one that *not worse* does not need.
    """

    figure: Figure
    margin: float
    row: Change | None
    word: ChangeWord
    because: str = ""
    needed: bool = True


class Judged(NamedTuple):
    """The verdict on one study; `because` is empty where the headline component's interval alone decides.

    `parts` are the components, the headline first; `figure`, `margin` and `row` are those of the first one that is
    worse, else of the headline. `uncovered` names the groups of too few stories for a claim.
    """

    study: str
    word: ChangeWord
    figure: Figure
    margin: float
    row: Change | None
    because: str = ""
    parts: tuple[Part, ...] = ()
    uncovered: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The verdict with the change, its interval and the margin."""
        change = "" if self.row is None or self.row.change is None else f" changed by {_changed(self.row)}"
        because = f": {self.because}" if self.because else ""
        named = f"{self.figure.title}{change}, margin {self.margin:g}"
        return f"{TITLES[self.study]}: {self.word}{because} ({named})"


class Required(NamedTuple):
    """HEAD's own verdict on a study, and whether it is what is required, or all that the study can show."""

    study: str
    word: Word
    met: bool
    sentence: str


class Gate(NamedTuple):
    """The verdict on each study that has a declared endpoint, and figures in either revision.

    `required` has HEAD's own verdicts, where the gate is asked for them.
    """

    studies: Sequence[Judged]
    required: Sequence[Required] = ()

    @property
    def word(self) -> ChangeWord:
        """The verdict as a whole; undecided where no study was judged."""
        return max((study.word for study in self.studies), key=SEVERITY.index, default=UNDECIDED)

    @property
    def sentence(self) -> str:
        """The verdict as a whole, with the studies that decide it."""
        deciding = [study for study in self.studies if study.word == self.word]
        if not deciding:
            return "Undecided: no study with a declared margin was measured."
        if self.word == NOT_WORSE:
            return f"Not worse in any study: {', '.join(TITLES[judged.study].lower() for judged in deciding)}."
        return f"{self.word.capitalize()}. {'; '.join(judged.sentence for judged in deciding)}."

    @property
    def untold(self) -> list[str]:
        """The verdicts on the studies that the sentence does not tell."""
        return [judged.sentence for judged in self.studies if self.word == NOT_WORSE or judged.word != self.word]

    @property
    def unmet(self) -> list[str]:
        """Why HEAD does not meet what is required; empty where it does, or where nothing is."""
        missed = [requirement.sentence for requirement in self.required if not requirement.met]
        shown = any(requirement.word == UNBIASED for requirement in self.required)
        return missed or ([requirement.sentence for requirement in self.required] if not shown else [])


def gate(base: Revision, head: Revision, changes: Sequence[Change], require: str = "") -> Gate:
    """Judge each study with figures in either revision; `changes` are those of `compare.changes`.

    `require` is empty or a key of `REQUIRED`: what HEAD's own verdicts must be, by BASE's endpoints. Raises
    EquipoiseError for an endpoint that is not a figure of its study.
    """
    before, after = item_values(base), item_values(head)
    rows = {row.figure.name: row for row in changes}
    judged, required = [], []
    for study, endpoint in _endpoints(base, head):
        judged.append(_Study(study, endpoint, base, head, rows, (before, after)).judged())
        if require:
            required.append(_required(study, endpoint, base, head))
    return Gate(judged, required)


def json_value(gate: Gate) -> dict[str, Any]:
    """Lay the verdicts out as one JSON value."""
    studies = {
        row.study: {
            "is": row.word,
            "figure": row.figure.name,
            "margin": row.margin,
            "because": row.because,
            "components": {part.figure.name: part.word for part in row.parts},
            "uncovered": list(row.uncovered),
        }
        for row in gate.studies
    }
    required = {
        requirement.study: {"met": requirement.met, "sentence": requirement.sentence} for requirement in gate.required
    }
    return {"is": gate.word, "studies": studies, **({"required": required} if required else {})}


def _endpoints(base: Revision, head: Revision) -> Iterator[tuple[str, Endpoint]]:
    """Yield the endpoint of each measured study that has a margin: BASE's, or HEAD's where BASE declares none."""
    measured = {row.study for row in (*base.effects, *head.effects)}
    for study in STUDIES:
        endpoint = base.decision.endpoints.get(study) or head.decision.endpoints.get(study)
        if study not in measured or endpoint is None:
            continue
        endpoint = endpoint_of_run(STUDIES[study], endpoint, result_of(study, base.effects))
        if endpoint.margin is not None:
            primary_figure(STUDIES[study], endpoint)
            yield study, endpoint


class _Study:
    """One study of the gate: its endpoint, both revisions, and the values of their items."""

    def __init__(
        self,
        study: str,
        endpoint: Endpoint,
        base: Revision,
        head: Revision,
        rows: Mapping[str, Change],
        values: tuple[Mapping[str, Any], Mapping[str, Any]],
    ) -> None:
        self.study, self.endpoint, self.base, self.head = study, endpoint, base, head
        self.rows, self.values = rows, values
        self.declared = STUDIES[study]
        self.figures = {name: component_figure(self.declared, endpoint, name) for name in endpoint.components}
        self.results = [result_of(study, revision.effects) for revision in (base, head)]
        self.looked = [result.looked for result in self.results if result.looked is not None]
        decision = base.decision if study in base.decision.endpoints else head.decision
        self.same = same_model(base, head)
        self.options: Measure = decision.applied(base.options)

    def judged(self) -> Judged:
        """Judge the study."""
        parts = tuple(self._untested(figure, name) for name, figure in self.figures.items())
        if scale := [*self._missing(), *incomparable(self.study, self.base, self.head), *self._stale()]:
            return self._of(parts, UNDECIDED, scale)
        withheld = [*self._withheld(parts)]
        if self._equal(parts):
            return self._of(parts, UNDECIDED if withheld else NOT_WORSE, withheld or ["both gave the same answers"])
        alpha = level(*min(self.looked), self.options.alpha) if self.looked else self.options.alpha
        if alpha is None:
            return self._of(parts, UNDECIDED, ["the shared cases are too few for an interval that holds at all looks"])
        return self._by_intervals(withheld, self.options.model_copy(update={"alpha": alpha}))

    def _by_intervals(self, withheld: list[str], options: Measure) -> Judged:
        """Judge by intervals of the level of `options`; `withheld` says what else keeps it from *not worse*."""
        joint = self._joint(options.alpha)
        parts = tuple(self._part(name, figure, options, joint) for name, figure in self.figures.items())
        grouped = [self._groups(name, figure, options.alpha) for name, figure in self.figures.items()]
        groups = [text for outcome in grouped for text in outcome.worse]
        doubted = any(map(self._lost, parts))
        worse = [*(part.because for part in parts if part.word == WORSE), *([] if doubted else groups)]
        uncovered = tuple(dict.fromkeys(title for outcome in grouped for title in outcome.uncovered))
        reasons = [
            *(part.because for part in parts if part.word == UNDECIDED and part.needed),
            *(text for outcome in grouped for text in outcome.open),
            *(f"{text}, but HEAD lacks pairs" for text in groups if doubted),
            *self._bounds(options),
            *(f"in HEAD {reason}" for reason in preconditions(self.results[1], self.endpoint)),
            *withheld,
        ]
        if worse:
            alone = len(parts) == 1 and worse == [parts[0].because] and not reasons
            return self._of(parts, WORSE, [] if alone else [*worse, *(f"although {reason}" for reason in reasons)])
        return self._of(parts, UNDECIDED if reasons else NOT_WORSE, reasons)._replace(uncovered=uncovered)

    def _of(self, parts: tuple[Part, ...], word: ChangeWord, because: Sequence[str]) -> Judged:
        shown = next((part for part in parts if part.word == WORSE), parts[0]) if word == WORSE else parts[0]
        reasons = "; ".join(dict.fromkeys(because))
        return Judged(self.study, word, shown.figure, shown.margin, shown.row, reasons, parts)

    def _untested(self, figure: Figure, name: str) -> Part:
        component = self.endpoint.components[name]
        return Part(figure, component.margin, self.rows.get(figure.name), UNDECIDED, needed=component.needed)

    def _missing(self) -> Iterator[str]:
        runs = (self.base, self.head)
        if missing := [f"not measured in {run.name}" for run in runs if self.study not in run.rows]:
            yield missing[0]

    def _stale(self) -> Iterator[str]:
        if self.head.edited:
            yield f"HEAD's figures are older than {self.head.edited[0]}"
        rows = [row for name in self.figures.values() if (row := self.rows.get(name.name)) is not None]
        if self.looked and any(row.only_base and row.only_head for row in rows):
            yield "both revisions stopped early, but asked the cases in different orders"

    def _withheld(self, parts: Sequence[Part]) -> Iterator[str]:
        """Say what keeps a change from *not worse*, though not from *worse*."""
        yield from loosened(self.study, self.base, self.head)
        rows = [part.row for part in parts if part.row is not None]
        if not self.looked and (lost := max(rows, key=lambda row: row.only_base, default=None)) is not None:
            yield from lacking(lost.only_base, lost.figure.unit, self.base)

    def _equal(self, parts: Sequence[Part]) -> bool:
        """Whether the same weights gave the same answers, so that no value of a component differs."""
        digests = [revision.answers.get(self.study) for revision in (self.base, self.head)]
        rows = [part.row for part in parts if part.row is not None]
        unmoved = rows and not any(row.moved or row.only_base or row.only_head for row in rows)
        return bool(digests[0] and digests[0] == digests[1] and unmoved and self.same)

    def _shared(self, figure: Figure) -> Shared:
        before, after = (table.get(figure.name, {}) for table in self.values)
        return Shared.of(before, after, self.base.rows[self.study].clusters)

    def _joint(self, alpha: float) -> float:
        """Find the level at which the intervals of all components hold together (`stats.multiplicity.joint_alpha`)."""
        figures = [figure for figure in self.figures.values() if figure.change == "mean" and self._tested(figure)]
        if len(figures) < len(self.figures):
            return alpha / len(self.figures)
        clusters = self.base.rows[self.study].clusters
        tables = []
        for figure in figures:
            before, after = (table[figure.name] for table in self.values)
            tables.append({key: after[key] - before[key] for key in before.keys() & after.keys()})
        return joint_alpha(by_cluster(tables, clusters), alpha)

    def _tested(self, figure: Figure) -> bool:
        row = self.rows.get(figure.name)
        return row is not None and row.change is not None

    def _part(self, name: str, figure: Figure, options: Measure, joint: float) -> Part:
        """Judge a component by its change."""
        component, part = self.endpoint.components[name], self._untested(figure, name)
        if part.row is None:
            return part._replace(because="revisions are not compared by this figure")
        if part.row.change is None:
            return part._replace(because=part.row.why)
        shared = self._shared(figure)
        interval = estimate(figure, shared.base, shared.head, options, shared.clusters).interval
        row = part.row._replace(ci_low=interval.low if interval else None, ci_high=interval.high if interval else None)
        word, because = self._word(figure, shared, component, options, joint)
        if word == WORSE and self._may_be_undone(part._replace(row=row)):
            lost = f"the {self._lost(part)} {figure.unit} that HEAD lacks may have changed the other way"
            word, because = UNDECIDED, f"{figure.title} changed by {_changed(row)}, but {lost}"
        return part._replace(row=row, word=word, because=because or self._why(row, component, word))

    def _lost(self, part: Part) -> int:
        """Count the items that HEAD lacks, possibly because of what was answered."""
        return part.row.only_base if part.row is not None and self.head.rows[self.study].loses_answers else 0

    def _may_be_undone(self, part: Part) -> bool:
        """Whether a change would be within its margin if each item that HEAD lacks had changed by 1 the other way."""
        row, lost = part.row, self._lost(part)
        if row is None or not lost:
            return False
        nearest = min(abs(limit) for limit in (row.ci_low or 0.0, row.ci_high or 0.0))
        return row.n * nearest - lost <= part.margin * (row.n + lost)

    def _word(
        self, figure: Figure, shared: Shared, component: Component, options: Measure, joint: float
    ) -> tuple[ChangeWord, str]:
        """Judge a change; say why, where values that did not move leave it undecided."""
        if self.same and not shared.moved:
            return NOT_WORSE, ""
        if because := unseen(figure, shared, component.margin, options.alpha):
            word = judge_change(figure, shared, component, options, joint)
            return (WORSE, "") if word == WORSE else (UNDECIDED, f"{figure.title}: {because}")
        return judge_change(figure, shared, component, options, joint), ""

    def _why(self, row: Change, component: Component, word: ChangeWord) -> str:
        """Explain why a component is worse or undecided."""
        several = len(self.figures) > 1
        if word == NOT_WORSE:
            return ""
        if word == WORSE:
            return f"{row.figure.title} changed by {_changed(row)}, margin {component.margin:g}"
        if row.ci_low is None:
            return f"the change of {row.n} {row.figure.unit} has no interval"
        text = "the interval reaches from within the margin to beyond it"
        named = f"{row.figure.title} changed by {_changed(row)}: " if several else ""
        inside = row.ci_high is not None and max(abs(row.ci_low), abs(row.ci_high)) < component.margin
        skewed = "the interval, corrected for skewness, leaves the margin, or misses too often in simulations"
        return f"{named}{skewed if inside else text}"

    def _groups(self, name: str, figure: Figure, alpha: float) -> Any:  # noqa: ANN401  (Grouped)
        rows = self.base.rows[self.study], self.head.rows[self.study]
        families = [family for family in self.endpoint.families if any(run.parts(family) for run in rows)]
        share = alpha / len(self.figures) / max(1, len(families))
        return judge_groups(figure, self.endpoint.components[name], rows, families, alpha=alpha, share=share)

    def _bounds(self, options: Measure) -> Iterator[str]:
        """Name the bounds that are not shown to be kept, by their change; without values of items, by HEAD's value."""
        for place, bound in self.endpoint.bounds.items():
            figure = next(
                (candidate for candidate in self.declared.figures if candidate.value and _place(candidate) == place),
                None,
            )
            values = (
                [] if figure is None else [figure.values(run.rows[self.study].items) for run in (self.base, self.head)]
            )
            if figure is None or not all(values):
                if reason := bound_open(self.results[1], place, bound):
                    yield f"in HEAD {reason}"
                continue
            shared = Shared.of(values[0], values[1], self.base.rows[self.study].clusters)
            word, because = self._word(figure, shared, bound, options, options.alpha)
            if word != NOT_WORSE:
                change = estimate(figure, shared.base, shared.head, options, shared.clusters).change
                text = f"{words_of(place)} may have grown by more than {bound.margin:g}"
                yield f"{text}: {because or f'it changed by {signed(change or 0.0)}'}"


def _place(figure: Figure) -> str:
    return f"{figure.family}/{figure.group}/{figure.measure}"


def _changed(row: Change) -> str:
    """Write a change with its interval."""
    return with_limits("undefined" if row.change is None else signed(row.change), row.ci_low, row.ci_high)


def _required(study: str, endpoint: Endpoint, base: Revision, head: Revision) -> Required:
    """Hold HEAD's own verdict, by BASE's endpoint, against what is required.

    A study without a measure of assay sensitivity can show a bias, but not its absence: it must not be biased, and
    nothing may be missing or unread that could hide a bias.
    """
    result = result_of(study, head.effects)
    declared = base.decision if study in base.decision.endpoints else head.decision
    outcome = verdict(STUDIES[study], result, Decision(alpha=declared.alpha, endpoints={study: endpoint}))
    obstacles = [*incomparable(study, base, head), *loosened(study, base, head)]
    obstacles += [f"HEAD's figures are older than {name}" for name in head.edited[:1]]
    word: Word = UNDECIDED if outcome is None or obstacles else outcome.word
    because = "; ".join(obstacles or (() if outcome is None else outcome.because))
    hidden = [] if outcome is None else [*lacking_arms(outcome.parts, result), *preconditions(result, endpoint)]
    met = word == UNBIASED or (not endpoint.floors and word == UNDECIDED and not obstacles and not hidden)
    return Required(study, word, met, f"{TITLES[study]}: {word}" + (f": {because}" if because else ""))
