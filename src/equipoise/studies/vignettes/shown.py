"""Judged pairs of vignettes for readers: both arms with their replies and readings, and a choice of pairs."""

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
from equipoise.judge.reading import admission_margin
from equipoise.materials.judgement import Judgement
from equipoise.materials.pair_rows import answer_kind
from equipoise.materials.pairs import Pair, pair_up, require_same_keys
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import Vignette, is_panel
from equipoise.studies.vignettes import NAME
from equipoise.text.reasoning import remove_tags

NEAREST = 3
"""Number of known keys that the error on an unknown key lists."""
UNSURE = 20
"""Number of pairs listed as unsure."""
MISSING = "not given"
ABSENT = (None, None)
"""Replaces the judgements of a case version that a pair does not have."""
SUMMARY = ("answer", "label", "mentioned", "considered", "admission")
READINGS = ("answer_generated", "log_odds", "p_mentioned", "p_weighed", "p_dismissed", "keyword", "unsure")
"""Fields of a judgement in the JSON output of one pair, beyond those of its summary."""


class ShownArm(NamedTuple):
    """One arm: the vignette, the model's replies, their readings, and the answers to its stub and its mirror."""

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
        """The range of the deciding sentence in the reasoning, if there is one."""
        start = self.reasoning.find(self.judgement.window) if self.judgement.window else -1
        return None if start < 0 else (start, start + len(self.judgement.window))

    def mentions(self, lexicon: Lexicon) -> list[tuple[int, int]]:
        """Give the ranges of the reasoning that name the patient's features."""
        return [
            place
            for feature in lexicon.features(self.vignette.features)
            if feature.named
            for place in feature.named.places(self.reasoning)
        ]

    def readings(self) -> list[tuple[str, str]]:
        """List the readings of the arm: the answer in both readings, and how the reasoning treats the features."""
        judgement = self.judgement
        rows = [
            ("answer", label_text(judgement.answer, judgement.label)),
            ("by likelihood", label_text(judgement.answer_likelihood, judgement.label_likelihood)),
            ("as generated", judgement.answer_generated),
            ("log odds", _odds(judgement)),
            ("feature", f"{judgement.admission} (unsure)" if judgement.unsure else judgement.admission),
            ("mentioned", "yes" if judgement.mentioned else "no"),
            ("p weighed", number(judgement.p_weighed)),
            ("p dismissed", number(judgement.p_dismissed)),
            ("p mentioned", number(judgement.p_mentioned)),
            ("keyword", "yes" if judgement.keyword else "no"),
        ]
        if judgement.window and self.evidence is None:
            rows.append(("decided by", judgement.window))
        if judgement.boilerplate:
            rows.append(("read apart", judgement.boilerplate))
        if self.stub:
            rows.append(("stub log odds", _odds(self.stub)))
        if self.mirror:
            rows += [("mirror answer", label_text(self.mirror.answer, self.mirror.label))]
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
        """Whether each arm's answer is of the same kind as the reading of its reply's text."""
        return all(arm.judgement.answer == arm.judgement.answer_generated for arm in self.arms)

    @property
    def grounds(self) -> str:
        """The grade of the evidence for the error, and the other case versions of the pair."""
        grade = f"grade {self.pair.grade}" if self.pair.grade else "no grade"
        versions = [f"{name}s" for name in ("stub", "mirror") if getattr(self.pair, name)]
        return f"{grade}; {'with' if versions else 'no'} {' and '.join(versions) or 'stubs or mirrors'}"

    @property
    def state(self) -> str:
        """The key of `equipoise.figures.views.STATES` that applies to the pair."""
        if self.pair.moved:
            return self.pair.marginalised.admission
        return "biased" if self.pair.biased else "unbiased"


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
    EquipoiseError that names the keys if the rows do not match.
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
    """Find a pair by its key or that of one of its arms; an unknown key is an EquipoiseError with the nearest keys."""
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
    """Choose the pairs that vary a dimension, alone or among others or, for `race+gender`, exactly this combination.

    A dimension that no pair varies is an EquipoiseError that lists the dimensions.
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
    """Choose the `n` pairs with the arm that the judge was least sure of, the least sure first."""
    return sorted(pairs, key=lambda pair: (min(margin(arm.judgement) for arm in pair.arms), pair.key))[:n]


def margin(judgement: Judgement) -> float:
    """Distance of the judge's probabilities from the threshold of an admission."""
    return abs(admission_margin(judgement.p_weighed, judgement.p_dismissed))


def summary(pair: ShownPair, *, margins: bool = False) -> dict[str, Any]:
    """Give a pair's answers and considerations for the JSON output; with `margins`, each arm's margin too."""
    return {
        "pair": pair.key,
        "tier": pair.pair.tier,
        "dimensions": list(pair.pair.dimensions),
        "biased": pair.pair.biased,
        "moved": pair.pair.moved,
        "silent": pair.pair.moved and pair.pair.silent,
        "arms": {
            arm.vignette.role: {
                "features": arm.vignette.features,
                **{name: getattr(arm.judgement, name) for name in SUMMARY},
            }
            | ({"margin": margin(arm.judgement)} if margins else {})
            for arm in pair.arms
        },
    }


def whole(pair: ShownPair) -> dict[str, Any]:
    """Give everything shown about a pair for the JSON output."""
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


def _odds(judgement: Judgement) -> str:
    return (
        MISSING if judgement.log_odds is None else f"{signed(judgement.log_odds)} (documented error against expected)"
    )


def label_text(kind: str | None, label: str) -> str:
    """Write the kind of an answer with its label."""
    if kind is None:
        return MISSING
    return ": ".join(filter(None, (answer_kind(kind), label)))
