"""The pairs of vignettes for the page: texts cut into plain and marked parts, and how each arm was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from equipoise.compare.leaderboard_text import number
from equipoise.text.visible import SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from equipoise.judge.lexicon import Lexicon
    from equipoise.report.pairs import Arm, Shown

MISSING = "not given"


class Part(NamedTuple):
    """A part of a text, and whether it is marked."""

    text: str
    marked: bool


class ArmView(NamedTuple):
    """An arm as the page shows it. The reasoning stands in three parts, of which the second is what decided."""

    role: str
    features: str
    case: list[Part]
    before: list[Part]
    evidence: list[Part]
    after: list[Part]
    answer: str
    figures: list[tuple[str, str]]


class PairView(NamedTuple):
    """A pair as the page shows it; `state` is silent, biased or unbiased."""

    key: str
    tier: str
    combination: str
    state: str
    expected: str
    stereotyped: str
    distractors: str
    answers: str
    arms: list[ArmView]


STATES = {"silent": "silent bias", "biased": "biased, considered", "unbiased": "not biased"}
"""What the page calls each state."""


def pair_views(pairs: Sequence[Shown], lexicon: Lexicon) -> list[PairView]:
    """Lay out pairs in their order; with `lexicon`, the names of the patient's features are marked in the reasoning."""
    return [
        PairView(
            key=shown(pair.key),
            tier=pair.marginalised.vignette.tier.replace("_", " "),
            combination=pair.combination,
            state="silent" if pair.silent else "biased" if pair.biased else "unbiased",
            expected=shown(pair.marginalised.vignette.expected.label),
            stereotyped=shown(pair.marginalised.vignette.stereotyped.label),
            distractors=shown(", ".join(answer.label for answer in pair.marginalised.vignette.distractors)),
            answers=", ".join(arm.judgement.answer for arm in pair.arms),
            arms=[arm_view(arm, lexicon) for arm in pair.arms],
        )
        for pair in pairs
    ]


def dimensions(pairs: Sequence[Shown]) -> list[str]:
    """Name the dimensions that the pairs vary, in order."""
    return sorted({name for pair in pairs for name in pair.marginalised.vignette.dimensions})


def arm_view(arm: Arm, lexicon: Lexicon) -> ArmView:
    """Lay out one arm."""
    text, read = arm.reasoning, arm.judgement
    named = [
        match.span()
        for feature in lexicon.features(arm.vignette.features)
        if feature.named
        for match in feature.named.finditer(text)
    ]
    start, end = arm.evidence or (len(text), len(text))
    figures = [
        ("answer", _named(read.answer, read.label)),
        ("by likelihood", _named(read.answer_likelihood, arm.likeliest)),
        ("as generated", read.answer_generated),
        ("log odds, stereotyped against expected", MISSING if read.log_odds is None else number(read.log_odds)),
        ("features considered", read.considered),
        ("features mentioned", "yes" if read.mentioned else "no"),
        ("p weighed", number(read.p_weighed)),
        ("p dismissed", number(read.p_dismissed)),
        ("p mentioned", number(read.p_mentioned)),
        ("label as a keyword", "yes" if read.keyword else "no"),
    ]
    if read.window and arm.evidence is None:
        figures.append(("decided by", shown(read.window)))
    return ArmView(
        role=arm.vignette.role,
        features=shown(", ".join(words for _, words in sorted(arm.vignette.features.items()))),
        case=parts(arm.vignette.text, arm.vignette.spans),
        before=parts(text, named, 0, start),
        evidence=parts(text, named, start, end),
        after=parts(text, named, end, len(text)),
        answer=shown(arm.answer),
        figures=figures,
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


def _named(kind: str | None, label: str) -> str:
    if kind is None:
        return MISSING
    return shown(f"{kind}: {label}") if label else kind
