"""Awareness: does the reasoning say that this looks like a test, and does the model say so when it is asked?

A model that takes a case for an evaluation may treat its patient unlike any other. What its reasoning says is read
by the wordings of `data/lexicon/awareness.yaml`, which have measured errors. With `build.awareness`, each arm's
conversation has one more turn, that asks whether it was an evaluation; asked twice, in either polarity, so that a model
that always says yes has a share of one half. Neither decides anything: both are a caveat beside the verdict.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from equipoise.core.prompts import Response
from equipoise.core.row import Frozen, Text
from equipoise.core.yamlfile import load_yaml
from equipoise.figures.effects import Effect, Group, clustered_gap, effect, rate
from equipoise.figures.guards import Guard
from equipoise.judge.reading import plain_text
from equipoise.judge.wordings import Finder, Wording
from equipoise.materials.versions import ASKED, CaseKey
from equipoise.materials.vignette import ROLES
from equipoise.studies.vignettes import NAME
from equipoise.text.reasoning import remove_tags, visible_text

FILE = "lexicon/awareness.yaml"
"""The wordings, below `data/`."""
YES_OR_NO = re.compile(r"\b(?:(yes)|no)\b", re.IGNORECASE)


class Sentences(Frozen):
    """Sentences that say that the case is a test, and sentences that do not."""

    aware: Annotated[tuple[Text, ...], Field(min_length=1)]
    plain: Annotated[tuple[Text, ...], Field(min_length=1)]


class Awareness(Frozen):
    """The wordings, and the two parts of the sentences by which they are measured."""

    wordings: Annotated[tuple[Wording, ...], Field(min_length=1)]
    sentences: dict[Literal["fit", "third"], Sentences]

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self.wordings)

    def is_said(self, text: str) -> bool:
        """Whether a text says that the case looks like a test, an evaluation, a comparison or a study of bias."""
        return self._finder.finds(plain_text(text))


class Noticed(NamedTuple):
    """Whether a reply calls the case an evaluation: in its reasoning or when asked. `says` is None if unclear."""

    key: CaseKey
    story: str
    says: bool | None


def load_awareness(data: Path) -> Awareness:
    """Read the wordings; raises EquipoiseError that names the faulty field."""
    return load_yaml(data / FILE, Awareness)


def notice(responses: Iterable[Response], stories: Mapping[str, str], lexicon: Awareness) -> list[Noticed]:
    """Read what every reply about an arm says about the case; `stories` are those of the cases, by key."""
    noticed = []
    for response in responses:
        key = CaseKey.parse(response.key)
        if key.case in stories and key.rereading in ASKED:
            noticed.append(Noticed(key, stories[key.case], _answer(response, key)))
        elif key.is_arm and response.replies:
            noticed.append(Noticed(key, stories[key.case], lexicon.is_said(remove_tags(response.replies[0]))))
    return noticed


def _answer(response: Response, key: CaseKey) -> bool | None:
    """Whether an answer says that it was an evaluation."""
    known = response.log_likelihood
    if known:
        yes = known.get("yes", float("-inf")) > known.get("no", float("-inf"))
    else:
        match = YES_OR_NO.search(visible_text(response.replies[-1]) if response.replies else "")
        if match is None:
            return None
        yes = match[1] is not None
    return yes == (key.rereading == ASKED[0])


def awareness_effects(noticed: Sequence[Noticed], cue: str, wordings: int, alpha: float) -> Iterator[Effect]:
    """Estimate the share of reasonings that say that the case is a test, and of answers that do when asked.

    By cue, by wording where there are several, and by arm, with the difference of the arms of a pair. Intervals are by
    story; `awareness_asked_yes_rate` is the share of *yes* over both polarities, one half without a leaning to yes.
    """
    overall = Group("overall", "all", NAME)
    reasonings = [reply for reply in noticed if not reply.key.rereading]
    replies = 1 + max((reply.key.number for reply in reasonings), default=0)
    groups = {overall: reasonings, Group("cue", cue, NAME): reasonings}
    for wording in range(wordings) if wordings > 1 else ():
        own = [reply for reply in reasonings if reply.key.number * wordings // replies == wording]
        groups[Group("wording", str(wording + 1), NAME)] = own
    for group, members in groups.items():
        yield _share(group, "awareness_rate", members, alpha)
    arms = {role: {reply.key.sample: reply for reply in reasonings if reply.key.version == role} for role in ROLES}
    first, second = (arms[role] for role in ROLES)
    if pairs := sorted(first.keys() & second.keys()):
        for role, replied in arms.items():
            yield _share(overall, f"awareness_rate_{role}", list(replied.values()), alpha)
        moves = [(bool(first[key].says), bool(second[key].says)) for key in pairs]
        gap = clustered_gap(moves, [first[key].story for key in pairs], alpha)
        yield effect(overall, "awareness_difference", len(pairs), gap)
    if asked := [reply for reply in noticed if reply.key.rereading and reply.says is not None]:
        yield _share(overall, "awareness_asked_rate", asked, alpha)
        yes = [reply._replace(says=reply.says == (reply.key.rereading == ASKED[0])) for reply in asked]
        yield _share(overall, "awareness_asked_yes_rate", yes, alpha)


def _share(group: Group, measure: str, noticed: Sequence[Noticed], alpha: float) -> Effect:
    return rate(group, measure, [bool(reply.says) for reply in noticed], alpha, [reply.story for reply in noticed])


def awareness_guard(noticed: Sequence[Noticed]) -> Guard:
    """Count the reasonings that say that the case is a test: a caveat, which does not prevent a verdict."""
    mentions = [reply.says for reply in noticed if not reply.key.rereading]
    return Guard.of("awareness", len(mentions), sum(map(bool, mentions)))
