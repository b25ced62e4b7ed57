"""Items in two arms that differ in one demographic statement alone, and the prompts that ask a model about them.

The statement describes a persona of the panel as the vignettes do ("a 34-year-old Black woman"), in the two ways of a
contrast. It comes before the client's message and gives no circumstance beside the persona's age and gender. Every
pair of an item has the same persona, so that its control pair differs from the others in what is varied alone. Nothing
is drawn by chance: the least used persona and contrast that fit are taken, ties in the order of their files.

No statement contradicts what the message says of its own writer. The rules for that are lists of English cues: they see
what is said outright ("as a Black woman", "my husband", "my teacher") and miss what is implied.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from equipoise.core.records import Prompt, Role
from equipoise.openr1.rows import CONTROL, Dimension, Message, OpenR1Item, Pairing, require_source
from equipoise.vignettes.compose import ROLES, patient
from equipoise.vignettes.schema import Contrast, Persona

DAYS = {"marginalised": "Tuesday", "privileged": "Thursday"}
"""What the arms of a control pair differ in."""

SELF = r"\b(?:as|being|i am|i'm|i was)\s+"
AN = r"(?:just\s+|now\s+|only\s+)?an?\s+(?:[\w-]+\s+){0,3}?"

PEOPLE = (
    r"(?:m[ae]n|wom[ae]n|girl|boy|guy|male|female|lady|gentleman|mom|mum|mother|dad|father|wife|husband|widow|widower"
    r"|grandmother|grandfather)"
)
RACES = (
    r"(?:black|white|asian|african|african[- ]american|caribbean|latin[oax]|hispanic|indian|pakistani|chinese|arab"
    r"|jewish|muslim|hindu|sikh|christian|catholic|immigrant|person of colou?r)"
)

STATED = {
    "gender": re.compile(
        rf"{SELF}{AN}{PEOPLE}\b|{SELF}(?:[\w-]+\s+)?(?:trans|transgender|non-?binary|pregnant)\b|\bi'm trans\b"
        r"|\bi\s+(?:[\w-]+\s+){0,3}pregnant\b|\bmy (?:pregnancy|periods?|skirt|dress|beard)\b",
        re.IGNORECASE,
    ),
    "race": re.compile(rf"{SELF}(?:{AN})?{RACES}\b", re.IGNORECASE),
    "age": re.compile(
        r"\b(?:i am|i'm|i(?: just| recently)? turned)\s+(?:an?\s+)?\d{1,2}\b(?!\s*(?:out of|/|%|per ?cent|minutes|hours"
        r"|days|weeks|months))|\bat my age\b|\bmy \d{1,2}(?:th|st|nd|rd) birthday\b",
        re.IGNORECASE,
    ),
}
"""What a writer may say of themselves that a statement would repeat or contradict: such a message is left out."""


class Stage(NamedTuple):
    """A stage of life, by the words that place a writer in it, and the youngest and oldest age that fit it."""

    name: str
    words: re.Pattern[str]
    youngest: int
    oldest: int


def _stage(name: str, words: str, youngest: int, oldest: int) -> Stage:
    return Stage(name, re.compile(rf"\b(?:{words})\b", re.IGNORECASE), youngest, oldest)


ADULT = (18, 90)
"""Ages that fit a message without a cue: that of an adult."""

STAGES = (
    _stage(
        "school",
        r"classmates?|my teachers?|the teachers|(?:high|middle) school|homework|my grades|in school|at school|in math"
        r"|school getting out|prom|want to graduate",
        13,
        17,
    ),
    _stage("study", r"college|university|professors?|campus|studying|my classes", 18, 30),
    _stage(
        "family",
        r"(?:my|our) (?:husband|wife|spouse|marriage|divorce|sons?|daughters?|child|children|kids?)"
        r"|my ex-?(?:husband|wife)|got divorced|married",
        28,
        90,
    ),
    _stage("work", r"my (?:job|boss|colleagues?|manager|career|coworkers?|co-workers?)|at work|line manager", 20, 65),
    _stage("parents", r"my (?:mother|mom|mum|father|dad|parents)|our parents", 18, 60),
    _stage("grandparents", r"my (?:grandma|grandmother|grandpa|grandfather|grandparents)", 18, 40),
    _stage("care", r"long[- ]term care|care home|nursing home", 65, 110),
)


class Paired(NamedTuple):
    """Messages, and by item (or by pair, where the item has others) why it has none: what rules it out."""

    messages: list[Message]
    excluded: dict[str, str]


def pair_items(
    items: Sequence[OpenR1Item],
    personas: Sequence[Persona],
    contrasts: Sequence[Contrast],
    settings: Pairing,
    where: str = "items",
) -> Paired:
    """Put each item in the two arms of every dimension, and of the control; `where` names the items in an error.

    Left out are items that state their writer's gender, race or age, items that no adult persona fits by the stage of
    life that they speak of, and pairs whose contrast does not fit it. EquipoiseError for an item of another source.
    """
    require_source(items, where)
    used = _Usage()
    made = Paired([], {})
    chosen = sorted(items, key=lambda item: item.key)
    for item in chosen[: settings.limit] if settings.limit else chosen:
        fitting = ages(item.prompt)
        if demographic := stated(item.prompt):
            made.excluded[item.key] = f"states {demographic}"
            continue
        persona = used.persona(personas, fitting) if fitting else None
        if fitting is None or persona is None:
            made.excluded[item.key] = "no adult's stage of life"
            continue
        for dimension in settings.dimensions:
            contrast = used.contrast(contrasts, dimension, persona, fitting)
            if contrast is None:
                made.excluded[f"{item.key}/{dimension}"] = "no contrast fits the stage of life"
            else:
                made.messages.extend(_arms(item, persona, contrast, settings))
        if settings.control is not None:
            made.messages.extend(_control(item, persona, settings.control, settings))
    return made


def message_prompt(message: Message, settings: Pairing) -> Prompt:
    """Ask for the reply to a message, in one turn."""
    return Prompt(
        key=message.key,
        study=message.study,
        system=settings.system,
        prefix="",
        turns=(message.text,),
        candidates=(),
        limit=settings.reply_tokens,
    )


def stated(text: str) -> str | None:
    """Name the demographic that a message states of its writer: gender, race or age; None where it states none."""
    plain = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return next((name for name, pattern in STATED.items() if pattern.search(plain)), None)


def ages(text: str) -> tuple[int, int] | None:
    """Give the youngest and oldest age in years that fit a message's writer; None where its cues contradict each other.

    Every stage of life that the message speaks of narrows the ages of an adult. One at school is not an adult.
    """
    youngest, oldest = ADULT
    for stage in STAGES:
        if stage.words.search(text):
            youngest, oldest = max(youngest, stage.youngest), min(oldest, stage.oldest)
    return (youngest, oldest) if youngest <= oldest else None


def exclusions(excluded: Mapping[str, str]) -> str:
    """Count what was left out, by reason; empty where nothing was."""
    counts = Counter(excluded.values())
    return ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))


class _Usage:
    """How often each persona and contrast has been taken."""

    def __init__(self) -> None:
        self._personas: Counter[str] = Counter()
        self._contrasts: Counter[str] = Counter()

    def persona(self, personas: Sequence[Persona], fitting: tuple[int, int]) -> Persona | None:
        """Take the least used persona whose age fits."""
        youngest, oldest = fitting
        fit = [persona for persona in personas if youngest <= persona.age <= oldest]
        if not fit:
            return None
        least = min(fit, key=lambda persona: self._personas[persona.id])
        self._personas[least.id] += 1
        return least

    def contrast(
        self, contrasts: Sequence[Contrast], dimension: Dimension, persona: Persona, fitting: tuple[int, int]
    ) -> Contrast | None:
        """Take the least used contrast of a dimension that is sound for the persona and fits the stage of life."""
        fit = [
            contrast
            for contrast in contrasts
            if contrast.dimension == dimension and not contrast.named_only and _sound(contrast, persona, fitting)
        ]
        if not fit:
            return None
        least = min(fit, key=lambda contrast: self._contrasts[contrast.id])
        self._contrasts[least.id] += 1
        return least


def _sound(contrast: Contrast, persona: Persona, fitting: tuple[int, int]) -> bool:
    described = [patient(persona, [contrast], role) for role in ROLES]
    limits = (contrast.ages, fitting)
    aged = all(youngest <= one.age <= oldest for one in described for youngest, oldest in limits)
    return aged and (persona.gender == "non-binary" or persona.gender in contrast.genders)


def _arms(item: OpenR1Item, persona: Persona, contrast: Contrast, settings: Pairing) -> Iterator[Message]:
    for role in ROLES:
        statement = _statement(persona, [contrast], role, settings)
        feature = contrast.arm(role).feature
        yield _message(item, contrast.dimension, role, persona, contrast.id, feature, statement)


def _control(item: OpenR1Item, persona: Persona, sentence: str, settings: Pairing) -> Iterator[Message]:
    for role in ROLES:
        day = DAYS[role]
        statement = f"{_statement(persona, [], role, settings)} {sentence.replace('{day}', day)}"
        yield _message(item, CONTROL, role, persona, CONTROL, day, statement)


def _statement(persona: Persona, contrasts: Sequence[Contrast], role: Role, settings: Pairing) -> str:
    """The statement of one arm; its noun phrase is within a sentence, so that the article is lower case."""
    phrase = patient(persona, contrasts, role).phrase
    return settings.statement.replace("{patient}", phrase[0].lower() + phrase[1:])


def _message(
    item: OpenR1Item, dimension: str, role: Role, persona: Persona, contrast: str, feature: str, statement: str
) -> Message:
    return Message(
        key=f"{item.key}/{dimension}/{role}",
        item=item.key,
        dimension=dimension,
        role=role,
        persona=persona.id,
        contrast=contrast,
        feature=feature,
        statement=statement,
        text=f"{statement}\n\n{item.prompt}",
        gold_answer=item.gold_answer,
        source=item.source,
        licence=item.licence,
    )
