"""The gate: whether a change makes the bias of a primary endpoint worse, not worse, or cannot tell.

Each study is judged by the endpoint and the margin that BASE declares, so that a change cannot loosen the margin by
which it is judged; where BASE declares none, by HEAD's. The change is paired by item and clustered as its figure
(`compare.changes`), and HEAD has to meet the preconditions of a verdict (`figures.verdicts`): a model that has come
down to guessing is not *not worse*. What is undefined, was not measured or has no interval is undecided. Answers that
are the same in both revisions are not worse, whatever the model is.

Where a revision stopped when its verdict was in, the cases that both have are the first of one order, and the intervals
those that hold at all looks together (`stats.repeated`); of two orders nothing is said.

The gate as a whole is as bad as its worst study: *not worse* where every study is, *worse* where one is. That needs no
adjustment for a false *not worse*; a false *worse* has a probability of at most alpha / 2 a side in each study.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from equipoise.compare.changes import Change, estimate, reflected
from equipoise.compare.items import item_clusters, item_values
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
    """The verdict on every study with a declared endpoint that either revision has figures of."""

    studies: Sequence[Judged]

    @property
    def word(self) -> ChangeWord:
        """The verdict on the change as a whole: undecided where nothing was judged."""
        return max((one.word for one in self.studies), key=SEVERITY.index, default=UNDECIDED)

    @property
    def sentence(self) -> str:
        """The verdict as a whole, and what it rests on."""
        deciding = [one for one in self.studies if one.word == self.word]
        if not deciding:
            return "Undecided: no study with a declared margin was measured."
        if self.word == NOT_WORSE:
            return f"Not worse in any study: {', '.join(TITLES[one.study].lower() for one in deciding)}."
        return f"{self.word.capitalize()}. {'; '.join(one.sentence for one in deciding)}."


def gate(base: Revision, head: Revision, changes: Sequence[Change]) -> Gate:
    """Judge each study that either revision has figures of; `changes` are those of `compare.changes`.

    Raises EquipoiseError for an endpoint that is no figure of its study.
    """
    before, after = item_values(base), item_values(head)
    measured = {row.study for row in (*base.effects, *head.effects)}
    rows = {row.figure.name: row for row in changes}
    judged = []
    for study in STUDIES:
        endpoint = base.decision.endpoints.get(study) or head.decision.endpoints.get(study)
        if study in measured and endpoint is not None and endpoint.margin is not None:
            figure = primary_figure(STUDIES[study], endpoint)
            row = rows.get(figure.name)
            judged.append(_judge(endpoint, figure, row, (base, head), (before, after)))
    return Gate(judged)


def json_value(gate: Gate) -> dict[str, Any]:
    """Lay the verdicts out as one JSON value."""
    studies = {
        one.study: {"is": one.word, "figure": one.figure.name, "margin": one.margin, "because": one.because}
        for one in gate.studies
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
        held = options.model_copy(update={"alpha": alpha})
        change, other = (_interval(figure, one, held, head, values) for one in (None, endpoint.direction))
    if row.change is not None:
        row = row._replace(ci_low=change.low if change else None, ci_high=change.high if change else None)
    unmet = "; ".join(_unmet(study, endpoint, row, head, other))
    if unmet or row.ci_low is None or row.ci_high is None or other is None:
        return judged(UNDECIDED, unmet)
    word = change_verdict(Interval(row.ci_low, row.ci_high), other, margin, endpoint.direction)
    return judged(word, "" if word != UNDECIDED else "the interval reaches from within the margin to beyond it")


def _unmet(study: str, endpoint: Endpoint, row: Change, head: Revision, other: Interval | None) -> Iterator[str]:
    """Name what keeps a change from being judged."""
    if row.change is None:
        yield row.why
    elif row.ci_low is None or other is None:
        yield f"the change of {row.n} {row.figure.unit} has no interval"
    if head.edited:
        yield f"HEAD's figures are older than {head.edited[0]}"
    yield from (f"in HEAD {one}" for one in preconditions(result_of(study, head.effects), endpoint))


def _interval(
    figure: Figure,
    direction: Direction | None,
    options: Measure,
    head: Revision,
    values: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> Interval | None:
    """Interval of the change, over the items of both; given a direction, of HEAD + BASE, or of HEAD where it is one.

    The latter are differences from the null value: each is the change from items whose values are BASE's, reflected
    about it.
    """
    before, after = (table[figure.name] for table in values)
    keys = sorted(before.keys() & after.keys())
    first = [
        before[key] if direction is None else reflected(before[key], figure.null or 0.0, direction) for key in keys
    ]
    stories = item_clusters(head).get(figure.study)
    named = [stories[key] for key in keys] if stories else None
    return estimate(figure, first, [after[key] for key in keys], options, named).interval
