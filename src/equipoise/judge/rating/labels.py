"""Labels of the run's own reasoning, which correct the judge's error: their sheet, and the labels from a filled one.

A sheet shows replies drawn with known probabilities (`equipoise.judge.rating.drawing`), and reveals no more to raters
than any other. Each rated reply has a label, with the probability of having one: on a partly filled sheet, this is the
probability of its draw times the rated share of its kind (arm and answer), as if the others had been omitted at random.
Replies without words need no rater: they consider nothing.

The labels also show whether the judge misreads one dimension or arm more often than another.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Response
from equipoise.figures.effects import Nested, rounded
from equipoise.judge.rating.agreement import errors_by_group
from equipoise.judge.rating.blind import KeyRow, Rating, has_words, reasonings, sheet
from equipoise.judge.rating.drawing import draw
from equipoise.judge.rating.labelled import Label
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import main_pairs, pair_up
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import Vignette
from equipoise.stats.prediction_powered import Labelled, powered_mean, share_interval

FEWEST = 2
"""Fewest ratings of replies of a kind that can represent the unrated ones."""


def judge_sheet(
    vignettes: Sequence[Vignette],
    responses: Iterable[Response],
    judgements: Sequence[Judgement],
    *,
    subjects: Mapping[str, str],
    responses_sha256: str,
    seed: int,
    n: int,
) -> tuple[str, list[KeyRow]]:
    """Return a sheet, as CSV, and its key: `n` replies of the pairs of the headline figures, drawn with `seed`.

    Arguments as for `rating_sheet`. Every sample of an arm is a reply.

    Raises:
        EquipoiseError: Vignettes, responses and judgements do not belong together, or there is nothing to rate.
    """
    pairs = main_pairs(pair_up(vignettes, judgements))
    texts = reasonings(responses, samples=True)
    arms = [arm.key for pair in pairs for arm in pair.arms]
    if missing := [key for key in arms if key not in texts]:
        raise EquipoiseError(f"judgement of {missing[0]!r}, but no response: run `dvc repro score`")
    shown = {key: texts[key] for key in arms if has_words(texts[key])}
    if not shown:
        raise EquipoiseError("no reply to a pair of vignettes has any words: run `dvc repro score` with another model")
    drawn = draw(pairs, shown, n, seed)
    considered = {judgement.key: judgement.considered for judgement in judgements}
    cases = {vignette.key: vignette for vignette in vignettes}
    return sheet(
        drawn,
        cases,
        shown,
        considered,
        subjects=subjects,
        responses_sha256=responses_sha256,
        seed=seed,
        probabilities=drawn,
    )


def run_labels(
    name: str,
    ratings: Mapping[str, Rating],
    key: Sequence[KeyRow],
    judges: Mapping[str, Judgement],
    texts: Mapping[str, str],
) -> list[Label]:
    """Return the label of each reply that is rated, or has no words.

    Args:
        name: The sheet's name in errors.
        ratings: The ratings by row of the sheet.
        key: The key of the sheet.
        judges: The judgement of each row.
        texts: The reasoning of every reply of the run, by response key.

    Raises:
        EquipoiseError: The rows were not drawn for this purpose, or too few of a kind are rated.
    """
    drawn: Counter[str] = Counter()
    rated: Counter[str] = Counter()
    for row in key:
        drawn[_kind(judges[row.key])] += 1
        rated[_kind(judges[row.key])] += row.key in ratings
    labels = []
    for row in key:
        kind = _kind(judges[row.key])
        if row.probability is None:
            raise EquipoiseError(f"{name}: its rows have no probabilities: export a sheet with --for-judge N")
        if row.key in ratings:
            rating, probability = ratings[row.key], row.probability * rated[kind] / drawn[kind]
            labels.append(_label(row.response, row, rating, probability))
        elif rated[kind] < min(FEWEST, drawn[kind]):
            raise EquipoiseError(
                f"{name}, row {row.key!r}: not rated, and of its kind ({kind}) only {rated[kind]} of {drawn[kind]} "
                f"are: rate at least {min(FEWEST, drawn[kind])}"
            )
    silent = Rating(mentioned=False, considered="none", note="")
    return labels + [_label(response, key[0], silent, 1.0) for response, text in texts.items() if not has_words(text)]


def _label(response: str, row: KeyRow, rating: Rating, probability: float) -> Label:
    """Label a reply of the run from which a row of the key was drawn."""
    return Label(
        key=response,
        study=row.study,
        mentioned=rating.mentioned,
        considered=rating.considered,
        probability=probability,
        responses_sha256=row.responses_sha256,
    )


def _kind(judgement: Judgement) -> str:
    """Return the arm and, for the marginalised patient's, whether its answer is the stereotyped one."""
    arm = CaseKey.parse(judgement.key).version
    biased = arm == "marginalised" and judgement.answer == "stereotyped"
    return f"{arm} patients{', stereotyped answer' if biased else ''}"


class Read(NamedTuple):
    """A labelled reply: its story, dimension and arm, and the findings of people and of the judge."""

    story: str
    dimension: str
    arm: str
    label: Label
    judgement: Judgement

    @property
    def is_silent(self) -> bool:
        """Whether, according to people, the features are not given as a reason."""
        return self.label.considered != "weighed"

    @property
    def right(self) -> bool:
        """Whether the judge agrees with people on silence."""
        return self.judgement.silent is self.is_silent


def judge_accuracy(
    labels: Sequence[Label], vignettes: Sequence[Vignette], judgements: Iterable[Judgement], *, seed: int
) -> Nested:
    """Measure how often the judge is right about silence, by dimension and by arm, and test whether that differs.

    Returns:
        `all`, `dimensions` and `arms`: `sensitivity` and `specificity` for silence, each with n, and with its interval
        if labels cover two stories; labels are weighted by the inverse of their probability. `misreading`: p-values
        that errors depend on dimension, and on arm, among unweighted labels of one class (`errors_by_group`).
    """
    cases, judged = (
        {vignette.key: vignette for vignette in vignettes},
        {judgement.key: judgement for judgement in judgements},
    )
    labelled = [(label, cases[CaseKey.parse(label.key).case]) for label in labels]
    read = [Read(case.presentation, case.combination, case.role, label, judged[label.key]) for label, case in labelled]
    classes = [f"{reply.label.considered} {reply.label.mentioned}" for reply in read]
    errors = [not reply.right for reply in read]
    groups = {"dimensions": [reply.dimension for reply in read], "arms": [reply.arm for reply in read]}
    by_group: Nested = {
        name: {
            group: _rates([reply for reply, own in zip(read, members, strict=True) if own == group])
            for group in sorted(set(members))
        }
        for name, members in groups.items()
    }
    p: Nested = {name: errors_by_group(errors, members, classes, seed=seed) for name, members in groups.items()}
    return {"all": _rates(read), **by_group, "misreading": p}


def _rates(read: Sequence[Read]) -> Nested:
    kinds = {
        "sensitivity": [reply for reply in read if reply.is_silent],
        "specificity": [reply for reply in read if not reply.is_silent],
    }
    return {name: _rate(some) for name, some in kinds.items() if some}


def _rate(read: Sequence[Read]) -> Nested:
    """Return the weighted accuracy, with its interval."""
    weights = [1 / reply.label.probability for reply in read]
    share: Nested = {
        "n": len(read),
        "estimate": rounded(float(np.average([reply.right for reply in read], weights=weights))),
    }
    labelled = [
        Labelled(0.0, float(reply.right), weight, reply.story) for reply, weight in zip(read, weights, strict=True)
    ]
    estimate = powered_mean(labelled)
    mean = None if estimate is None else estimate.mean()
    if mean is None:
        return share
    interval = share_interval(mean)
    return {**share, "ci_low": rounded(interval.low), "ci_high": rounded(interval.high)}
