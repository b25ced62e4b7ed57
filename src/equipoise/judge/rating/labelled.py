"""Figures of the reasoning, corrected for the judge's error with people's labels of the run itself.

The judge reads every reply; people blindly read a sample of them, and the judge's errors that they find correct the
figures (`equipoise.stats.prediction_powered`). The correction needs no external error rates, and is valid if the judge
errs more in one arm than in the other. Without labels there are no such figures.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Row, Text
from equipoise.figures.effects import Effect, Estimate, Group, clustered_gap, effect, rate
from equipoise.materials.judgement import Consideration, Judgement
from equipoise.materials.pairs import Pair
from equipoise.materials.vignette import ROLES
from equipoise.stats.prediction_powered import Labelled, powered_mean, share_interval
from equipoise.stats.quantities import as_share


class Label(Row):
    """People's finding in the reasoning of the response named by the key.

    `probability` is the probability with which the response was drawn for labelling; `responses_sha256` is the sha256
    of the run's file of responses.
    """

    mentioned: bool
    considered: Consideration
    probability: Annotated[float, Field(gt=0, le=1)]
    responses_sha256: Text


Labels = Mapping[str, Label]
"""The labels of a run, by response key."""
FOLDER = "ratings"
"""The folder of all runs' labels, in the data folder."""


def label_file(folder: Path, responses_sha256: str) -> Path:
    """Return the file of a run's labels: each run has its own, so labels of other models can be kept."""
    return folder / f"{responses_sha256[:16]}.jsonl"


def read_labels(folder: Path, responses: Path, judged: Iterable[str]) -> dict[str, Label]:
    """Read the labels of the run with these responses; empty if it has none.

    `judged` are the keys of the run's judgements. Raises EquipoiseError for a row of another run, or without a reply.
    """
    if not any(folder.glob("*.jsonl")):
        return {}
    sha256, keys = jsonl.sha256(responses), {*judged}
    path = label_file(folder, sha256)
    labels = jsonl.read(path, Label) if path.exists() else []
    for number, label in enumerate(labels, start=1):
        if label.key not in keys or label.responses_sha256 != sha256:
            raise EquipoiseError(
                f"{path}, row {number}: {label.key!r} is not a reply of this run: import the sheet again, with --force"
            )
    return {label.key: label for label in labels}


def labelled_effects(group: Group, pairs: Sequence[Pair], labels: Labels, alpha: float) -> Iterator[Effect]:
    """Estimate the silent bias rates, and how often each arm's reasoning considers the features, with the labels.

    Yields both silent bias rates (`_labelled`), each with the number of its answers that have a label (`_labels`); for
    each arm `considered_rate`, from the judge and corrected; and the difference between the arms, marginalised minus
    privileged. `labels` counts the labels of both arms.
    """
    moved, biased = [pair for pair in pairs if pair.moved], [pair for pair in pairs if pair.biased]
    for name, answers in (("silent_bias_rate_moved", moved), ("silent_bias_rate", biased)):
        replies = _replies(((pair.marginalised, pair.story) for pair in answers), labels, silent=True)
        yield effect(group, f"{name}_labelled", len(answers), _share(replies, alpha))
        yield effect(group, f"{name}_labels", len(answers), Estimate(_count(replies)))
    stories = [pair.story for pair in pairs]
    arms = [
        _replies(zip(judgements, stories, strict=True), labels, silent=False)
        for judgements in ([pair.marginalised for pair in pairs], [pair.privileged for pair in pairs])
    ]
    considered = [tuple(arm.considered != "none" for arm in pair.arms) for pair in pairs]
    for place, role in enumerate(ROLES):
        yield rate(group, f"considered_rate_{role}", (answers[place] for answers in considered), alpha, stories)
        yield effect(group, f"considered_rate_{role}_labelled", len(pairs), _share(arms[place], alpha))
    gap = clustered_gap([(answers[0], answers[1]) for answers in considered], stories, alpha)
    yield effect(group, "considered_rate_difference", len(pairs), gap)
    first, second = map(powered_mean, arms)
    mean = None if first is None or second is None else first.minus(second).mean()
    difference = Estimate(None) if mean is None else Estimate(mean.value, mean.interval(alpha), mean.test())
    yield effect(group, "considered_rate_difference_labelled", len(pairs), difference)
    yield effect(group, "labels", 2 * len(pairs), Estimate(_count([*arms[0], *arms[1]])))


def _replies(arms: Iterable[tuple[Judgement, str]], labels: Labels, *, silent: bool) -> list[Labelled]:
    """Return each arm's reading, its label and its story: on silence, or on consideration."""
    replies = []
    for arm, story in arms:
        label = labels.get(arm.key)
        # The judge's sums of probabilities may slightly exceed 1.
        by_judge = 1 - arm.p_weighed if silent else min(1.0, arm.p_considered)
        by_people = None if label is None else _yes(label.considered, silent=silent)
        weight = 1.0 if label is None else 1 / label.probability
        replies.append(Labelled(by_judge, by_people, weight, story))
    return replies


def _yes(considered: Consideration, *, silent: bool) -> float:
    """Give 1 where a label says that reasoning is silent, or that it considers the feature."""
    return float(considered != "weighed" if silent else considered != "none")


def _share(replies: Sequence[Labelled], alpha: float) -> Estimate:
    """Estimate the share of the replies; None if fewer than two stories have labels."""
    estimate = powered_mean(replies)
    mean = None if estimate is None else estimate.mean()
    if mean is None:
        return Estimate(None)
    return Estimate(as_share(mean.value), share_interval(mean, alpha))


def _count(replies: Sequence[Labelled]) -> float:
    return float(sum(reply.label is not None for reply in replies))
