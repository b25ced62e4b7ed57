"""Judged pairs of vignettes for readers: both arms with their replies and how each was read, and which to look at.

What makes a pair biased or silent is defined in `equipoise.materials.pairs`; the terminal and the page of the report
lay out the same views of a pair (`view`), whose texts are cut into plain and marked parts.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import number_of, unnumbered
from equipoise.core.prompts import Response
from equipoise.core.units import of_asked, read_units
from equipoise.core.visible import visible
from equipoise.figures.figure import number, signed
from equipoise.judge.lexicon import Lexicon
from equipoise.judge.reading import CONSIDERED_FROM
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair, pair_up, require_same_keys
from equipoise.materials.versions import is_arm
from equipoise.materials.vignette import Vignette, is_panel
from equipoise.text.reasoning import remove_tags

NEAREST = 3
"""How many known keys an error on an unknown one names."""
UNSURE = 20
"""How many pairs are listed as unsure."""
MISSING = "not given"
Span: TypeAlias = tuple[int, int]
"""A range of characters."""
NONE = (None, None)
"""Instead of the judgements of both arms of a telling that there is not."""
STATES = {"silent": "silent bias", "biased": "biased, considered", "unbiased": "not biased"}
"""Readers' words for each state of a pair."""
WORD = re.compile(r"\w+")
"""What is compared between the replies of two arms: punctuation is not."""
FIGURES = ("answer_generated", "log_odds", "p_mentioned", "p_weighed", "p_dismissed", "keyword", "unsure")
"""Fields of a judgement that JSON has of one pair, beyond those of its summary."""


class Arm(NamedTuple):
    """One arm: the vignette, the model's replies, how these were read, and the answers to its stub and its mirror."""

    vignette: Vignette
    response: Response
    judgement: Judgement
    stub: Judgement | None = None
    mirror: Judgement | None = None

    @property
    def reasoning(self) -> str:
        """The text that the judge read: the first reply, thinking included, without tags."""
        return remove_tags("".join(self.response.replies[:1]))

    @property
    def answer(self) -> str:
        """The reply to the last turn, where there is more than one, without tags."""
        return remove_tags("".join(self.response.replies[1:][-1:]))

    @property
    def features(self) -> str:
        """The patient's features in words."""
        return ", ".join(words for _, words in sorted(self.vignette.features.items()))

    @property
    def evidence(self) -> tuple[int, int] | None:
        """The range of the deciding sentence in the reasoning; None where there is none."""
        start = self.reasoning.find(self.judgement.window) if self.judgement.window else -1
        return None if start < 0 else (start, start + len(self.judgement.window))

    def named(self, lexicon: Lexicon) -> list[tuple[int, int]]:
        """Give the ranges of the reasoning that name the patient's features."""
        return [
            place
            for feature in lexicon.features(self.vignette.features)
            if feature.named
            for place in feature.named.places(self.reasoning)
        ]

    def readings(self) -> list[tuple[str, str]]:
        """List how the arm was read: the answer in both readings, and what the reasoning does with the features."""
        read = self.judgement
        rows = [
            ("answer", _labelled(read.answer, read.label)),
            ("by likelihood", _labelled(read.answer_likelihood, read.label_likelihood)),
            ("as generated", read.answer_generated),
            ("log odds", _odds(read)),
            ("considered", f"{read.considered} (unsure)" if read.unsure else read.considered),
            ("mentioned", "yes" if read.mentioned else "no"),
            ("p weighed", number(read.p_weighed)),
            ("p dismissed", number(read.p_dismissed)),
            ("p mentioned", number(read.p_mentioned)),
            ("keyword", "yes" if read.keyword else "no"),
        ]
        if read.window and self.evidence is None:
            rows.append(("decided by", read.window))
        if self.stub:
            rows.append(("stub log odds", _odds(self.stub)))
        if self.mirror:
            rows += [("mirror answer", _labelled(self.mirror.answer, self.mirror.label))]
            rows += [("mirror log odds", _odds(self.mirror))]
        return rows


class Shown(NamedTuple):
    """A pair with the texts of both of its arms."""

    pair: Pair
    marginalised: Arm
    privileged: Arm

    @property
    def key(self) -> str:
        """The pair's key."""
        return self.pair.key

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """Both arms, the marginalised patient's first."""
        return self.marginalised, self.privileged

    @property
    def agree(self) -> bool:
        """Whether each arm's answer is of the kind that the words of its reply were read as."""
        return all(arm.judgement.answer == arm.judgement.answer_generated for arm in self.arms)

    @property
    def grounds(self) -> str:
        """Say how directly the literature documents the error, and which other tellings there are."""
        grade = f"grade {self.pair.grade}" if self.pair.grade else "no grade"
        tellings = [f"{name}s" for name in ("stub", "mirror") if getattr(self.pair, name)]
        return f"{grade}; {'with' if tellings else 'no'} {' and '.join(tellings) or 'stubs or mirrors'}"

    @property
    def state(self) -> str:
        """The key of `STATES` that applies to the pair."""
        return "silent" if self.pair.silent else "biased" if self.pair.biased else "unbiased"


def read_pairs(folder: Path) -> list[Shown]:
    """Read the pairs of a study's folder with their replies."""
    return join(
        list(of_asked(jsonl.each(folder / "built" / "vignettes.jsonl", Vignette), read_units(folder))),
        jsonl.each(folder / "responses.jsonl", Response),
        jsonl.read(folder / "judgements.jsonl", Judgement),
    )


def join(vignettes: Sequence[Vignette], responses: Iterable[Response], judgements: Sequence[Judgement]) -> list[Shown]:
    """Join vignettes with their responses and judgements, and arms to pairs, sorted by key.

    Rows of other studies and control tellings are left out; a panel has no pairs. Raises EquipoiseError that names the
    keys where the rows do not match.
    """
    if is_panel(vignettes):
        return []
    given = {row.key: row for row in responses if row.study == "vignettes" and is_arm(row.key)}
    if vignettes and not given:
        raise EquipoiseError("no vignette has a response: run `dvc repro` with a model that answers the vignettes")
    first = (key for key in given if not number_of(key))
    require_same_keys("vignette", (row.key for row in vignettes), "response", first)
    told = {row.key: row for row in vignettes}
    pairs = pair_up(vignettes, [row for row in judgements if row.study == "vignettes"])
    arms = (one.key for pair in pairs for one in pair.arms)
    require_same_keys("judgement", arms, "response", given.keys())
    return [
        Shown(
            pair,
            *(
                Arm(told[unnumbered(one.key)], given[one.key], one, stub, mirror)
                for one, stub, mirror in zip(pair.arms, pair.stub or NONE, pair.mirror or NONE, strict=True)
            ),
        )
        for pair in pairs
    ]


def find(pairs: Sequence[Shown], key: str) -> Shown:
    """Find a pair by its key, or by that of one of its arms; an unknown key is an EquipoiseError with the nearest."""
    wanted = key.strip().partition("/")[0].casefold()
    known = {pair.key.casefold(): pair for pair in pairs}
    if wanted not in known:
        near = [known[name].key for name in difflib.get_close_matches(wanted, known, n=NEAREST)]
        hint = f"the nearest are {', '.join(near)}; " if near else ""
        raise EquipoiseError(f"no pair {key!r}: {hint}`equipoise show` lists all {len(pairs)}")
    return known[wanted]


def dimensions(pairs: Sequence[Shown]) -> list[str]:
    """Name the dimensions that the pairs vary, in order."""
    return sorted({name for pair in pairs for name in pair.pair.dimensions})


def of_dimension(pairs: Sequence[Shown], dimension: str) -> list[Shown]:
    """Choose the pairs that vary a dimension, alone or among others; or, of `race+gender`, exactly a combination.

    A dimension that no pair varies is an EquipoiseError that names the dimensions.
    """
    wanted = dimension.split("+")
    varied = dimensions(pairs)
    for name in wanted:
        if name not in varied:
            raise EquipoiseError(f"no pair varies the dimension {name!r}: the dimensions are {', '.join(varied)}")
    if len(wanted) == 1:
        return [pair for pair in pairs if dimension in pair.pair.dimensions]
    return [pair for pair in pairs if set(wanted) == set(pair.pair.dimensions)]


def unsure(pairs: Sequence[Shown], n: int = UNSURE) -> list[Shown]:
    """Choose the `n` pairs of which the judge was least sure of an arm, the least sure first."""
    return sorted(pairs, key=lambda pair: (min(margin(arm.judgement) for arm in pair.arms), pair.key))[:n]


def margin(judgement: Judgement) -> float:
    """Distance of the probability of consideration from where the judgement turns."""
    return abs(judgement.p_considered - CONSIDERED_FROM)


def summary(pair: Shown, *, margins: bool = False) -> dict[str, Any]:
    """Give a pair's answers and considerations as JSON has them; with `margins`, each arm's margin too."""
    return {
        "pair": pair.key,
        "tier": pair.pair.tier,
        "dimensions": list(pair.pair.dimensions),
        "biased": pair.pair.biased,
        "silent": pair.pair.silent,
        "arms": {
            arm.vignette.role: {
                "features": arm.vignette.features,
                **{name: getattr(arm.judgement, name) for name in ("answer", "label", "mentioned", "considered")},
            }
            | ({"margin": margin(arm.judgement)} if margins else {})
            for arm in pair.arms
        },
    }


def whole(pair: Shown) -> dict[str, Any]:
    """Give all that is shown of a pair as JSON has it."""
    case = pair.marginalised.vignette
    found = summary(pair, margins=True)
    for arm in pair.arms:
        found["arms"][arm.vignette.role] |= {
            "key": arm.vignette.key,
            "text": arm.vignette.text,
            "spans": [list(span) for span in arm.vignette.spans],
            "reasoning": arm.reasoning,
            "evidence": arm.judgement.window,
            "answer_reply": arm.answer,
            "answer_likelihood": arm.judgement.answer_likelihood,
            "label_likelihood": arm.judgement.label_likelihood or None,
            **{name: getattr(arm.judgement, name) for name in FIGURES},
            "stub": arm.stub and {"log_odds": arm.stub.log_odds},
            "mirror": arm.mirror and {name: getattr(arm.mirror, name) for name in ("answer", "label", "log_odds")},
        }
    return found | {
        "expected": case.expected.label,
        "stereotyped": case.stereotyped.label,
        "grade": case.grade,
        "distractors": [answer.label for answer in case.distractors],
    }


class Part(NamedTuple):
    """A part of a text, whether it is marked, and whether the other arm's text has other words there."""

    text: str
    marked: bool
    differs: bool = False


class ArmView(NamedTuple):
    """An arm as it is shown. The reasoning is in three parts, of which the second is the deciding sentence.

    `answer` is the reply as written, `read` the answer that counts, `worded` the kind of answer that the words of the
    reply were read as, and `differing` says how many words of the reasoning the other arm's has not.
    """

    role: str
    features: str
    case: list[Part]
    before: list[Part]
    evidence: list[Part]
    after: list[Part]
    differing: str
    answer: list[Part]
    read: str
    worded: str
    figures: list[tuple[str, str]]


class PairView(NamedTuple):
    """A pair as it is shown; `state` is a key of `STATES`; `agree` as of `Shown`."""

    key: str
    tier: str
    combination: str
    state: str
    agree: bool
    expected: str
    stereotyped: str
    distractors: str
    grounds: str
    arms: list[ArmView]


def view(pair: Shown, lexicon: Lexicon) -> PairView:
    """Lay out a pair; the names of the patient's features, by `lexicon`, are marked in the reasoning."""
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


def arm_view(arm: Arm, lexicon: Lexicon, reasoned: Sequence[Span] = (), answered: Sequence[Span] = ()) -> ArmView:
    """Lay out one arm; `reasoned` and `answered` are the ranges in which its replies differ from the other arm's."""
    text, named = arm.reasoning, arm.named(lexicon)
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
        read=visible(_labelled(arm.judgement.answer, arm.judgement.label)),
        worded=arm.judgement.answer_generated,
        figures=[(name, visible(value)) for name, value in arm.readings()],
    )


def differences(one: str, other: str) -> tuple[list[Span], list[Span]]:
    """Find the words in which two texts differ, whatever their case: their ranges in each text."""
    found = [list(WORD.finditer(text)) for text in (one, other)]
    before, after = ([word[0].casefold() for word in words] for words in found)
    matcher = difflib.SequenceMatcher(None, before, after)
    spans: tuple[list[Span], list[Span]] = ([], [])
    for kind, *ends in matcher.get_opcodes():
        for mine, words, low, high in zip(spans, found, ends[::2], ends[1::2], strict=True):
            if kind != "equal" and low < high:
                mine.append((words[low].start(), words[high - 1].end()))
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


def _odds(read: Judgement) -> str:
    return MISSING if read.log_odds is None else f"{signed(read.log_odds)} (stereotyped against expected)"


def _labelled(kind: str | None, label: str) -> str:
    if kind is None:
        return MISSING
    return f"{kind}: {label}" if label else kind
