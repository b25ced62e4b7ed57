"""Judged pairs of vignettes for readers: both arms with their replies and how each was read, and which to look at.

What makes a pair biased or silent is defined in `equipoise.materials.pairs`; `equipoise.studies.vignettes.view` lays a
pair out for the terminal and for the page of the report.
"""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core import jsonl
from equipoise.core.display import number, signed
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import number_of, unit_of, unnumbered
from equipoise.core.prompts import Response
from equipoise.core.units import of_asked, read_units
from equipoise.judge.lexicon import Lexicon
from equipoise.judge.reading import CONSIDERED_FROM
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair, pair_up, require_same_keys
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import Vignette, is_panel
from equipoise.studies.vignettes import NAME
from equipoise.text.reasoning import remove_tags

NEAREST = 3
"""How many known keys an error on an unknown one names."""
UNSURE = 20
"""How many pairs are listed as unsure."""
MISSING = "not given"
ABSENT = (None, None)
"""In place of the judgements of a case version that a pair does not have."""
READINGS = ("answer_generated", "log_odds", "p_mentioned", "p_weighed", "p_dismissed", "keyword", "unsure")
"""Fields of a judgement that JSON has of one pair, beyond those of its summary."""


class ShownArm(NamedTuple):
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
            ("answer", labelled(read.answer, read.label)),
            ("by likelihood", labelled(read.answer_likelihood, read.label_likelihood)),
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
            rows += [("mirror answer", labelled(self.mirror.answer, self.mirror.label))]
            rows += [("mirror log odds", _odds(self.mirror))]
        return rows


class ShownPair(NamedTuple):
    """A pair with the texts of both of its arms."""

    pair: Pair
    marginalised: ShownArm
    privileged: ShownArm

    @property
    def key(self) -> str:
        """The pair's key."""
        return self.pair.key

    @property
    def arms(self) -> tuple[ShownArm, ShownArm]:
        """Both arms, the marginalised patient's first."""
        return self.marginalised, self.privileged

    @property
    def agree(self) -> bool:
        """Whether each arm's answer is of the kind that the words of its reply were read as."""
        return all(arm.judgement.answer == arm.judgement.answer_generated for arm in self.arms)

    @property
    def grounds(self) -> str:
        """Say how directly the literature documents the error, and which other case versions there are."""
        grade = f"grade {self.pair.grade}" if self.pair.grade else "no grade"
        versions = [f"{name}s" for name in ("stub", "mirror") if getattr(self.pair, name)]
        return f"{grade}; {'with' if versions else 'no'} {' and '.join(versions) or 'stubs or mirrors'}"

    @property
    def state(self) -> str:
        """The key of `equipoise.figures.views.STATES` that applies to the pair."""
        return "silent" if self.pair.silent else "biased" if self.pair.biased else "unbiased"


def read_pairs(folder: Path) -> list[ShownPair]:
    """Read the pairs of a study's folder with their replies."""
    return join(
        list(of_asked(jsonl.each(folder / "built" / "vignettes.jsonl", Vignette), read_units(folder))),
        jsonl.each(folder / "responses.jsonl", Response),
        jsonl.read(folder / "judgements.jsonl", Judgement),
    )


def join(
    vignettes: Sequence[Vignette], responses: Iterable[Response], judgements: Sequence[Judgement]
) -> list[ShownPair]:
    """Join vignettes with their responses and judgements, and arms to pairs, sorted by key.

    Rows of other studies, and case versions that are not arms, are left out; a panel has no pairs. Raises
    EquipoiseError that names the keys where the rows do not match.
    """
    if is_panel(vignettes):
        return []
    replies = {row.key: row for row in responses if row.study == NAME and CaseKey.parse(row.key).is_arm}
    if vignettes and not replies:
        raise EquipoiseError("no vignette has a response: run `dvc repro` with a model that answers the vignettes")
    unrepeated = (key for key in replies if not number_of(key))
    require_same_keys("vignette", (row.key for row in vignettes), "response", unrepeated)
    by_key = {row.key: row for row in vignettes}
    pairs = pair_up(vignettes, [row for row in judgements if row.study == NAME])
    arms = (judgement.key for pair in pairs for judgement in pair.arms)
    require_same_keys("judgement", arms, "response", replies.keys())
    return [
        ShownPair(
            pair,
            *(
                ShownArm(by_key[unnumbered(arm.key)], replies[arm.key], arm, stub, mirror)
                for arm, stub, mirror in zip(pair.arms, pair.stub or ABSENT, pair.mirror or ABSENT, strict=True)
            ),
        )
        for pair in pairs
    ]


def find(pairs: Sequence[ShownPair], key: str) -> ShownPair:
    """Find a pair by its key, or by that of one of its arms; an unknown key is an EquipoiseError with the nearest."""
    wanted = unit_of(key.strip()).casefold()
    known = {pair.key.casefold(): pair for pair in pairs}
    if wanted not in known:
        near = [known[name].key for name in difflib.get_close_matches(wanted, known, n=NEAREST)]
        hint = f"the nearest are {', '.join(near)}; " if near else ""
        raise EquipoiseError(f"no pair {key!r}: {hint}`equipoise show` lists all {len(pairs)}")
    return known[wanted]


def dimensions(pairs: Sequence[ShownPair]) -> list[str]:
    """Name the dimensions that the pairs vary, in order."""
    return sorted({name for pair in pairs for name in pair.pair.dimensions})


def of_dimension(pairs: Sequence[ShownPair], dimension: str) -> list[ShownPair]:
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


def unsure(pairs: Sequence[ShownPair], n: int = UNSURE) -> list[ShownPair]:
    """Choose the `n` pairs of which the judge was least sure of an arm, the least sure first."""
    return sorted(pairs, key=lambda pair: (min(margin(arm.judgement) for arm in pair.arms), pair.key))[:n]


def margin(judgement: Judgement) -> float:
    """Distance of the probability of consideration from where the judgement turns."""
    return abs(judgement.p_considered - CONSIDERED_FROM)


def summary(pair: ShownPair, *, margins: bool = False) -> dict[str, Any]:
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


def whole(pair: ShownPair) -> dict[str, Any]:
    """Give all that is shown of a pair as JSON has it."""
    case = pair.marginalised.vignette
    shown = summary(pair, margins=True)
    for arm in pair.arms:
        shown["arms"][arm.vignette.role] |= {
            "key": arm.vignette.key,
            "text": arm.vignette.text,
            "spans": [list(span) for span in arm.vignette.spans],
            "reasoning": arm.reasoning,
            "evidence": arm.judgement.window,
            "answer_reply": arm.answer,
            "answer_likelihood": arm.judgement.answer_likelihood,
            "label_likelihood": arm.judgement.label_likelihood or None,
            **{name: getattr(arm.judgement, name) for name in READINGS},
            "stub": arm.stub and {"log_odds": arm.stub.log_odds},
            "mirror": arm.mirror and {name: getattr(arm.mirror, name) for name in ("answer", "label", "log_odds")},
        }
    return shown | {
        "expected": case.expected.label,
        "stereotyped": case.stereotyped.label,
        "grade": case.grade,
        "distractors": [answer.label for answer in case.distractors],
    }


def _odds(read: Judgement) -> str:
    return MISSING if read.log_odds is None else f"{signed(read.log_odds)} (stereotyped against expected)"


def labelled(kind: str | None, label: str) -> str:
    """Write the kind of an answer with its label."""
    if kind is None:
        return MISSING
    return f"{kind}: {label}" if label else kind
