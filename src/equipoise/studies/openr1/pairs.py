"""Items in two arms that differ in one demographic statement alone, and the prompts that ask a model about them.

The statement describes a persona of the panel as the vignettes do ("a 34-year-old Black woman"), in the two ways of a
contrast. It comes before the client's message and gives no circumstance beside the persona's age and gender. Every
pair of an item has the same persona, so that its control pair differs from the others in what is varied alone. Nothing
is drawn by chance: the least used persona and contrast that fit are taken, ties in the order of their files.

No statement contradicts what the message says of its own writer. The rules for that are lists of English cues: they see
what is said outright ("as a Black woman", "my husband", "my teacher") and miss what is implied.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from equipoise.core.prompts import Prompt
from equipoise.materials.stories.compose import patient
from equipoise.materials.stories.schema import Contrast, Persona
from equipoise.materials.vignette import ROLES
from equipoise.studies.openr1.rows import CONTROL, Dimension, Message, OpenR1Item, Pairing, require_source

T = TypeVar("T", bound=Persona | Contrast)

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
    least_used, least_used_contrast = _LeastUsed(personas), _LeastUsed(contrasts)
    made = Paired([], {})
    chosen = sorted(items, key=lambda item: item.key)
    for item in chosen[: settings.limit] if settings.limit else chosen:
        if demographic := stated(item.prompt):
            made.excluded[item.key] = f"states {demographic}"
            continue
        fitting = ages(item.prompt)
        persona = least_used.take(partial(_of_age, fitting=fitting)) if fitting else None
        if fitting is None or persona is None:
            made.excluded[item.key] = "no adult's stage of life"
            continue
        for dimension in settings.dimensions:
            fits = partial(_fits, dimension=dimension, persona=persona, fitting=fitting)
            contrast = least_used_contrast.take(fits)
            if contrast is None:
                made.excluded[f"{item.key}/{dimension}"] = "no contrast fits the stage of life"
            else:
                made.messages.extend(_arms(item, persona, contrast, settings))
        if settings.control is not None:
            made.messages.extend(_arms(item, persona, None, settings))
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


class _LeastUsed(Generic[T]):
    """Personas or contrasts, of which the least used one is taken."""

    def __init__(self, known: Sequence[T]) -> None:
        self._known = known
        self._times: Counter[str] = Counter()

    def take(self, fits: Callable[[T], bool]) -> T | None:
        """Take the least used of those that fit; None where none fits."""
        least = min(filter(fits, self._known), key=lambda one: self._times[one.id], default=None)
        if least is not None:
            self._times[least.id] += 1
        return least


def _of_age(persona: Persona, *, fitting: tuple[int, int]) -> bool:
    return fitting[0] <= persona.age <= fitting[1]


def _fits(contrast: Contrast, *, dimension: Dimension, persona: Persona, fitting: tuple[int, int]) -> bool:
    """Whether a contrast of the dimension is sound for the persona and fits the stage of life."""
    if contrast.dimension != dimension or contrast.reverse:
        return False
    described = [patient(persona, [contrast], role) for role in ROLES]
    limits = (contrast.ages, fitting)
    aged = all(youngest <= one.age <= oldest for one in described for youngest, oldest in limits)
    return aged and (persona.gender == "non-binary" or persona.gender in contrast.genders)


def _arms(item: OpenR1Item, persona: Persona, contrast: Contrast | None, settings: Pairing) -> Iterator[Message]:
    """Give both arms of a pair; without a contrast those of the control, which differ in the day of the week alone."""
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
