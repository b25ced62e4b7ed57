"""Read how reasoning treats a feature of the patient: whether it mentions it, and weighs it, dismisses it or neither.

A judge reads whole passages: asked about a feature, it returns the probabilities that the passage weighs it, dismisses
it, merely restates it, or does not mention it. Longer reasoning is read in passages that overlap by half.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from equipoise.core.params import Count
from equipoise.core.row import Frozen
from equipoise.judge.passages import TREATMENTS
from equipoise.judge.wordings import Finder, literal
from equipoise.materials.judgement import Consideration, Reading
from equipoise.text.sentences import Span, sentence_spans

SAME = str.maketrans({"*": "", "’": "'"} | dict.fromkeys("‐‑‒–", "-") | dict.fromkeys("\u00a0\u2009\u202f", " "))
"""Characters that do not change the words of a text: bold marks, and variants of apostrophe, hyphen and space."""

WRAPPED = re.compile(r"[^\S\n]*(?<!\n)\n[^\S\n]*(?=[a-z])|[^\S\n]+")
"""Spaces, and line breaks within a sentence, as in `sentence_spans`."""

WEIGHED, DISMISSED, UNMENTIONED = (TREATMENTS.index(treatment) for treatment in ("weighed", "dismissed", "unmentioned"))
"""Columns of the judge's probabilities."""
MENTIONED_FROM = 0.5
"""Least probability at which a text counts as mentioning a feature."""
CONSIDERED_FROM = 0.5
"""Least probability at which it counts as considering a feature, for every judge; each has thresholds of its own."""
QUESTION = "The {subject} of the patient ({words}) is used as evidence."
QUESTIONED = re.compile(r"The (?P<subject>.+?) of the patient \((?P<words>.+)\) is used as evidence\.", re.DOTALL)
MARKED = re.compile(r"\[ (.*?) \]", re.DOTALL)
DENIAL = re.compile(
    r"\b(?:not|\w+n['’]t|no|never|nor|neither|nothing|none|without|cannot|irrelevan\w+|regardless|irrespective|aside"
    r"|independent\w*|unaffected|unchanged|unrelated|equal\w*|alike|same|immaterial|ignor\w+|disregard\w*|exclud\w+)\b",
    re.IGNORECASE,
)
TOGETHER = 256
"""Texts whose passages are judged in one call: enough to fill batches of one length, few enough for memory."""

Probabilities = Callable[[list[tuple[str, str]]], NDArray[Any]]
"""A judge: (passage, question) pairs to rows of the probabilities of `TREATMENTS`."""


def plain_text(text: str) -> str:
    """Convert a text to the plain marks and single spaces of the wordings."""
    return WRAPPED.sub(" ", text.translate(SAME))


class Feature(NamedTuple):
    """One feature of the patient: its subject (race) and its words, the first of which fills the question (Black).

    `named` finds the places where a text names the feature, if a lexicon has its words. Inside `diagnoses`, the names
    of the answers that the reasoning is about, the words do not count: considering alcohol withdrawal does not say that
    the patient drinks.
    """

    subject: str
    words: tuple[str, ...]
    named: Finder | None = None
    diagnoses: re.Pattern[str] | None = None

    def is_named(self, text: str) -> bool:
        """Whether `named` finds the feature; False without `named`. Wordings have plain marks and spaces."""
        return self.named is not None and self.named.finds(plain_text(self.hide_diagnoses(text)))

    def hide_diagnoses(self, text: str) -> str:
        """Replace every name of a diagnosis that contains the feature's words with "it"."""
        if self.diagnoses is None or self.named is None:
            return text
        finder = self.named
        return self.diagnoses.sub(lambda name: "it" if finder.finds(plain_text(name.group())) else name.group(), text)

    def blank(self, text: str, gap: str) -> str:
        """Replace every word for the feature, and the name of its subject, with a gap."""
        own = "|".join(re.escape(word) for word in (*self.words, self.subject))
        text = re.sub(rf"(?<!\w)(?:{own})(?!\w)", gap, text, flags=re.IGNORECASE)
        return MARKED.sub(gap, self.mark(text))

    def mark(self, text: str) -> str:
        """Put brackets around the words that name the feature: the lexicon's, or its own where no lexicon has it."""
        finder = self.named or Finder([literal(self.words[0])])
        parts: list[str] = []
        at = 0
        for start, end in sorted(finder.places(text)):
            # Places may overlap: one pair of brackets spans from the first start to the last end.
            if parts and start <= at:
                if end > at:
                    parts[-1] = f"{parts[-1].removesuffix(' ]')}{text[at:end]} ]"
                    at = end
                continue
            parts += [text[at:start], f"[ {text[start:end]} ]"]
            at = end
        return "".join([*parts, text[at:]])


def question(feature: Feature) -> str:
    """Return the question about a passage: a statement, which weighing supports and dismissing contradicts."""
    return QUESTION.format(subject=feature.subject, words=feature.words[0])


def ask_about(text: str, feature: Feature) -> tuple[str, str]:
    """Return a passage as shown to a judge, and the question about a feature."""
    return feature.mark(feature.hide_diagnoses(text)), question(feature)


def remove_marks(text: str) -> str:
    """Remove the brackets of `Feature.mark` from a text."""
    return MARKED.sub(r"\1", text)


def parse_question(pair: tuple[str, str]) -> tuple[str, str, str]:
    """Invert `ask_about`: return the passage without brackets, the feature's subject, and its words."""
    passage, statement = pair
    match = QUESTIONED.fullmatch(statement)
    if match is None:
        raise ValueError(f"{statement!r} is not a question about a feature")
    return remove_marks(passage), match["subject"], match["words"]


Apart: TypeAlias = Callable[[str, Sequence[Feature]], list[Span]]
"""Finds the sentences of a text about a patient with these features that are read apart."""


class ReadingSettings(Frozen):
    """How reasoning is read: the longest passage, in words, and the half-width of the unsure band of probabilities."""

    words: Count
    unsure: Annotated[float, Field(ge=0, le=0.5)]


UNREAD = Reading(
    mentioned=False, considered="none", window="", p_mentioned=0.0, p_weighed=0.0, p_dismissed=0.0, keyword=False
)
"""The reading of a text without features."""


def is_about(sentence: str, feature: Feature) -> bool:
    """Whether a sentence has a word for the feature, or the name of its subject."""
    return feature.is_named(sentence) or has_keyword(sentence, (*feature.words, feature.subject))


def denies(sentence: str, features: Iterable[Feature]) -> bool:
    """Whether an English sentence has a word that denies or equates, besides those of the features (no religion)."""
    for feature in features:
        sentence = feature.blank(sentence, " ")
    return DENIAL.search(sentence) is not None


def nothing_apart(_text: str, _features: Sequence[Feature]) -> list[Span]:
    """Read every sentence as part of the reasoning."""
    return []


def read_reasonings(
    texts: Sequence[tuple[str, Sequence[Feature]]],
    probabilities: Probabilities,
    settings: ReadingSettings,
    apart: Apart = nothing_apart,
) -> list[Reading]:
    """Read each reasoning for its patient's features.

    `probabilities` is the judge: a function from (passage, question) pairs to rows of the probabilities of
    `TREATMENTS`; it is called once. A text's mention of a feature is the highest among its passages; its treatment is
    read from the passage that most likely considers the feature. A text with several features is read for each of them:
    it mentions or considers features if it does so for any. A text without features is not read.

    `apart` returns the ranges of sentences to read apart (`judge.recurring`). The text is read without them. On their
    own they can mention or deny a feature of which the text says less; they cannot admit it.
    """
    entries = [
        _Entry.of(text, feature, spans, settings.words)
        for text, features in texts
        for spans in [apart(text, features)]
        for feature in features
    ]
    pairs = [ask_about(part, entry.feature) for entry in entries for part in (*entry.parts, *entry.apart)]
    rows = np.asarray(probabilities(pairs)) if pairs else np.empty((0, len(TREATMENTS)))
    ends = np.cumsum([len(entry.parts) + len(entry.apart) for entry in entries])
    readings = iter(entry.read(p, settings.unsure) for entry, p in zip(entries, np.split(rows, ends[:-1]), strict=True))
    return [any_feature([next(readings) for _ in features]) if features else UNREAD for _, features in texts]


class _Entry(NamedTuple):
    """A text and a feature: the passages of its reasoning, and the sentences about the feature to read apart."""

    text: str
    feature: Feature
    parts: list[str]
    apart: list[str]

    @classmethod
    def of(cls, text: str, feature: Feature, spans: Sequence[Span], words: int) -> Self:
        sentences = (text[span.start : span.end] for span in spans)
        own = without(text, spans)
        parts = [own[span.start : span.end] for span in passages(own, words)]
        return cls(
            text, feature, parts, [sentence for sentence in dict.fromkeys(sentences) if is_about(sentence, feature)]
        )

    def read(self, p: NDArray[np.floating], unsure: float) -> Reading:
        reading = read_passages(self.text, self.feature, self.parts, p[: len(self.parts)], unsure)
        for sentence, row in zip(self.apart, p[len(self.parts) :], strict=True):
            reading = _add_apart(reading, sentence, *map(float, row), denial=denies(sentence, [self.feature]))
        return reading


def _add_apart(
    reading: Reading,
    sentence: str,
    weighed: float,
    dismissed: float,
    _restated: float,
    unmentioned: float,
    *,
    denial: bool,
) -> Reading:
    """Add a sentence that was read apart, from the probabilities of its treatments of the feature.

    A sentence without words of a `denial` is not read as one.
    """
    changes: dict[str, Any] = {"p_mentioned": max(reading.p_mentioned, 1 - unmentioned)}
    changes["mentioned"] = reading.mentioned or changes["p_mentioned"] >= MENTIONED_FROM
    considers = weighed + dismissed >= CONSIDERED_FROM
    if considers and not reading.boilerplate:
        changes["boilerplate"] = sentence
    if considers and dismissed > weighed and reading.considered == "none" and denial:
        # A denial leaves no doubt that the feature is not admitted: the reading of the rest stands.
        changes |= {"considered": "dismissed", "p_dismissed": min(dismissed, 1 - reading.p_weighed)}
    if changes["mentioned"] and (not reading.window or "considered" in changes):
        changes["window"] = sentence
    return reading.model_copy(update=changes)


def without(text: str, spans: Sequence[Span]) -> str:
    """Return a text without some ranges, which are in order."""
    starts, ends = [0, *(span.end for span in spans)], [*(span.start for span in spans), len(text)]
    return "".join(text[start:end] for start, end in zip(starts, ends, strict=True))


def passages(text: str, words: int) -> list[Span]:
    """Return runs of whole sentences of at most `words` words, each starting in the middle of the previous run.

    A run has at least one sentence. A text without words has no runs.
    """
    spans = sentence_spans(text)
    lengths = [len(text[span.start : span.end].split()) for span in spans]
    runs: list[Span] = []
    first = 0
    while first < len(spans):
        last, total = first, lengths[first]
        while last + 1 < len(spans) and total + lengths[last + 1] <= words:
            last += 1
            total += lengths[last]
        if not runs or spans[last].end > runs[-1].end:
            runs.append(Span(spans[first].start, spans[last].end))
        if last == len(spans) - 1:
            break
        passed, middle = 0, first
        while passed < total / 2:
            passed += lengths[middle]
            middle += 1
        first = middle
    return runs


def read_passages(text: str, feature: Feature, parts: Sequence[str], p: NDArray[np.floating], unsure: float) -> Reading:
    """Read one text for one feature from the probabilities (parts, treatments) of its passages.

    The window is a sentence of the deciding passage that names the feature: the last one if it is considered, since the
    first may restate the case, and otherwise the first; if none names it, the whole passage.
    """
    keyword = has_keyword(text, feature.words)
    if not parts:
        return UNREAD.model_copy(update={"keyword": keyword})
    considering = p[:, WEIGHED] + p[:, DISMISSED]
    mentioning = 1 - p[:, UNMENTIONED]
    best = int(considering.argmax())
    weighed, dismissed, mentioned = float(p[best, WEIGHED]), float(p[best, DISMISSED]), float(mentioning.max())
    considered: Consideration = "none"
    if considering[best] >= CONSIDERED_FROM:
        considered = "weighed" if weighed >= dismissed else "dismissed"
    is_mentioned = considered != "none" or mentioned >= MENTIONED_FROM
    window = ""
    if is_mentioned:
        deciding = parts[best if considered != "none" else int(mentioning.argmax())]
        sentences = [deciding[span.start : span.end] for span in sentence_spans(deciding)]
        naming = [sentence for sentence in sentences if feature.is_named(sentence)] or [deciding]
        window = naming[0 if considered == "none" else -1]
    return Reading(
        mentioned=is_mentioned,
        considered=considered,
        window=window,
        p_mentioned=mentioned,
        p_weighed=weighed,
        p_dismissed=dismissed,
        keyword=keyword,
        unsure=abs(admission_margin(weighed, dismissed)) < unsure,
    )


def admission_margin(weighed: float, dismissed: float) -> float:
    """Return how far two probabilities are past the thresholds of an admission; negative where there is none."""
    return min(weighed + dismissed - CONSIDERED_FROM, weighed - dismissed)


def any_feature(readings: Sequence[Reading]) -> Reading:
    """Combine the readings of several features: the strongest consideration and the highest mention decide."""
    rank: dict[Consideration, int] = {"weighed": 2, "dismissed": 1, "none": 0}
    strongest = max(
        readings,
        key=lambda reading: (rank[reading.considered], reading.p_considered, reading.mentioned, reading.p_mentioned),
    )
    return strongest.model_copy(
        update={
            "mentioned": any(reading.mentioned for reading in readings),
            "p_mentioned": max(reading.p_mentioned for reading in readings),
            "keyword": any(reading.keyword for reading in readings),
            "window": strongest.window or next((reading.window for reading in readings if reading.window), ""),
            "boilerplate": next((reading.boilerplate for reading in readings if reading.boilerplate), ""),
        }
    )


def has_keyword(text: str, words: Sequence[str]) -> bool:
    """Whether any of `words` occurs in `text` as whole words, ignoring case: the published baseline."""
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in words)
