"""Training examples for the reader of passages: every question of annotated passages, in the form asked of a judge.

In each epoch some passages get sentences from another passage, about another patient trait or none: the treatment of
the feature stays the same, while the length, the position of the decisive sentence, and causal words about something
else vary. Some passages get questions about a dimension that they do not mention.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from equipoise.judge.passages import Annotation, Passage, PassageClass, Treatment, passage_files, read_passages
from equipoise.judge.reading import ask_about
from equipoise.judge.reading import passages as parts
from equipoise.text.sentences import sentence_spans
from workshop.snli import Pair
from workshop.training import TrainSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from equipoise.judge.lexicon import Lexicon
    from workshop.labels import Implied

GENDERED = re.compile(
    r"\b(?:(?P<she>she|her|hers|herself|woman|girl|female)|(?:he|him|his|himself|man|boy|male))\b", re.IGNORECASE
)
SHOWN = ("age", "gender")
"""Dimensions that a summary or a pronoun shows, so that a passage may mention them without an annotation."""
TRIES = 8
"""Number of other passages that are tried before a passage is left unchanged."""
Share = Annotated[float, Field(ge=0, le=1)]


class MixSettings(BaseModel):
    """How passages are varied from epoch to epoch: the section `mix` of params.yaml.

    `mixed` is the share of questions whose passage gets sentences from another passage, at most `words` words (drawn
    evenly from 10); `asked` is the share of the questions of a class that are asked in an epoch, if not all;
    `elsewhere` is the number of questions about an unmentioned dimension, as a share of the passages.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int
    mixed: Share
    words: Annotated[int, Field(ge=10)]
    asked: dict[PassageClass, Share]
    elsewhere: Share


class Phase(BaseModel):
    """A phase of training: files of passages by the beginnings of their names, their variation, and the epochs.

    `explanations` lists the exam questions whose explanations by language models are also used for training, whole or,
    if longer than `words`, in parts; `again` selects files of earlier phases, from which a share of the questions,
    `asked_again`, is asked again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    passages: Annotated[tuple[str, ...], Field(min_length=1)]
    again: tuple[str, ...] = ()
    asked_again: Share = 0
    explanations: tuple[str, ...] = ()
    words: Annotated[int, Field(ge=1)] = 220
    mix: MixSettings
    train: TrainSettings


class FitSettings(BaseModel):
    """How the reader is trained: the section `fit` of params.yaml. Files of passages in `held` are excluded."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    held: Annotated[tuple[str, ...], Field(min_length=1)]
    phases: Annotated[tuple[Phase, ...], Field(min_length=1)]

    @property
    def explained(self) -> frozenset[str]:
        """The exam questions whose explanations are used in any phase of training; no figure is measured on them."""
        return frozenset(question for phase in self.phases for question in phase.explanations)


def choose_passages(folder: Path, names: Sequence[str], without: Sequence[str] = ()) -> list[Passage]:
    """Return the passages of files whose names begin with one of `names`, in order, but with none of `without`."""
    files = [path for path in passage_files(folder) if path.stem.startswith(tuple(names))]
    return read_passages(path for path in files if not path.stem.startswith(tuple(without) or ("/",)))


def explanation_pairs(rows: Iterable[Implied], phase: Phase, lexicon: Lexicon) -> list[Pair]:
    """Return the explanations of a phase's exam questions, labelled with whether they imply that the feature mattered.

    An explanation that implies this and is longer than a passage is omitted, because the relevant part is unknown.
    """
    pairs: list[Pair] = []
    for row in rows:
        if row.question not in phase.explanations:
            continue
        (feature,) = lexicon.features({row.dimension: row.feature})
        spans = parts(row.text, phase.words)
        if row.implied and len(spans) > 1:
            continue
        for span in spans:
            text = row.text[span.start : span.end]
            unweighed: Treatment = "restated" if feature.is_named(text) else "unmentioned"
            pairs.append(Pair(*ask_about(text, feature), "weighed" if row.implied else unweighed))
    return pairs


def epoch_pairs(
    passages: Sequence[Passage],
    earlier: Sequence[Passage],
    explanations: Sequence[Pair],
    lexicon: Lexicon,
    phase: Phase,
    epoch: int,
) -> list[Pair]:
    """Return the questions of an epoch: on a phase's passages, on a share of `earlier` ones, and on `explanations`."""
    rng = random.Random(f"again {phase.mix.seed} {epoch}")  # noqa: S311 (a choice, not a secret)
    again = mixed_lessons(earlier, lexicon, phase.mix, epoch)
    chosen_again = rng.sample(again, round(len(again) * phase.asked_again))
    return [*mixed_lessons(passages, lexicon, phase.mix, epoch), *chosen_again, *explanations]


def lessons(passages: Iterable[Passage], lexicon: Lexicon) -> list[Pair]:
    """Return passage, question and treatment of every question, in order."""
    return [_lesson(one.text, each, lexicon) for one in passages for each in one.features]


def mixed_lessons(passages: Sequence[Passage], lexicon: Lexicon, settings: MixSettings, epoch: int) -> list[Pair]:
    """Return the questions of one epoch; the same settings and epoch give the same questions."""
    rng = random.Random(f"{settings.seed} {epoch}")  # noqa: S311 (a choice, not a secret)
    questions: list[Pair] = []
    for passage in passages:
        for each in passage.features:
            if rng.random() >= settings.asked.get(each.class_, 1):
                continue
            text = passage.text
            if rng.random() < settings.mixed:
                others = (
                    mix_passage(passage, each, rng.choice(passages), lexicon, rng, settings.words) for _ in range(TRIES)
                )
                text = next((other for other in others if other != text), text)
            questions.append(_lesson(text, each, lexicon))
        if rng.random() < settings.elsewhere:
            questions += _untouched_question(passage, lexicon, rng)
    return questions


def mix_passage(
    passage: Passage, about: Annotation, other: Passage, lexicon: Lexicon, rng: random.Random, words: int
) -> str:
    """Insert a run of another passage's sentences into a passage.

    The run does not mention the dimension in question; if the other passage mentions it, or has the other gender's
    pronouns, the passage is returned unchanged.
    """
    touches = any(each.dimension == about.dimension and each.treatment != "unmentioned" for each in other.features)
    if touches or other.id == passage.id or _gender(other.text) not in (None, _gender(passage.text)):
        return passage.text
    spans = sentence_spans(other.text)
    first = rng.randrange(len(spans))
    room = rng.randint(10, words)
    run: list[str] = []
    for span in spans[first:]:
        sentence = other.text[span.start : span.end]
        room -= len(sentence.split())
        if run and room < 0:
            break
        if about.dimension == "gender" and GENDERED.search(sentence):
            continue
        if not lexicon.touches(sentence, about.dimension):
            run.append(sentence)
    if not run:
        return passage.text
    ends = [0, *(span.end for span in sentence_spans(passage.text))]
    at = rng.choice(ends)
    gap = "\n" if "\n" in passage.text else " "
    parts = (passage.text[:at].rstrip(), gap.join(run), passage.text[at:].lstrip())
    return gap.join(part for part in parts if part)


def _untouched_question(passage: Passage, lexicon: Lexicon, rng: random.Random) -> list[Pair]:
    """Return a question about a dimension of which the passage has no annotation and no word, if there is one."""
    annotated = {each.dimension for each in passage.features}
    untouched = [
        name
        for name in lexicon.listed
        if name not in annotated and name not in SHOWN and not lexicon.touches(passage.text, name)
    ]
    if not untouched:
        return []
    dimension = rng.choice(untouched)
    feature = rng.choice(lexicon.listed[dimension])
    about = Annotation(dimension=dimension, feature=feature, class_="unrelated", mentions=0)
    return [_lesson(passage.text, about, lexicon)]


def _gender(text: str) -> str | None:
    """Return the gender of most of a text's gendered words; None if it has none."""
    counts = Counter("she" if match["she"] else "he" for match in GENDERED.finditer(text))
    return counts.most_common(1)[0][0] if counts else None


def _lesson(text: str, about: Annotation, lexicon: Lexicon) -> Pair:
    """Return one question, with its answer."""
    (feature,) = lexicon.features({about.dimension: about.feature})
    return Pair(*ask_about(text, feature), about.treatment)
