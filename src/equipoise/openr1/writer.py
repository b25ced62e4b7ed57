"""What a message says of its own writer, so that no statement put before it contradicts it.

The rules are lists of English cues. They see what is said outright ("as a Black woman", "my husband", "my teacher")
and miss what is implied.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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


def stated(text: str) -> str | None:
    """Name the demographic that a message states of its writer: gender, race or age; None where it states none."""
    plain = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return next((name for name, pattern in STATED.items() if pattern.search(plain)), None)


def ages(text: str) -> tuple[int, int] | None:
    """Give the youngest and oldest age in years that fit a message's writer; None where its cues contradict each other.

    Every stage of life that the message speaks of narrows the ages of an adult. One at school is no adult.
    """
    youngest, oldest = ADULT
    for stage in STAGES:
        if stage.words.search(text):
            youngest, oldest = max(youngest, stage.youngest), min(oldest, stage.oldest)
    return (youngest, oldest) if youngest <= oldest else None
