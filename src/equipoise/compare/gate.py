"""The gate: whether the bias of each primary endpoint got worse, did not, or is undecided.

Each study is judged by the endpoint and margin of BASE, so that a change cannot loosen its own margin; where BASE has
none, by those of HEAD. The change is paired by item and clustered like its figure (`compare.changes`). HEAD must also
meet the preconditions of a verdict (`figures.verdicts`): a model that now guesses is undecided, not *not worse*. A
figure that is undefined, not measured or without an interval is undecided. Equal answers in both revisions are not
worse, whatever the model is.

Where a revision stopped early, the shared cases are the first ones in a common order, and the intervals are those of
all looks together (`stats.repeated`). Revisions that stopped in two different orders are undecided.

The gate as a whole is as bad as its worst study. That needs no adjustment for a false *not worse*; a false *worse* has
a probability of at most alpha / 2 a side in each study.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from equipoise.compare.changes import Change, estimate, reflected
from equipoise.compare.items import item_values
from equipoise.compare.revisions import Revision
from equipoise.core.display import signed
from equipoise.figures.figure import Figure
from equipoise.figures.layout import result_of
from equipoise.figures.options import Direction, Endpoint, Measure
from equipoise.figures.primary import primary_figure
from equipoise.figures.result import UNDECIDED
from equipoise.figures.verdicts import NOT_WORSE, WORSE, ChangeWord, change_verdict, preconditions
from equipoise.stats.quantities import Interval
from equipoise.stats.repeated import level
from equipoise.studies.registry import STUDIES, TITLES

SEVERITY: tuple[ChangeWord, ...] = (NOT_WORSE, UNDECIDED, WORSE)


class Judged(NamedTuple):
    """The verdict on one study's primary endpoint; `because` is empty where the interval alone decides."""

    study: str
    word: ChangeWord
    figure: Figure
    margin: float
    row: Change | None
    because: str = ""

    @property
    def sentence(self) -> str:
        """The verdict with the change, its interval and the margin."""
        change = "" if self.row is None or self.row.change is None else f" changed by {signed(self.row.change)}"
        if self.row is not None and self.row.ci_low is not None and self.row.ci_high is not None:
            change += f" ({signed(self.row.ci_low)} to {signed(self.row.ci_high)})"
        because = f": {self.because}" if self.because else ""
        named = f"{self.figure.title}{change}, margin {self.margin:g}"
        return f"{TITLES[self.study]}: {self.word}{because} ({named})"


class Gate(NamedTuple):
    """The verdict on each study that has a declared endpoint, and figures in either revision."""

    studies: Sequence[Judged]

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


def gate(base: Revision, head: Revision, changes: Sequence[Change]) -> Gate:
    """Judge each study with figures in either revision; `changes` are those of `compare.changes`.

    Raises EquipoiseError for an endpoint that is not a figure of its study.
    """
    before, after = item_values(base), item_values(head)
    measured = {row.study for row in (*base.effects, *head.effects)}
    rows = {row.figure.name: row for row in changes}
    judged = []
    for study in STUDIES:
        endpoint = base.decision.endpoints.get(study) or head.decision.endpoints.get(study)
        endpoint = None if endpoint is None else endpoint.for_run(result_of(study, base.effects).without)
        if study in measured and endpoint is not None and endpoint.margin is not None:
            figure = primary_figure(STUDIES[study], endpoint)
            row = rows.get(figure.name)
            judged.append(_judge(endpoint, figure, row, (base, head), (before, after)))
    return Gate(judged)


def json_value(gate: Gate) -> dict[str, Any]:
    """Lay the verdicts out as one JSON value."""
    studies = {
        row.study: {"is": row.word, "figure": row.figure.name, "margin": row.margin, "because": row.because}
        for row in gate.studies
    }
    return {"is": gate.word, "studies": studies}


def _judge(
    endpoint: Endpoint,
    figure: Figure,
    row: Change | None,
    revisions: tuple[Revision, Revision],
    values: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> Judged:
    base, head = revisions
    study = figure.study
    assert endpoint.margin is not None  # noqa: S101  (nothing is judged without one)
    margin = endpoint.margin

    def judged(word: ChangeWord, because: str = "") -> Judged:
        return Judged(study, word, figure, margin, row, because)

    if row is None:
        return judged(UNDECIDED, "revisions are not compared by this figure")
    same = base.answers.get(study) is not None and base.answers.get(study) == head.answers.get(study)
    if same and not (row.moved or row.only_base or row.only_head):
        return judged(NOT_WORSE, "both gave the same answers")
    options = (base.decision if study in base.decision.endpoints else head.decision).applied(head.options)
    results = [result_of(study, revision.effects) for revision in revisions]
    looked = [result.looked for result in results if result.looked is not None]
    if looked and row.only_base and row.only_head:
        return judged(UNDECIDED, "the revisions stopped early, in two orders")
    alpha = level(*min(looked), options.alpha) if looked else options.alpha
    change = other = None
    if row.change is not None and alpha is not None:
        at_level = options.model_copy(update={"alpha": alpha})
        change, other = (_interval(figure, side, at_level, head, values) for side in (None, endpoint.direction))
    if row.change is not None:
        row = row._replace(ci_low=change.low if change else None, ci_high=change.high if change else None)
    unmet = "; ".join(_unmet(study, endpoint, row, head, other))
    if unmet or row.ci_low is None or row.ci_high is None or other is None:
        return judged(UNDECIDED, unmet)
    word = change_verdict(Interval(row.ci_low, row.ci_high), other, margin, endpoint.direction)
    return judged(word, "" if word != UNDECIDED else "the interval reaches from within the margin to beyond it")


def _unmet(study: str, endpoint: Endpoint, row: Change, head: Revision, other: Interval | None) -> Iterator[str]:
    """Name the reasons why a change cannot be judged."""
    if row.change is None:
        yield row.why
    elif row.ci_low is None or other is None:
        yield f"the change of {row.n} {row.figure.unit} has no interval"
    if head.edited:
        yield f"HEAD's figures are older than {head.edited[0]}"
    yield from (f"in HEAD {reason}" for reason in preconditions(result_of(study, head.effects), endpoint))


def _interval(
    figure: Figure,
    direction: Direction | None,
    options: Measure,
    head: Revision,
    values: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> Interval | None:
    """Estimate the interval of the change over the shared items.

    Given a direction, estimate instead that of HEAD + BASE, or of HEAD alone where bias has one side, both as
    differences from the null value (`compare.changes.reflected`).
    """
    before, after = (table[figure.name] for table in values)
    keys = sorted(before.keys() & after.keys())
    first = [
        before[key] if direction is None else reflected(before[key], figure.null or 0.0, direction) for key in keys
    ]
    stories = head.rows[figure.study].clusters
    clusters = [stories[key] for key in keys] if stories else None
    return estimate(figure, first, [after[key] for key in keys], options, clusters).interval
