"""Judged pairs of vignettes for people to look at: both arms with their replies, and which pairs are worth a look.

As in the metrics, a pair is biased where its marginalised arm got the stereotyped answer, and silent where the
reasoning behind that answer neither weighs nor dismisses the patient's features.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Role
from equipoise.text.answers import answer_set, read_likelihood
from equipoise.text.reasoning import untagged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from equipoise.core.records import Judgement, Response, Vignette
    from equipoise.judge.reading import Thresholds

ROLES: tuple[Role, ...] = get_args(Role)
NEAREST = 3
"""Known keys that the message on an unknown one names."""
UNSURE = 20
"""Pairs that are listed as unsure."""


class Arm(NamedTuple):
    """One arm: what the model was told, what it replied, and how that was read."""

    vignette: Vignette
    response: Response
    judgement: Judgement

    @property
    def reasoning(self) -> str:
        """What the judge read: the first reply, thinking included, without tags."""
        return untagged("".join(self.response.replies[:1]))

    @property
    def answer(self) -> str:
        """The reply to the last turn, where there is more than one, without tags."""
        return untagged("".join(self.response.replies[1:][-1:]))

    @property
    def likeliest(self) -> str:
        """The label of the likeliest answer; empty without likelihoods."""
        found = read_likelihood(self.response, answer_set(self.vignette))
        return found.label if found else ""

    @property
    def evidence(self) -> tuple[int, int] | None:
        """Where the sentence that decided stands in the reasoning; None where there is none."""
        start = self.reasoning.find(self.judgement.window) if self.judgement.window else -1
        return None if start < 0 else (start, start + len(self.judgement.window))


class Shown(NamedTuple):
    """A pair with both of its arms."""

    key: str
    marginalised: Arm
    privileged: Arm

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """Both arms, the marginalised patient's first."""
        return self.marginalised, self.privileged

    @property
    def combination(self) -> str:
        """The varied dimensions as one name, such as `race+socioeconomic`."""
        return self.marginalised.vignette.combination

    @property
    def biased(self) -> bool:
        """Whether the marginalised patient got the stereotyped answer."""
        return self.marginalised.judgement.answer == "stereotyped"

    @property
    def silent(self) -> bool:
        """Whether that answer's reasoning neither weighs nor dismisses the features."""
        return self.biased and self.marginalised.judgement.considered == "none"


def join(vignettes: Sequence[Vignette], responses: Iterable[Response], judgements: Sequence[Judgement]) -> list[Shown]:
    """Join vignettes with their responses and judgements, and arms to pairs, sorted by key.

    Rows of other studies are left out. Raises EquipoiseError where the rows do not belong together.
    """
    said = {row.key: row for row in responses if row.study == "vignettes"}
    read = {row.key: row for row in judgements if row.study == "vignettes"}
    told = {row.key for row in vignettes}
    for name, keys in (("responses", said.keys()), ("judgements", read.keys())):
        if unmatched := sorted(told ^ keys):
            message = (
                f"vignettes and {name} do not belong together ({len(unmatched)} keys, first {unmatched[0]!r}): "
                "run `dvc repro` with a model that answers the vignettes"
            )
            raise EquipoiseError(message)
    arms: dict[str, dict[Role, Arm]] = {}
    for row in vignettes:
        arms.setdefault(row.pair, {})[row.role] = Arm(row, said[row.key], read[row.key])
    if alone := [pair for pair, found in arms.items() if len(found) < len(ROLES)]:
        message = f"pair {alone[0]!r} has a single arm: run `dvc repro`"
        raise EquipoiseError(message)
    return [Shown(pair, found["marginalised"], found["privileged"]) for pair, found in sorted(arms.items())]


def find(pairs: Sequence[Shown], key: str) -> Shown:
    """Find a pair by its key, or by that of one of its arms; an unknown key is an EquipoiseError with the nearest."""
    wanted = key.strip().partition("/")[0].casefold()
    known = {pair.key.casefold(): pair for pair in pairs}
    if wanted not in known:
        near = [known[name].key for name in difflib.get_close_matches(wanted, known, n=NEAREST)]
        hint = f"the nearest are {', '.join(near)}; " if near else ""
        message = f"no pair {key!r}: {hint}`equipoise show` lists all {len(pairs)}"
        raise EquipoiseError(message)
    return known[wanted]


def of_dimension(pairs: Sequence[Shown], dimension: str) -> list[Shown]:
    """Choose the pairs that vary a dimension, alone or among others; or, of `race+gender`, exactly a combination.

    A dimension that no pair varies is an EquipoiseError that names those that are.
    """
    wanted = dimension.split("+")
    varied = sorted({name for pair in pairs for name in pair.marginalised.vignette.dimensions})
    for name in wanted:
        if name not in varied:
            message = f"no pair varies the dimension {name!r}: it is one of {', '.join(varied)}"
            raise EquipoiseError(message)
    if len(wanted) == 1:
        return [pair for pair in pairs if dimension in pair.marginalised.vignette.dimensions]
    return [pair for pair in pairs if set(wanted) == set(pair.marginalised.vignette.dimensions)]


def unsure(pairs: Sequence[Shown], thresholds: Thresholds, n: int = UNSURE) -> list[Shown]:
    """Choose the `n` pairs of which an arm's judgement is nearest to its threshold, the nearest first."""
    return sorted(pairs, key=lambda pair: (min(margin(arm.judgement, thresholds) for arm in pair.arms), pair.key))[:n]


def margin(judgement: Judgement, thresholds: Thresholds) -> float:
    """How far a judgement on consideration is from its threshold, from 0 to 1.

    What is weighed or dismissed is measured from the threshold that it passed, what is neither from the nearer of both.
    """
    weighed = abs(judgement.p_weighed - thresholds.weighed)
    dismissed = abs(judgement.p_dismissed - thresholds.dismissed)
    return {"weighed": weighed, "dismissed": dismissed, "none": min(weighed, dismissed)}[judgement.considered]


def summary(pair: Shown, thresholds: Thresholds | None = None) -> dict[str, Any]:
    """Give a pair's answers and considerations as JSON has them; with thresholds, each arm's margin too."""
    return {
        "pair": pair.key,
        "tier": pair.marginalised.vignette.tier,
        "dimensions": list(pair.marginalised.vignette.dimensions),
        "biased": pair.biased,
        "silent": pair.silent,
        "arms": {
            arm.vignette.role: {
                "features": arm.vignette.features,
                "answer": arm.judgement.answer,
                "label": arm.judgement.label,
                "mentioned": arm.judgement.mentioned,
                "considered": arm.judgement.considered,
            }
            | ({"margin": margin(arm.judgement, thresholds)} if thresholds else {})
            for arm in pair.arms
        },
    }


def whole(pair: Shown, thresholds: Thresholds) -> dict[str, Any]:
    """Give all that is shown of a pair as JSON has it."""
    told = pair.marginalised.vignette
    found = summary(pair, thresholds)
    arms: Mapping[str, dict[str, Any]] = found["arms"]
    for arm in pair.arms:
        read = arm.judgement
        arms[arm.vignette.role].update(
            key=arm.vignette.key,
            text=arm.vignette.text,
            spans=[list(span) for span in arm.vignette.spans],
            reasoning=arm.reasoning,
            evidence=read.window,
            answer_reply=arm.answer,
            answer_likelihood=read.answer_likelihood,
            label_likelihood=arm.likeliest or None,
            answer_generated=read.answer_generated,
            log_odds=read.log_odds,
            p_mentioned=read.p_mentioned,
            p_weighed=read.p_weighed,
            p_dismissed=read.p_dismissed,
            keyword=read.keyword,
        )
    return found | {
        "expected": told.expected.label,
        "stereotyped": told.stereotyped.label,
        "distractors": [answer.label for answer in told.distractors],
        "thresholds": thresholds.model_dump(),
    }
