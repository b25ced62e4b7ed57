"""The ways in which a judge's entailments may be read, all tried at once, and the folds on which they are compared.

The judge runs once for each window length and set of hypotheses. All else (how many windows count, the temperature, the
thresholds) is arithmetic on its probabilities. Cases are kept together in folds: two arms of one vignette are told
nearly alike, so they fall on one side of any split.
"""

from __future__ import annotations

import re
from itertools import combinations, product
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from equipoise.core.errors import EquipoiseError
from equipoise.judge.reading import Hypotheses, Probability, entailments
from equipoise.rating.agreement import agreement, with_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from equipoise.core.records import Consideration
    from equipoise.judge.reading import Entailed as Windows
    from equipoise.judge.reading import Feature
    from equipoise.metrics.effects import Nested

    Array = NDArray[np.float64]
    Entailed = Mapping[tuple[str, int], Sequence[Array]]
    """By hypothesis set and sentences a window, the entailments (windows, 3) of each text."""

NONE, WEIGHED, DISMISSED = range(3)
"""Codes of what a text does with the feature, in the order of `rating.agreement.CONSIDERATIONS`."""
TINY = 1e-9

Count = Annotated[int, Field(ge=1)]
Thresholds = Annotated[tuple[Probability, ...], Field(min_length=1)]


class Bars(BaseModel):
    """Thresholds to try, in rising order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    weighed: Thresholds
    dismissed: Thresholds

    @field_validator("*")
    @classmethod
    def _rising(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if list(values) != sorted(set(values)):
            message = "thresholds must rise, none twice"
            raise ValueError(message)
        return values


class Grid(BaseModel):
    """What is tried. The values of each list stand in order of preference, the simplest first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hypotheses: Annotated[dict[str, Hypotheses], Field(min_length=1)]
    sentences: Annotated[tuple[Count, ...], Field(min_length=1)]
    top_k: Annotated[tuple[Count, ...], Field(min_length=1)]
    temperatures: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)]
    thresholds: Bars


class Form(NamedTuple):
    """One way to turn entailments into two probabilities, and how far it departs from the simplest of its grid."""

    hypotheses: str
    sentences: int
    top_k: int
    temperature: float
    departures: int


class Scan(NamedTuple):
    """Every form and pair of thresholds on every text, in one order throughout.

    `probabilities` (forms, texts, 2) are those of weighed and dismissed; `codes` (forms, weighed thresholds, dismissed
    thresholds, texts) is what a text is then read to do.
    """

    forms: tuple[Form, ...]
    probabilities: Array
    codes: NDArray[np.int8]


def forms(grid: Grid) -> Iterator[Form]:
    """Every form of a grid. Its departures are the places, counted from the first, of its values in their lists.

    With a single window a temperature moves probabilities without changing their order, as other thresholds would, so
    there only the first is tried.
    """
    axes = (tuple(grid.hypotheses), grid.sentences, grid.top_k, grid.temperatures)
    for places in product(*(range(len(axis)) for axis in axes)):
        values = [axis[place] for axis, place in zip(axes, places, strict=True)]
        form = Form._make((*values, sum(places)))
        if form.top_k > 1 or places[-1] == 0:
            yield form


def entail_all(
    grid: Grid,
    texts: Sequence[tuple[str, Sequence[Feature]]],
    probabilities: Callable[[list[tuple[str, str]]], NDArray[Any]],
) -> dict[tuple[str, int], list[Array]]:
    """The entailments of every set of hypotheses and window length of a grid; the judge is called once for each."""
    return {
        (name, sentences): _by_text(texts, entailments(texts, probabilities, hypotheses, sentences))
        for name, hypotheses in grid.hypotheses.items()
        for sentences in grid.sentences
    }


def _by_text(texts: Sequence[tuple[str, Sequence[Feature]]], found: Sequence[Windows]) -> list[Array]:
    """The entailments of each text's windows, of one feature after the other."""
    rest = iter(found)
    return [np.concatenate([np.empty((0, 3)), *(next(rest).p for _ in features)]) for _, features in texts]


def scan(grid: Grid, entailed: Entailed) -> Scan:
    """Read every text in every way of the grid."""
    tried = tuple(forms(grid))
    read = np.stack([_probabilities(entailed[form.hypotheses, form.sentences], form) for form in tried])
    bars = grid.thresholds
    return Scan(tried, read, np.stack([decide(one, bars.weighed, bars.dismissed) for one in read]))


def decide(probabilities: Array, weighed: Sequence[float], dismissed: Sequence[float]) -> NDArray[np.int8]:
    """Codes (weighed thresholds, dismissed thresholds, texts) from probabilities (texts, 2) of weighed and dismissed.

    As `reading.judge_feature` has it: dismissed where that reaches its threshold and is likelier than weighed, else
    weighed where that reaches its own.
    """
    p_weighed, p_dismissed = probabilities[:, 0], probabilities[:, 1]
    is_weighed = p_weighed >= np.array(weighed)[:, None, None]
    is_dismissed = (p_dismissed >= np.array(dismissed)[:, None]) & (p_dismissed > p_weighed)
    return np.where(is_dismissed, DISMISSED, np.where(is_weighed, WEIGHED, NONE)).astype(np.int8)


def margins(probabilities: Array, weighed: float, dismissed: float) -> Array:
    """How far each text lies above the nearer threshold, in log odds, so that readings of several forms compare."""
    return np.maximum(
        *(_log_odds(probabilities[:, at]) - _log_odds(bar) for at, bar in enumerate((weighed, dismissed)))
    )


def _probabilities(texts: Sequence[Array], form: Form) -> Array:
    """Probabilities (texts, 2) of weighed and dismissed; 0 for a text without windows."""
    found = np.zeros((len(texts), 2))
    for row, text in enumerate(texts):
        if len(text):
            entailed = text if form.temperature == 1 else 1 / (1 + np.exp(-_log_odds(text) / form.temperature))
            counted = np.minimum(entailed[:, 1:], entailed[:, :1])
            found[row] = np.sort(counted, axis=0)[-form.top_k :].mean(axis=0)
    return found


def _log_odds(p: Array | float) -> Array:
    clipped = np.clip(p, TINY, 1 - TINY)
    found: Array = np.log(clipped / (1 - clipped))
    return found


WORD = re.compile(r"[^\W\d_]+")
"""Words without numbers: a patient's age or weight may be what two arms differ in."""


def told_alike(prompts: Mapping[str, str], similarity: float) -> dict[str, str]:
    """The group of each case: cases whose prompts share words are in one, directly or through a third case.

    Two prompts are alike where the words that both have are at least the share `similarity` of the words that either
    has (Jaccard's index over distinct words). A group has the name of its first case, in order of names.

    Args:
        prompts: the prompt of each case, by its name.
        similarity: within 0 and 1; 1 joins prompts of the same words alone.
    """
    words = {name: frozenset(WORD.findall(prompt.lower())) for name, prompt in prompts.items()}
    group = {name: name for name in prompts}
    for one, other in combinations(sorted(prompts), 2):
        either = words[one] | words[other]
        if len(words[one] & words[other]) >= similarity * len(either):
            kept, joined = sorted((group[one], group[other]))
            group = {name: kept if of == joined else of for name, of in group.items()}
    return group


def grouped_folds(groups: Sequence[str], n_folds: int, seed: int) -> list[NDArray[np.intp]]:
    """Rows of each fold's test set: a random split into folds of about the same number of groups, none of them divided.

    Args:
        groups: the group of each row.
        n_folds: how many folds.
        seed: of the order in which groups are dealt.

    Raises:
        EquipoiseError: there are fewer groups than folds.
    """
    from sklearn.model_selection import GroupKFold

    n_groups = len(set(groups))
    if n_groups < n_folds:
        message = f"{n_groups} groups of cases cannot make {n_folds} folds: label more cases, or set fewer folds"
        raise EquipoiseError(message)
    splitter = GroupKFold(n_splits=n_folds, shuffle=True, random_state=seed)
    return [test for _, test in splitter.split(np.empty(len(groups)), groups=np.asarray(groups))]


def scored_agreement(
    labels: Sequence[Consideration],
    found: Sequence[Consideration],
    cases: Sequence[str],
    scores: Sequence[float] | None,
    **options: int,
) -> Nested:
    """`agreement`, with the AUC of the reader's scores where it has any."""
    figures = agreement(labels, found, cases, **options)
    considered = figures["considered"]
    if scores is not None and isinstance(considered, dict):
        figures["considered"] = with_auc(considered, scores, [label != "none" for label in labels], cases, **options)
    return figures


def with_auc(
    figures: Nested,
    scores: Sequence[float],
    truth: Sequence[bool],
    cases: Sequence[str],
    *,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Add to `binary_agreement`'s figures the AUC of scores, how far a reader takes each text to be a yes, in any unit.

    It is the chance that a positive scores above a negative, a tie counting half; without both kinds it is left out.
    Source: Hanley & McNeil (1982), Radiology 143:29-36.
    """
    yes = np.array(truth, dtype=bool)
    if yes.all() or not yes.any():
        return figures
    # A case is drawn so many times; how its scores compare with another case's is a matter of the pair.
    statistic = _drawn_auc(np.array(scores, dtype=float), yes, cases)
    found = with_interval("auc", np.eye(len(set(cases))), statistic, seed=seed, n_bootstrap=n_bootstrap)
    return {**figures, "auc": found} if found else figures


def _drawn_auc(scores: Array, yes: NDArray[np.bool_], cases: Sequence[str]) -> Callable[[Array], Array]:
    """AUC as a function of (resamples, cases): how often each case was drawn."""
    above = (scores[:, None] > scores) + 0.5 * (scores[:, None] == scores)
    member = np.array(cases)[:, None] == sorted(set(cases))
    won = (member & yes[:, None]).T @ above @ (member & ~yes[:, None])
    n_yes, n_no = (member & yes[:, None]).sum(axis=0), (member & ~yes[:, None]).sum(axis=0)

    def statistic(drawn: Array) -> Array:
        with np.errstate(invalid="ignore"):
            found: Array = ((drawn @ won) * drawn).sum(axis=1) / ((drawn @ n_yes) * (drawn @ n_no))
        return found

    return statistic
