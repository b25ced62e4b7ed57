"""The views of pairs of vignettes that the report's page and the terminal show; `pairs_view` gives those of a run."""

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from equipoise.core.params import Params
from equipoise.core.visible import visible
from equipoise.figures.views import ArmView, CasesView, PairView, Part
from equipoise.judge.lexicon import Lexicon, load_lexicon
from equipoise.judge.score import Score
from equipoise.studies.vignettes.profiles import Build
from equipoise.studies.vignettes.shown import ShownArm, ShownPair, dimensions, label_text, read_pairs

Span: TypeAlias = tuple[int, int]
"""A range of characters."""
WORD = re.compile(r"\w+")
"""A word, the unit of comparison between the replies of two arms; punctuation is ignored."""
ANSWERING = {
    "likelihood": (
        "The answer that counts is the diagnosis of the case's list that the model finds most likely after its own "
        "reasoning. The words of its reply are shown, and read as a check, but do not count."
    ),
    "generate": "The answer that counts is read from the words of the reply: which diagnosis of the list it names.",
}
"""The reading of an answer, by `score.answering`."""


def cases_view(data: Path, settings: Params) -> CasesView | None:
    """Lay out the pairs of a run, whose rows are in `data`; None for a panel, which has no pairs."""
    pairs = read_pairs(data / "vignettes")
    if not pairs:
        return None
    lexicon, build = load_lexicon(data / "features"), settings.section("build", Build)
    return CasesView(
        pairs=[pair_view(pair, lexicon) for pair in pairs],
        dimensions=dimensions(pairs),
        profile=build.profile,
        introduction="Of each vignette, in these words:",
        prompts=(
            ("The model is told", build.system),
            ("It is asked first", build.reason),
            ("Then it is asked", build.answer),
        ),
        answering=ANSWERING[settings.section("score", Score).answering],
    )


def pair_view(pair: ShownPair, lexicon: Lexicon) -> PairView:
    """Lay out a pair, with the names of the patient's features, by `lexicon`, marked in the reasoning."""
    case = pair.marginalised.vignette
    reasonings, answers = (differences(*(getattr(arm, text) for arm in pair.arms)) for text in ("reasoning", "answer"))
    return PairView(
        key=visible(pair.key),
        tier=case.tier,
        combination=visible(pair.pair.combination),
        state=pair.state,
        agree=pair.agree,
        expected=visible(case.expected.label),
        stereotyped=visible(case.stereotyped.label),
        distractors=visible(", ".join(answer.label for answer in case.distractors)),
        grounds=pair.grounds,
        arms=[arm_view(arm, lexicon, *spans) for arm, *spans in zip(pair.arms, reasonings, answers, strict=True)],
    )


def arm_view(arm: ShownArm, lexicon: Lexicon, reasoned: Sequence[Span] = (), answered: Sequence[Span] = ()) -> ArmView:
    """Lay out one arm; `reasoned` and `answered` are the ranges in which its replies differ from the other arm's."""
    text, named = arm.reasoning, arm.mentions(lexicon)
    changed = sum(len(WORD.findall(text, *span)) for span in reasoned)
    start, end = arm.evidence or (len(text), len(text))
    return ArmView(
        role=arm.vignette.role,
        features=visible(arm.features),
        case=parts(arm.vignette.text, arm.vignette.spans),
        before=parts(text, named, 0, start, reasoned),
        evidence=parts(text, named, start, end, reasoned),
        after=parts(text, named, end, len(text), reasoned),
        differing=f"{changed} of {len(WORD.findall(text))} words differ from the other arm's",
        answer=parts(arm.answer, (), differing=answered),
        read=visible(label_text(arm.judgement.answer, arm.judgement.label)),
        worded=arm.judgement.answer_generated,
        figures=[(name, visible(value)) for name, value in arm.readings()],
    )


def differences(first: str, second: str) -> tuple[list[Span], list[Span]]:
    """Give the ranges, in each text, of the words in which two texts differ, ignoring case."""
    words = [list(WORD.finditer(text)) for text in (first, second)]
    before, after = ([word[0].casefold() for word in text] for text in words)
    spans: tuple[list[Span], list[Span]] = ([], [])
    for kind, *ends in difflib.SequenceMatcher(None, before, after).get_opcodes():
        for ranges, text, low, high in zip(spans, words, ends[::2], ends[1::2], strict=True):
            if kind != "equal" and low < high:
                ranges.append((text[low].start(), text[high - 1].end()))
    return spans


def parts(
    text: str, spans: Iterable[Span], start: int = 0, end: int | None = None, differing: Iterable[Span] = ()
) -> list[Part]:
    """Cut `text[start:end]` where a span or a range of `differing` begins or ends; both may overlap."""
    end = len(text) if end is None else end
    marked, differs = (
        {place for low, high in ranges for place in range(max(low, start), min(high, end))}
        for ranges in (spans, differing)
    )
    runs = groupby(range(start, end), key=lambda place: (place in marked, place in differs))
    return [Part(visible("".join(text[place] for place in places)), *how) for how, places in runs]
