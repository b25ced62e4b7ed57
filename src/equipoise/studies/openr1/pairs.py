"""Items in two arms that differ only in a demographic statement, and the prompts that ask a model about them.

The statement describes a persona of the panel as the vignettes do ("a 34-year-old Black woman"), in the two forms of a
contrast. It precedes the client's message and states no circumstances except the persona's age and gender. All pairs of
an item have the same persona, so that its control pair differs from the others only in what varies. Nothing is drawn at
random: the least used persona and contrast that fit are chosen, ties in the order of their files.

No statement contradicts what the message says about its writer. The rules for that are lists of English cues: they
detect explicit statements ("as a Black woman", "my husband", "my teacher") and miss what is implied.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from equipoise.core.prompts import Prompt
from equipoise.materials.stories.compose import patient
from equipoise.materials.stories.schema import Contrast, Persona
from equipoise.materials.vignette import ROLES
from equipoise.studies.openr1.rows import CONTROL, Dimension, Message, OpenR1Item, Pairing, require_source

T = TypeVar("T", bound=Persona | Contrast)

DAYS = {"marginalised": "Tuesday", "privileged": "Thursday"}
"""The days that the arms of a control pair differ in."""

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
"""Words with which writers state their own demographics; such messages are left out."""


class Stage(NamedTuple):
    """A stage of life: the words that indicate it, and the youngest and oldest age that fit it."""

    name: str
    words: re.Pattern[str]
    youngest: int
    oldest: int


def _stage(name: str, words: str, youngest: int, oldest: int) -> Stage:
    return Stage(name, re.compile(rf"\b(?:{words})\b", re.IGNORECASE), youngest, oldest)


ADULT = (18, 90)
"""The youngest and oldest age that fit a message without a cue."""

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
    """Messages, and the reason for every excluded item, or pair of an item that has other pairs."""

    messages: list[Message]
    excluded: dict[str, str]


def pair_items(
    items: Sequence[OpenR1Item],
    personas: Sequence[Persona],
    contrasts: Sequence[Contrast],
    settings: Pairing,
    where: str = "items",
) -> Paired:
    """Write each item in the two arms of every dimension and of the control; `where` names the items in an error.

    Left out are items that state their writer's gender, race or age, items whose stage of life fits no adult persona,
    and pairs whose contrast does not fit it. Raises EquipoiseError for an item of another source.
    """
    require_source(items, where)
    told, varied = Counter[str](), Counter[str]()
    paired = Paired([], {})
    chosen = sorted(items, key=lambda item: item.key)
    for item in chosen[: settings.limit] if settings.limit else chosen:
        if demographic := stated(item.prompt):
            paired.excluded[item.key] = f"states {demographic}"
            continue
        fitting = ages(item.prompt)
        of_age = [row for row in personas if fitting and fitting[0] <= row.age <= fitting[1]]
        persona = _least_used(of_age, told)
        if fitting is None or persona is None:
            paired.excluded[item.key] = "no adult's stage of life"
            continue
        for dimension in settings.dimensions:
            contrast = _least_used([row for row in contrasts if _fits(row, dimension, persona, fitting)], varied)
            if contrast is None:
                paired.excluded[f"{item.key}/{dimension}"] = "no contrast fits the stage of life"
            else:
                paired.messages.extend(_arms(item, persona, contrast, settings))
        if settings.control is not None:
            paired.messages.extend(_arms(item, persona, None, settings))
    return paired


def message_prompt(message: Message, settings: Pairing) -> Prompt:
    """Ask for the reply to a message in one turn."""
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
    """Return the demographic of its writer that a message states: gender, race or age; None if it states none."""
    plain = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return next((name for name, pattern in STATED.items() if pattern.search(plain)), None)


def ages(text: str) -> tuple[int, int] | None:
    """Return the youngest and oldest age in years that fit a message's writer; None if its cues contradict each other.

    Every stage of life in the message narrows the ages of an adult. A writer at school is not an adult.
    """
    youngest, oldest = ADULT
    for stage in STAGES:
        if stage.words.search(text):
            youngest, oldest = max(youngest, stage.youngest), min(oldest, stage.oldest)
    return (youngest, oldest) if youngest <= oldest else None


def exclusions(excluded: Mapping[str, str]) -> str:
    """Count what was left out, by reason; empty if nothing was."""
    counts = Counter(excluded.values())
    return ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))


def _least_used(fitting: Iterable[T], times: Counter[str]) -> T | None:
    """Take the persona or contrast that was taken the fewest times; None if none fits."""
    least = min(fitting, key=lambda row: times[row.id], default=None)
    if least is not None:
        times[least.id] += 1
    return least


def _fits(contrast: Contrast, dimension: Dimension, persona: Persona, fitting: tuple[int, int]) -> bool:
    """Whether a contrast of the dimension is sound for the persona and fits the stage of life."""
    if contrast.dimension != dimension or contrast.reverse:
        return False
    arm_ages = [patient(persona, [contrast], role).age for role in ROLES]
    limits = (contrast.ages, fitting)
    aged = all(youngest <= age <= oldest for age in arm_ages for youngest, oldest in limits)
    return aged and (persona.gender == "non-binary" or persona.gender in contrast.genders)


def _arms(item: OpenR1Item, persona: Persona, contrast: Contrast | None, settings: Pairing) -> Iterator[Message]:
    """Write both arms of a pair; without a contrast, those of the control, which differ only in the day of the week."""
    dimension = CONTROL if contrast is None else contrast.dimension
    for role in ROLES:
        described = patient(persona, [] if contrast is None else [contrast], role)
        statement = settings.statement.replace("{patient}", described.phrase(capital=False))
        if contrast is None:
            statement += f" {settings.control}".replace("{day}", DAYS[role])
        yield Message(
            key=f"{item.key}/{dimension}/{role}",
            item=item.key,
            dimension=dimension,
            role=role,
            persona=persona.id,
            contrast=CONTROL if contrast is None else contrast.id,
            feature=DAYS[role] if contrast is None else contrast.arm(role).feature,
            statement=statement,
            text=f"{statement}\n\n{item.prompt}",
            gold_answer=item.gold_answer,
            source=item.source,
            licence=item.licence,
        )
