"""Generation and Fusion agents without a model: a grammar, read by a hash of the item's key, and an insertion."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

from equipoise.questions.rows import ATTRIBUTES, GROUPS, Attempt, Attribute, Direction, Group, Neutralised
from equipoise.questions.variants.agents import Arm, Fuser, Generator
from equipoise.questions.variants.templates import CHOICE, Frame, Register, Stage, Theme, Themes
from equipoise.questions.variants.validators import leaks
from equipoise.text.articles import with_article
from equipoise.text.sentences import final_question

_AGE = re.compile(r"\b(?P<n>\d+)[- ](?P<unit>year|month|week|day|hour|minute)s?[- ]old\b|\b(?P<word>newborn|neonate)\b")
_YEARS = {"year": 1.0, "month": 1 / 12, "week": 7 / 365, "day": 1 / 365, "hour": 0.0, "minute": 0.0}
_OLDEST: tuple[tuple[Stage, float], ...] = (("newborn", 28 / 365), ("infant", 2), ("child", 13), ("teenager", 18))
REDRAWS = 64
"""How often a text that would leak a word of the right option is redrawn."""

PRONOUNS = {"male": ("he", "him"), "female": ("she", "her")}
"""Subject and object pronoun of the groups that have their own."""

REDRAWS_PER_THEME = 8
"""Redraws after which another theme is taken."""


class RulesGenerator(Generator):
    """Backgrounds from the grammar.

    The item's key, attribute, direction and the number of the attempt decide every choice; the group does not. Two
    backgrounds that differ in nothing but the group are therefore the same but for the words that name it, and their
    contrast is the effect of those words alone. Each failed attempt in the feedback raises the level by one.
    """

    def __init__(self, frame: Frame, themes: dict[Direction, Themes]) -> None:
        """Take the grammar: openings and guards, and the themes of each direction."""
        self.frame = frame
        self.themes = themes

    def generate(
        self, item: Neutralised, attribute: Attribute, group: Group, direction: Direction, feedback: Sequence[Attempt]
    ) -> str:
        """Write three sentences: who the patient is and how they live, their care, and the point of the background.

        A draw that would hold a word of the right option is drawn again (alike for both groups); if every draw does,
        the first is given, and the validators report it.
        """
        number = len(feedback) + 1
        for redraw in range(REDRAWS):
            drawn = {
                each: self._draw(item, Arm(attribute, each, direction), number, redraw) for each in GROUPS[attribute]
            }
            if not any(leaks(item, text) for text in drawn.values()):
                return drawn[group]
        return self._draw(item, Arm(attribute, group, direction), number, 0)

    def _draw(self, item: Neutralised, arm: Arm, number: int, redraw: int) -> str:
        age = stage(item.neutral)
        register: Register = "adult" if age == "adult" else "minor"
        library = self.themes[arm.direction]
        level = min(number, len(library.closings)) - 1
        seed = (item.key, arm.attribute, arm.direction, number, redraw)
        theme = self._theme(item, arm, number, redraw // REDRAWS_PER_THEME)
        pattern = pick(self.frame.openings[arm.attribute][register], *seed, "opening")
        parts = (
            pattern.replace("{life}", pick(theme.life, *seed, "life")),
            pick(theme.care[level], *seed, "care"),
            pick(library.closings[level], *seed, "closing"),
        )
        chosen = settle(" ".join(parts), *seed, "choice")
        for slot, words in self._slots(arm, age).items():
            chosen = chosen.replace(f"{{{slot}}}", words)
        return chosen

    def _theme(self, item: Neutralised, arm: Arm, number: int, shift: int) -> Theme:
        """Choose a theme: those that fit, shuffled by the item's key and dealt out to the attributes and attempts."""
        library = self.themes[arm.direction]
        guards = self.frame.guards
        fitting = [
            name
            for name, theme in library.themes.items()
            if not any(guarded(item.neutral, guards[guard]) for guard in theme.unless)
        ]
        order = sorted(fitting, key=lambda name: number_of(item.key, arm.direction, name))
        place = ATTRIBUTES.index(arm.attribute) * len(library.closings) + number - 1 + shift
        return library.themes[order[place % len(order)]]

    def _slots(self, arm: Arm, age: Stage) -> dict[str, str]:
        """Fill the slots; in a minor's background the family is the one who acts."""
        naming = self.frame.groups[arm.name]
        person = self.frame.persons[age]
        noun = naming.adult if age == "adult" else f"{self.frame.modifiers[age]} {naming.minor}"
        who = "the patient" if age == "adult" else "the family"
        subject, obj = PRONOUNS.get(arm.name, (who, who)) if age == "adult" else (who, who)
        return {
            "group": naming.adjective,
            "person": person,
            "a_person": with_article(person),
            "noun": noun,
            "the_patient": who,
            "one": subject,
            "One": subject.capitalize(),
            "obj": obj,
        }


class RulesFuser(Fuser):
    """The background, unchanged, just before the final question.

    The vignette stays as it is, word for word, and all variants of an item share it as a prefix.
    """

    def fuse(self, item: Neutralised, background: str) -> str:
        """Insert the background before the final question sentence."""
        start = final_question(item.neutral).start
        return f"{item.neutral[:start]}{background} {item.neutral[start:]}"


def number_of(*parts: object) -> int:
    """Give any key its number: the sha256 of its parts, the same on every machine and in every run."""
    return int.from_bytes(hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest())


def pick(lines: Sequence[str], *seed: object) -> str:
    """Choose one of the lines by the seed."""
    return lines[number_of(*seed) % len(lines)]


def settle(text: str, *seed: object) -> str:
    """Choose one of the wordings in each pair of square brackets, each by its own place in the text."""

    def chosen(match: re.Match[str]) -> str:
        return pick(match[1].split("|"), *seed, match.start())

    return CHOICE.sub(chosen, text)


def stage(text: str) -> Stage:
    """Read a patient's stage of life from the first age that the vignette gives; without one, an adult."""
    match = _AGE.search(text)
    if match is None:
        return "adult"
    years = 0.0 if match["word"] else int(match["n"]) * _YEARS[match["unit"]]
    return next((name for name, limit in _OLDEST if years < limit), "adult")


@lru_cache(maxsize=4096)
def guarded(text: str, words: tuple[str, ...]) -> bool:
    """Tell whether a vignette holds a word that begins with one of `words`, in any case."""
    return re.search(rf"\b(?:{'|'.join(map(re.escape, words))})", text, re.IGNORECASE) is not None
