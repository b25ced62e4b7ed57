"""Three kinds of agents: rules (a grammar and an insertion), a model, and the replay of an earlier run."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.materials.evaluation import fill, listed
from equipoise.materials.questions import ATTRIBUTES, GROUPS, Direction
from equipoise.studies.questions.rows import Attempt, Neutralized, Variant
from equipoise.studies.questions.variants.agents import Arm, Ask, Fuse, Generate, Perturb, Request
from equipoise.studies.questions.variants.templates import (
    ACUTE,
    CHOICE,
    CONDUCT,
    Frame,
    FusionPrompt,
    GenerationPrompt,
    Register,
    Stage,
    Templates,
    Theme,
    Themes,
)
from equipoise.studies.questions.variants.validators import leaks
from equipoise.text.articles import with_article
from equipoise.text.sentences import closing_question, final_question

_AGE = re.compile(r"\b(?P<n>\d+)[- ](?P<unit>year|month|week|day|hour|minute)s?[- ]old\b|\b(?P<word>newborn|neonate)\b")
_YEARS = {"year": 1.0, "month": 1 / 12, "week": 7 / 365, "day": 1 / 365, "hour": 0.0, "minute": 0.0}
_OLDEST: tuple[tuple[Stage, float], ...] = (("newborn", 28 / 365), ("infant", 2), ("child", 13), ("teenager", 18))
REDRAWS = 64
"""The most draws of a text, which is redrawn if it would leak a word of the right option."""

PRONOUNS = {"male": ("he", "him"), "female": ("she", "her")}
"""Subject and object pronoun of the groups that have pronouns."""

REDRAWS_PER_THEME = 8
"""Redraws after which another theme is chosen."""
BACKGROUND_TOKENS, VIGNETTE_TOKENS = 160, 512
"""The most tokens that a model agent writes: three sentences, and a whole vignette."""


@dataclass(frozen=True, repr=False)
class RulesGenerator:
    """Backgrounds from the grammar: openings and guards, and the themes of each direction.

    The item's key, the attribute, the direction and the number of the attempt decide every choice; the group does not.
    Two backgrounds that differ only in the group therefore differ only in the words that name it, and their contrast is
    the effect of those words alone. Each failed attempt in the feedback raises the level by one.
    """

    frame: Frame
    themes: dict[Direction, Themes]

    def __call__(self, requests: Sequence[Request]) -> list[str]:
        """Write a background for each request."""
        return [self.background(request) for request in requests]

    def background(self, request: Request) -> str:
        """Write three sentences: who the patient is and how they live, their care, and the point of the background.

        A draw that contains a word of the right option is repeated, for both groups alike; if every draw does, the
        first one is returned, and the validators report it.
        """
        item, arm = request.item, request.arm
        arms = [arm._replace(group=group) for group in GROUPS[arm.attribute]]
        for redraw in range(REDRAWS):
            drawn = {side: self._draw(item, side, request.number, redraw) for side in arms}
            if not any(leaks(item, text) for text in drawn.values()):
                return drawn[arm]
        return self._draw(item, arm, request.number, 0)

    def _draw(self, item: Neutralized, arm: Arm, number: int, redraw: int) -> str:
        age = stage(item.neutral)
        register: Register = "adult" if age == "adult" else "minor"
        library = self.themes[arm.direction]
        closings = library.acute if self._applies(ACUTE, item) else library.closings
        level = min(number, len(closings)) - 1
        seed = (item.key, arm.attribute, arm.direction, number, redraw)
        theme = self._theme(item, arm, number, redraw // REDRAWS_PER_THEME)
        pattern = pick(self.frame.openings[arm.attribute][register], *seed, "opening")
        parts = (
            pattern.replace("{life}", pick(theme.life, *seed, "life")),
            pick(theme.care[level], *seed, "care"),
            pick(closings[level], *seed, "closing"),
        )
        chosen = settle(" ".join(parts), *seed, "choice")
        for slot, words in self._slots(arm, age).items():
            chosen = chosen.replace(f"{{{slot}}}", words)
        return chosen

    def _theme(self, item: Neutralized, arm: Arm, number: int, shift: int) -> Theme:
        """Choose a theme: those that fit are shuffled by the item's key and dealt to the attributes and attempts."""
        library = self.themes[arm.direction]
        fitting = [
            name
            for name, theme in library.themes.items()
            if not any(self._applies(guard, item) for guard in theme.unless)
        ]
        order = sorted(fitting, key=lambda name: number_of(item.key, arm.direction, name))
        place = ATTRIBUTES.index(arm.attribute) * len(library.closings) + number - 1 + shift
        return library.themes[order[place % len(order)]]

    def _applies(self, guard: str, item: Neutralized) -> bool:
        """Say whether a guard excludes a theme for an item: by its words, or by the item's acuity or field if known."""
        if guard == ACUTE and item.acuity is not None:
            return item.acuity == ACUTE
        if guard == CONDUCT and item.disease is not None:
            return item.disease == "mental_health"
        return guarded(item.neutral, self.frame.guards[guard])

    def _slots(self, arm: Arm, age: Stage) -> dict[str, str]:
        """Fill the slots; in a minor's background it is the family that acts."""
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


def insert(pairs: Sequence[tuple[Neutralized, str]]) -> list[str]:
    """Insert each background, unchanged, just before the final question sentence of its neutral vignette.

    The vignette stays unchanged, and all variants of an item share it as a prefix.
    """
    places = [final_question(item.neutral).start for item, _ in pairs]
    return [
        f"{item.neutral[:start]}{background} {item.neutral[start:]}"
        for (item, background), start in zip(pairs, places, strict=True)
    ]


def number_of(*parts: object) -> int:
    """Return the number of a key: the sha256 of its parts, the same on every machine and in every run."""
    return int.from_bytes(hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest())


def pick(lines: Sequence[str], *seed: object) -> str:
    """Choose one of the lines by the seed."""
    return lines[number_of(*seed) % len(lines)]


def settle(text: str, *seed: object) -> str:
    """Choose one of the wordings in each pair of square brackets, by the seed and its place in the text."""

    def chosen(match: re.Match[str]) -> str:
        return pick(match[1].split("|"), *seed, match.start())

    return CHOICE.sub(chosen, text)


def stage(text: str) -> Stage:
    """Read a patient's stage of life from the first age in the vignette; without an age, it is an adult."""
    match = _AGE.search(text)
    if match is None:
        return "adult"
    years = 0.0 if match["word"] else int(match["n"]) * _YEARS[match["unit"]]
    return next((name for name, limit in _OLDEST if years < limit), "adult")


@lru_cache(maxsize=4096)
def guarded(text: str, words: tuple[str, ...]) -> bool:
    """Say whether a vignette contains a word that begins with one of `words`, ignoring case."""
    return re.search(rf"\b(?:{'|'.join(map(re.escape, words))})", text, re.IGNORECASE) is not None


@dataclass(frozen=True)
class ModelGenerator:
    """Backgrounds from a model, whose prompt has the aim, the rules, and the results of earlier attempts."""

    ask: Ask
    prompt: GenerationPrompt

    def __call__(self, requests: Sequence[Request]) -> list[str]:
        """Ask for all backgrounds in one call."""
        replies = self.ask([self.message(request) for request in requests])
        return [" ".join(reply.split()) for reply in replies]

    def message(self, request: Request) -> tuple[str, str]:
        """Return the system and user message for one request."""
        item, arm, prompt = request.item, request.arm, self.prompt
        user = fill(
            prompt.user,
            question=item.neutral,
            options=listed(item.options),
            gold=f"{item.gold}. {item.options[item.gold]}",
            group=prompt.groups[arm.name],
            aim=prompt.aims[arm.direction],
            feedback="".join(map(self._feedback, request.feedback)),
        )
        return prompt.system, user

    def _feedback(self, attempt: Attempt) -> str:
        faults = fill(self.prompt.faults, violations=", ".join(attempt.violations)) if attempt.violations else ""
        return fill(
            self.prompt.feedback,
            number=str(attempt.number),
            background=attempt.background,
            answer=attempt.answer or self.prompt.no_answer,
            faults=faults,
        )


@dataclass(frozen=True)
class ModelFuser:
    """Texts in which a model has integrated the background into the vignette."""

    ask: Ask
    prompt: FusionPrompt

    def __call__(self, pairs: Sequence[tuple[Neutralized, str]]) -> list[str]:
        """Ask for all texts in one call."""
        users = [
            fill(self.prompt.user, question=item.neutral, background=background, final=closing_question(item.neutral))
            for item, background in pairs
        ]
        return [reply.strip() for reply in self.ask([(self.prompt.system, user) for user in users])]


class Replay:
    """Both agents at once, from earlier attempts, in their order, or from accepted variants; None beyond these."""

    def __init__(self, rows: Iterable[Attempt | Variant]) -> None:
        """Read the rows, in any order; rows without a background (original, neutral) are skipped."""
        self.backgrounds: dict[str, list[str]] = {}
        self.texts: dict[tuple[str, str], str] = {}
        for row in sorted(rows, key=lambda row: row.number if isinstance(row, Attempt) else row.attempt):
            if row.background:
                variant = row.variant if isinstance(row, Attempt) else row.key
                item = variant.rsplit("/", 3)[0]
                self.backgrounds.setdefault(variant, []).append(row.background)
                self.texts[item, row.background] = row.text

    def generate(self, requests: Sequence[Request]) -> list[str | None]:
        """Repeat the next background of each variant; None after its last."""
        earlier = ((self.backgrounds.get(request.key, []), len(request.feedback)) for request in requests)
        return [rows[place] if place < len(rows) else None for rows, place in earlier]

    def fuse(self, pairs: Sequence[tuple[Neutralized, str]]) -> list[str]:
        """Repeat the text made from each background; EquipoiseError for a background that no row has."""
        for item, background in pairs:
            if (item.key, background) not in self.texts:
                fix = f"no stored text has the background {background[:40]!r}: replay the run that wrote it"
                raise EquipoiseError(f"item {item.key}: {fix}")
        return [self.texts[item.key, background] for item, background in pairs]


def load_replay(path: Path) -> Replay:
    """Read a JSONL file of attempts or of variants, as its first row shows."""
    first = jsonl.read_text(path).lstrip().split("\n", 1)[0]
    return Replay(jsonl.read(path, Attempt) if '"variant":' in first else jsonl.read(path, Variant))


def choose_agents(settings: Perturb, templates: Templates, ask: Callable[[str, int], Ask]) -> tuple[Generate, Fuse]:
    """Return the Generation and the Fusion agent; `ask` returns the function for a model's name and token limit."""
    generators: dict[str, Generate] = {"rules": RulesGenerator(templates.frame, templates.themes)}
    fusers: dict[str, Fuse] = {"rules": insert}
    if settings.replay:
        replay = load_replay(settings.replay)
        generators["replay"], fusers["replay"] = replay.generate, replay.fuse
    generator, fuser = settings.generator, settings.fuser
    return (
        generators.get(generator) or ModelGenerator(ask(generator, BACKGROUND_TOKENS), templates.generation),
        fusers.get(fuser) or ModelFuser(ask(fuser, VIGNETTE_TOKENS), templates.fusion),
    )
