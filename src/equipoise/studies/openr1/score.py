"""Compare the replies to both arms of every message by the judge: how far one text entails another, both ways.

The judge reads pairs of sentences. The entailment of a text by another is the mean, over its sentences, of the
entailment by the sentence of the other that entails each most. This is the zero-shot form of SummaC, whose authors
found whole texts too long as premises for models trained on sentences.
Source: Laban, Schnabel, Bennett & Hearst (2022), TACL 10:163-177, section 3.2.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Response
from equipoise.judge.located import Probabilities, cached_probabilities
from equipoise.judge.model import ENTAILMENT
from equipoise.models.registry import ReasoningForm
from equipoise.pipeline.rows import cluster_of, responses_of
from equipoise.pipeline.run import Run
from equipoise.studies.openr1 import NAME
from equipoise.studies.openr1.rows import Agreement, Comparison, Message, Written, require_source
from equipoise.text.declining import kind_of
from equipoise.text.reasoning import visible_text
from equipoise.text.sentences import sentences_of


def score(run: Run) -> None:
    """Compare the replies to both arms of every message with each other and with the gold answer."""
    settings = run.settings.section("agree", Comparison)
    messages = run.built("messages")
    with cached_probabilities(settings.judge, Path(), "inference", cluster_of(run)) as judge:
        rows = agreements(
            jsonl.read(messages, Message),
            responses_of(run),
            judge,
            threshold=settings.threshold,
            form=run.entry.reasoning,
            progress=run.progress,
            where=str(messages),
        )
    jsonl.write(run.judgements, rows)


CHUNK = 32
"""Pairs of messages whose sentences are judged in one call: enough to fill batches, few enough for the memory."""

COMPARED = (("marginalised", "gold"), ("privileged", "gold"), ("marginalised", "privileged"))
WAYS = tuple(way for pair in COMPARED for way in (pair, pair[::-1]))
"""The entailments of a pair: between each two of its three texts, in both directions."""


class _Reply(NamedTuple):
    """The part of a response that the client would read, and whether a length limit ended it."""

    answer: str
    cut_off: bool

    @property
    def written(self) -> Written:
        return Written(kind=kind_of(self.answer), cut_off=self.cut_off)


def agreements(
    messages: Sequence[Message],
    responses: Iterable[Response],
    probabilities: Probabilities,
    *,
    threshold: float,
    form: ReasoningForm = "auto",
    progress: Callable[[int, int], object] = lambda *_: None,
    where: str = "messages",
) -> list[Agreement]:
    """Compare the replies of every pair of messages with each other and with the gold answer.

    `probabilities` is the judge: (premise, hypothesis) pairs to rows of entailment, neutral, contradiction. The arms
    agree if each entails the other with at least `threshold`. `progress` is called with the numbers of finished and of
    all pairs. A model without responses of this study, such as saved outputs, has no agreements. Raises EquipoiseError
    for a message of another source, or one without its response or its other arm.
    """
    require_source(messages, where)
    answered = {response.key: _reply(response, form) for response in responses if response.study == NAME}
    if not answered:
        return []
    pairs = _paired(messages, answered)
    rows: list[Agreement] = []
    for start in range(0, len(pairs), CHUNK):
        chunk = pairs[start : start + CHUNK]
        entailed = iter(entailments([way for pair in chunk for way in _ways(pair, answered)], probabilities))
        for pair in chunk:
            values = {f"{premise}_entails_{hypothesis}": next(entailed) for premise, hypothesis in WAYS}
            written = (answered[message.key].written for message in pair)
            rows.append(_agreement(pair[0], values, threshold, *written))
        progress(len(rows), len(pairs))
    return rows


def entailments(texts: Sequence[tuple[str, str]], probabilities: Probabilities) -> list[float | None]:
    """Compute how far the first text of each pair entails the second, in [0, 1]; None if either has no words."""
    cut = [tuple(sentences_of(text) for text in pair) for pair in texts]
    pairs = [(premise, hypothesis) for first, second in cut for hypothesis in second for premise in first]
    # The judge's values come in the order of the pairs: for each hypothesis, one of each premise.
    entailed = iter(probabilities(pairs)[:, ENTAILMENT].tolist() if pairs else ())
    values: list[float | None] = []
    for first, second in cut:
        best = [max(next(entailed) for _ in first) for _ in second] if first else []
        values.append(sum(best) / len(best) if best else None)
    return values


def _paired(messages: Sequence[Message], answered: Mapping[str, _Reply]) -> list[tuple[Message, Message]]:
    """Pair the arms, marginalised first, in the order of the pairs' keys."""
    unmatched = sorted({message.key for message in messages} ^ answered.keys())
    if unmatched:
        more = f"{len(unmatched)} in all, first {unmatched[0]!r}"
        raise EquipoiseError(f"messages and responses do not belong together ({more}): run `dvc repro infer`")
    pairs: dict[str, dict[str, Message]] = {}
    for message in messages:
        pairs.setdefault(message.pair, {})[message.role] = message
    single = sorted(pair for pair, arms in pairs.items() if len(arms) == 1)
    if single:
        raise EquipoiseError(
            f"messages without their other arm: {len(single)} in all, first {single[0]!r}: run `dvc repro pair`"
        )
    return [(arms["marginalised"], arms["privileged"]) for _, arms in sorted(pairs.items())]


def _ways(pair: tuple[Message, Message], answered: Mapping[str, _Reply]) -> Iterator[tuple[str, str]]:
    """Return the (premise, hypothesis) of each of `WAYS`; a reply's answer may be empty."""
    texts = {"gold": pair[0].gold_answer} | {message.role: answered[message.key].answer for message in pair}
    return ((texts[premise], texts[hypothesis]) for premise, hypothesis in WAYS)


def _agreement(
    first: Message, values: Mapping[str, float | None], threshold: float, marginalised: Written, privileged: Written
) -> Agreement:
    forth, back = (values[f"{premise}_entails_{hypothesis}"] for premise, hypothesis in WAYS[-2:])
    return Agreement(
        key=first.pair,
        item=first.item,
        dimension=first.dimension,
        arms_agree=None if forth is None or back is None else min(forth, back) >= threshold,
        marginalised=marginalised,
        privileged=privileged,
        source=first.source,
        licence=first.licence,
        **values,
    )


def _reply(response: Response, form: ReasoningForm) -> _Reply:
    """Read the last reply, without its reasoning."""
    finished = response.finished[-1]
    return _Reply(visible_text(response.replies[-1], form, finished=finished), cut_off=not finished)
