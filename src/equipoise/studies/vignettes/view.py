"""The views of pairs of vignettes that the report's page and the terminal show; `pairs_view` gives those of a run."""

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from equipoise.core.display import MINUS
from equipoise.core.params import Params
from equipoise.core.visible import visible
from equipoise.figures.views import ArmView, CasesView, Evidenced, HarmView, PairView, Part
from equipoise.figures.wording import times
from equipoise.judge.lexicon import Lexicon, load_lexicon
from equipoise.judge.score import Score
from equipoise.materials.pairs import main_pairs
from equipoise.materials.stories.library import Library, load_library
from equipoise.materials.stories.schema import Harm, Stereotype
from equipoise.materials.vignette import Vignette
from equipoise.studies.vignettes.profiles import OURS, Build
from equipoise.studies.vignettes.shown import ShownArm, ShownPair, dimensions, label_text, read_pairs

Span: TypeAlias = tuple[int, int]
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
    library = load_library(data / "raw") if build.cases == OURS else None
    main = {pair.key for pair in main_pairs([pair.pair for pair in pairs])}
    return CasesView(
        pairs=[
            pair_view(pair, lexicon, library)._replace(changed=pair.key in main and pair.pair.any_difference)
            for pair in pairs
        ],
        dimensions=dimensions(pairs),
        profile=build.profile,
        introduction="For each vignette, verbatim:",
        prompts=(
            ("The model is told", build.system),
            ("It is asked first", build.reason.replace("{case}", "[the case]")),
            ("Then it is asked", build.answer),
        ),
        answering=ANSWERING[settings.section("score", Score).answering],
        guessing=_guessing([pair.marginalised.vignette for pair in pairs if pair.key in main]),
        harms=[_harm(harm) for harm in (library.harms.values() if library else ())],
    )


def _guessing(cases: Sequence[Vignette]) -> str:
    """Say how many right answers a random choice from each case's list gives."""
    lists = [2 + len(case.components) + len(case.distractors) for case in cases]
    few, many = min(lists, default=0), max(lists, default=0)
    sizes = f"{few}" if few == many else f"{few} to {many}"
    right = round(sum(1 / n for n in lists))
    return f"Guessing among the {sizes} diagnoses of each case's list would be right in about {right} of {len(lists)}."


def pair_view(pair: ShownPair, lexicon: Lexicon, library: Library | None = None) -> PairView:
    """Lay out a pair, with the names of the patient's features, by `lexicon`, marked in the reasoning.

    `library` has the evidence behind the documented error and the harm of a delay.
    """
    case = pair.marginalised.vignette
    harm = None if library is None else library.harm_of(case.expected.label)
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
        right=" and ".join(arm.vignette.role for arm in pair.arms if arm.judgement.answer == "expected") or "neither",
        evidence=None if library is None else _evidence(pair, library),
        harm=None if harm is None else _harm(harm),
    )


def _evidence(pair: ShownPair, library: Library) -> Evidenced | None:
    """Lay out the evidence for a pair's documented error; None for a case that is not of the library."""
    row = documented(pair.marginalised.vignette, library)
    if row is None:
        return None
    evidence, ratio = row.evidence, row.log_ratio
    flags = [
        "the paper compares groups" if evidence.comparison else "no comparison of groups",
        "names this error" if evidence.error_named else "does not name this error",
    ]
    if not pair.pair.main:
        flags.append("outside the headline figures")
    low, high = (times(end).removesuffix(" times") for end in (ratio.low, ratio.high))
    nats = [f"{value:g}".replace("-", MINUS) for value in (ratio.value, ratio.low, ratio.high)]
    return Evidenced(
        error=visible(evidence.error),
        paper=visible(evidence.source),
        flags=f"grade {evidence.grade}: {', '.join(flags)}",
        base_rate=(
            f"epidemiology alone makes the documented error {times(ratio.value)} ({low} to {high}) as likely against "
            f"the expected answer: log ratio {nats[0]} nats ({nats[1]} to {nats[2]})"
        ),
    )


def documented(case: Vignette, library: Library) -> Stereotype | None:
    """Find the library's row on the documented error of a case; None for a case that is not of the library."""
    story, ratio = library.presentations.get(case.presentation), case.log_ratio
    for row in story.stereotypes if story else ():
        own = (row.answer.label, row.evidence.grade, row.log_ratio.value, row.log_ratio.low, row.log_ratio.high)
        tested = ratio and (case.stereotyped.label, case.grade, ratio.value, ratio.low, ratio.high)
        if own == tested and {*row.dimension.split("+")} <= {*case.dimensions}:
            return row
    return None


def _harm(harm: Harm) -> HarmView:
    return HarmView(harm.id, harm.delay, harm.source)


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
