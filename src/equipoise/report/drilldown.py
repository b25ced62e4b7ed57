"""The pairs of vignettes for the page: texts cut into plain and marked parts, and the readings of each arm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from equipoise.judge.lexicon import Lexicon
from equipoise.judge.reading import Thresholds
from equipoise.report.pairs import Arm, Shown
from equipoise.text.visible import SIGNS


class Part(NamedTuple):
    """A part of a text, and whether it is marked."""

    text: str
    marked: bool


class ArmView(NamedTuple):
    """An arm as the page shows it. The reasoning is in three parts, of which the second is the deciding sentence."""

    role: str
    features: str
    case: list[Part]
    before: list[Part]
    evidence: list[Part]
    after: list[Part]
    answer: str
    figures: list[tuple[str, str]]


class PairView(NamedTuple):
    """A pair as the page shows it; `state` is a key of `pairs.STATES`."""

    key: str
    tier: str
    combination: str
    state: str
    expected: str
    stereotyped: str
    distractors: str
    answers: str
    arms: list[ArmView]


def pair_views(pairs: Sequence[Shown], lexicon: Lexicon, thresholds: Thresholds) -> list[PairView]:
    """Lay out pairs in their order; the names of the patient's features, by `lexicon`, are marked in the reasoning."""
    return [
        PairView(
            key=shown(pair.key),
            tier=pair.pair.tier.replace("_", " "),
            combination=pair.pair.combination,
            state=pair.state,
            expected=shown(pair.marginalised.vignette.expected.label),
            stereotyped=shown(pair.marginalised.vignette.stereotyped.label),
            distractors=shown(", ".join(answer.label for answer in pair.marginalised.vignette.distractors)),
            answers=", ".join(arm.judgement.answer for arm in pair.arms),
            arms=[arm_view(arm, lexicon, thresholds) for arm in pair.arms],
        )
        for pair in pairs
    ]


def arm_view(arm: Arm, lexicon: Lexicon, thresholds: Thresholds) -> ArmView:
    """Lay out one arm."""
    text, named = arm.reasoning, arm.named(lexicon)
    start, end = arm.evidence or (len(text), len(text))
    return ArmView(
        role=arm.vignette.role,
        features=shown(arm.features),
        case=parts(arm.vignette.text, arm.vignette.spans),
        before=parts(text, named, 0, start),
        evidence=parts(text, named, start, end),
        after=parts(text, named, end, len(text)),
        answer=shown(arm.answer),
        figures=[(name, shown(value)) for name, value in arm.readings(thresholds)],
    )


def parts(text: str, spans: Iterable[tuple[int, int]], start: int = 0, end: int | None = None) -> list[Part]:
    """Cut `text[start:end]` into parts that lie within a span and parts that do not; spans may overlap."""
    end = len(text) if end is None else end
    marked = [False] * (end - start)
    for low, high in spans:
        for place in range(max(low, start), min(high, end)):
            marked[place - start] = True
    found: list[Part] = []
    begin = start
    for place in range(start + 1, end + 1):
        if place == end or marked[place - start] != marked[begin - start]:
            found.append(Part(shown(text[begin:place]), marked[begin - start]))
            begin = place
    return found


def shown(text: str) -> str:
    """Give a text with a sign in place of each control character, which HTML does not allow."""
    return text.translate(SIGNS)
