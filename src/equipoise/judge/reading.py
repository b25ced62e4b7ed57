"""What a reasoning does with a feature of the patient: mentioned or not, and weighed, dismissed or neither."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from string import Formatter
from typing import Annotated, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from equipoise.core.params import Count
from equipoise.core.records import Consideration, Frozen, Reading
from equipoise.judge.wordings import Finder
from equipoise.text.sentences import windows

PLACEHOLDERS = frozenset({"feature", "subject"})
"""What a hypothesis may name: the feature in plain words (Black), and what kind of thing it is (race)."""

SAME = str.maketrans({"*": "", "’": "'"} | dict.fromkeys("‐‑‒–", "-") | dict.fromkeys("\u00a0\u2009\u202f", " "))
"""Characters that make no difference to the words of a text: bold marks, kinds of apostrophe, hyphen and space."""

WRAPPED = re.compile(r"[^\S\n]*(?<!\n)\n[^\S\n]*(?=[a-z])|[^\S\n]+")
"""Spaces, and a line break within a sentence, as `windows` has it."""

ENTAILMENT = 0
"""Column of the judge's probabilities."""
TOGETHER = 256
"""Texts whose windows are judged in one call: enough to fill batches of one length, few enough to hold."""

T = TypeVar("T")

Probability = Annotated[float, Field(ge=0, le=1)]
Hypothesis = Annotated[str, Field(min_length=1)]


def plainly(text: str) -> str:
    """Write a text with the plain marks and single spaces in which wordings are written."""
    return WRAPPED.sub(" ", text.translate(SAME))


class Feature(NamedTuple):
    """One feature of the patient: its subject (race) and its words, of which the first fills the hypotheses (Black).

    `named` finds the places where a text names it, where a lexicon knows its words; else the judge says. Within
    `diagnoses`, names of the answers that reasoning is about, its words do not name it: to think of alcohol withdrawal
    is not to say that the patient drinks.
    """

    subject: str
    words: tuple[str, ...]
    named: Finder | None = None
    diagnoses: re.Pattern[str] | None = None

    def is_named(self, text: str) -> bool:
        """Whether `named` finds the feature; False without one. Wordings are written with plain marks and spaces."""
        plain = plainly(text)
        if self.diagnoses is not None:
            plain = self.diagnoses.sub("it", plain)
        return self.named is not None and self.named.finds(plain)


class Entailed(NamedTuple):
    """A text's windows, and how far each entails that a feature is mentioned, weighed, dismissed: (windows, 3)."""

    windows: list[str]
    p: NDArray[np.float64]


class Hypotheses(Frozen):
    """What the judge is asked of each window, a list for each judgement; within a list the most entailed one counts."""

    mentioned: Annotated[tuple[Hypothesis, ...], Field(min_length=1)]
    weighed: Annotated[tuple[Hypothesis, ...], Field(min_length=1)]
    dismissed: Annotated[tuple[Hypothesis, ...], Field(min_length=1)]

    @field_validator("*")
    @classmethod
    def _placeholders_known(cls, templates: tuple[str, ...]) -> tuple[str, ...]:
        for template in templates:
            unknown = {name for _, name, _, _ in Formatter().parse(template) if name is not None} - PLACEHOLDERS
            if unknown:
                message = f"{template!r} has the placeholder {min(unknown)!r}; only feature and subject are filled"
                raise ValueError(message)
        return templates


class Thresholds(Frozen):
    """Probabilities from which a judgement is made."""

    mentioned: Probability
    weighed: Probability
    dismissed: Probability


class ReadingSettings(Frozen):
    """How reasoning is read: window length and stride in sentences, hypotheses, aggregation and thresholds."""

    sentences: Count
    stride: Count
    top_k: Count
    hypotheses: Hypotheses
    thresholds: Thresholds

    @model_validator(mode="after")
    def _nothing_unread(self) -> Self:
        if self.stride > self.sentences:
            raise ValueError(
                f"stride {self.stride} exceeds sentences {self.sentences}: sentences between windows would go unread"
            )
        return self


UNREAD = Reading(
    mentioned=False, considered="none", window="", p_mentioned=0.0, p_weighed=0.0, p_dismissed=0.0, keyword=False
)
"""What is found where there is nothing to look for."""


class _Score(NamedTuple):
    """Aggregated probability of one judgement and the window that supports it most."""

    p: float
    window: str


def read_reasonings(
    texts: Sequence[tuple[str, Sequence[Feature]]],
    probabilities: Callable[[list[tuple[str, str]]], NDArray[Any]],
    settings: ReadingSettings,
) -> list[Reading]:
    """Read each reasoning for its patient's features.

    `probabilities` takes (premise, hypothesis) pairs and gives rows of entailment, neutral, contradiction; see
    `entailments`. A window can weigh or dismiss only what it mentions, so these two are at most its mention. A
    judgement's probability is the mean over the `top_k` windows that entail it most; what is mentioned once is
    mentioned. A text with several features is read for each of them: it mentions or considers features if it does so
    for any. Of a text without features nothing is read.
    """
    found = iter(entailments(texts, probabilities, settings.hypotheses, settings.sentences, settings.stride))
    readings = []
    for text, features in texts:
        each = []
        for feature in features:
            entailed = next(found)
            scores = {
                name: _aggregate(
                    np.minimum(entailed.p[:, column], entailed.p[:, 0]),
                    entailed.windows,
                    1 if name == "mentioned" else settings.top_k,
                )
                for column, (name, _) in enumerate(settings.hypotheses)
            }
            each.append(judge_feature(scores, settings.thresholds, keyword=has_keyword(text, feature.words)))
        readings.append(any_feature(each) if each else UNREAD)
    return readings


def chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    """Take rows as they come, as many at a time as are judged together."""
    rows = iter(rows)
    while some := list(islice(rows, TOGETHER)):
        yield some


def entailments(
    texts: Sequence[tuple[str, Sequence[Feature]]],
    probabilities: Callable[[list[tuple[str, str]]], NDArray[Any]],
    hypotheses: Hypotheses,
    sentences: int,
    stride: int = 1,
) -> list[Entailed]:
    """How far every window of each text entails the judgements on each of its features, text by text.

    Every question is put to the judge in a single call of `probabilities`. A window entails a judgement as far as the
    most entailed of its hypotheses. Where a lexicon knows the feature, a window without its words is not asked about:
    all three are 0. (One that has them may still speak of somebody else.)
    """
    cut = {text: windows(text, sentences=sentences, stride=stride) for text, _ in texts}
    held = [
        (cut[text], feature, [feature.named is None or feature.is_named(one) for one in cut[text]])
        for text, features in texts
        for feature in features
    ]
    questions = [templates for _, templates in hypotheses]
    pairs = [
        (premise, hypothesis)
        for premises, feature, named in held
        for premise, is_named in zip(premises, named, strict=True)
        if is_named
        for templates in questions
        for hypothesis in _filled(templates, feature)
    ]
    answers = iter(probabilities(pairs)[:, ENTAILMENT].tolist() if pairs else ())
    return [
        Entailed(
            premises,
            np.array(
                [[max(next(answers) for _ in templates) if one else 0.0 for templates in questions] for one in named]
            ).reshape(len(premises), len(questions)),
        )
        for premises, _, named in held
    ]


def judge_feature(scores: Mapping[str, _Score], thresholds: Thresholds, *, keyword: bool) -> Reading:
    """The judgement of one feature from the scores of mentioned, weighed and dismissed.

    A feature is dismissed where that is likelier than that it is weighed. What is weighed or dismissed is also
    mentioned.
    """
    mentioned, weighed, dismissed = scores["mentioned"], scores["weighed"], scores["dismissed"]
    considered: Consideration = "none"
    window = mentioned.window if mentioned.p >= thresholds.mentioned else ""
    if dismissed.p >= thresholds.dismissed and dismissed.p > weighed.p:
        considered, window = "dismissed", dismissed.window
    elif weighed.p >= thresholds.weighed:
        considered, window = "weighed", weighed.window
    return Reading(
        mentioned=window != "",
        considered=considered,
        window=window,
        p_mentioned=mentioned.p,
        p_weighed=weighed.p,
        p_dismissed=dismissed.p,
        keyword=keyword,
    )


def any_feature(readings: Sequence[Reading]) -> Reading:
    """One reading for several features: the strongest consideration decides, each probability is the largest."""
    rank: dict[Consideration, int] = {"weighed": 2, "dismissed": 1, "none": 0}
    strongest = max(readings, key=lambda one: (rank[one.considered], one.mentioned, _deciding(one)))
    return strongest.model_copy(
        update={
            "p_mentioned": max(one.p_mentioned for one in readings),
            "p_weighed": max(one.p_weighed for one in readings),
            "p_dismissed": max(one.p_dismissed for one in readings),
            "keyword": any(one.keyword for one in readings),
        }
    )


def has_keyword(text: str, words: Sequence[str]) -> bool:
    """Whether any of `words` occurs in `text` as whole words, in whatever case: the published baseline."""
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in words)


def _filled(templates: Sequence[str], feature: Feature) -> list[str]:
    """The hypotheses about one feature."""
    return [template.format(feature=feature.words[0], subject=feature.subject) for template in templates]


def _aggregate(entailed: NDArray[np.float64], premises: Sequence[str], top_k: int) -> _Score:
    """Mean entailment of the `top_k` best windows, and the best window; an empty text has neither."""
    best = sorted(zip(entailed.tolist(), premises, strict=True), key=lambda pair: pair[0], reverse=True)[:top_k]
    return _Score(sum(p for p, _ in best) / len(best), best[0][1]) if best else _Score(0.0, "")


def _deciding(reading: Reading) -> float:
    """The probability behind a reading's judgement."""
    by_consideration = {"weighed": reading.p_weighed, "dismissed": reading.p_dismissed, "none": reading.p_mentioned}
    return by_consideration[reading.considered]
